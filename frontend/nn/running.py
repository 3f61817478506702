"""Running models in this process: compiled on first use, called with arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import Diagnostic, DTypeError, IRError, suggest
from .core import Module
from .exporter import export
from .spec import ModuleSpec

if TYPE_CHECKING:
    from collections.abc import Callable

_FORMATS = ("numpy", "torch", "tensor")


class CompiledModel:
    """A model whose methods run as compiled graph functions.

    It holds the model's parameters and its states: a call takes the arguments of the method only.
    """

    def __init__(self, vm: Any, names: list[str], params: list[Any], states: Any, out_format: str) -> None:
        self._vm = vm
        self._names = names
        self._params = params
        self._states = states
        self._out_format = out_format

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The method of this name. Raises DTypeError with near names where there is none."""
        if name not in self._names:
            raise DTypeError(
                Diagnostic("argument-name", f"there is no method `{name}`", help=suggest(name, self._names))
            )
        return lambda *args: self._call(name, args)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self._names:
            raise AttributeError(f"there is no method {name!r}; there are {', '.join(self._names)}")
        return self[name]

    def __call__(self, *args: Any) -> Any:
        """The method `forward`."""
        return self["forward"](*args)

    def _call(self, name: str, args: tuple[Any, ...]) -> Any:
        given = [(a,) if isinstance(a, int) and not isinstance(a, bool) else a for a in args]
        found = self._vm[name](*given, *self._states, *self._params)
        if self._states:
            found, self._states = found
        return _given_out(found, self._out_format)


def _given_out(value: Any, form: str) -> Any:
    if isinstance(value, tuple | list):
        return tuple([_given_out(v, form) for v in value])
    if form == "tensor" or not hasattr(value, "numpy"):
        return value
    if form == "torch":
        import torch

        return torch.from_dlpack(value)
    return value.numpy()


def jit(
    module: Module, spec: Any, device: Any, pipeline: Any, out_format: str, debug: bool = False
) -> CompiledModel:
    """The methods of the specification, compiled for the device.

    Raises IRError for parameters without data, DTypeError for methods that take packed weights or states.
    """
    from ... import build
    from ...runtime.vm import VirtualMachine

    if out_format not in _FORMATS:
        raise DTypeError(
            Diagnostic(
                "invalid-argument", f"there is no format {out_format!r}", help=suggest(out_format, _FORMATS)
            )
        )
    methods = ModuleSpec.from_raw(spec, module)
    for name, method in zip(methods.method_names, methods.method_specs):
        if (method.param_mode, method.effect_mode) != ("plain", "plain"):
            raise DTypeError(
                Diagnostic("invalid-argument", f"`{name}` is compiled with plain parameters and states")
            )
    mod, params = export(module, methods, debug)
    missing = [name for name, param in params if param.data is None]
    if missing:
        raise IRError(
            Diagnostic(
                "argument-value",
                f"the parameter `{missing[0]}` holds no data",
                help=("give it data: `module.load_state_dict(arrays)`",),
            )
        )
    vm = VirtualMachine(build(mod, relax_pipeline=pipeline), device)
    states = vm["_initialize_effect"]() if "_initialize_effect" in mod else ()
    return CompiledModel(vm, methods.method_names, [p.data for _, p in params], states, out_format)


__all__ = ["CompiledModel", "jit"]

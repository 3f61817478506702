"""Models: modules with parameters, and what they keep between calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...dtype import DType
from ...errors import Diagnostic, DTypeError, IRError
from ...ir import Expr, IRModule, Var
from ...ir.relax import BlockBuilder
from .tensor import Tensor

_DEFAULT_DTYPE = "float32"


def get_default_dtype() -> str:
    """The dtype of parameters that name none."""
    return _DEFAULT_DTYPE


class Parameter(Tensor):
    """A weight of a model: a tensor with a shape, a dtype, and perhaps data.

    Sizes may be texts, which name symbols.
    """

    __slots__ = ("_data",)

    def __init__(self, shape: Sequence[int | str | Expr], dtype: str | None = None) -> None:
        made = Tensor.placeholder(shape, dtype or get_default_dtype(), "param")
        super().__init__(_expr=made._expr)
        self._data: Any = None

    @property
    def data(self) -> Any:
        """The array that it holds, or None."""
        return self._data

    @data.setter
    def data(self, value: Any) -> None:
        """Hold this array. Raises DTypeError where shape or dtype differ."""
        if value is None:
            self._data = None
            return
        array = as_array(value)
        known = [s for s in self.shape if isinstance(s, int)]
        same = len(array.shape) == self.ndim and all(
            not isinstance(want, int) or want == has for want, has in zip(self.shape, array.shape)
        )
        if not same and (known or len(array.shape) != self.ndim):
            raise DTypeError(
                Diagnostic(
                    "argument-shape",
                    f"a parameter of shape {self.shape} cannot hold an array of {array.shape}",
                )
            )
        if str(DType(array.dtype)) != self.dtype:
            raise DTypeError(
                Diagnostic(
                    "argument-dtype", f"a parameter of `{self.dtype}` cannot hold an array of `{array.dtype}`"
                )
            )
        self._data = array

    def to(self, dtype: str | None = None) -> None:
        """Let it have this dtype. Raises IRError where it holds data, which would have to be converted."""
        if dtype is None or dtype == self.dtype:
            return
        if self._data is not None:
            raise IRError(
                Diagnostic("invalid-argument", "the dtype of a parameter that holds data cannot be changed")
            )
        self._expr = Tensor.placeholder(self.shape, dtype, "param")._expr


def as_array(value: Any) -> Any:
    """The numpy array that a value holds: an array, a tensor with `numpy()` or DLPack."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    return value.numpy() if hasattr(value, "numpy") else np.asarray(value)


class Effect:
    """What a model keeps between calls: made once, then taken and given back by each method."""

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[Var]:
        """Emit what makes the first state; its variables."""
        raise NotImplementedError

    def create(self, name_hint: str) -> list[Var]:
        """Parameters for the state of a method; they become the state at hand."""
        raise NotImplementedError

    def set_state(self, state_vars: list[Var]) -> None:
        """Let these be the state at hand."""
        raise NotImplementedError

    def finalize(self) -> list[Var]:
        """The state at the end of a method; it is forgotten here."""
        raise NotImplementedError

    def to(self, dtype: str | None = None) -> None:
        """Let it keep values of this dtype."""


class Module:
    """A model or a part of one: its attributes are parameters, other modules, and states.

    Calling it calls its `forward`.  Its methods are exported as graph functions by `export_tvm`.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What `forward` gives. Raises IRError for a module without one."""
        forward = getattr(self, "forward", None)
        if forward is None:
            raise IRError(
                Diagnostic("not-callable", f"`{type(self).__name__}` has no method `forward` to be called by")
            )
        return forward(*args, **kwargs)

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """Its parameters with their names, `layers.0.weight`, each once, in order."""
        yield from _named(self, prefix, Parameter)

    def parameters(self) -> Iterator[Parameter]:
        """Its parameters in order."""
        for _, param in self.named_parameters():
            yield param

    def named_effects(self, prefix: str = "") -> Iterator[tuple[str, Effect]]:
        """Its states with their names."""
        yield from _named(self, prefix, Effect)

    def state_dict(
        self, *, prefix: str = "", destination: dict[str, Parameter] | None = None
    ) -> dict[str, Parameter]:
        """Its parameters by name."""
        found = {} if destination is None else destination
        found.update(self.named_parameters(prefix))
        return found

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True
    ) -> tuple[list[str], list[str]]:
        """Let parameters hold the arrays of these names; names that are missing and that are unknown.

        Values are arrays, tensors of other libraries, or parameters. Raises IRError for missing and unknown
        names, unless `strict` is false.
        """
        own = dict(self.named_parameters())
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        if strict and (missing or unexpected):
            lines = [f"missing: {', '.join(missing)}"] * bool(missing)
            lines += [f"unknown: {', '.join(unexpected)}"] * bool(unexpected)
            raise IRError(
                Diagnostic(
                    "argument-name", "the names of the weights do not fit the model", notes=tuple(lines)
                )
            )
        for name, value in state_dict.items():
            if name in own:
                own[name].data = value.data if isinstance(value, Parameter) else value
        return missing, unexpected

    def to(self, dtype: str | None = None) -> None:
        """Let all its parameters and states have this dtype, and parts that name their dtype, too."""
        for value in vars(self).values():
            if isinstance(value, Module | Parameter | Effect | _Container):
                value.to(dtype)
        if dtype is not None and isinstance(getattr(self, "dtype", None), str):
            self.dtype = dtype

    def export_tvm(self, spec: Any, debug: bool = False, allow_extern: bool = False) -> Any:
        """The module of graph functions for the methods of the specification, and the named parameters.

        `spec` is a table method -> argument -> `nn.spec.Tensor(shape, dtype)`, `int`, or a list of those;
        "$" in place of an argument gives modes, see `spec.MethodSpec`.  With `allow_extern` a third value,
        the external modules, follows: there are none.  With `debug`, `nn.op.print_`
        and `nn.op.debug_func` show values.
        """
        from .exporter import export

        made = export(self, spec, debug)
        return (*made, []) if allow_extern else made

    def export(self, spec: Any) -> tuple[IRModule, list[tuple[str, Parameter]]]:
        """As `export_tvm`."""
        made: tuple[IRModule, list[tuple[str, Parameter]]] = self.export_tvm(spec)
        return made

    def jit(
        self,
        spec: Any,
        device: Any = "cpu",
        pipeline: Any = "default",
        out_format: str = "numpy",
        debug: bool = False,
    ) -> Any:
        """The model compiled for the methods of the specification: an object with these methods.

        Its parameters must hold data.  They take and give numpy arrays, or, with `out_format="torch"`,
        tensors of torch.
        """
        from .running import jit

        return jit(self, spec, device, pipeline, out_format, debug)


class _Container:
    """Base of containers of modules or parameters."""

    def children(self) -> Iterable[tuple[str, Any]]:
        """What is inside, with names."""
        raise NotImplementedError

    def to(self, dtype: str | None = None) -> None:
        """Let all that is inside have this dtype."""
        for _, value in self.children():
            value.to(dtype)


class _List(_Container):
    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._items = list(items)

    def children(self) -> Iterable[tuple[str, Any]]:
        return [(str(i), value) for i, value in enumerate(self._items)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __setitem__(self, index: int, value: Any) -> None:
        self._items[index] = value

    def __len__(self) -> int:
        return len(self._items)

    def append(self, value: Any) -> None:
        """Put a value behind the others."""
        self._items.append(value)

    def extend(self, values: Iterable[Any]) -> None:
        """Put values behind the others."""
        self._items.extend(values)


class _Dict(_Container):
    def __init__(self, items: Mapping[str, Any] | None = None) -> None:
        self._items = dict(items or {})

    def children(self) -> Iterable[tuple[str, Any]]:
        return self._items.items()

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._items[key] = value

    def __delitem__(self, key: str) -> None:
        del self._items[key]

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: str) -> bool:
        return key in self._items

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._items.keys()

    def values(self) -> Iterable[Any]:
        """The values."""
        return self._items.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names with values."""
        return self._items.items()

    def get(self, key: str, default: Any = None) -> Any:
        """The value of this name, or the default."""
        return self._items.get(key, default)

    def update(self, items: Mapping[str, Any]) -> None:
        """Take over these values."""
        self._items.update(items)

    def clear(self) -> None:
        """Remove all."""
        self._items.clear()

    def pop(self, key: str) -> Any:
        """Remove the value of this name and give it."""
        return self._items.pop(key)


class ModuleList(_List, Module):
    """Modules in order. Calling it calls one after the other, each with what the one before gave."""

    to = _Container.to

    def forward(self, x: Any) -> Any:
        """The input through all modules."""
        for module in self._items:
            x = module(x)
        return x


class ModuleDict(_Dict, Module):
    """Modules by name."""

    to = _Container.to


class ParameterList(_List):
    """Parameters in order."""


class ParameterDict(_Dict):
    """Parameters by name."""


def _named(value: Any, prefix: str, kind: type) -> Iterator[tuple[str, Any]]:
    """The values of this kind in a module, at any depth, with their names, each once."""
    seen: set[int] = set()

    def search(value: Any, name: str) -> Iterator[tuple[str, Any]]:
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, kind):
            yield name, value
        elif isinstance(value, _Container):
            for key, inner in value.children():
                yield from search(inner, f"{name}.{key}" if name else key)
        elif isinstance(value, Module):
            for key, inner in vars(value).items():
                yield from search(inner, f"{name}.{key}" if name else key)

    yield from search(value, prefix)


__all__ = [
    "Effect",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "as_array",
    "get_default_dtype",
]

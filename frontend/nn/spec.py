"""What a method of a model is exported for: the shapes and dtypes of its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import Diagnostic, DTypeError, suggest

if TYPE_CHECKING:
    from .core import Module

MODES = ("plain", "packed", "none")


class Int:
    """An integer: in the graph a symbol, given as a shape of one size."""

    def __repr__(self) -> str:
        return "int"


class Object:
    """A value that is no tensor."""

    def __init__(self, object_type: type | None = None) -> None:
        self.object_type = object_type

    def __repr__(self) -> str:
        return "object"


class Tensor:
    """A tensor of this shape and dtype; sizes that are texts are symbols, one for each name in a method."""

    def __init__(self, shape: Sequence[int | str], dtype: str) -> None:
        self.shape = list(shape)
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"Tensor([{', '.join(map(str, self.shape))}], '{self.dtype}')"


class Tuple:
    """Several arguments as one; a list or a tuple."""

    def __init__(self, name: str, elements: list[Any] | tuple[Any, ...]) -> None:
        self.name = name
        self.elements = type(elements)([as_spec(e) for e in elements])

    def __repr__(self) -> str:
        return repr(self.elements)


def as_spec(value: Any) -> Any:
    """The specification that is meant: `int` is Int(), `object` Object(), lists and tuples are Tuple.

    Raises DTypeError for other things.
    """
    if value is int or value == "int" or isinstance(value, Int):
        return Int()
    if value is object or value == "object":
        return Object()
    if isinstance(value, list | tuple):
        return Tuple("tuple", value)
    if isinstance(value, Tensor | Object | Tuple):
        return value
    raise DTypeError(
        Diagnostic(
            "type-mismatch",
            f"{value!r} does not specify an argument",
            help=("use `nn.spec.Tensor(shape, dtype)`, `int`, or a list or tuple of those",),
        )
    )


@dataclass(slots=True)
class MethodSpec:
    """A method with its arguments' specifications.

    param_mode and effect_mode say how weights and states are passed: "plain", each as a parameter of its
    own; "packed", as one tuple; "none", not at all.
    """

    method: Callable[..., Any]
    arg_names: list[str]
    arg_specs: list[Any]
    param_mode: str = "plain"
    effect_mode: str = "plain"

    def __post_init__(self) -> None:
        for mode in (self.param_mode, self.effect_mode):
            if mode not in MODES:
                raise DTypeError(
                    Diagnostic(
                        "invalid-argument", f"there is no mode {mode!r}", help=suggest(str(mode), MODES)
                    )
                )

    @staticmethod
    def from_raw(spec: Any, method: Callable[..., Any]) -> MethodSpec:
        """The specification written as a table by argument, with modes under "$".

        Raises DTypeError for arguments that the method does not have, or that are missing.
        """
        if isinstance(spec, MethodSpec):
            return spec
        table = dict(spec)
        modes = table.pop("$", {})
        names = list(inspect.signature(method).parameters)
        name = getattr(method, "__name__", "the method")
        for given in table:
            if given not in names:
                raise DTypeError(
                    Diagnostic(
                        "argument-name", f"`{name}` has no argument `{given}`", help=suggest(given, names)
                    )
                )
        for wanted, param in inspect.signature(method).parameters.items():
            if wanted not in table and param.default is inspect.Parameter.empty:
                raise DTypeError(Diagnostic("argument-name", f"`{name}` needs a specification of `{wanted}`"))
        given_names = [n for n in names if n in table]
        return MethodSpec(method, given_names, [as_spec(table[n]) for n in given_names], **modes)


@dataclass(slots=True)
class ModuleSpec:
    """The methods of a model that are exported, by name."""

    module: Module
    method_names: list[str]
    method_specs: list[MethodSpec]

    @staticmethod
    def from_raw(spec: Any, module: Module) -> ModuleSpec:
        """The specification written as a table by method. Raises DTypeError for unknown methods."""
        if isinstance(spec, ModuleSpec):
            return spec
        if not isinstance(spec, Mapping):
            raise DTypeError(
                Diagnostic("type-mismatch", "a specification is a table: method -> argument -> specification")
            )
        methods = []
        for name, raw in spec.items():
            method = getattr(module, name, None)
            if not callable(method):
                kind = type(module).__name__
                known = [n for n in dir(module) if not n.startswith("_")]
                raise DTypeError(
                    Diagnostic("argument-name", f"`{kind}` has no method `{name}`", help=suggest(name, known))
                )
            methods.append(MethodSpec.from_raw(raw, method))
        return ModuleSpec(module, list(spec), methods)


__all__ = ["Int", "MethodSpec", "ModuleSpec", "Object", "Tensor", "Tuple", "as_spec"]

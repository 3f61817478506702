"""Functions by name that kernels and other languages may call, and the values that pass between them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, overload

from ..dtype import DType
from ..errors import ArgumentTypeError, Diagnostic, LoopwrightError, suggest
from .device import Device
from .tensor import Tensor, is_tensor_like

_functions: dict[str, PackedFunc] = {}
_lock = threading.Lock()


class UnknownFunctionError(LoopwrightError, AttributeError, KeyError, ValueError):
    """No function has this name."""

    default_code = "unknown-function"

    __str__ = LoopwrightError.__str__


class DuplicateFunctionError(LoopwrightError, ValueError):
    """The name is taken by another function."""

    default_code = "duplicate-function"


class PackedFunc:
    """A callable that takes and gives only values every language knows.

    These are None, bool, int, float, str, DType, Device, tensors, functions and tuples of them.  What
    shares memory through DLPack or the buffer protocol arrives as a `Tensor` without a copy; numpy
    scalars arrive as Python numbers.  Errors of the callable pass through unchanged.
    """

    __slots__ = ("__name__", "__wrapped__")

    __name__: str
    __wrapped__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        if isinstance(function, PackedFunc):
            function = function.__wrapped__
        if not callable(function):
            message = f"a {type(function).__name__} is not a function"
            raise ArgumentTypeError(Diagnostic("argument-type", message))
        self.__wrapped__ = function
        self.__name__ = str(name or getattr(function, "__name__", "function"))

    def __call__(self, *args: Any) -> Any:
        """Call with these values. Raises ArgumentTypeError for a value that cannot pass."""
        values = [pass_value(a, f"argument {i} of `{self.__name__}`") for i, a in enumerate(args)]
        return pass_value(self.__wrapped__(*values), f"the result of `{self.__name__}`")

    def __repr__(self) -> str:
        return f"<PackedFunc {self.__name__}>"


def pass_value(value: Any, what: str = "a value") -> Any:
    """The value as the other side of a packed call sees it.

    Raises ArgumentTypeError, naming it as `what`, when it is of no accepted kind.
    """
    if value is None or isinstance(value, bool | str | DType | Device | Tensor | PackedFunc):
        return value
    if type(value) is int or type(value) is float:
        return value
    if isinstance(value, tuple | list):
        return tuple([pass_value(v, f"{what}, element {i}") for i, v in enumerate(value)])
    if getattr(value, "shape", None) == () and not hasattr(value, "__setitem__") and hasattr(value, "item"):
        return value.item()
    if is_tensor_like(value):
        return Tensor.from_dlpack(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if callable(value) and not isinstance(value, type):
        return PackedFunc(value)
    accepted = "None, bool, int, float, str, dtype, device, tensor, function and tuples of them"
    raise ArgumentTypeError(
        Diagnostic(
            "packed-value",
            f"{what} is a {type(value).__name__}, which cannot pass through a packed call",
            notes=(f"accepted: {accepted}",),
        )
    )


@overload
def register_func(
    name: str, f: None = None, override: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
@overload
def register_func(name: str, f: Callable[..., Any], override: bool = False) -> Callable[..., Any]: ...
@overload
def register_func(name: Callable[..., Any], f: None = None, override: bool = False) -> Callable[..., Any]: ...


def register_func(name: Any, f: Any = None, override: bool = False) -> Any:
    """Register a function under a name for `T.call_packed` and `get_global_func`.

    Three forms: `register_func("name", f)`, `@register_func("name")` and `@register_func`, which takes the
    function's own name.  Gives back the function unchanged.  Raises DuplicateFunctionError when the
    name is taken and `override` is false.
    """
    if callable(name):
        return register_func(name.__name__, name, override)
    if f is None:
        return lambda function: register_func(name, function, override)
    packed = PackedFunc(f, name)
    with _lock:
        if name in _functions and not override:
            raise DuplicateFunctionError(
                Diagnostic(
                    "duplicate-function",
                    f"a function `{name}` is registered already",
                    help=("pass `override=True` to replace it",),
                )
            )
        _functions[name] = packed
    return f


@overload
def get_global_func(name: str) -> PackedFunc: ...
@overload
def get_global_func(name: str, allow_missing: bool) -> PackedFunc | None: ...


def get_global_func(name: str, allow_missing: bool = False) -> PackedFunc | None:
    """The registered function of this name.

    Raises UnknownFunctionError with near names when there is none, or gives None if `allow_missing`.
    """
    found = _functions.get(name)
    if found is None and not allow_missing:
        raise UnknownFunctionError(
            Diagnostic(
                "unknown-function",
                f"no function is registered as `{name}`",
                help=(*suggest(name, _functions), "register one with `loopwright.register_func`"),
            )
        )
    return found


def remove_global_func(name: str) -> None:
    """Forget the function of this name. Raises UnknownFunctionError when there is none."""
    get_global_func(name)
    with _lock:
        _functions.pop(name, None)


def list_global_func_names() -> list[str]:
    """The names of all registered functions, sorted."""
    return sorted(_functions)

"""Operators of the library that work element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import Diagnostic, DTypeError
from ....ir import Expr, const
from ....ir import operators as op
from ....te import Tensor, broadcast, compute, elementwise
from ..tirx.op import find_operator

_FLOAT_ONLY = ("acos", "acosh", "asin", "asinh", "atanh")


def _unary(name: str) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        operator = find_operator(name)
        assert operator is not None
        if name in _FLOAT_ONLY and isinstance(x, Tensor) and not x.dtype.is_float:
            raise DTypeError(
                Diagnostic(
                    "type-mismatch", f"topi.{name} only supports floating-point inputs, but got {x.dtype}"
                )
            )
        return elementwise(x, operator)

    function.__name__ = name
    function.__doc__ = f"`{name}` of every element."
    return function


UNARY = {
    name: _unary(name)
    for name in (
        "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor isfinite isinf isnan log log10 "
        "log2 round rsqrt sigmoid sin sinh sqrt tan tanh trunc"
    ).split()
}


def _binary(name: str, function: Callable[[Any, Any], Any], label: str) -> Callable[[Any, Any], Any]:
    def combined(lhs: Any, rhs: Any) -> Any:
        return broadcast(function, lhs, rhs, label)

    combined.__name__ = name
    combined.__doc__ = f"`{name}` of two tensors or values, stretched to a common shape."
    return combined


_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": op.add,
    "subtract": op.sub,
    "multiply": op.mul,
    "divide": op.div,
    "floor_divide": op.floordiv,
    "mod": op.truncmod,
    "floor_mod": op.floormod,
    "maximum": op.max_,
    "minimum": op.min_,
    "power": op.power,
    "left_shift": op.shift_left,
    "right_shift": op.shift_right,
    "bitwise_and": op.bitwise_and,
    "bitwise_or": op.bitwise_or,
    "bitwise_xor": op.bitwise_xor,
    "logical_and": op.logical_and,
    "logical_or": op.logical_or,
    "equal": op.equal,
    "not_equal": op.not_equal,
    "less": op.less,
    "less_equal": op.less_equal,
    "greater": op.greater,
    "greater_equal": op.greater_equal,
}
BINARY = {name: _binary(name, function, f"T_{name}") for name, function in _FUNCTIONS.items()}


def negative(x: Any) -> Any:
    """-x of every element."""
    return elementwise(x, op.neg)


def cast(x: Any, dtype: Any, span: Any = None) -> Any:
    """Every element converted to the dtype."""
    return elementwise(x, lambda value: op.cast(value, dtype))


def identity(x: Any) -> Any:
    """The same elements."""
    return elementwise(x, lambda value: value)


def _by_axes(shape: Any, name: str, element: Callable[..., Any]) -> Any:
    return compute(shape, element, name, "elemwise", varargs_names=[f"ax{i}" for i in range(len(shape))])


def sign(x: Tensor) -> Any:
    """1, 0 or -1 for every element."""
    one, zero, less = [const(v, x.dtype) for v in (1, 0, -1)]

    def element(*indices: Any) -> Any:
        value = x(*indices)
        return op.select(op.less(zero, value), one, op.select(op.less(value, zero), less, zero))

    return _by_axes(x.shape, "T_sign", element)


def clip(x: Tensor, a_min: Any, a_max: Any) -> Any:
    """Every element brought between two values."""
    low, high = [value if isinstance(value, Expr) else const(value, x.dtype) for value in (a_min, a_max)]
    return elementwise(x, lambda value: op.max_(op.min_(value, high), low))


def full(shape: Any, dtype: Any, fill_value: Any) -> Any:
    """The same value everywhere."""
    value = fill_value if isinstance(fill_value, Expr) else const(fill_value, dtype)
    return _by_axes(tuple(shape), "T_full", lambda *indices: value)


def full_like(x: Tensor, fill_value: Any) -> Any:
    """The same value everywhere, in the shape and dtype of a tensor."""
    return _by_axes(x.shape, "T_full_like", lambda *indices: const(fill_value, x.dtype))


def logical_not(x: Tensor) -> Any:
    """Whether an element is false."""
    return _by_axes(x.shape, "T_logical_not", lambda *indices: op.logical_not(x(*indices)))

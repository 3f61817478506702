"""What operators on elements share: tensor expressions, numpy meanings, checks of dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from .. import te
from ..dtype import DType
from ..ir import Expr
from ..ir import const as scalar
from ..ir import operators as arith
from ..ir.relax import TensorType
from .faults import type_fault
from .infer import Sizes, broadcast, is_one


def shape_of(x: Any) -> Sizes:
    """The sizes of a te tensor; none for a scalar."""
    return x.shape if isinstance(x, te.Tensor) else ()


def element(x: Any, indices: Sequence[Expr], shape: Sizes) -> Expr:
    """The element of an operand that stands at these indices of the broadcast shape; a scalar itself."""
    if not isinstance(x, te.Tensor):
        found: Expr = x
        return found
    own = len(indices) - x.ndim
    places = [
        scalar(0, i.dtype) if is_one(size) and not is_one(whole) else i
        for i, size, whole in zip(indices[own:], x.shape, shape[own:])
    ]
    return x(*places)


def broadcasting(op: str, function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The tensor expression that applies the function to the elements of broadcast operands."""

    def compute(*operands: Any) -> Any:
        shape = reduce(lambda a, b: _common(op, a, b), map(shape_of, operands))
        names = [f"ax{i}" for i in range(len(shape))]
        return te.compute(
            shape,
            lambda *i: function(*[element(x, i, shape) for x in operands]),
            name=name,
            varargs_names=names,
        )

    return compute


def _common(op: str, a: Sizes, b: Sizes) -> Sizes:
    found = broadcast(op, a, b)
    if found is None:
        type_fault(
            op,
            "a kernel needs to know which of its operands' sizes are equal",
            "state the shapes before the call: `x = R.match_cast(x, R.Tensor((n, m), dtype))`",
        )
    return found


def each(function: Callable[..., Any], name: str = "compute") -> Callable[..., Any]:
    """The tensor expression that applies the function to each element; attributes are handed on."""

    def compute(x: Any, **attrs: Any) -> Any:
        shape = shape_of(x)
        return te.compute(shape, lambda *i: function(element(x, i, shape), **attrs), name=name)

    return compute


def log1p(x: Expr) -> Expr:
    """log(1 + x) with few errors for small x, from the logarithm, which has a vector form.

    What rounding 1 + x loses is the same in the logarithm and in the divisor.
    """
    one = scalar(1, x.dtype)
    near = arith.add(one, x)
    scaled = arith.div(arith.mul(te.log(near), x), arith.sub(near, one))
    return te.select(near.equal(one), x, scaled)


def as_function(name: str) -> Callable[..., Any]:
    """The numpy function of this name; numpy is loaded when it is first called."""

    def call(*operands: Any) -> Any:
        import numpy as np

        return getattr(np, name)(*operands)

    return call


def rounded(function: str | Callable[..., Any]) -> Callable[..., Any]:
    """A function of floats on numpy, computed in double precision and rounded once to the operands' dtype."""
    exact = as_function(function) if isinstance(function, str) else function

    def call(*operands: Any, **attrs: Any) -> Any:
        found = exact(*[x.astype("float64") for x in operands], **attrs)
        return found.astype(operands[0].dtype)

    return call


def no_bool(op: str, ty: TensorType, name: str = "x") -> TensorType:
    """The type itself. Raises DTypeError for bools, which have no arithmetic."""
    if ty.dtype is not None and ty.dtype.is_bool:
        type_fault(
            op, f"`{name}` is of bools, which have no arithmetic", 'convert it: `R.astype(x, "int32")`'
        )
    return ty


def integers_only(op: str, ty: TensorType, name: str = "x") -> TensorType:
    """The type itself. Raises DTypeError when its dtype is known and not of integers."""
    return _one_of(op, ty, name, "integers", lambda dtype: dtype.is_int or dtype.is_uint)


def bits_only(op: str, ty: TensorType, name: str = "x") -> TensorType:
    """The type itself. Raises DTypeError when its dtype is known and not of integers or bools."""
    return _one_of(op, ty, name, "integers or bools", lambda dtype: dtype.is_integral)


def bools_only(op: str, ty: TensorType, name: str = "x") -> TensorType:
    """The type itself. Raises DTypeError when its dtype is known and no bool."""
    return _one_of(op, ty, name, "bools", lambda dtype: dtype.is_bool)


def any_dtype(op: str, ty: TensorType, name: str = "x") -> TensorType:
    """The type itself."""
    return ty


def _one_of(op: str, ty: TensorType, name: str, what: str, fits: Callable[[DType], bool]) -> TensorType:
    if ty.dtype is not None and not fits(ty.dtype):
        type_fault(op, f"`{name}` must be of {what}, not of `{ty.dtype}`")
    return ty


__all__ = [
    "any_dtype",
    "as_function",
    "bits_only",
    "bools_only",
    "broadcasting",
    "each",
    "element",
    "integers_only",
    "log1p",
    "no_bool",
    "rounded",
    "shape_of",
]

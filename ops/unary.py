"""Operators that compute each element from one element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import te
from ..ir import Type
from ..ir import const as scalar
from ..ir import operators as arith
from ..ir.ops.math import isfinite as is_finite
from ..ir.ops.math import isinf as is_inf
from ..ir.ops.math import isnan as is_nan
from ..ir.relax import OpPattern, RelaxOp, TensorType, relax_op
from ..ir.relax.op import Scalar, Tensor
from . import derivatives as d
from .elementwise import (
    any_dtype,
    as_function,
    bits_only,
    bools_only,
    each,
    no_bool,
    rounded,
)
from .faults import type_fault
from .infer import describe, float_only, same_type, tensor_type
from .layout_rules import follow

Check = Callable[[str, TensorType], TensorType]


def _unary(
    name: str,
    doc: str,
    check: Check,
    function: Callable[[Any], Any],
    numpy: Callable[..., Any],
    *,
    dtype: str = "same",
    tensor: str = "compute",
    gradient: d.Gradient | None = None,
) -> RelaxOp:
    """The record of an operator of one tensor whose result has its shape."""

    def rule(x: Tensor) -> Type:
        return same_type(check(name, tensor_type(name, x)), dtype)

    rule.__doc__ = doc
    return relax_op(
        f"relax.{name}",
        pattern=OpPattern.ELEMWISE,
        te=each(function, tensor),
        numpy=numpy,
        gradient=gradient,
        layout=follow,
    )(rule)


def _float(name: str, doc: str, numpy: Any = None, **parts: Any) -> RelaxOp:
    """The record of a function of floats that the loop language has by the same name."""
    return _unary(
        name, doc, float_only, getattr(te, name), rounded(numpy or name.replace("a", "arc", 1)), **parts
    )


def erf_numpy(x: Any) -> Any:
    import math

    import numpy as np

    return np.vectorize(math.erf, otypes=["float64"])(x)


def sigmoid_numpy(x: Any) -> Any:
    import numpy as np

    return 1 / (1 + np.exp(-x))


acos = _float("acos", "The angle whose cosine is the element.")
acosh = _float("acosh", "The number whose hyperbolic cosine is the element.")
asin = _float("asin", "The angle whose sine is the element.")
asinh = _float("asinh", "The number whose hyperbolic sine is the element.")
atan = _float("atan", "The angle whose tangent is the element.")
atanh = _float("atanh", "The number whose hyperbolic tangent is the element.")
cos = _float("cos", "The cosine of each element.", "cos", gradient=d.cos)
cosh = _float("cosh", "The hyperbolic cosine of each element.", "cosh")
erf = _float("erf", "The error function of each element.", erf_numpy)
exp = _float("exp", "e to the power of each element.", "exp", gradient=d.exp)
log = _float("log", "The natural logarithm of each element.", "log", gradient=d.log)
rsqrt = _float("rsqrt", "1 over the square root of each element.", lambda x: 1 / x**0.5)
sigmoid = _float("sigmoid", "1 / (1 + exp(-x)) of each element.", sigmoid_numpy, gradient=d.sigmoid)
sin = _float("sin", "The sine of each element.", "sin", gradient=d.sin)
sinh = _float("sinh", "The hyperbolic sine of each element.", "sinh")
sqrt = _float("sqrt", "The square root of each element.", "sqrt", gradient=d.sqrt)
tan = _float("tan", "The tangent of each element.", "tan")
tanh = _float("tanh", "The hyperbolic tangent of each element.", "tanh", gradient=d.tanh)


def _whole(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function for floats; integers and bools are whole already."""
    return lambda x: function(x) if x.dtype.is_float else x


def _abs(x: Any) -> Any:
    return x if x.dtype.is_bool else te.abs(x)


def _negative(x: Any) -> Any:
    return arith.sub(scalar(0, x.dtype), x) if x.dtype.is_uint else arith.mul(x, scalar(-1, x.dtype))


def _sign(x: Any) -> Any:
    zero, one = scalar(0, x.dtype), scalar(1, x.dtype)
    if x.dtype.is_uint:
        return te.select(zero < x, one, zero)
    return te.select(zero < x, one, te.select(x < zero, scalar(-1, x.dtype), zero))


def _sign_numpy(x: Any) -> Any:
    import numpy as np

    zero = np.zeros((), x.dtype)
    return (x > zero).astype(x.dtype) - (x < zero).astype(x.dtype)


abs = _unary("abs", "The magnitude of each element.", any_dtype, _abs, as_function("abs"), gradient=d.abs)
ceil = _unary(
    "ceil", "The smallest whole number not below each element.", any_dtype, _whole(te.ceil), rounded("ceil")
)
floor = _unary(
    "floor", "The largest whole number not above each element.", any_dtype, _whole(te.floor), rounded("floor")
)
round = _unary(
    "round",
    "The whole number nearest to each element; halves go to the even one.",
    any_dtype,
    _whole(te.nearbyint),
    rounded("rint"),
)
trunc = _unary(
    "trunc", "Each element without its fraction, towards zero.", any_dtype, _whole(te.trunc), rounded("trunc")
)
negative = _unary(
    "negative",
    "Each element with its sign changed.",
    no_bool,
    _negative,
    as_function("negative"),
    gradient=d.negative,
)
sign = _unary(
    "sign", "1, 0 or -1: the sign of each element; of NaN 0.", no_bool, _sign, _sign_numpy, tensor="T_sign"
)
square = _unary(
    "square",
    "Each element times itself.",
    no_bool,
    lambda x: x * x,
    as_function("square"),
    tensor="T_multiply",
    gradient=d.square,
)


def _test(name: str, otherwise: bool) -> Callable[..., Any]:
    """A question about floats on numpy, which other numbers answer all alike."""

    def call(x: Any) -> Any:
        import numpy as np

        from ..dtype import DType

        if DType(x.dtype).is_float:
            return getattr(np, name)(x)
        return np.full(x.shape, otherwise)

    return call


bitwise_not = _unary(
    "bitwise_not",
    "Each bit of each element inverted.",
    bits_only,
    arith.bitwise_not,
    as_function("invert"),
    tensor="T_bitwise_not",
)
logical_not = _unary(
    "logical_not",
    "Whether each element is false.",
    bools_only,
    arith.logical_not,
    as_function("logical_not"),
    tensor="T_logical_not",
)
isfinite = _unary(
    "isfinite",
    "Whether each element is finite.",
    any_dtype,
    lambda x: is_finite(x) if x.dtype.is_float else scalar(True, "bool"),
    _test("isfinite", True),
    dtype="bool",
)
isinf = _unary(
    "isinf",
    "Whether each element is an infinity.",
    any_dtype,
    lambda x: is_inf(x) if x.dtype.is_float else scalar(False, "bool"),
    _test("isinf", False),
    dtype="bool",
)
isnan = _unary(
    "isnan",
    "Whether each element is not a number.",
    any_dtype,
    lambda x: is_nan(x) if x.dtype.is_float else scalar(False, "bool"),
    _test("isnan", False),
    dtype="bool",
)


def _clip(x: Any, low: Any, high: Any) -> Any:
    """The tensor expression of `clip`; the bounds are converted to the dtype of the elements."""
    return each(lambda e: te.max(te.min(e, high.astype(e.dtype)), low.astype(e.dtype)))(x)


def _clip_numpy(x: Any, low: Any, high: Any) -> Any:
    import numpy as np

    low, high = low.astype(x.dtype), high.astype(x.dtype)
    below = np.where(x < high, x, high)
    return np.where(below > low, below, low)


@relax_op("relax.clip", pattern=OpPattern.ELEMWISE, te=_clip, numpy=_clip_numpy, layout=follow)
def clip(x: Tensor, min: Scalar, max: Scalar) -> Type:
    """Each element, or the bound that it lies beyond; a NaN becomes `max`."""
    from ..ir import PrimType

    for name, bound in (("min", min), ("max", max)):
        if not isinstance(bound.ty, PrimType):
            type_fault("clip", f"`{name}` must be a scalar, not {describe(bound.ty)}")
    return no_bool("clip", tensor_type("clip", x))


__all__ = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_not",
    "ceil",
    "clip",
    "cos",
    "cosh",
    "erf",
    "exp",
    "floor",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "logical_not",
    "negative",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
]

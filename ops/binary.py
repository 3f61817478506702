"""Operators that compute each element from the elements of two broadcast operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .. import te
from ..dtype import DType
from ..ir import Expr, PrimType, Type, script_record
from ..ir import const as scalar
from ..ir import operators as arith
from ..ir.promote import result_dtype
from ..ir.relax import OpPattern, RelaxOp, TensorType, relax_op
from ..ir.relax.op import Tensor
from . import derivatives as d
from .elementwise import (
    any_dtype,
    as_function,
    bits_only,
    bools_only,
    broadcasting,
    integers_only,
    log1p,
    no_bool,
    rounded,
)
from .infer import Sizes, broadcast, common_dtype, common_vdevice, float_only, tensor_type
from .layout_rules import follow

Check = Callable[[str, TensorType, str], TensorType]


def broadcast_type(op: str, dtype: DType | str | None, **operands: Expr) -> Type:
    """The type of elementwise results of operands, given by name; scalars only give a scalar."""
    if dtype is not None and all(isinstance(x.ty, PrimType) for x in operands.values()):
        return PrimType(dtype)
    types = [tensor_type(op, x, name) for name, x in operands.items()]
    vdevice = common_vdevice(op, *types)
    shapes = [t.shape for t in types]
    if all(s is shapes[0] and s is not None for s in shapes):
        return TensorType(shapes[0], dtype, vdevice)
    sizes: Sizes | None = ()
    for ty in types:
        if sizes is not None:
            sizes = None if ty.sizes is None else broadcast(op, sizes, ty.sizes)
    if sizes is not None:
        return TensorType(sizes, dtype, vdevice)
    ranks = [t.ndim for t in types]
    return TensorType(None, dtype, vdevice, -1 if min(ranks) < 0 else max(ranks))


def _binary(
    name: str,
    doc: str,
    check: Check,
    function: Callable[[Any, Any], Any],
    numpy: Callable[..., Any],
    *,
    dtype: str = "same",
    gradient: d.Gradient | None = None,
) -> RelaxOp:
    """The record of an operator on two operands of one dtype."""

    def rule(x1: Tensor, x2: Tensor) -> Type:
        a, b = tensor_type(name, x1, "x1"), tensor_type(name, x2, "x2")
        check(name, a, "x1"), check(name, b, "x2")
        found: Any = common_dtype(name, a, b) if dtype == "same" else dtype
        return broadcast_type(name, found, x1=x1, x2=x2)

    rule.__doc__ = doc
    return relax_op(
        f"relax.{name}",
        pattern=OpPattern.BROADCAST,
        te=broadcasting(name, function, f"T_{name}"),
        numbers=True,
        numpy=numpy,
        gradient=gradient,
        layout=follow,
    )(rule)


def _quotient(a: Any, b: Any) -> Any:
    return arith.div(a, b) if a.dtype.is_float else arith.truncdiv(a, b)


def _quotient_numpy(a: Any, b: Any) -> Any:
    import numpy as np

    if a.dtype.kind not in "iu":
        return np.divide(a, b)
    down = np.floor_divide(a, b)
    return down + ((np.remainder(a, b) != 0) & ((a < 0) != (b < 0))).astype(a.dtype)


def _floor_quotient(a: Any, b: Any) -> Any:
    return te.floor(_quotient(a, b)) if a.dtype.is_float else arith.floordiv(a, b)


def _floor_quotient_numpy(a: Any, b: Any) -> Any:
    import numpy as np

    return np.floor_divide(a, b) if a.dtype.kind in "iu" else np.floor(np.divide(a, b))


def _floor_rest(a: Any, b: Any) -> Any:
    return arith.sub(a, arith.mul(_floor_quotient(a, b), b)) if a.dtype.is_float else arith.floormod(a, b)


def _floor_rest_numpy(a: Any, b: Any) -> Any:
    import numpy as np

    if a.dtype.kind in "iu":
        return np.remainder(a, b)
    return a - np.floor(np.divide(a, b)) * b


def _rest(a: Any, b: Any) -> Any:
    return te.fmod(a, b) if a.dtype.is_float else arith.truncmod(a, b)


def _power(a: Any, b: Any) -> Any:
    return arith.power(a, b) if a.dtype.is_float else whole_power(a, b)


def whole_power(base: Expr, exponent: Expr) -> Expr:
    """An integer to the power of another by repeated squaring; wraps around as products do.

    A negative exponent gives the whole part of the fraction: 0, unless the base is 1 or -1.
    """
    from ..ir import Let, Var

    ty, dtype = base.ty, base.dtype
    zero, one = scalar(0, dtype), scalar(1, dtype)
    bits = exponent.dtype.bits - (1 if exponent.dtype.is_int else 0)
    squares = [Var(f"s{k}", ty) for k in range(bits)]
    product: Expr = one
    for k, square in enumerate(squares):
        bit = arith.bitwise_and(arith.shift_right(exponent, scalar(k, dtype)), one)
        product = arith.mul(product, te.select(bit.equal(one), square, one))
    found = product
    for k in reversed(range(bits)):
        value = base if k == 0 else arith.mul(squares[k - 1], squares[k - 1])
        found = Let(squares[k], value, found)
    if exponent.dtype.is_uint:
        return found
    odd = arith.bitwise_and(exponent, one).equal(one)
    fraction = te.select(
        base.equal(one), one, te.select(base.equal(scalar(-1, dtype)), te.select(odd, base, one), zero)
    )
    return te.select(exponent < zero, fraction, found)


def _power_numpy(a: Any, b: Any) -> Any:
    import numpy as np

    if a.dtype.kind not in "iu":
        return rounded("power")(a, b)
    found = np.power(a, np.where(b < 0, b & 1, b))
    return np.where((b < 0) & (np.abs(a) != 1), np.zeros((), a.dtype), found)


def _angle(a: Any, b: Any) -> Any:
    record = script_record("atan2")
    assert record is not None
    return record.build(a, b)


def _log_add_exp(a: Any, b: Any) -> Any:
    high = te.select(a > b, a, b)
    low = te.select(a > b, b, a)
    less = te.select(high.equal(low), scalar(0.0, a.dtype), low - high)
    return high + log1p(te.exp(less))


def _maximum_numpy(a: Any, b: Any) -> Any:
    import numpy as np

    return np.where(a > b, a, b)


def _minimum_numpy(a: Any, b: Any) -> Any:
    import numpy as np

    return np.where(a < b, a, b)


add = _binary("add", "x1 + x2.", no_bool, arith.add, as_function("add"), gradient=d.add)
subtract = _binary("subtract", "x1 - x2.", no_bool, arith.sub, as_function("subtract"), gradient=d.subtract)
multiply = _binary("multiply", "x1 * x2.", no_bool, arith.mul, as_function("multiply"), gradient=d.multiply)
divide = _binary(
    "divide",
    "x1 / x2; of integers the whole part, towards zero.",
    no_bool,
    _quotient,
    _quotient_numpy,
    gradient=d.divide,
)
floor_divide = _binary(
    "floor_divide",
    "The largest whole number not above x1 / x2.",
    no_bool,
    _floor_quotient,
    _floor_quotient_numpy,
)
mod = _binary("mod", "The rest of x1 / x2, with the sign of x1.", no_bool, _rest, as_function("fmod"))
floor_mod = _binary(
    "floor_mod",
    "x1 - floor_divide(x1, x2) * x2, with the sign of x2.",
    no_bool,
    _floor_rest,
    _floor_rest_numpy,
)
power = _binary(
    "power",
    "x1 to the power x2; of integers with wrap-around, a fraction is cut to its whole part.",
    no_bool,
    _power,
    _power_numpy,
    gradient=d.power,
)
maximum = _binary(
    "maximum",
    "x1 where x1 > x2, else x2 (so also where either is NaN).",
    any_dtype,
    arith.max_,
    _maximum_numpy,
    gradient=d.maximum,
)
minimum = _binary(
    "minimum",
    "x1 where x1 < x2, else x2 (so also where either is NaN).",
    any_dtype,
    arith.min_,
    _minimum_numpy,
    gradient=d.minimum,
)
atan2 = _binary(
    "atan2",
    "The angle of the point (x2, x1).",
    float_only,
    _angle,
    rounded("arctan2"),
)
log_add_exp = _binary(
    "log_add_exp",
    "log(exp(x1) + exp(x2)), without overflow.",
    float_only,
    _log_add_exp,
    rounded("logaddexp"),
)


def _promoted(name: str) -> Callable[..., Any]:
    """A comparison on numpy, of different dtypes as the loop language converts them to one."""

    def call(a: Any, b: Any) -> Any:
        import numpy as np

        dtype = result_dtype(DType(a.dtype), DType(b.dtype)).numpy()
        return getattr(np, name)(a.astype(dtype), b.astype(dtype))

    return call


_COMPARISONS: Final = {
    "equal": ("x1 == x2.", arith.equal),
    "not_equal": ("x1 != x2.", arith.not_equal),
    "less": ("x1 < x2.", arith.less),
    "less_equal": ("x1 <= x2.", arith.less_equal),
    "greater": ("x1 > x2.", arith.greater),
    "greater_equal": ("x1 >= x2.", arith.greater_equal),
}
equal, not_equal, less, less_equal, greater, greater_equal = [
    _binary(name, doc, any_dtype, function, _promoted(name), dtype="bool", gradient=d.nothing)
    for name, (doc, function) in _COMPARISONS.items()
]


def _different(a: Any, b: Any) -> Any:
    return arith.not_equal(a, b)


logical_and = _binary(
    "logical_and",
    "Whether both are true.",
    bools_only,
    arith.logical_and,
    as_function("logical_and"),
)
logical_or = _binary(
    "logical_or", "Whether either is true.", bools_only, arith.logical_or, as_function("logical_or")
)
logical_xor = _binary(
    "logical_xor",
    "Whether one is true and the other is not.",
    bools_only,
    _different,
    as_function("logical_xor"),
)
bitwise_and = _binary(
    "bitwise_and",
    "The bits that both have.",
    bits_only,
    arith.bitwise_and,
    as_function("bitwise_and"),
)
bitwise_or = _binary(
    "bitwise_or",
    "The bits that either has.",
    bits_only,
    arith.bitwise_or,
    as_function("bitwise_or"),
)
bitwise_xor = _binary(
    "bitwise_xor",
    "The bits that one has and the other has not.",
    bits_only,
    arith.bitwise_xor,
    as_function("bitwise_xor"),
)
left_shift = _binary(
    "left_shift",
    "The bits of x1 moved up by x2 places.",
    integers_only,
    arith.shift_left,
    as_function("left_shift"),
)
right_shift = _binary(
    "right_shift",
    "The bits of x1 moved down by x2 places; negative numbers stay negative.",
    integers_only,
    arith.shift_right,
    as_function("right_shift"),
)

__all__ = [
    "add",
    "atan2",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_type",
    "divide",
    "equal",
    "floor_divide",
    "floor_mod",
    "greater",
    "greater_equal",
    "left_shift",
    "less",
    "less_equal",
    "log_add_exp",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "not_equal",
    "power",
    "right_shift",
    "subtract",
]

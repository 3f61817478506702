"""The meaning of every scalar operator on Python numbers, in one place.

Constant folding and the oracle use these functions, and every back end is compared with them.
Integers are Python ints in the range of their dtype (bools are 0 and 1), floats are Python floats.

- Integer results wrap to the width.  `FloorDiv`/`FloorMod` are Python's `//` and `%`, `Div`/`Mod`
  truncate as in C.  Division by zero, and of the smallest value by -1 (remainders too), raises.
- A shift by the width or more gives 0, or the sign for a signed right shift; a negative amount
  counts as the width.
- float32 and float64 results are rounded once to their type; smaller floats are computed in
  float32 and rounded once more.  `Div` is IEEE division, `Mod` is C's `fmod`; `FloorMod` is Python's
  `%` (`fmod`, plus the divisor when the signs differ) and `FloorDiv` Python's `//`; a zero divisor
  gives NaN for the remainders and the IEEE quotient for the divisions, an infinite dividend NaN
  for all but `Div`.
- `Min` is `a if a < b else b` and `Max` is `a if a > b else b`, which settles NaN and -0.0.
- Float to integer truncates and saturates, NaN gives 0; to bool, everything but zero is true.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from typing import Any, Final

from ..dtype import DType
from ..errors import Diagnostic, DivisionError, DTypeError

Number = int | float


def eval_binary(cls: type, dtype: DType | str, x: Number, y: Number) -> Number:
    """The value of `cls(x, y)` for operands of scalar type `dtype`.

    A comparison gives a bool. Raises DivisionError for an integer division by zero or of the
    smallest value by -1, and DTypeError where the operator has no meaning for the type.
    """
    dtype = dtype if type(dtype) is DType else DType(dtype)
    name = cls.__name__
    compare = _COMPARE.get(name)
    if dtype.is_float:
        x, y = round_to(dtype, float(x)), round_to(dtype, float(y))
        if compare is not None:
            return bool(compare(x, y))
        rule = _FLOAT.get(name)
        if rule is None:
            raise _no_meaning(name, dtype)
        return _round_result(dtype, rule(x, y))
    if compare is not None:
        return bool(compare(x, y))
    integer = _INTEGER.get(name)
    if integer is None or not dtype.is_integral:
        raise _no_meaning(name, dtype)
    return dtype.wrap(integer(dtype, x, y))


def eval_unary(cls: type, dtype: DType | str, x: Number) -> Number:
    """The value of `Not(x)` or `BitwiseNot(x)` for an operand of scalar type `dtype`."""
    dtype = DType(dtype)
    if cls.__name__ == "Not" or dtype.is_bool:
        return int(not x)
    if cls.__name__ != "BitwiseNot" or not dtype.is_integral:
        raise _no_meaning(cls.__name__, dtype)
    return dtype.wrap(~int(x))


def eval_cast(src: DType | str, dst: DType | str, value: Number) -> Number:
    """`value`, of scalar type `src`, converted to scalar type `dst`.

    Raises DTypeError when either is not a number type.
    """
    src, dst = DType(src), DType(dst)
    if src.is_float:
        value = round_to(src, float(value))
        if dst.is_float:
            return round_to(dst, value)
        if dst.is_bool:
            return int(value != 0)
        if dst.is_integral:
            return _saturate(dst, value)
    elif src.is_integral:
        if dst.is_float:
            return _int_to_float(dst, int(value))
        if dst.is_integral:
            return dst.wrap(int(value))
    raise DTypeError(Diagnostic("type-mismatch", f"there is no conversion from `{src}` to `{dst}`"))


def round_to(dtype: DType, value: float) -> float:
    """The value of this float type nearest to `value`, ties to even, infinity or NaN on overflow."""
    if dtype.code == 2:
        if dtype.bits == 64:
            return value
        form = "<f" if dtype.bits == 32 else "<e"
        try:
            return float(struct.unpack(form, struct.pack(form, value))[0])
        except OverflowError:
            return math.copysign(math.inf, value)
    return dtype.round(value)


_FLOAT32: Final = DType("float32")


def _round_result(dtype: DType, value: float) -> float:
    if dtype.bits < 32:
        value = round_to(_FLOAT32, value)
    return round_to(dtype, value)


def _no_meaning(name: str, dtype: DType) -> DTypeError:
    return DTypeError(Diagnostic("type-mismatch", f"{name} has no meaning for `{dtype}`"))


def _saturate(dst: DType, value: float) -> int:
    if math.isnan(value):
        return 0
    low, high = int(dst.min_value), int(dst.max_value)
    if math.isinf(value):
        return low if value < 0 else high
    return min(max(math.trunc(value), low), high)


def _int_to_float(dst: DType, value: int) -> float:
    """Rounded once to float64 or float32; to smaller types by way of float32, as numpy does."""
    if dst.code == 2 and dst.bits == 64:
        return float(value)
    n = abs(value)
    if n >> 53:  # keep enough bits for float32 and one sticky bit, so that the second rounding is exact
        shift = n.bit_length() - 50
        n = ((n >> shift) | bool(n & ((1 << shift) - 1))) << shift
    single = round_to(_FLOAT32, math.copysign(float(n), -1.0 if value < 0 else 1.0))
    return round_to(dst, single)


def _checked(divide: Callable[[int, int], int], what: str) -> Callable[[DType, int, int], int]:
    def rule(dtype: DType, x: int, y: int) -> int:
        if y == 0:
            raise DivisionError(Diagnostic("division", f"{what} of {x} by zero in `{dtype}`"))
        if y == -1 and x == dtype.min_value:
            raise DivisionError(Diagnostic("division", f"{what} of the smallest `{dtype}` by -1"))
        return divide(x, y)

    return rule


def _trunc_div(x: int, y: int) -> int:
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


def _trunc_mod(x: int, y: int) -> int:
    r = abs(x) % abs(y)
    return -r if x < 0 else r


def _shift_left(dtype: DType, x: int, y: int) -> int:
    return x << y if 0 <= y < dtype.bits else 0


def _shift_right(dtype: DType, x: int, y: int) -> int:
    return x >> (y if 0 <= y < dtype.bits else dtype.bits)


def _plain(rule: Callable[[int, int], int]) -> Callable[[DType, int, int], int]:
    def apply(dtype: DType, x: int, y: int) -> int:
        return rule(x, y)

    return apply


def _smaller(x: Any, y: Any) -> Any:
    return x if x < y else y


def _larger(x: Any, y: Any) -> Any:
    return x if x > y else y


_INTEGER: Final[dict[str, Callable[[DType, Any, Any], Any]]] = {
    "Add": _plain(operator.add),
    "Sub": _plain(operator.sub),
    "Mul": _plain(operator.mul),
    "Div": _checked(_trunc_div, "division"),
    "Mod": _checked(_trunc_mod, "remainder"),
    "FloorDiv": _checked(operator.floordiv, "division"),
    "FloorMod": _checked(operator.mod, "remainder"),
    "Min": _plain(_smaller),
    "Max": _plain(_larger),
    "LShift": _shift_left,
    "RShift": _shift_right,
    "BitwiseAnd": _plain(operator.and_),
    "BitwiseOr": _plain(operator.or_),
    "BitwiseXor": _plain(operator.xor),
    "And": _plain(lambda x, y: int(bool(x and y))),
    "Or": _plain(lambda x, y: int(bool(x or y))),
}


def _ieee_div(x: float, y: float) -> float:
    if y == 0:
        if x == 0 or math.isnan(x):
            return math.nan
        return math.copysign(math.inf, x) * math.copysign(1.0, y)
    return x / y


def _fmod(x: float, y: float) -> float:
    if y == 0 or math.isinf(x) or math.isnan(x) or math.isnan(y):
        return math.nan
    return math.fmod(x, y)


def _float_floormod(x: float, y: float) -> float:
    r = _fmod(x, y)
    if r == 0:
        return math.copysign(0.0, y)
    return r + y if (r < 0) != (y < 0) and not math.isnan(r) else r


def _float_floordiv(x: float, y: float) -> float:
    if y == 0:
        return _ieee_div(x, y)
    return math.nan if math.isinf(x) else x // y


_FLOAT: Final[dict[str, Callable[[float, float], float]]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": _ieee_div,
    "Mod": _fmod,
    "FloorDiv": _float_floordiv,
    "FloorMod": _float_floormod,
    "Min": _smaller,
    "Max": _larger,
}

_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}

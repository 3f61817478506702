"""Functions of numbers: transcendental functions, rounding, bits, fixed point."""

from __future__ import annotations

import math as _math
from typing import Any

from ..expr import EQ, And, Call, Cast, Expr, FloatImm, IntImm, Not
from ..op import Effect
from ..operators import absolute, again, logical_and, power
from ..promote import operand
from ..types import BOOL, FLOAT32, INT32, INT64, PrimType, Type
from . import numerics as num
from .define import define, make, number

_UNARY: dict[str, tuple[str, Any]] = {
    "exp": ("e to the power x.", "exp"),
    "exp2": ("2 to the power x.", "exp2"),
    "exp10": ("10 to the power x.", num.exp10),
    "log": ("The natural logarithm.", "log"),
    "log2": ("The logarithm to base 2.", "log2"),
    "log10": ("The logarithm to base 10.", "log10"),
    "log1p": ("The natural logarithm of 1 + x.", "log1p"),
    "sin": ("The sine.", "sin"),
    "cos": ("The cosine.", "cos"),
    "tan": ("The tangent.", "tan"),
    "sinh": ("The hyperbolic sine.", "sinh"),
    "cosh": ("The hyperbolic cosine.", "cosh"),
    "tanh": ("The hyperbolic tangent.", "tanh"),
    "asin": ("The inverse sine.", "arcsin"),
    "acos": ("The inverse cosine.", "arccos"),
    "atan": ("The inverse tangent.", "arctan"),
    "asinh": ("The inverse hyperbolic sine.", "arcsinh"),
    "acosh": ("The inverse hyperbolic cosine.", "arccosh"),
    "atanh": ("The inverse hyperbolic tangent.", "arctanh"),
    "sqrt": ("The square root.", "sqrt"),
    "rsqrt": ("One by the square root.", num.rsqrt),
    "sigmoid": ("1 / (1 + exp(-x)).", num.sigmoid),
    "erf": ("The error function.", num.elementwise(_math.erf)),
}
for _name, (_doc, _numpy) in _UNARY.items():
    _prefix = "prim." if _name == "log2" else "tirx."
    define(_prefix + _name, "x", "first", _doc, numpy=num.real(_numpy))


def _rounding(name: str, fold: Any) -> Any:
    def rule(x: Any) -> Expr:
        e = operand(x)
        if e.dtype.is_integral:
            return e
        if isinstance(e, FloatImm):
            return FloatImm(e.ty, fold(e.value) if _math.isfinite(e.value) else e.value)
        return make(name, (e,), e.ty)

    return rule


def _with_sign(function: Any) -> Any:
    return lambda v: _math.copysign(float(function(v)), v)


for _name, _doc, _function, _numpy in (
    ("prim.ceil", "x rounded up; an integer is itself.", _math.ceil, "ceil"),
    ("tirx.floor", "x rounded down; an integer is itself.", _math.floor, "floor"),
    ("tirx.trunc", "x rounded toward zero; an integer is itself.", _math.trunc, "trunc"),
    ("tirx.round", "x rounded to the nearest integer, half to even; an integer is itself.", round, "rint"),
    (
        "tirx.nearbyint",
        "x rounded to the nearest integer, half to even; an integer is itself.",
        round,
        "rint",
    ),
):
    define(_name, "x", "first", _doc, rule=_rounding(_name, _with_sign(_function)), numpy=num.real(_numpy))

define(
    "tirx.fabs",
    "x",
    "first",
    "The absolute value: of a float this call, of a signed integer a Select, of an unsigned one itself.",
    rule=lambda x: absolute(x, None, "constants"),
    numpy=num.real("abs"),
    aliases=("abs",),
)


def predicate_type(x: Any) -> Type:
    """The type of a comparison of values like x: bool, of as many lanes."""
    dtype = x.dtype
    return BOOL if dtype.is_scalar else PrimType(BOOL.dtype.with_lanes(dtype.lanes, dtype.scalable))


def isnan(x: Any) -> Expr:
    """Whether x is not a number; false for integers."""
    e = operand(x)
    if e.dtype.is_integral or isinstance(e, FloatImm):
        return IntImm(BOOL, int(isinstance(e, FloatImm) and _math.isnan(e.value)))
    if e.dtype.is_float and e.dtype.bits < 32:
        dtype = FLOAT32.dtype
        e = Cast(dtype if e.dtype.is_scalar else dtype.with_lanes(e.dtype.lanes, e.dtype.scalable), e)
    return make("tirx.isnan", (e,), predicate_type(e))


def isinf(x: Any) -> Expr:
    """Whether x is an infinity, as an expression of fabs and isnan; false for integers."""
    e = operand(x)
    if e.dtype.is_integral or isinstance(e, FloatImm):
        return IntImm(BOOL, int(isinstance(e, FloatImm) and _math.isinf(e.value)))
    infinity = operand(_math.inf, like=e)
    magnitude = make("tirx.fabs", (e,), e.ty)
    if e.dtype.is_scalar:
        return And(EQ(magnitude, infinity), Not(isnan(again(e))))
    return logical_and(magnitude.equal(infinity), Not(isnan(again(e))), fold="none")


def isfinite(x: Any) -> Expr:
    """Whether x is neither an infinity nor NaN, as an expression; true for integers."""
    e = operand(x)
    if e.dtype.is_integral or isinstance(e, FloatImm):
        return IntImm(BOOL, int(not isinstance(e, FloatImm) or _math.isfinite(e.value)))
    return logical_and(Not(isinf(e)), Not(isnan(again(e))), fold="none")


define("tirx.isnan", "x", "first", "Whether x is not a number.", rule=isnan, numpy=num.test("isnan"))
define("tirx.isinf", "x", BOOL, "Whether x is an infinity.", script=None, numpy=num.test("isinf"))
define("tirx.isfinite", "x", BOOL, "Whether x is finite.", script=None, numpy=num.test("isfinite"))

define("tirx.pow", "x, y", "same", "x to the power y, of floats.", rule=power, numpy=num.real(num.power))
define("tirx.atan2", "x1, x2", "same", "The angle of the point (x2, x1).", numpy=num.real("arctan2"))
define("tirx.fmod", "x, y", "same", "The remainder of x / y, with the sign of x.", numpy=num.real("fmod"))
define("tirx.hypot", "x1, x2", "same", "sqrt(x1 * x1 + x2 * x2).", numpy=num.real("hypot"))
define("tirx.copysign", "x1, x2", "same", "x1 with the sign of x2.", numpy=num.real("copysign"))
define("tirx.nextafter", "x1, x2", "same", "The neighbour of x1 toward x2.", numpy=num.real("nextafter"))
define("tirx.ldexp", "x1, x2", "first", "x1 * 2 ** x2, x2 an integer.", numpy=num.real(num.ldexp))
define("tirx.fma", "x, y, z", "same", "x * y + z, rounded once.", numpy=num.real(num.fma))

define("tirx.popcount", "x", "first", "The number of one bits.", numpy=num.popcount)


def _clz_type(x: Any) -> Type:
    dtype = operand(x).dtype
    result = INT64 if dtype.is_int and dtype.bits == 64 else INT32
    return result if dtype.is_scalar else PrimType(result.dtype.with_lanes(dtype.lanes, dtype.scalable))


define("prim.clz", "x", _clz_type, "The number of zero bits above the highest one.", numpy=num.clz)

define(
    "tirx.q_multiply_shift",
    "x, y, q, s",
    "first",
    "The product of fixed-point numbers of q fraction bits, times 2 ** -s, rounded half up.",
    numpy=num.q_multiply_shift,
)
define(
    "tirx.q_multiply_shift_per_axis",
    "x, y, ls, rs, q, is_lshift_required, is_rshift_required",
    "first",
    "The fixed-point product of x (shifted left by ls if required) and y, shifted right by rs if required.",
    numpy=num.q_multiply_shift_per_axis,
)


def _dp4a(vec1: Any, vec2: Any, acc: Any) -> Call:
    return make("tirx.dp4a", (number(vec1), number(vec2), acc), INT32)


define(
    "tirx.dp4a",
    "vec1, vec2, acc=0",
    INT32,
    "The sum of the products of four 8-bit lanes, plus acc.",
    rule=_dp4a,
    numpy=num.dp4a,
)
define("tirx.ctpop", "x", "first", "The number of one bits.", script=None, numpy=num.popcount)
define("te.tensor_load", "*args", "first", "An element of a tensor expression.", Effect.READ, script=None)

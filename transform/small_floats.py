"""Conversions between float32 and formats of 8 and 16 bits, as integer operations of a program.

They agree bit for bit with ml_dtypes (a NaN becomes *a* NaN).
"""

from __future__ import annotations

from ..dtype import DType
from ..ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BitwiseAnd,
    BitwiseOr,
    Call,
    Cast,
    Expr,
    Let,
    LShift,
    Mul,
    Or,
    PrimType,
    RShift,
    Select,
    Sub,
    Var,
    const,
)
from ..ir.float_formats import FORMATS, Format

_UINT32, _FLOAT32, _FLOAT64 = DType("uint32"), DType("float32"), DType("float64")


def storage_type(dtype: DType) -> DType:
    """The unsigned integer, or vector of them, that holds the bits of the type."""
    return DType(f"uint{dtype.bits}").with_lanes(dtype.lanes, dtype.scalable)


def decode(dtype: DType, code: Expr) -> Expr:
    """The float32 of the bits."""
    steps = _Steps(code.dtype)
    wide = steps.name("bits", steps.cast(code, _UINT32))
    text = str(dtype.element)
    if text == "bfloat16":
        return steps.done(steps.floats(LShift(wide, steps.i(16))))
    if text == "float8_e8m0fnu":
        power = Select(EQ(wide, steps.i(0)), steps.i(0x400000), LShift(wide, steps.i(23)))
        return steps.done(steps.floats(Select(EQ(wide, steps.i(255)), steps.i(0x7FC00000), power)))
    return steps.done(_decode(steps, FORMATS[text], wide))


def _decode(s: _Steps, fmt: Format, wide: Expr) -> Expr:
    sign = LShift(BitwiseAnd(wide, s.i(fmt.sign)), s.i(32 - fmt.bits))
    size = s.name("size", BitwiseAnd(wide, s.i(fmt.sign - 1)))
    fraction = s.floats(LShift(size, s.i(23 - fmt.fraction)))
    bits = s.name("scaled", s.bits(Mul(fraction, s.f(2.0 ** (127 - fmt.bias)))))
    if fmt.specials == "ieee":
        # Infinity and NaN scaled to finite numbers: the fraction survives, the exponent becomes all ones.
        special = BitwiseOr(bits, s.i(0x7F800000))
        bits = Select(GE(size, s.i(fmt.infinity)), special, bits)
    elif fmt.specials == "fn":
        bits = Select(EQ(size, s.i(fmt.nan)), s.i(0x7FC00000), bits)
    signed: Expr = BitwiseOr(bits, sign)
    if fmt.specials == "fnuz":
        signed = Select(EQ(wide, s.i(fmt.nan)), s.i(0xFFC00000), signed)
    return s.floats(signed)


def encode(dtype: DType, value: Expr) -> Expr:
    """The bits of the value nearest to a float32 or float64, ties to even."""
    steps = _Steps(value.dtype)
    if value.dtype.element is _FLOAT64:
        value = _narrow(steps, value)
    x = steps.name("value", value)
    text = str(dtype.element)
    if text == "bfloat16":
        code = _encode_bfloat(steps, x)
    elif text == "float8_e8m0fnu":
        code = _encode_e8m0(steps, x)
    else:
        code = _encode(steps, FORMATS[text], x)
    return steps.done(steps.cast(code, storage_type(dtype.element)))


def _encode_bfloat(s: _Steps, x: Expr) -> Expr:
    bits = s.name("bits", s.bits(x))
    high = s.name("high", RShift(bits, s.i(16)))
    rounded = Add(Add(bits, BitwiseAnd(high, s.i(1))), s.i(32767))
    return Select(NE(x, x), BitwiseOr(high, s.i(64)), RShift(rounded, s.i(16)))


def _encode(s: _Steps, fmt: Format, x: Expr) -> Expr:
    shift = 23 - fmt.fraction
    bits = s.name("bits", s.bits(x))
    sign = s.name("sign", BitwiseAnd(RShift(bits, s.i(32 - fmt.bits)), s.i(fmt.sign)))
    size = s.name("size", BitwiseAnd(bits, s.i(0x7FFFFFFF)))
    moved = s.name("moved", Sub(size, s.i((127 - fmt.bias) << 23)))
    lowest = BitwiseAnd(RShift(moved, s.i(shift)), s.i(1))
    normal = RShift(Add(Add(moved, lowest), s.i((1 << (shift - 1)) - 1)), s.i(shift))
    # Adding a number whose last place is the smallest subnormal lets the adder round.
    place = 24 - fmt.bias - fmt.fraction
    shifted = Add(s.floats(size), s.f(2.0**place))
    tiny = Sub(s.bits(shifted), s.i((127 + place) << 23))
    code = s.name("code", Select(LT(size, s.i((128 - fmt.bias) << 23)), tiny, normal))
    # The moved exponent of a huge value is still larger than every code, so one test does.
    code = s.name("clipped", Select(GT(code, s.i(fmt.largest)), s.i(fmt.overflow), code))
    nan = GT(size, s.i(0x7F800000))
    if fmt.specials == "fnuz":
        signed = Select(EQ(code, s.i(0)), s.i(0), BitwiseOr(code, sign))
        return Select(nan, s.i(fmt.nan), signed)
    return BitwiseOr(Select(nan, s.i(fmt.nan), code), sign)


def _encode_e8m0(s: _Steps, x: Expr) -> Expr:
    bits = s.name("bits", s.bits(x))
    up = RShift(Add(bits, s.i(0x400000)), s.i(23))
    code = s.name("code", Select(LE(bits, s.i(0x5FFFFF)), s.i(0), up))
    bad = Or(Or(LE(x, s.f(0.0)), GT(code, s.i(254))), GE(bits, s.i(0x7F800000)))
    return Select(bad, s.i(255), code)


def _narrow(s: _Steps, x: Expr) -> Expr:
    """The float64 as float32, rounded to odd, so that rounding again is exact."""
    x = s.name("wide", x)
    near = s.name("near", s.cast(x, _FLOAT32))
    back = s.name("back", s.cast(near, _FLOAT64))
    bits = s.name("near_bits", s.bits(near))
    zero = s.constant(0.0, _FLOAT64)
    size = Select(LT(x, zero), Sub(zero, x), x)
    reached = Select(LT(back, zero), Sub(zero, back), back)
    step = Select(LT(reached, size), Add(bits, s.i(1)), Sub(bits, s.i(1)))
    inexact = And(And(NE(back, x), EQ(x, x)), EQ(BitwiseAnd(bits, s.i(1)), s.i(0)))
    return s.floats(Select(inexact, step, bits))


class _Steps:
    """Builds an expression step by step; steps that are used several times get names."""

    def __init__(self, like: DType) -> None:
        self.lanes, self.scalable = like.lanes, like.scalable
        self.named: list[tuple[Var, Expr]] = []

    def type(self, element: DType) -> PrimType:
        """The vector type of this many lanes."""
        return PrimType(element.with_lanes(self.lanes, self.scalable))

    def constant(self, value: float, element: DType) -> Expr:
        """The number in every lane."""
        return const(value, self.type(element))

    def i(self, value: int) -> Expr:
        """A number for bits."""
        return self.constant(value, _UINT32)

    def f(self, value: float) -> Expr:
        """A float32."""
        return self.constant(value, _FLOAT32)

    def cast(self, e: Expr, element: DType) -> Expr:
        """The value converted."""
        return e if e.dtype.element is element else Cast(self.type(element), e)

    def bits(self, e: Expr) -> Expr:
        """The bits of a float32."""
        return Call("tirx.reinterpret", (e,), self.type(_UINT32))

    def floats(self, e: Expr) -> Expr:
        """The float32 of these bits."""
        return Call("tirx.reinterpret", (e,), self.type(_FLOAT32))

    def name(self, hint: str, e: Expr) -> Expr:
        """The value under a name, where it is not one already."""
        if isinstance(e, Var):
            return e
        var = Var(hint, e.ty)
        self.named.append((var, e))
        return var

    def done(self, e: Expr) -> Expr:
        """The whole expression."""
        for var, value in reversed(self.named):
            e = Let(var, value, e)
        return e

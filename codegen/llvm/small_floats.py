"""Formats below 32 bits: conversion from and to float32 by integer operations.

Each format is a row of numbers.  Conversions are small internal functions of the unit, one per
format and lane count; they agree bit for bit with ml_dtypes (a NaN becomes *a* NaN).
"""

from __future__ import annotations

from ...dtype import DType
from ...ir.float_formats import FORMATS, Format
from .text import Code, Unit
from .types import float32_text, splat, vector


class Straight(Code):
    """Straight-line code over vectors of one lane count."""

    __slots__ = ("B", "F", "I", "lanes")

    def __init__(self, lanes: int) -> None:
        super().__init__()
        self.lanes = lanes
        self.F, self.I, self.B = (vector(t, lanes) for t in ("float", "i32", "i1"))

    def i(self, value: int) -> str:
        """An integer constant in every lane."""
        return splat("i32", str(value), self.lanes)

    def f(self, value: float) -> str:
        """A float constant in every lane."""
        return splat("float", float32_text(value), self.lanes)

    def bits(self, value: str) -> str:
        """The bits of a float."""
        return self.op(f"bitcast {self.F} {value} to {self.I}")

    def floats(self, value: str) -> str:
        """The float of these bits."""
        return self.op(f"bitcast {self.I} {value} to {self.F}")

    def iop(self, what: str, a: str, b: str | int) -> str:
        """An integer operation."""
        return self.op(f"{what} {self.I} {a}, {self.i(b) if isinstance(b, int) else b}")

    def icmp(self, what: str, a: str, b: int) -> str:
        """An integer comparison with a constant."""
        return self.op(f"icmp {what} {self.I} {a}, {self.i(b)}")

    def choose(self, condition: str, a: str, b: str, kind: str | None = None) -> str:
        """a where the condition holds, else b; integers unless `kind` is another type."""
        t = kind or self.I
        return self.op(f"select {self.B} {condition}, {t} {a}, {t} {b}")

    def function(self, name: str, result: str, argument: str, value: str) -> str:
        """The text of an internal function of one argument `%x` that returns `value`."""
        body = "\n".join(self.lines)
        head = f"define internal {result} @{name}({argument} %x) alwaysinline nounwind"
        return f"{head} {{\n{body}\n  ret {result} {value}\n}}"


def _name(what: str, dtype: DType, lanes: int) -> str:
    return f"lw.{what}.{dtype.element}" + (f".x{lanes}" if lanes > 1 else "")


def cell(dtype: DType) -> str:
    """The integer that holds the bits of a value; LLVM is not at its best with integers of 4 and 6 bits."""
    return f"i{max(8, dtype.bits)}"


def encode(unit: Unit, dtype: DType, lanes: int, half: bool) -> str:
    """The function from float32 to the bits of the format. `half`: the target converts float16 itself."""
    name = _name("encode", dtype, lanes)
    if name in unit.helpers:
        return f"@{name}"
    s = Straight(lanes)
    store = vector(cell(dtype), lanes)
    if str(dtype.element) == "float16" and half:
        h = vector("half", lanes)
        out = s.op(f"bitcast {h} {s.op(f'fptrunc {s.F} %x to {h}')} to {store}")
    elif str(dtype.element) == "float8_e8m0fnu":
        out = s.op(f"trunc {s.I} {_encode_e8m0(s)} to {store}")
    else:
        fmt = FORMATS[str(dtype.element)]
        code = _encode_bfloat(s) if fmt.bias == 127 else _encode(s, fmt)
        out = s.op(f"trunc {s.I} {code} to {store}")
    return unit.helper(name, s.function(name, store, s.F, out))


def _encode_bfloat(s: Straight) -> str:
    bits = s.bits("%x")
    high = s.iop("lshr", bits, 16)
    rounded = s.iop("add", s.iop("add", bits, s.iop("and", high, 1)), 32767)
    nan = s.op(f"fcmp uno {s.F} %x, {s.f(0.0)}")
    return s.choose(nan, s.iop("or", high, 64), s.iop("lshr", rounded, 16))


def _encode(s: Straight, fmt: Format) -> str:
    shift = 23 - fmt.fraction
    bits = s.bits("%x")
    sign = s.iop("and", s.iop("lshr", bits, 32 - fmt.bits), fmt.sign)
    size = s.iop("and", bits, 0x7FFFFFFF)
    moved = s.iop("sub", size, (127 - fmt.bias) << 23)
    lowest = s.iop("and", s.iop("lshr", moved, shift), 1)
    normal = s.iop("lshr", s.iop("add", s.iop("add", moved, lowest), (1 << (shift - 1)) - 1), shift)
    # Adding a number whose last place is the smallest subnormal lets the adder round.
    magic = 2.0 ** (24 - fmt.bias - fmt.fraction)
    magic_bits = (127 + 24 - fmt.bias - fmt.fraction) << 23
    shifted = s.op(f"fadd {s.F} {s.floats(size)}, {s.f(magic)}")
    tiny = s.iop("sub", s.bits(shifted), magic_bits)
    code = s.choose(s.icmp("ult", size, (128 - fmt.bias) << 23), tiny, normal)
    large = s.op(f"icmp ugt {s.I} {code}, {s.i(fmt.largest)}")
    # The moved exponent of a huge value is still larger than every code, so one test does.
    code = s.choose(large, s.i(fmt.overflow), code)
    nan = s.icmp("ugt", size, 0x7F800000)
    if fmt.specials == "fnuz":
        none = s.icmp("eq", code, 0)
        signed = s.choose(none, s.i(0), s.iop("or", code, sign))
        return s.choose(nan, s.i(fmt.nan), signed)
    if fmt.specials == "none":
        return s.choose(nan, s.iop("xor", sign, fmt.nan), s.iop("or", code, sign))
    return s.iop("or", s.choose(nan, s.i(fmt.nan), code), sign)


def _encode_e8m0(s: Straight) -> str:
    bits = s.bits("%x")
    up = s.iop("lshr", s.iop("add", bits, 0x400000), 23)
    tiny = s.icmp("ule", bits, 0x5FFFFF)
    code = s.choose(tiny, s.i(0), up)
    odd = s.op(f"fcmp ole {s.F} %x, {s.f(0.0)}")
    bad = s.op(f"or {s.B} {odd}, {s.op(f'icmp ugt {s.I} {code}, {s.i(254)}')}")
    bad = s.op(f"or {s.B} {bad}, {s.icmp('uge', bits, 0x7F800000)}")
    return s.choose(bad, s.i(255), code)


def decode(unit: Unit, dtype: DType, lanes: int, half: bool) -> str:
    """The function from the bits of the format to float32."""
    name = _name("decode", dtype, lanes)
    if name in unit.helpers:
        return f"@{name}"
    s = Straight(lanes)
    store = vector(cell(dtype), lanes)
    text = str(dtype.element)
    if text == "float16" and half:
        h = vector("half", lanes)
        out = s.op(f"fpext {h} {s.op(f'bitcast {store} %x to {h}')} to {s.F}")
    else:
        wide = s.op(f"zext {store} %x to {s.I}")
        if dtype.bits < 8:
            wide = s.iop("and", wide, (1 << dtype.bits) - 1)
        if text == "bfloat16":
            out = s.floats(s.iop("shl", wide, 16))
        elif text == "float8_e8m0fnu":
            power = s.choose(s.icmp("eq", wide, 0), s.i(0x400000), s.iop("shl", wide, 23))
            out = s.floats(s.choose(s.icmp("eq", wide, 255), s.i(0x7FC00000), power))
        else:
            out = _decode(s, FORMATS[text], wide)
    return unit.helper(name, s.function(name, s.F, store, out))


def _decode(s: Straight, fmt: Format, wide: str) -> str:
    sign = s.iop("shl", s.iop("and", wide, fmt.sign), 32 - fmt.bits)
    size = s.iop("and", wide, fmt.sign - 1)
    scaled = s.op(
        f"fmul {s.F} {s.floats(s.iop('shl', size, 23 - fmt.fraction))}, {s.f(2.0 ** (127 - fmt.bias))}"
    )
    bits = s.bits(scaled)
    if fmt.specials == "ieee":
        special = s.iop("or", bits, 0x7F800000)
        # Infinity and NaN scaled to finite numbers: the fraction survives, the exponent becomes all ones.
        clean = s.iop("and", special, 0x7F800000 | ((1 << 23) - 1))
        bits = s.choose(s.icmp("uge", size, fmt.infinity), clean, bits)
    elif fmt.specials == "fn":
        bits = s.choose(s.icmp("eq", size, fmt.nan), s.i(0x7FC00000), bits)
    signed = s.iop("or", bits, sign)
    if fmt.specials == "fnuz":
        signed = s.choose(s.icmp("eq", wide, fmt.nan), s.i(-0x400000), signed)
    return s.floats(signed)


def rounding(unit: Unit, dtype: DType, lanes: int, half: bool) -> str:
    """The function that rounds a float32 to the nearest value of the format."""
    name = _name("round", dtype, lanes)
    if name in unit.helpers:
        return f"@{name}"
    s = Straight(lanes)
    if str(dtype.element) == "bfloat16":
        bits = s.bits("%x")
        odd = s.iop("and", s.iop("lshr", bits, 16), 1)
        up = s.iop("and", s.iop("add", s.iop("add", bits, odd), 32767), -65536)
        nan = s.op(f"fcmp uno {s.F} %x, {s.f(0.0)}")
        out = s.floats(s.choose(nan, s.i(0x7FC00000), up))
    else:
        store = vector(cell(dtype), lanes)
        code = s.op(f"call {store} {encode(unit, dtype, lanes, half)}({s.F} %x)")
        out = s.op(f"call {s.F} {decode(unit, dtype, lanes, half)}({store} {code})")
    return unit.helper(name, s.function(name, s.F, s.F, out))


def narrow(unit: Unit, lanes: int) -> str:
    """The function from float64 to float32 that rounds to odd, so that rounding again is exact."""
    name = "lw.narrow" + (f".x{lanes}" if lanes > 1 else "")
    if name in unit.helpers:
        return f"@{name}"
    s = Straight(lanes)
    d = vector("double", lanes)
    near = s.op(f"fptrunc {d} %x to {s.F}")
    back = s.op(f"fpext {s.F} {near} to {d}")
    bits = s.bits(near)
    inexact = s.op(f"fcmp one {d} {back}, %x")
    even = s.icmp("eq", s.iop("and", bits, 1), 0)
    # Bits order by magnitude: one step up where the rounded value is too small, else one step down.
    i64 = vector("i64", lanes)
    mask = splat("i64", str((1 << 63) - 1), lanes)
    sizes = [s.op(f"and {i64} {s.op(f'bitcast {d} {v} to {i64}')}, {mask}") for v in (back, "%x")]
    small = s.op(f"icmp ult {i64} {sizes[0]}, {sizes[1]}")
    step = s.choose(small, s.iop("add", bits, 1), s.iop("sub", bits, 1))
    fix = s.op(f"and {s.B} {inexact}, {even}")
    out = s.floats(s.choose(fix, step, bits))
    return unit.helper(name, s.function(name, s.F, d, out))

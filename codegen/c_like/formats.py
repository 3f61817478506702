"""Float formats below 32 bits: those of the language are native, the others are carried in `float`.

A carried format converts by integer operations that agree bit for bit with ml_dtypes (a NaN becomes *a* NaN).
"""

from __future__ import annotations

from ...dtype import DType
from ...ir.float_formats import FORMATS, Format
from .text import ATOM, BITS, COMMA, EQUAL, UNARY, Term, Unit, call, convert, infix
from .types import FLOAT32, FLOAT64, INT32, real, short

UINT32 = DType("uint32")


def rounded(unit: Unit, dtype: DType, value: Term) -> Term:
    """A result computed in `float` as a value of the dtype; others as they are."""
    return call(_rounding(unit, dtype.element), value) if unit.dialect.carried(dtype) else value


def wrapped(unit: Unit, dtype: DType, value: Term) -> Term:
    """An integer modulo 2 ** bits, for a dtype of less than a byte."""
    if dtype.is_uint:
        return Term(f"({value.at(UNARY)} & {(1 << dtype.bits) - 1}u)")
    word, whole = unit.type(UINT32), unit.type(INT32)
    shift = 32 - dtype.bits
    return Term(f"(({whole})(({word}){value.at(UNARY)} << {shift}) >> {shift})")


def is_narrow(dtype: DType) -> bool:
    """Whether this is an integer of less than a byte; memory holds its bits, the others are zero."""
    return dtype.is_integral and not dtype.is_bool and dtype.bits < 8


def from_cell(unit: Unit, dtype: DType, cell: Term) -> Term:
    """The value in a cell of memory."""
    if dtype.is_bool:
        unsure = unit.dialect.bool_cell != unit.dialect.types["bool"]
        return infix(cell, "!=", Term("0"), EQUAL) if unsure else cell
    if is_narrow(dtype):
        return wrapped(unit, dtype, cell)
    return call(_decoding(unit, dtype), cell) if unit.dialect.carried(dtype) else cell


def to_cell(unit: Unit, dtype: DType, value: Term) -> Term:
    """What a cell of memory holds for a value."""
    if dtype.is_bool:
        unsure = unit.dialect.bool_cell != unit.dialect.types["bool"]
        return convert(unit.dialect.bool_cell, value) if unsure else value
    if is_narrow(dtype):
        return infix(value, "&", Term(f"{(1 << dtype.bits) - 1}u"), BITS)
    if not unit.dialect.carried(dtype):
        return value
    rounding = f"lw_round_{short(dtype)}("
    if value.level == ATOM and value.text.startswith(rounding):
        value = Term(value.text[len(rounding) : -1], COMMA)  # encoding rounds
    return call(_encoding(unit, dtype), value.text)


def cast(unit: Unit, source: DType, target: DType, value: Term) -> Term:
    """A float of one format as one of another, rounded once."""
    if source is target:
        return value
    carried = unit.dialect.carried
    source_type, target_type = unit.type(source), unit.type(target)
    if target.bits >= 32:
        return value if source_type == target_type else convert(target_type, value)
    if source.bits == 64:
        direct = None if carried(target) else unit.dialect.narrow(unit, target, source)
        if direct is not None:
            return call(direct, value)
        value = call(_narrowing(unit), value)
    elif source.bits < 32 and not carried(source):
        value = convert(unit.type(FLOAT32), value)
    if carried(target):
        return rounded(unit, target, value)
    direct = unit.dialect.narrow(unit, target, FLOAT32)
    return call(direct, value) if direct is not None else convert(target_type, value)


def _functions(unit: Unit) -> tuple[str, str, str, str]:
    """The types float and uint32, and the functions from bits to float and back."""
    to_float, to_bits = unit.dialect.bits_to_float(unit, FLOAT32)
    return unit.type(FLOAT32), unit.type(UINT32), to_float, to_bits


def _rounding(unit: Unit, dtype: DType) -> str:
    f = unit.type(FLOAT32)
    name = f"lw_round_{short(dtype)}"
    return unit.helper(name, f, f"{f} x", f"return {_decoding(unit, dtype)}({_encoding(unit, dtype)}(x));")


def _decoding(unit: Unit, dtype: DType) -> str:
    """The helper from the bits of the format to float."""
    f, u, to_float, _ = _functions(unit)
    name, cell = f"lw_decode_{short(dtype)}", unit.cell(dtype)
    if name in unit.parts:
        return name
    text = str(dtype)
    own = unit.dialect.half_conversions() if text == "float16" else None
    if own is not None:
        return unit.helper(name, f, f"{cell} x", *own[0])
    if text == "bfloat16":
        return unit.helper(name, f, f"{cell} x", f"return {to_float}(({u})x << 16);")
    if text == "float8_e8m0fnu":
        body = f"return {to_float}(x == 0 ? 0x400000u : x == 255 ? 0x7fc00000u : ({u})x << 23);"
        return unit.helper(name, f, f"{cell} x", body)
    fmt = FORMATS[text]
    scale = real(unit, FLOAT32, 2.0 ** (127 - fmt.bias)).text
    steps = [
        f"const {u} size = x & {fmt.sign - 1}u;",
        f"const {u} sign = ({u})(x & {fmt.sign}u) << {32 - fmt.bits};",
        f"const {u} bits = {_to_bits(unit)}({to_float}(size << {23 - fmt.fraction}) * {scale});",
    ]
    if fmt.specials == "ieee":
        special = f"size > {fmt.infinity}u ? 0x7fc00000u : 0x7f800000u"
        steps.append(f"if (size >= {fmt.infinity}u) return {to_float}(({special}) | sign);")
    elif fmt.specials == "fn":
        steps.append(f"if (size == {fmt.nan}u) return {to_float}(0x7fc00000u | sign);")
    elif fmt.specials == "fnuz":
        steps.append(f"if ((x & {2 * fmt.sign - 1}u) == {fmt.nan}u) return {to_float}(0xffc00000u);")
    return unit.helper(name, f, f"{cell} x", *steps, f"return {to_float}(bits | sign);")


def _to_bits(unit: Unit) -> str:
    return unit.dialect.bits_to_float(unit, FLOAT32)[1]


def _encoding(unit: Unit, dtype: DType) -> str:
    """The helper from float to the bits of the format."""
    f, u, to_float, to_bits = _functions(unit)
    name, cell = f"lw_encode_{short(dtype)}", unit.cell(dtype)
    if name in unit.parts:
        return name
    text = str(dtype)
    own = unit.dialect.half_conversions() if text == "float16" else None
    if own is not None:
        return unit.helper(name, cell, f"{f} x", *own[1])
    body = [f"const {u} bits = {to_bits}(x);"]
    if text == "bfloat16":
        body.append("if (x != x) return bits >> 16 | 64;")
        body.append("return (bits + (bits >> 16 & 1) + 32767) >> 16;")
    elif text == "float8_e8m0fnu":
        body.append("if (!(x > 0.0f) || bits >= 0x7f800000u) return 255;")
        body.append("return bits < 0x600000u ? 0 : (bits + 0x400000u) >> 23;")
    else:
        body += _encode(unit, FORMATS[text], u, to_float, to_bits)
    return unit.helper(name, cell, f"{f} x", *body)


def _encode(unit: Unit, fmt: Format, u: str, to_float: str, to_bits: str) -> list[str]:
    shift = 23 - fmt.fraction
    place = 24 - fmt.bias - fmt.fraction
    magic = real(unit, FLOAT32, 2.0**place).text
    body = [
        f"const {u} size = bits & 0x7fffffffu;",
        f"const {u} sign = bits >> {32 - fmt.bits} & {fmt.sign}u;",
    ]
    if fmt.specials == "none":
        body.append(f"if (x != x) return sign ^ {fmt.nan}u;")
    elif fmt.specials == "fnuz":
        body.append(f"if (x != x) return {fmt.nan}u;")
    else:
        body.append(f"if (x != x) return {fmt.nan}u | sign;")
    # Adding a number whose last place is the smallest subnormal lets the adder round.
    tiny = f"{to_bits}({to_float}(size) + {magic}) - {(127 + place) << 23}u"
    moved = f"size - {(127 - fmt.bias) << 23}u"
    body += [
        f"const {u} moved = {moved};",
        f"{u} code = size < {(128 - fmt.bias) << 23}u ? {tiny} : (moved + (moved >> {shift} & 1) + "
        f"{(1 << (shift - 1)) - 1}u) >> {shift};",
        f"if (code > {fmt.largest}u) code = {fmt.overflow}u;",
    ]
    if fmt.specials == "fnuz":
        body.append("if (code == 0) return 0;")
    return [*body, "return code | sign;"]


def _narrowing(unit: Unit) -> str:
    """The helper from float64 to float32 that rounds to odd, so that rounding again is exact."""
    f, u, to_float, to_bits = _functions(unit)
    d = unit.type(FLOAT64)
    fabs = unit.dialect.math(unit, "fabs", 64)
    return unit.helper(
        "lw_odd_f32_f64",
        f,
        f"{d} x",
        f"const {f} near = ({f})x;",
        f"const {u} bits = {to_bits}(near);",
        f"if (({d})near == x || x != x || (bits & 1)) return near;",
        f"return {to_float}({fabs}(({d})near) < {fabs}(x) ? bits + 1 : bits - 1);",
    )

"""Integer and float operations with the language's meaning (DESIGN, section 4), as C terms.

What C leaves undefined, or answers otherwise, is in helper functions named after operation and dtype.
"""

from __future__ import annotations

from typing import Literal

from ...dtype import DType
from ...ir import BinaryOp, Broadcast, Expr, IntImm
from . import formats
from .core import Emitter
from .text import BITS, EQUAL, PRODUCT, SHIFT, Lanes, Term, call, choose, convert, infix
from .types import FLOAT32, FLOAT64, compute_type, integer, real, short

Division = Literal["div", "mod", "floordiv", "floormod"]
UINT32 = DType("uint32")


def constant(e: Expr) -> int | None:
    """The value of an integer constant (in every lane), or None."""
    while isinstance(e, Broadcast):
        e = e.value
    return e.value if isinstance(e, IntImm) else None


def unsigned(dtype: DType) -> DType:
    """The unsigned type of at least 32 bits in which integers of a dtype wrap."""
    return DType.of(1, 64 if dtype.bits == 64 else 32)


def division(m: Emitter, e: BinaryOp, kind: Division) -> Lanes:
    """Quotient or remainder."""
    dtype = e.dtype
    pairs = zip(m.lanes(e.a), m.lanes(e.b))
    if dtype.is_float:
        return [float_divide(m, kind, dtype.element, a, b) for a, b in pairs]
    if dtype.is_bool or not dtype.is_integral:
        raise m.refuse(f"`{type(e).__name__}` of `{dtype}`", e)
    divisor = constant(e.b)
    with m.analyzer.mode(data=not m.indexing):
        positive = dtype.is_uint or (dtype.is_scalar and m.analyzer.bound(e.a).min >= 0)
    return [divide(m, kind, dtype.element, a, b, divisor, positive) for a, b in pairs]


def divide(
    m: Emitter, kind: Division, dtype: DType, a: Term, b: Term, divisor: int | None, positive: bool
) -> Term:
    """Quotient or remainder of integers; `positive`: the dividend is not negative."""
    quotient = kind.endswith("div")
    if divisor is not None and divisor > 0:
        if kind.startswith("floor") and divisor & (divisor - 1) == 0:
            if quotient:
                return infix(a, ">>", Term(str(divisor.bit_length() - 1)), SHIFT) if divisor > 1 else a
            return infix(a, "&", integer(m.unit, dtype, divisor - 1), BITS)
        if positive or not kind.startswith("floor"):
            return infix(a, "/" if quotient else "%", b, PRODUCT)
    return call(divider(m, kind, dtype), a, b)


def divider(m: Emitter, kind: Division, dtype: DType) -> str:
    """The helper function for a division."""
    t = m.type(dtype)
    name = f"lw_{kind}_{short(dtype)}"
    if name in m.unit.parts:
        return name
    body = m.dialect.check_division(m.unit, dtype)
    quotient = kind.endswith("div")
    if dtype.is_uint or not kind.startswith("floor"):
        return m.unit.helper(name, t, f"{t} a, {t} b", *body, f"return a {'/' if quotient else '%'} b;")
    body += [f"const {t} rest = a % b;", "const bool wrong = rest != 0 && (rest < 0) != (b < 0);"]
    return m.unit.helper(
        name,
        t,
        f"{t} a, {t} b",
        *body,
        "return a / b - wrong;" if quotient else "return wrong ? rest + b : rest;",
    )


def float_divide(m: Emitter, kind: Division, dtype: DType, a: Term, b: Term) -> Term:
    """The same four operations of floats: the quotient, fmod, Python's // and %."""
    if kind == "div":
        return formats.rounded(m.unit, dtype, infix(a, "/", b, PRODUCT))
    real_type = compute_type(dtype)
    a, b = cast(m, dtype, real_type, a), cast(m, dtype, real_type, b)
    if kind == "mod":
        found = call(m.dialect.math(m.unit, "fmod", real_type.bits), a, b)
    else:
        found = call(float_divider(m, kind, real_type), a, b)
    return cast(m, real_type, dtype, found)


def float_divider(m: Emitter, kind: Division, dtype: DType) -> str:
    """The helper function for Python's // or % of floats (see `ir/fold.py`)."""
    t = m.type(dtype)
    name = f"lw_{kind}_{short(dtype)}"
    fmod, sign = (m.dialect.math(m.unit, f, dtype.bits) for f in ("fmod", "copysign"))
    body = [f"const {t} rest = {fmod}(a, b);", "const bool wrong = rest != 0 && (rest < 0) != (b < 0);"]
    zero = real(m.unit, dtype, 0.0).text
    if kind == "floormod":
        last = f"return rest != 0 ? (wrong ? rest + b : rest) : {sign}({zero}, b);"
        # A NaN is not equal to zero: it comes through as it is.
        return m.unit.helper(name, t, f"{t} a, {t} b", *body, last)
    d = m.type(FLOAT64)
    floor, sign = (m.dialect.math(m.unit, f, 64) for f in ("floor", "copysign"))
    return m.unit.helper(
        name,
        t,
        f"{t} a, {t} b",
        *body,
        "if (b == 0) return a / b;",
        f"const {d} whole = (({d})a - ({d})rest) / ({d})b - (wrong ? 1.0 : 0.0);",
        f"const {d} down = {floor}(whole);",
        "const " + d + " near = whole - down > 0.5 ? down + 1.0 : down;",
        f"return ({t})(near == 0.0 ? {sign}(0.0, ({d})a / ({d})b) : near);",
    )


def extreme(m: Emitter, dtype: DType, which: str, a: Term, b: Term) -> Term:
    """The smaller or larger one: of floats `a < b ? a : b`, so that NaN counts as the language says."""
    element = dtype.element
    if element.is_integral and element.bits >= 32:
        return call(which, a, b)
    if a.simple and b.simple:
        return choose(infix(a, "<" if which == "min" else ">", b, EQUAL), a, b)
    t = m.type(element)
    sign = "<" if which == "min" else ">"
    kind = "float32" if m.dialect.carried(element) else str(element)
    name = f"lw_{which}_{short(DType(kind))}"
    return call(m.unit.helper(name, t, f"{t} a, {t} b", f"return a {sign} b ? a : b;"), a, b)


def shift(m: Emitter, left: Expr, right: Expr, sign: str) -> Lanes:
    """A shift; an amount outside 0 .. bits-1 counts as the width."""
    dtype, amount = left.dtype.element, constant(right)
    if amount is not None and 0 <= amount < dtype.bits:
        if sign == ">>":
            return [infix(a, ">>", Term(str(amount)), SHIFT) for a in m.lanes(left)]
        word = m.type(unsigned(dtype))
        whole = dtype.is_uint and dtype.bits >= 32
        out = []
        for a in m.visit(left):
            first = a if a.modular or whole else convert(word, a)
            out.append(infix(first, "<<", Term(str(amount)), SHIFT, modular=not whole))
        return out
    name = shifter(m, dtype, sign)
    return [call(name, a, b) for a, b in zip(m.lanes(left), m.lanes(right))]


def shifter(m: Emitter, dtype: DType, sign: str) -> str:
    """The helper function for a shift by a number that is not known."""
    t, word = m.type(dtype), m.type(unsigned(dtype))
    count = m.type(unsigned(DType("int64")) if dtype.bits == 64 else UINT32)
    inside = f"({count})n < {dtype.bits}"
    if sign == "<<":
        value = m.exact(Term(f"({word})a << n", SHIFT, True), dtype).text
        return m.unit.helper(f"lw_shl_{short(dtype)}", t, f"{t} a, {t} n", f"return {inside} ? {value} : 0;")
    if dtype.is_uint:
        return m.unit.helper(f"lw_shr_{short(dtype)}", t, f"{t} a, {t} n", f"return {inside} ? a >> n : 0;")
    body = f"return a >> ({inside} ? n : {dtype.bits - 1});"
    return m.unit.helper(f"lw_shr_{short(dtype)}", t, f"{t} a, {t} n", body)


# Casts


def cast(m: Emitter, source: DType, target: DType, value: Term) -> Term:
    """A lane converted: integers wrap, floats round to nearest, float to integer saturates, NaN gives 0."""
    if source is target:
        return value
    t = m.type(target)
    if target.is_bool:
        zero = "0" if source.is_integral else real(m.unit, source, 0.0).text
        return infix(value, "!=", Term(zero), EQUAL)
    if source.is_integral:
        return _cast_integer(m, source, target, value, t)
    if target.is_integral:
        return _cast_to_integer(m, source, target, value)
    return formats.cast(m.unit, source, target, value)


def _cast_integer(m: Emitter, source: DType, target: DType, value: Term, t: str) -> Term:
    if not target.is_float:
        if target.bits < 8:
            word = m.type(UINT32)
            return m.exact(convert(word, value)._replace(modular=True), target)
        return convert(t, value)
    if target.bits >= 32:
        return convert(t, value)
    if source.bits >= 32 and str(target) in ("bfloat16", "float8_e8m0fnu"):
        middle = call(_odd(m, source), value)
    else:
        # Integers that float32 does not hold are beyond the range of the other small formats.
        middle = convert(m.type(FLOAT32), value)
    return formats.cast(m.unit, FLOAT32, target, middle)


def _odd(m: Emitter, source: DType) -> str:
    """The helper from 64 bits to float32 that rounds to odd, so that rounding again is exact."""
    t, f = m.type(source), m.type(FLOAT32)
    word = m.type(unsigned(source))
    name = f"lw_odd_f32_{short(source)}"
    size = f"a < 0 ? 0 - ({word})a : ({word})a" if source.is_int else "a"
    lines = [
        f"{word} size = {size};",
        "int shift = 0;",
        "while (size >> shift > 0xffffff) ++shift;",
        f"const {word} rest = size & ((({word})1 << shift) - 1);",
        "size = (size >> shift | (rest != 0)) << shift;",
    ]
    back = f"return a < 0 ? -({f})size : ({f})size;" if source.is_int else f"return ({f})size;"
    return m.unit.helper(name, f, f"{t} a", *lines, back)


def _cast_to_integer(m: Emitter, source: DType, target: DType, value: Term) -> Term:
    middle = compute_type(source)
    value = formats.cast(m.unit, source, middle, value)
    t, s = m.type(target), m.type(middle)
    name = f"lw_{short(target)}_from_{short(middle)}"
    low, high = int(target.min_value), int(target.max_value)
    least = real(m.unit, middle, float(low)).text
    above = real(m.unit, middle, float(high + 1)).text
    largest, smallest = integer(m.unit, target, high).text, integer(m.unit, target, low).text
    if target.is_uint:
        body = f"return x >= {above} ? {largest} : x > {least} ? ({t})x : 0;"
    else:
        body = f"return x >= {above} ? {largest} : x >= {least} ? ({t})x : x < {least} ? {smallest} : 0;"
    return call(m.unit.helper(name, t, f"{s} x", body), value)

"""Trigonometric functions and their inverses in float64 (see `math.py`)."""
# ruff: noqa: D103  the functions are what their names say

from __future__ import annotations

import math

from . import math_tables as tables
from .real import Pair, Real
from .text import Unit

LIMIT, LIMIT_SHORT = 2.0**20, 2.0**26
"""Up to here the multiples of pi / 2 are exact products; arguments beyond are rare, and take longer."""


def _reduced(s: Real, x: str) -> tuple[str, Pair]:
    """n and r with x = n * pi / 2 + r, |r| up to pi / 4 (n modulo 4), for |x| below the limit."""
    n, whole = s.nearest(s.mul_exact(x, 2 / math.pi))
    if s.short:
        first, second, third = tables.PI_HALF_SHORT
        r = s.sub(s.sub(x, s.mul_exact(whole, first)), s.mul_exact(whole, second))
        return n, (s.sub(r, s.mul_exact(whole, third)), s.f(0.0))
    p = tables.PI_HALF_PARTS
    high, low = s.sub(x, s.mul_exact(whole, p[0])), s.mul_exact(whole, -p[3])
    lost = []
    for part in p[1:3]:
        high, rest = s.two_sum(high, s.mul_exact(whole, -part))
        lost.append(rest)
    low = s.add_exact(s.add_exact(lost[0], lost[1]), low)
    return n, s.quick_two_sum(high, low)


def _any_size(s: Real, unit: Unit, x: str) -> tuple[str, Pair]:
    """The same for every x: where a lane is beyond the limit, lane by lane."""
    near = _reduced(s, x)
    far = s.fcmp("ogt", s.fabs(x), LIMIT_SHORT if s.short else LIMIT)
    some = far
    if s.lanes > 1:
        kind = f"<{s.lanes} x i1>"
        some = s.op(f"call i1 @llvm.vector.reduce.or.v{s.lanes}i1({kind} {far})")
        s.called.add((f"llvm.vector.reduce.or.v{s.lanes}i1", f"i1 ({kind})"))
    slow, done = s.name("far"), s.name("done")
    before = s.block
    s.branch(some, slow, done)
    s.label(slow)
    result = "{ double, double, i64 }"
    name = unit.helper("lw.far", far_text(s.fma, unit))
    found: list[str] = ["poison"] * 3
    kinds = (s.F, s.F, s.I)
    for lane in range(s.lanes):
        one = x if s.lanes == 1 else s.op(f"extractelement {s.F} {x}, i64 {lane}")
        got = s.op(f"call {result} {name}(double {one})")
        for k, (kind, element) in enumerate(zip(kinds, ("double", "double", "i64"))):
            value = s.op(f"extractvalue {result} {got}, {k}")
            found[k] = (
                value
                if s.lanes == 1
                else s.op(f"insertelement {kind} {found[k]}, {element} {value}, i64 {lane}")
            )
    mixed = s.pick_pair(far, (found[0], found[1]), near[1]), s.choose(far, found[2], near[0])
    after = s.block
    s.label(done)
    high, low, n = [
        s.op(f"phi {kind} [ {a}, %{before} ], [ {b}, %{after} ]")
        for kind, a, b in zip(kinds, (*near[1], near[0]), (*mixed[0], mixed[1]))
    ]
    return n, (high, low)


def far_text(fma: bool, unit: Unit) -> str:
    """A function from a large float64 to (r high, r low, n), by exact integer arithmetic.

    Of the digits of 2 / pi only 192 count: those before give multiples of 4.
    """
    digits = tables.TWO_OVER_PI
    escaped = "".join([f"\\{b:02X}" for b in reversed(digits)])
    unit.constants["lw.digits"] = (
        f'@lw.digits = private unnamed_addr constant [{len(digits)} x i8] c"{escaped}"'
    )
    s = Real(1, 64, fma=fma)
    bits = s.bits("%x")
    exponent = s.iop("sub", s.iop("and", s.iop("lshr", bits, 52), 2047), 1075)
    digit = s.op(f"call i64 @llvm.smax.i64(i64 {s.iop('sub', exponent, 2)}, i64 0)")
    skipped = s.iop("lshr", digit, 3)
    skipped = s.op(f"call i64 @llvm.umin.i64(i64 {skipped}, i64 {len(digits) - 24})")
    place = s.op(f"getelementptr i8, ptr @lw.digits, i64 {s.iop('sub', s.i(len(digits) - 24), skipped)}")
    window = s.op(f"zext i192 {s.op(f'load i192, ptr {place}, align 1')} to i256")
    mantissa = s.iop("or", s.iop("and", bits, (1 << 52) - 1), 1 << 52)
    product = s.op(f"mul i256 {window}, {s.op(f'zext i64 {mantissa} to i256')}")
    shift = s.iop("add", s.iop("sub", exponent, s.iop("shl", skipped, 3)), 62)
    turned = s.op(f"shl i256 {product}, {s.op(f'zext i64 {shift} to i256')}")
    quarter = s.op(f"trunc i256 {s.op(f'lshr i256 {turned}, 254')} to i64")
    angle = s.op(f"shl i256 {turned}, 2")
    up = s.op(f"icmp slt i256 {angle}, 0")
    size = s.op(f"select i1 {up}, i256 {s.op(f'sub i256 0, {angle}')}, i256 {angle}")
    quarter = s.iop("add", quarter, s.op(f"zext i1 {up} to i64"))
    zeros = s.op(f"call i256 @llvm.ctlz.i256(i256 {size}, i1 false)")
    full = s.op(f"shl i256 {size}, {zeros}")
    lost = s.op(f"trunc i256 {zeros} to i64")
    parts = []
    for below, place_value in ((203, 53), (150, 106)):
        word = s.iop("and", s.op(f"trunc i256 {s.op(f'lshr i256 {full}, {below}')} to i64"), (1 << 53) - 1)
        number = s.op(f"sitofp i64 {word} to double")
        factor = s.floats(s.iop("shl", s.iop("sub", s.i(1023 - place_value), lost), 52))
        parts.append(s.mul_exact(number, factor))
    high, low = s.two_product(parts[0], tables.PI_HALF[0])
    low = s.add_exact(
        low, s.add_exact(s.mul_exact(parts[0], tables.PI_HALF[1]), s.mul_exact(parts[1], tables.PI_HALF[0]))
    )
    negative = s.op(f"xor i1 {up}, {s.icmp('slt', bits, 0)}")
    out = "poison"
    values = [s.pick(negative, s.neg(v), v) for v in (high, low)]
    turn = s.choose(s.icmp("slt", bits, 0), s.iop("sub", s.i(0), quarter), quarter)
    for k, v in enumerate((f"double {values[0]}", f"double {values[1]}", f"i64 {turn}")):
        out = s.op(f"insertvalue {{ double, double, i64 }} {out}, {v}, {k}")
    for name, kind in sorted(s.called):
        unit.declare(name, kind)
    unit.declare("llvm.smax.i64", "i64 (i64, i64)")
    unit.declare("llvm.umin.i64", "i64 (i64, i64)")
    unit.declare("llvm.ctlz.i256", "i256 (i256, i1)")
    body = "\n".join(s.lines)
    head = "define internal { double, double, i64 } @lw.far(double %x) noinline nounwind memory(none)"
    return f"{head} {{\n{body}\n  ret {{ double, double, i64 }} {out}\n}}"


def _sine(s: Real, r: Pair) -> Pair:
    """The sine of a pair up to pi / 4, the low part not yet below the last place of the high one."""
    z = s.mul(r[0], r[0])
    tail = s.mul(s.mul(r[0], z), s.horner(z, s.table(tables.SIN, tables.SIN_SHORT)))
    if not s.short:
        tail = s.add_exact(tail, s.mul_exact(r[1], s.sub(1.0, s.mul_exact(z, 0.5))))
    return r[0], tail


def _cosine(s: Real, r: Pair) -> Pair:
    z = s.mul_exact(r[0], r[0])
    half = s.mul_exact(z, 0.5)
    near = s.sub(1.0, half)
    tail = s.mul(s.mul(z, z), s.horner(z, s.table(tables.COS, tables.COS_SHORT)))
    if s.short:
        return near, tail
    lost = s.sub(s.sub(1.0, near), half)
    return near, s.add_exact(lost, s.sub(tail, s.mul_exact(r[0], r[1])))


def _odd_quarter(s: Real, n: str) -> str:
    return s.icmp("ne", s.iop("and", n, 1), 0)


def _finish(s: Real, x: str, value: str) -> str:
    return s.pick(s.fcmp("oeq", s.fabs(x), math.inf), math.nan, value)


def _turned(s: Real, x: str, n: str, r: Pair) -> str:
    """The sine of n quarter turns and r."""
    sine, cosine = _sine(s, r), _cosine(s, r)
    value = s.add_exact(*s.pick_pair(_odd_quarter(s, n), cosine, sine))
    flip = s.iop("shl", s.iop("lshr", n, 1), 63)
    return _finish(s, x, s.floats(s.iop("xor", s.bits(value), flip)))


def sin(s: Real, unit: Unit, x: str) -> str:
    n, r = _any_size(s, unit, x)
    return s.pick(s.fcmp("oeq", x, 0.0), x, _turned(s, x, n, r))


def cos(s: Real, unit: Unit, x: str) -> str:
    n, r = _any_size(s, unit, x)
    return _turned(s, x, s.iop("add", n, 1), r)


def tan(s: Real, unit: Unit, x: str) -> str:
    n, r = _any_size(s, unit, x)
    sine, cosine = s.quick_two_sum(*_sine(s, r)), s.quick_two_sum(*_cosine(s, r))
    swap = _odd_quarter(s, n)
    top = s.pick_pair(swap, (s.neg(cosine[0]), s.neg(cosine[1])), sine)
    bottom = s.pick_pair(swap, sine, cosine)
    value = s.div(top[0], bottom[0]) if s.short else s.add_exact(*s.quotient(top, bottom))
    return s.pick(s.fcmp("oeq", x, 0.0), x, _finish(s, x, value))


# Inverses


def _asin_parts(s: Real, x: str) -> tuple[str, str, Pair, str]:
    """|x|, whether it is large, r, and asin(r) - r: r is |x|, or sqrt((1 - |x|) / 2) where |x| is large."""
    size = s.fabs(x)
    large = s.fcmp("ogt", size, 0.5)
    half = s.mul_exact(s.sub(1.0, size), 0.5)
    root = (s.sqrt(half), s.f(0.0)) if s.short else s.root((half, s.f(0.0)))
    r = s.pick_pair(large, root, (size, s.f(0.0)))
    z = s.pick(large, half, s.mul(size, size))
    return size, large, r, s.mul(s.mul(r[0], z), s.horner(z, s.table(tables.ASIN, tables.ASIN_SHORT)))


def asin(s: Real, x: str) -> str:
    size, large, r, rest = _asin_parts(s, x)
    inner = s.add_exact(size, rest)
    high, low = s.two_sum(tables.PI_HALF[0], s.mul_exact(r[0], -2.0))
    low = s.add_exact(low, tables.PI_HALF[1])
    outer = s.add_exact(high, s.sub(low, s.mul_exact(s.add_exact(rest, r[1]), 2.0)))
    value = s.pick(s.fcmp("ugt", size, 1.0), math.nan, s.pick(large, outer, inner))
    return s.copysign(value, x)


def acos(s: Real, x: str) -> str:
    size, large, r, rest = _asin_parts(s, x)
    negative = s.fcmp("olt", x, 0.0)
    rest = s.add_exact(rest, r[1])
    # From 0, pi / 2 or pi, up or down by once or twice the arc sine.
    start = s.pick_pair(
        large,
        s.pick_pair(negative, _constant(s, tables.PI), _constant(s, (0.0, 0.0))),
        _constant(s, tables.PI_HALF),
    )
    sign = s.pick(negative, s.pick(large, -2.0, 1.0), s.pick(large, 2.0, -1.0))
    high, low = s.two_sum(start[0], s.mul_exact(r[0], sign))
    low = s.add_exact(s.add_exact(low, start[1]), s.mul_exact(rest, sign))
    value = s.add_exact(high, low)
    return s.pick(s.fcmp("ugt", size, 1.0), math.nan, value)


def _constant(s: Real, value: tuple[float, float]) -> Pair:
    return s.f(value[0]), s.f(value[1])


def _angle(s: Real, y: Pair, x: Pair) -> Pair:
    """The arc tangent of y / x for y, x >= 0, turned by 0, an eighth or a quarter so that it is small."""
    steep = s.fcmp("ogt", y[0], s.mul_exact(x[0], 1 + math.sqrt(2)))
    middle = s.fcmp("ogt", y[0], s.mul_exact(x[0], math.sqrt(2) - 1))
    difference, total = s.two_sum(y[0], s.neg(x[0])), s.two_sum(y[0], x[0])
    top = s.pick_pair(steep, (s.neg(x[0]), s.neg(x[1])), s.pick_pair(middle, difference, y))
    bottom = s.pick_pair(steep, y, s.pick_pair(middle, total, x))
    t = (s.div(top[0], bottom[0]), s.f(0.0)) if s.short else s.quotient(top, bottom)
    start = s.pick_pair(
        steep,
        _constant(s, tables.PI_HALF),
        s.pick_pair(middle, _constant(s, tables.PI_QUARTER), _constant(s, (0.0, 0.0))),
    )
    z = s.mul(t[0], t[0])
    rest = s.mul(s.mul(t[0], z), s.horner(z, s.table(tables.ATAN, tables.ATAN_SHORT)))
    high, low = s.two_sum(start[0], t[0])
    return high, s.add_exact(s.add_exact(low, start[1]), s.add_exact(t[1], rest))


def atan(s: Real, x: str) -> str:
    size = s.clamp(s.fabs(x), 0.0, 2.0**64)
    zero = s.f(0.0)
    value = s.add_exact(*_angle(s, (size, zero), (s.f(1.0), zero)))
    tiny = s.fcmp("olt", size, 2.0**-30)
    return s.copysign(s.pick(tiny, size, value), x)


def atan2(s: Real, y: str, x: str) -> str:
    a, b = s.fabs(y), s.fabs(x)
    # Infinity is one where the other is zero, or infinity too.
    up, along = s.fcmp("oeq", a, math.inf), s.fcmp("oeq", b, math.inf)
    a, b = (
        s.pick(up, 1.0, s.pick(along, 0.0, a)),
        s.pick(along, 1.0, s.pick(up, 0.0, b)),
    )
    # An angle is a ratio: numbers near the end of the range are taken a little smaller, small ones larger.
    large = s.either(s.fcmp("ogt", a, 2.0**1000), s.fcmp("ogt", b, 2.0**1000))
    small = s.both(s.fcmp("olt", a, 2.0**-900), s.fcmp("olt", b, 2.0**-900))
    factor = s.pick(large, 2.0**-110, s.pick(small, 2.0**120, 1.0))
    a, b = s.mul_exact(a, factor), s.mul_exact(b, factor)
    zero = s.f(0.0)
    none = s.both(s.fcmp("oeq", a, 0.0), s.fcmp("oeq", b, 0.0))
    high, low = _angle(s, (a, zero), (s.pick(none, 1.0, b), zero))
    back = s.icmp("slt", s.bits(x), 0)
    outer, lost = s.two_sum(tables.PI[0], s.neg(high))
    behind = s.add_exact(outer, s.sub(s.add_exact(lost, tables.PI[1]), low))
    near = s.add_exact(high, low)
    flat = s.fcmp("olt", a, s.mul_exact(b, 2.0**-30))
    near = s.pick(flat, s.div(a, s.pick(none, 1.0, b)), near)
    value = s.copysign(s.pick(back, behind, near), y)
    return s.pick(s.fcmp("uno", x, y), math.nan, value)

"""Powers and lengths in float64 (see `math.py`)."""
# ruff: noqa: D103  the functions are what their names say

from __future__ import annotations

import math

from . import math_tables as tables
from .math_exp import Log, power_of_two
from .real import Pair, Real


def _log2_pair(s: Real, x: str) -> Pair:
    """The logarithm to base 2 of a positive number, as a pair with some 68 right bits."""
    parts = Log(s, x)
    if s.short:
        return s.muladd(parts.short(s), tables.LOG2_E[0], parts.k), s.f(0.0)
    q = s.quotient((parts.f, s.f(0.0)), s.two_sum(2.0, parts.f))
    z = _product(s, q, q)
    tail = s.mul(z[0], s.horner(z[0], tables.POW))
    high, low = s.quick_two_sum(tables.TWO_THIRDS[0], tail)
    t = _product(s, z, (high, s.add_exact(low, tables.TWO_THIRDS[1])))
    high, low = s.quick_two_sum(2.0, t[0])
    natural = _product(s, q, (high, s.add_exact(low, t[1])))
    binary = _product(s, natural, (s.f(tables.LOG2_E[0]), s.f(tables.LOG2_E[1])))
    high, low = s.two_sum(parts.k, binary[0])
    return s.quick_two_sum(high, s.add_exact(low, binary[1]))


def _product(s: Real, a: Pair, b: Pair) -> Pair:
    high, low = s.two_product(a[0], b[0])
    return high, s.add_exact(low, s.add_exact(s.mul_exact(a[0], b[1]), s.mul_exact(a[1], b[0])))


def pow(s: Real, x: str, y: str) -> str:
    size = s.fabs(x)
    log = _log2_pair(s, size)
    # Beyond this any exponent gives 0, 1 or infinity.
    power = s.clamp(y, -(2.0**66), 2.0**66)
    high, low = s.two_product(log[0], power)
    low = s.add_exact(low, s.mul_exact(log[1], power))
    inside = s.clamp(high, -1100.0, 1100.0)
    low = s.pick(s.fcmp("one", inside, high), 0.0, low)
    n, whole = s.nearest(inside)
    value = s.scale(power_of_two(s, s.add_exact(s.sub(inside, whole), low)), n)
    return _power_specials(s, x, y, size, value)


def _power_specials(s: Real, x: str, y: str, size: str, value: str) -> str:
    falls = s.fcmp("olt", y, 0.0)
    value = s.pick(s.fcmp("oeq", size, math.inf), s.pick(falls, 0.0, math.inf), value)
    value = s.pick(s.fcmp("oeq", size, 0.0), s.pick(falls, math.inf, 0.0), value)
    floor = s.intrinsic("floor", y)
    half = s.mul_exact(y, 0.5)
    broken = s.fcmp("one", floor, y)
    odd = s.both(s.fcmp("oeq", floor, y), s.fcmp("one", s.intrinsic("floor", half), half))
    negative = s.icmp("slt", s.bits(x), 0)
    below = s.both(s.fcmp("olt", x, 0.0), s.fcmp("one", size, math.inf))
    value = s.pick(s.both(below, broken), math.nan, value)
    value = s.pick(s.both(negative, odd), s.neg(value), value)
    value = s.pick(s.fcmp("uno", x, y), math.nan, value)
    return s.pick(s.either(s.fcmp("oeq", y, 0.0), s.fcmp("oeq", x, 1.0)), 1.0, value)


def hypot(s: Real, x: str, y: str) -> str:
    a, b = s.fabs(x), s.fabs(y)
    if s.short:
        value = s.sqrt(s.add_exact(s.mul_exact(a, a), s.mul_exact(b, b)))
    else:
        more = s.fcmp("ogt", a, b)
        large, small = s.pick(more, a, b), s.pick(more, b, a)
        exponent = s.iop("lshr", s.bits(large), 52)
        exponent = s.choose(s.icmp("ugt", exponent, 2045), s.i(2045), exponent)
        exponent = s.choose(s.icmp("ult", exponent, 1), s.i(1), exponent)
        down = s.floats(s.iop("shl", s.iop("sub", s.i(2046), exponent), 52))
        up = s.floats(s.iop("shl", exponent, 52))
        large, small = s.mul_exact(large, down), s.mul_exact(small, down)
        first, second = s.two_product(large, large), s.two_product(small, small)
        total, low = s.quick_two_sum(first[0], second[0])
        root = s.root((total, s.add_exact(low, s.add_exact(first[1], second[1]))))
        value = s.mul_exact(s.add_exact(*root), up)
    value = s.pick(s.fcmp("uno", x, y), math.nan, value)
    infinite = s.either(s.fcmp("oeq", a, math.inf), s.fcmp("oeq", b, math.inf))
    return s.pick(infinite, math.inf, value)

"""Exponentials, logarithms and hyperbolic functions in float64 (see `math.py`)."""
# ruff: noqa: D103  the functions are what their names say

from __future__ import annotations

import math

from . import math_tables as tables
from .real import Pair, Real

SQRT_HALF_BITS = 0x3FE6A09E667F3BCD


def exp_parts(s: Real, x: str) -> tuple[str, str]:
    """n and m with e**x = 2**n * (1 + m), for |x| below 2**20."""
    n, whole = s.nearest(s.mul_exact(x, tables.LOG2_E[0]))
    if s.short:
        r = s.muladd(whole, -math.log(2), x)
        return n, s.muladd(s.mul(r, r), s.horner(r, tables.EXPM1_SHORT), r)
    high = s.sub(x, s.mul_exact(whole, tables.LN2_PARTS[0]))
    low = s.mul_exact(whole, tables.LN2_PARTS[1])
    r = s.sub(high, low)
    lost = s.sub(s.sub(high, r), low)
    return n, s.add_exact(s.muladd(s.mul(r, r), s.horner(r, tables.EXPM1), lost), r)


def exp(s: Real, x: str) -> str:
    n, m = exp_parts(s, s.clamp(x, -746.0, 710.0))
    return s.scale(s.add_exact(m, 1.0), n)


def exp2(s: Real, x: str) -> str:
    n, whole = s.nearest(x := s.clamp(x, -1080.0, 1025.0))
    return s.scale(power_of_two(s, s.sub(x, whole)), n)


def power_of_two(s: Real, r: str) -> str:
    """2**r for |r| up to a half."""
    return s.muladd(s.horner(r, s.table(tables.EXP2, tables.EXP2_SHORT)), r, 1.0)


def exp10(s: Real, x: str) -> str:
    x = s.clamp(x, -325.0, 309.0)
    n, whole = s.nearest(s.mul_exact(x, tables.LOG2_10))
    r = s.sub(x, s.mul_exact(whole, tables.LOG10_2_PARTS[0]))
    r = s.sub(r, s.mul_exact(whole, tables.LOG10_2_PARTS[1]))
    p = s.horner(r, s.table(tables.EXP10, tables.EXP10_SHORT))
    return s.scale(s.muladd(p, r, 1.0), n)


class Log:
    """x in parts: `k` + log2 of 1 + `f`, with log(1 + f) = f - (`square` - `rest`), square = f * f / 2."""

    __slots__ = ("f", "k", "rest", "square")

    def __init__(self, s: Real, x: str) -> None:
        tiny = s.fcmp("olt", x, 2.0**-1022)
        bits = s.bits(s.pick(tiny, s.mul_exact(x, 2.0**54), x))
        k = s.iop("ashr", s.iop("sub", bits, SQRT_HALF_BITS), 52)
        self.f = f = s.sub(s.floats(s.iop("sub", bits, s.iop("shl", k, 52))), 1.0)
        k = s.iop("sub", k, s.choose(tiny, s.i(54), s.i(0)))
        # The low 32 bits hold the whole number; few machines convert vectors of 64-bit integers.
        half = s.op(f"trunc {s.I} {k} to {s.I.replace('i64', 'i32')}")
        self.k = s.op(f"sitofp {s.I.replace('i64', 'i32')} {half} to {s.F}")
        quotient = s.div(f, s.add_exact(f, 2.0))
        z = s.mul(quotient, quotient)
        self.square = s.mul_exact(s.mul_exact(f, 0.5), f)
        tail = s.horner(z, s.table(tables.LOG, tables.LOG_SHORT))
        self.rest = s.mul(quotient, s.muladd(tail, z, self.square))

    def short(self, s: Real) -> str:
        """log(1 + f) to the precision of float32."""
        return s.sub(self.f, s.sub(self.square, self.rest))


def natural(s: Real, parts: Log, correction: str = "") -> str:
    """The logarithm, plus a small correction."""
    rest = s.muladd(parts.k, tables.LN2_PARTS[1], parts.rest)
    if correction:
        rest = s.add_exact(rest, correction)
    small = s.sub(s.sub(parts.square, rest), parts.f)
    return s.sub(s.mul(parts.k, tables.LN2_PARTS[0]), small)


def log_specials(s: Real, x: str, value: str) -> str:
    value = s.pick(s.fcmp("oeq", x, math.inf), math.inf, value)
    value = s.pick(s.fcmp("oeq", x, 0.0), -math.inf, value)
    return s.pick(s.fcmp("ult", x, 0.0), math.nan, value)


def log(s: Real, x: str) -> str:
    return log_specials(s, x, natural(s, Log(s, x)))


def _other_base(s: Real, x: str, scale: Pair, step: Pair) -> str:
    """k * step + log(1 + f) * scale; the large part of f times a short factor is exact."""
    parts = Log(s, x)
    if s.short:
        return log_specials(s, x, s.muladd(parts.k, sum(step), s.mul(parts.short(s), scale[0])))  # type: ignore[arg-type]
    short = math.ldexp(math.floor(math.ldexp(scale[0], 20)), -20)  # type: ignore[arg-type]
    high = s.head(s.sub(parts.f, parts.square), 32)
    low = s.add_exact(s.sub(s.sub(parts.f, high), parts.square), parts.rest)
    small = s.muladd(s.add_exact(low, high), (scale[0] - short) + scale[1], s.mul(low, short))  # type: ignore[operator]
    large, whole = s.mul_exact(high, short), s.mul_exact(parts.k, step[0])
    total, lost = s.two_sum(whole, large)
    small = s.add_exact(s.muladd(parts.k, step[1], small), lost)
    return log_specials(s, x, s.add_exact(total, small))


def log2(s: Real, x: str) -> str:
    return _other_base(s, x, tables.LOG2_E, (1.0, 0.0))  # type: ignore[arg-type]


def log10(s: Real, x: str) -> str:
    return _other_base(s, x, tables.LOG10_E, tables.LOG10_2_PARTS)  # type: ignore[arg-type]


def log_pair(s: Real, x: Pair, doubled: str = "") -> str:
    """The logarithm of a pair that is at least a half; of its double where `doubled` holds."""
    parts = Log(s, x[0])
    if doubled:
        parts.k = s.add_exact(parts.k, s.pick(doubled, 1.0, 0.0))
    return natural(s, parts, s.div(x[1], x[0]))


def log1p(s: Real, x: str) -> str:
    value = log_pair(s, s.two_sum(1.0, x))
    value = s.pick(s.fcmp("oeq", x, math.inf), math.inf, value)
    value = s.pick(s.fcmp("oeq", x, -1.0), -math.inf, value)
    value = s.pick(s.fcmp("ult", x, -1.0), math.nan, value)
    return s.pick(s.fcmp("oeq", x, 0.0), x, value)


def asinh(s: Real, x: str) -> str:
    size = s.fabs(x)
    large = s.fcmp("ogt", size, 2.0**30)
    a = s.clamp(size, 0.0, 2.0**30)
    square = s.two_product(a, a)
    total, low = s.two_sum(1.0, square[0])
    root = s.root((total, s.add_exact(low, square[1])))
    high, low = s.two_sum(a, root[0])
    grown = (high, s.add_exact(low, root[1]))
    value = log_pair(s, s.pick_pair(large, (size, s.f(0.0)), grown), large)
    value = s.pick(s.fcmp("oeq", size, math.inf), math.inf, value)
    return s.pick(s.fcmp("oeq", x, 0.0), x, s.copysign(value, x))


def acosh(s: Real, x: str) -> str:
    large = s.fcmp("ogt", x, 2.0**30)
    a = s.clamp(x, 1.0, 2.0**30)
    square = s.two_product(a, a)
    total, low = s.two_sum(square[0], -1.0)
    root = s.root((total, s.add_exact(low, square[1])))
    high, low = s.two_sum(a, root[0])
    grown = (high, s.add_exact(low, root[1]))
    value = log_pair(s, s.pick_pair(large, (x, s.f(0.0)), grown), large)
    value = s.pick(s.fcmp("oeq", x, math.inf), math.inf, value)
    return s.pick(s.fcmp("ult", x, 1.0), math.nan, value)


def atanh(s: Real, x: str) -> str:
    a = s.fabs(x)
    if s.short:
        ratio = s.two_sum(1.0, s.div(s.add_exact(a, a), s.sub(1.0, a)))
    else:
        ratio = s.quotient(s.two_sum(1.0, a), s.two_sum(1.0, s.neg(a)))
    value = s.mul_exact(log_pair(s, ratio), 0.5)
    value = s.pick(s.fcmp("oeq", a, 1.0), math.inf, value)
    value = s.pick(s.fcmp("ugt", a, 1.0), math.nan, value)
    return s.pick(s.fcmp("oeq", x, 0.0), x, s.copysign(value, x))


def _half_exponentials(s: Real, size: str) -> tuple[str, str]:
    """e**size / 2 and e**-size / 2."""
    n, m = exp_parts(s, s.clamp(size, 0.0, 712.0))
    large = s.scale(s.add_exact(m, 1.0), s.iop("sub", n, 1))
    return large, s.div(0.25, large)


def odd(s: Real, x: str, coefficients: tuple[float, ...]) -> str:
    """x + x**3 * polynomial in x**2; zeros and what is tiny are themselves."""
    z = s.mul(x, x)
    value = s.muladd(s.mul(x, z), s.horner(z, coefficients), x)
    return s.pick(s.fcmp("oeq", x, 0.0), x, value)


def sinh(s: Real, x: str) -> str:
    size = s.fabs(x)
    large, small = _half_exponentials(s, size)
    inner = odd(s, x, s.table(tables.SINH, tables.SINH_SHORT))  # type: ignore[arg-type]
    return s.pick(s.fcmp("olt", size, 1.0), inner, s.copysign(s.sub(large, small), x))


def cosh(s: Real, x: str) -> str:
    return s.add_exact(*_half_exponentials(s, s.fabs(x)))


def tanh(s: Real, x: str) -> str:
    size = s.fabs(x)
    n, m = exp_parts(s, s.clamp(s.add_exact(size, size), 0.0, 50.0))
    grown = s.mul_exact(s.add_exact(m, 1.0), s.power(n))
    outer = s.sub(1.0, s.div(2.0, s.add_exact(grown, 1.0)))
    inner = odd(s, x, s.table(tables.TANH, tables.TANH_SHORT))  # type: ignore[arg-type]
    return s.pick(s.fcmp("olt", size, 0.58), inner, s.copysign(outer, x))


def sigmoid(s: Real, x: str) -> str:
    # exp(-|x|) cannot overflow, and both tails keep their relative accuracy.
    e = exp(s, s.neg(s.fabs(x)))
    top = s.pick(s.fcmp("olt", x, 0.0), e, 1.0)
    if s.short:
        return s.div(top, s.add_exact(e, 1.0))
    near, low = s.quotient((top, s.f(0.0)), s.quick_two_sum(1.0, e))
    return s.add_exact(near, low)


def erf(s: Real, x: str) -> str:
    size = s.fabs(x)
    z = s.mul(x, x)
    small = s.add(
        s.mul(x, tables.ERF_SLOPE[0]), s.mul(x, s.muladd(z, s.horner(z, tables.ERF[1:]), tables.ERF_SLOPE[1]))
    )
    a = s.clamp(size, 0.9, 6.0)
    t = s.div(s.sub(a, 2.0), s.add_exact(a, 2.0))
    n, m = exp_parts(s, s.neg(s.mul_exact(a, a)))
    fading = s.mul_exact(s.add_exact(m, 1.0), s.power(n))
    outer = s.sub(1.0, s.mul_exact(fading, s.horner(t, tables.ERFC)))
    value = s.pick(s.fcmp("olt", size, 1.0), small, s.copysign(outer, x))
    return s.pick(s.fcmp("oeq", x, 0.0), x, value)

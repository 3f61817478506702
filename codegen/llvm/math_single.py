"""The most frequent functions in float32 (see `math.py`)."""
# ruff: noqa: D103  the functions are what their names say

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from . import math_tables as tables
from .real import Real

EXP = (
    0.16666665578179307,
    0.0416664609682892,
    0.008333586712849846,
    0.0013935271988122044,
    0.0001973337084600968,
)
EXP2 = (
    0.6931472029867944,
    0.24022647896623267,
    0.05550332160082179,
    0.009618438618613173,
    0.0013399004356524982,
    0.00015353255391977477,
)
LOG = (
    0.3333331260146444,
    -0.250000096080928,
    0.20002118810003355,
    -0.16667995472811245,
    0.1421954937348222,
    -0.12405594003566338,
    0.11888187564906784,
    -0.1167563046091491,
    0.06746560389421229,
)
TANH = (
    (
        0.9999999933189514,
        0.13083177418574896,
        0.0031030238071314427,
        1.1144477801914337e-05,
        -2.018479040234926e-08,
        5.258134758917335e-11,
        -8.43686218326872e-14,
    ),
    (1.0, 0.4641650440767662, 0.024491471802079987, 0.00025447831044290173),
)
ERF = (
    (
        1.1283791456788639,
        0.19077371885510985,
        0.05278895200156471,
        0.0037791740089780537,
        0.0002847985611324643,
        2.0420466875222874e-06,
    ),
    (
        1.0,
        0.5024015291502166,
        0.11425334353616041,
        0.014996569890400897,
        0.0011651064843908245,
        3.8004332813535436e-05,
    ),
)


def _exp_parts(s: Real, x: str) -> tuple[str, str]:
    """n and m with e**x = 2**n * m, for |x| below 2**10."""
    n, whole = s.nearest(s.mul_exact(x, 1 / math.log(2)))
    r = s.muladd(whole, -0.693359375, x)
    r = s.muladd(whole, 2.12194440e-4, r)
    square = s.mul(r, r)
    tail = s.mul(s.mul(square, r), s.horner(r, EXP))
    return n, s.add(s.add(s.muladd(square, 0.5, tail), r), 1.0)


def exp(s: Real, x: str) -> str:
    n, m = _exp_parts(s, s.clamp(x, -105.0, 89.0))
    return s.scale(m, n)


def exp2(s: Real, x: str) -> str:
    x = s.clamp(x, -151.0, 129.0)
    n, whole = s.nearest(x)
    r = s.sub(x, whole)
    return s.scale(s.muladd(s.horner(r, EXP2), r, 1.0), n)


def _log_parts(s: Real, x: str) -> tuple[str, str, str]:
    """The exponent as a float, f = m - 1, and log(1 + f) - f, for m around 1."""
    tiny = s.fcmp("olt", x, 2.0**-126)
    big = s.mul_exact(x, 2.0**23)
    bits = s.bits(s.pick(tiny, big, x))
    exponent = s.iop("ashr", s.iop("sub", bits, 0x3F3504F3), 23)
    f = s.sub(s.floats(s.iop("sub", bits, s.iop("shl", exponent, 23))), 1.0)
    exponent = s.iop("sub", exponent, s.choose(tiny, s.i(23), s.i(0)))
    whole = s.op(f"sitofp {s.I} {exponent} to {s.F}")
    square = s.mul(f, f)
    rest = s.muladd(s.mul(square, f), s.horner(f, LOG), s.mul(square, -0.5))
    return whole, f, rest


def _log_specials(s: Real, x: str, value: str) -> str:
    value = s.pick(s.fcmp("oeq", x, math.inf), math.inf, value)
    value = s.pick(s.fcmp("oeq", x, 0.0), -math.inf, value)
    return s.pick(s.fcmp("ult", x, 0.0), math.nan, value)


def log(s: Real, x: str) -> str:
    whole, f, rest = _log_parts(s, x)
    low = s.muladd(whole, -2.12194440e-4, rest)
    return _log_specials(s, x, s.muladd(whole, 0.693359375, s.add(f, low)))


def _log_base(base: float) -> Callable[[Real, str], str]:
    def build(s: Real, x: str) -> str:
        whole, f, rest = _log_parts(s, x)
        scale, exponent = 1 / math.log(base), math.log(2) / math.log(base)
        high = math.ldexp(round(math.ldexp(exponent, 12)), -12)
        high_scale = math.ldexp(round(math.ldexp(scale, 10)), -10)
        # The large part of f times a short factor is exact; the rest goes into the small sum.
        top = s.head(f, 12)
        bottom = s.add(s.sub(f, top), rest)
        small = s.muladd(top, scale - high_scale, s.mul(bottom, scale))
        small = s.muladd(whole, exponent - high, small)
        return _log_specials(s, x, s.muladd(whole, high, s.muladd(top, high_scale, small)))

    return build


def _rational(s: Real, x: str, table: tuple[Sequence[float], Sequence[float]], limit: float) -> str:
    t = s.clamp(x, -limit, limit)
    square = s.mul(t, t)
    value = s.div(s.mul(t, s.horner(square, table[0])), s.horner(square, table[1]))
    return s.clamp(value, -1.0, 1.0)


def tanh_fast(s: Real, x: str) -> str:
    value = _rational(s, x, TANH, 9.02)
    # Near zero the result is the argument, subnormal ones and minus zero included.
    return s.pick(s.fcmp("olt", s.fabs(x), 2.0**-12), x, value)


def erf_fast(s: Real, x: str) -> str:
    return _rational(s, x, ERF, 3.93)


def _grown(s: Real, x: str) -> str:
    """e**x where that is a normal number."""
    n, m = _exp_parts(s, x)
    return s.mul_exact(m, s.power(n))


def tanh(s: Real, x: str) -> str:
    size = s.fabs(x)
    grown = _grown(s, s.clamp(s.add_exact(size, size), 0.0, 40.0))
    outer = s.sub(1.0, s.div(2.0, s.add_exact(grown, 1.0)))
    square = s.mul(x, x)
    inner = s.muladd(s.mul(x, square), s.horner(square, tables.TANH32), x)
    value = s.pick(s.fcmp("olt", size, 0.58), inner, s.copysign(outer, x))
    return s.pick(s.fcmp("oeq", x, 0.0), x, value)


def erf(s: Real, x: str) -> str:
    size = s.fabs(x)
    square = s.mul(x, x)
    inner = s.muladd(x, s.horner(square, tables.ERF32), x)
    # log(erfc) is so smooth that one polynomial does for the rest.
    outer = s.sub(1.0, _grown(s, s.horner(s.clamp(size, 0.9, 4.0), tables.LOGERFC32)))
    value = s.pick(s.fcmp("olt", size, 0.925), inner, s.copysign(outer, x))
    return s.pick(s.fcmp("oeq", x, 0.0), x, value)


def sigmoid(s: Real, x: str) -> str:
    # exp(-|x|) cannot overflow, and both tails keep their relative accuracy.
    e = exp(s, s.neg(s.fabs(x)))
    top = s.pick(s.fcmp("olt", x, 0.0), e, 1.0)
    total, low = s.quick_two_sum(1.0, e)
    near = s.div(top, total)
    return s.sub(near, s.mul(near, low))


log2 = _log_base(2.0)
log10 = _log_base(10.0)

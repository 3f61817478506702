"""Elementary functions of float32 as polynomials, for any number of lanes.

Stated errors are in units of the last place against float64, over all finite inputs:
exp 1.1, exp2 1.1, log 1.1, log2 2, log10 2, tanh 6, erf 5, sigmoid 3.  Zeros, infinities, NaN,
overflow, underflow and subnormal inputs give what IEEE arithmetic leads one to expect; tanh and
erf never leave [-1, 1].  Coefficients are relative least-squares fits of the error's maximum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .small_floats import Straight
from .text import Unit

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
MAGIC = 12582912.0  # 1.5 * 2**23: adding it rounds a small float to an integer in the low bits
MAGIC_BITS = 0x4B400000


class Poly(Straight):
    """Straight-line float32 arithmetic; products and sums may be fused."""

    __slots__ = ()

    def mul(self, a: str, b: str | float) -> str:
        return self.op(f"fmul contract {self.F} {a}, {b if isinstance(b, str) else self.f(b)}")

    def add(self, a: str, b: str | float) -> str:
        return self.op(f"fadd contract {self.F} {a}, {b if isinstance(b, str) else self.f(b)}")

    def sub(self, a: str, b: str | float) -> str:
        return self.op(f"fsub {self.F} {a}, {b if isinstance(b, str) else self.f(b)}")

    def div(self, a: str, b: str) -> str:
        return self.op(f"fdiv {self.F} {a}, {b}")

    def muladd(self, a: str, b: str | float, c: str | float) -> str:
        return self.add(self.mul(a, b), c)

    def horner(self, x: str, coefficients: Sequence[float]) -> str:
        """The polynomial with these coefficients, the constant first."""
        value = self.f(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            value = self.muladd(value, x, c)
        return value

    def fcmp(self, what: str, a: str, b: float) -> str:
        return self.op(f"fcmp {what} {self.F} {a}, {self.f(b)}")

    def pick(self, condition: str, a: str, b: str) -> str:
        return self.choose(condition, a, b, self.F)

    def clamp(self, x: str, low: float, high: float) -> str:
        """x within the bounds; a NaN stays."""
        x = self.pick(self.fcmp("ogt", x, high), self.f(high), x)
        return self.pick(self.fcmp("olt", x, low), self.f(low), x)

    def nearest(self, x: str) -> tuple[str, str]:
        """The nearest integer, as an integer and as a float, of a number below 2**22."""
        moved = self.op(f"fadd {self.F} {x}, {self.f(MAGIC)}")
        return self.iop("sub", self.bits(moved), MAGIC_BITS), self.sub(moved, MAGIC)

    def scale(self, x: str, n: str) -> str:
        """x * 2**n in two steps, so that neither overflows before the result does."""
        half = self.iop("ashr", n, 1)
        for part in (half, self.iop("sub", n, half)):
            factor = self.floats(self.iop("shl", self.iop("add", part, 127), 23))
            x = self.op(f"fmul {self.F} {x}, {factor}")
        return x


def _exp(s: Poly, x: str) -> str:
    x = s.clamp(x, -105.0, 89.0)
    n, whole = s.nearest(s.op(f"fmul {s.F} {x}, {s.f(1 / math.log(2))}"))
    r = s.muladd(whole, -0.693359375, x)
    r = s.muladd(whole, 2.12194440e-4, r)
    square = s.mul(r, r)
    tail = s.mul(s.mul(square, r), s.horner(r, EXP))
    value = s.add(s.add(s.muladd(square, 0.5, tail), r), 1.0)
    return s.scale(value, n)


def _exp2(s: Poly, x: str) -> str:
    x = s.clamp(x, -151.0, 129.0)
    n, whole = s.nearest(x)
    r = s.sub(x, whole)
    return s.scale(s.muladd(s.horner(r, EXP2), r, 1.0), n)


def _log_parts(s: Poly, x: str) -> tuple[str, str, str]:
    """The exponent as a float, f = m - 1, and log(1 + f) - f, for m around 1."""
    tiny = s.fcmp("olt", x, 2.0**-126)
    big = s.op(f"fmul {s.F} {x}, {s.f(2.0**23)}")
    bits = s.bits(s.pick(tiny, big, x))
    exponent = s.iop("ashr", s.iop("sub", bits, 0x3F3504F3), 23)
    f = s.sub(s.floats(s.iop("sub", bits, s.iop("shl", exponent, 23))), 1.0)
    exponent = s.iop("sub", exponent, s.choose(tiny, s.i(23), s.i(0)))
    whole = s.op(f"sitofp {s.I} {exponent} to {s.F}")
    square = s.mul(f, f)
    rest = s.muladd(s.mul(square, f), s.horner(f, LOG), s.mul(square, -0.5))
    return whole, f, rest


def _log_specials(s: Poly, x: str, value: str) -> str:
    value = s.pick(s.fcmp("oeq", x, math.inf), s.f(math.inf), value)
    value = s.pick(s.fcmp("oeq", x, 0.0), s.f(-math.inf), value)
    return s.pick(s.fcmp("ult", x, 0.0), s.f(math.nan), value)


def _log(s: Poly, x: str) -> str:
    whole, f, rest = _log_parts(s, x)
    low = s.muladd(whole, -2.12194440e-4, rest)
    return _log_specials(s, x, s.muladd(whole, 0.693359375, s.add(f, low)))


def _log_base(base: float) -> Callable[[Poly, str], str]:
    def build(s: Poly, x: str) -> str:
        whole, f, rest = _log_parts(s, x)
        scale, exponent = 1 / math.log(base), math.log(2) / math.log(base)
        high = math.ldexp(round(math.ldexp(exponent, 12)), -12)
        high_scale = math.ldexp(round(math.ldexp(scale, 10)), -10)
        # The large part of f times a short factor is exact; the rest goes into the small sum.
        top = s.floats(s.iop("and", s.bits(f), -4096))
        bottom = s.add(s.sub(f, top), rest)
        small = s.muladd(top, scale - high_scale, s.mul(bottom, scale))
        small = s.muladd(whole, exponent - high, small)
        return _log_specials(s, x, s.muladd(whole, high, s.muladd(top, high_scale, small)))

    return build


def _rational(s: Poly, x: str, table: tuple[Sequence[float], Sequence[float]], limit: float) -> str:
    t = s.clamp(x, -limit, limit)
    square = s.mul(t, t)
    value = s.div(s.mul(t, s.horner(square, table[0])), s.horner(square, table[1]))
    return s.clamp(value, -1.0, 1.0)


def _tanh(s: Poly, x: str) -> str:
    value = _rational(s, x, TANH, 9.02)
    # Near zero the result is the argument, subnormal ones and minus zero included.
    size = s.floats(s.iop("and", s.bits(x), 0x7FFFFFFF))
    return s.pick(s.fcmp("olt", size, 2.0**-12), x, value)


def _erf(s: Poly, x: str) -> str:
    return _rational(s, x, ERF, 3.93)


def _sigmoid(s: Poly, x: str) -> str:
    # exp(-|x|) cannot overflow, and both tails keep their relative accuracy.
    negative = s.floats(s.op(f"or {s.I} {s.bits(x)}, {s.i(-(1 << 31))}"))
    e = _exp(s, negative)
    top = s.pick(s.fcmp("olt", x, 0.0), e, s.f(1.0))
    return s.div(top, s.op(f"fadd {s.F} {e}, {s.f(1.0)}"))


POLYNOMIALS: dict[str, Callable[[Poly, str], str]] = {
    "exp": _exp,
    "exp2": _exp2,
    "log": _log,
    "log2": _log_base(2.0),
    "log10": _log_base(10.0),
    "tanh": _tanh,
    "erf": _erf,
    "sigmoid": _sigmoid,
}


def polynomial(unit: Unit, function: str, lanes: int) -> str:
    """The name of the unit's function for this one of POLYNOMIALS."""
    name = f"lw.{function}.f32" + (f".x{lanes}" if lanes > 1 else "")
    if name in unit.helpers:
        return f"@{name}"
    s = Poly(lanes)
    out = POLYNOMIALS[function](s, "%x")
    return unit.helper(name, s.function(name, s.F, s.F, out))

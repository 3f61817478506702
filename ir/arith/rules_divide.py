"""Rules for quotients and remainders."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from ...dtype import DType
from ..expr import BinaryOp, Div, Expr, FloorDiv, FloorMod, IntImm, Mod, Mul, const
from ..types import PrimType
from .bounds import trunc_div, trunc_mod
from .linear import Linear, rebuild
from .rules import Class, rule

if TYPE_CHECKING:
    from .analyzer import Analyzer

ANY, INDEX = Class.ANY, Class.INDEX
_DIVISIONS = (FloorDiv, FloorMod, Div, Mod)


def _int(e: Expr) -> bool:
    ty = e.ty
    return isinstance(ty, PrimType) and ty.dtype.is_scalar and (ty.dtype.is_int or ty.dtype.is_uint)


def _positive_const(e: BinaryOp) -> int:
    """The divisor where it is a positive constant of a scalar integer type, else 0."""
    return e.b.value if type(e.b) is IntImm and e.b.value > 0 and _int(e) else 0


@rule(_DIVISIONS, "divide-constants", ANY, "c1 op c2 is computed, except by zero and where it overflows")
def divide_constants(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Fold a division of constants."""
    if type(e.a) is not IntImm or type(e.b) is not IntImm or e.b.value == 0 or not _int(e):
        return None
    a, b = e.a.value, e.b.value
    ops = {FloorDiv: a // b, FloorMod: a % b, Div: trunc_div(a, b), Mod: trunc_mod(a, b)}
    value = ops[type(e)]
    return const(value, e.dtype) if _fits(value, e.dtype) else None


def _fits(value: int, dtype: DType) -> bool:
    return bool(dtype.min_value <= value <= dtype.max_value)


@rule(_DIVISIONS, "divide-by-one", ANY, "x // 1 = x, x % 1 = 0")
def divide_by_one(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Drop a division by one."""
    if _positive_const(e) != 1:
        return None
    return e.a if isinstance(e, FloorDiv | Div) else const(0, e.dtype)


@rule(
    _DIVISIONS, "divide-bounds", ANY, "a quotient or remainder of which bounds allow one value is that value"
)
def divide_bounds(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Replace a division whose result is known."""
    if not _int(e) or _may_be_zero(ana, e.b):
        return None
    bound = ana.bound(e)
    return const(bound.min, e.dtype) if bound.is_const else None


def _may_be_zero(ana: Analyzer, e: Expr) -> bool:
    bound = ana.bound(e)
    return bound.min <= 0 <= bound.max


@rule(Div, "trunc-is-floor", ANY, "truncdiv(a, b) = a // b where a >= 0 and b >= 0")
def trunc_is_floor(ana: Analyzer, e: Div) -> Expr | None:
    """Prefer the floor form, for which there are more rules."""
    if _int(e) and ana.bound(e.a).min >= 0 and ana.bound(e.b).min >= 0:
        ana.floored = True
        return FloorDiv(e.a, e.b)
    return None


@rule(Mod, "trunc-is-floor-mod", ANY, "truncmod(a, b) = a % b where a >= 0 and b >= 0")
def trunc_is_floor_mod(ana: Analyzer, e: Mod) -> Expr | None:
    """Prefer the floor form, for which there are more rules."""
    if _int(e) and ana.bound(e.a).min >= 0 and ana.bound(e.b).min >= 0:
        ana.floored = True
        return FloorMod(e.a, e.b)
    return None


@rule(FloorMod, "mod-small", ANY, "x % y = x where 0 <= x < y")
def mod_small(ana: Analyzer, e: FloorMod) -> Expr | None:
    """Drop a remainder that changes nothing."""
    if _int(e) and ana.bound(e.a).min >= 0 and ana.bound(e.a).max < ana.bound(e.b).min:
        return e.a
    return None


@rule(FloorDiv, "nested-quotient", ANY, "(x // c1) // c2 = x // (c1 * c2), for c1, c2 > 0")
def nested_quotient(ana: Analyzer, e: FloorDiv) -> Expr | None:
    """Join two quotients."""
    inner, c2 = e.a, _positive_const(e)
    if not c2 or not isinstance(inner, FloorDiv):
        return None
    c1 = _positive_const(inner)
    if not c1:
        return None
    if not _fits(c1 * c2, e.dtype):
        bound = ana.bound(inner.a)
        return None if bound.min < 0 else const(0, e.dtype)
    return FloorDiv(inner.a, const(c1 * c2, e.dtype))


@rule(FloorMod, "nested-remainder", ANY, "(x % c1) % c2 = x % c2 where c2 divides c1")
def nested_remainder(ana: Analyzer, e: FloorMod) -> Expr | None:
    """Drop the inner remainder."""
    inner, c2 = e.a, _positive_const(e)
    if c2 and isinstance(inner, FloorMod) and _positive_const(inner) and _positive_const(inner) % c2 == 0:
        return FloorMod(inner.a, e.b)
    return None


@rule(
    FloorDiv,
    "divide-sum",
    INDEX,
    "(q * c + r) // c = q + r // c; (g * t + s) // (g * c) = t // c for 0 <= s < g",
)
def divide_sum(ana: Analyzer, e: FloorDiv) -> Expr | None:
    """Divide the terms of a sum that the divisor divides."""
    c = _positive_const(e)
    if not c:
        return None
    total = ana.linear(e.a)
    quotient, rest = Linear(), Linear()
    for key, (coeff, term) in total.terms.items():
        if coeff % c == 0:
            quotient.add_term(key, coeff // c, term)
        else:
            rest.add_term(key, coeff, term)
    quotient.const, rest.const = divmod(total.const, c)
    if rest.terms and not quotient.terms and quotient.const:
        # a constant alone moves out where it does so in whole, or settles the rest
        if rest.const and not _settles(ana, rest, c):
            quotient.const, rest.const = 0, total.const
    tail = _quotient_of(ana, rest, c, e)
    if tail is None and not quotient.terms and not quotient.const:
        return None
    if tail is None:
        kept = rebuild(rest, e.dtype, ana.wraps(e))
        if kept is None or not _unharmed(ana, kept):
            return None
        node = FloorDiv(kept, e.b)
        tail = Linear()
        tail.add_term(ana.keys.key(node), 1, node)
    quotient.add(tail)
    result = rebuild(quotient, e.dtype, ana.wraps(e))
    if result is None or not _unharmed(ana, result) or ana.keys.same(result, e):
        return None
    return result


def _settles(ana: Analyzer, rest: Linear, c: int) -> bool:
    bound = rest.bound(ana)
    return bound.min // c == bound.max // c


def _unharmed(ana: Analyzer, e: Expr) -> bool:
    """Whether this sum, of values that are fine, cannot overflow itself (where that counts)."""
    from .simplify import _inside

    if ana.wraps(e):
        return ana.is_exact(e)
    return not ana.strict or _inside(ana, e)


def _quotient_of(ana: Analyzer, rest: Linear, c: int, e: FloorDiv) -> Linear | None:
    """`rest // c` where it is simpler than that, as a sum."""
    if _settles(ana, rest, c):
        return Linear({}, rest.bound(ana).min // c)
    whole, low = _carried(rest, c)
    if whole.terms and _settles(ana, low, c):
        # (360 * x + y) // 16 = 22 * x + (8 * x + y) // 16
        whole.const += low.bound(ana).min // c
        return whole
    for g in _factors(rest, c):
        big, small = _split(rest, g)
        bound = small.bound(ana)
        if bound.min // g != bound.max // g or (g == 1):
            continue
        # (g * t + s) // c = (t + s // g) // (c / g), and s // g is one number
        reduced = Linear({k: (coeff // g, t) for k, (coeff, t) in big.terms.items()}, bound.min // g)
        inner = rebuild(reduced, e.dtype, ana.wraps(e))
        if inner is None or not _unharmed(ana, inner):
            continue
        out = Linear()
        if c == g:
            return reduced
        node = FloorDiv(inner, const(c // g, e.dtype))
        out.add_term(ana.keys.key(node), 1, node)
        return out
    return None


def _carried(rest: Linear, c: int) -> tuple[Linear, Linear]:
    """The sum as `c * whole + low`, the factors of low below c."""
    whole, low = Linear(), Linear({}, rest.const)
    for key, (coeff, term) in rest.terms.items():
        whole.add_term(key, coeff // c, term)
        low.add_term(key, coeff % c, term)
    return whole, low


def _factors(rest: Linear, c: int) -> list[int]:
    """Common factors of the divisor and a coefficient, largest first."""
    return sorted({gcd(coeff, c) for coeff in rest.coeffs()} - {1}, reverse=True)


def _split(total: Linear, g: int) -> tuple[Linear, Linear]:
    """The terms that g divides, and the others with the constant."""
    big, small = Linear(), Linear({}, total.const)
    for key, (coeff, term) in total.terms.items():
        (small if coeff % g else big).add_term(key, coeff, term)
    return big, small


@rule(
    FloorMod,
    "mod-sum",
    INDEX,
    "(q * c + r) % c = r % c; (g * t + s) % (g * c) = g * (t % c) + s for 0 <= s < g",
)
def mod_sum(ana: Analyzer, e: FloorMod) -> Expr | None:
    """Drop the terms of a sum that the divisor divides."""
    c = _positive_const(e)
    if not c:
        return None
    total = ana.linear(e.a)
    rest = Linear({}, total.const % c)
    for key, (coeff, term) in total.terms.items():
        if coeff % c:
            rest.add_term(key, coeff, term)
            if type(term) is FloorMod and _positive_const(term) and coeff * _positive_const(term) % c == 0:
                # k * (y % d) = k * y modulo c, but k * y might overflow: only where y is small already
                inner = ana.linear(term.a).scaled(coeff)
                bound = inner.bound(ana)
                if _fits(bound.min, e.dtype) and _fits(bound.max, e.dtype):
                    rest.add_term(key, -coeff, term)
                    rest.add(inner)
    rest.const %= c
    bound = rest.bound(ana)
    if bound.min // c == bound.max // c:
        rest.const -= bound.min // c * c
        return _accept(ana, rest, e)
    low_sum = _carried(rest, c)[1]
    bound = low_sum.bound(ana)
    if low_sum.terms and bound.min // c == bound.max // c:
        low_sum.const -= bound.min // c * c
        return _accept(ana, low_sum, e)
    for g in _factors(rest, c):
        big, small = _split(rest, g)
        low = small.bound(ana)
        if low.min // g != low.max // g or c == g:
            continue
        shift = low.min // g
        reduced = Linear({k: (coeff // g, t) for k, (coeff, t) in big.terms.items()}, shift)
        if len(big.terms) == 1 and not small.terms:
            # alone, a factor counts modulo the divisor too
            reduced = Linear({k: (coeff // g % (c // g), t) for k, (coeff, t) in big.terms.items()}, shift)
        inner_sum = rebuild(reduced, e.dtype, ana.wraps(e))
        if inner_sum is None or not _unharmed(ana, inner_sum):
            continue
        node = FloorMod(inner_sum, const(c // g, e.dtype))
        small.const -= shift * g
        out = Linear()
        out.add_term(ana.keys.key(node), g, node)
        return _accept(ana, out.add(small), e)
    if len(rest.terms) < len(total.terms) or rest.const != total.const:
        kept = rebuild(rest, e.dtype, ana.wraps(e))
        if kept is not None and _unharmed(ana, kept):
            return FloorMod(kept, e.b)
    return None


def _accept(ana: Analyzer, total: Linear, e: Expr) -> Expr | None:
    result = rebuild(total, e.dtype, ana.wraps(e))
    if result is None or not _unharmed(ana, result) or ana.keys.same(result, e):
        return None
    return result


@rule(
    (FloorDiv, FloorMod),
    "divide-symbolic",
    INDEX,
    "(q * n + r) // n = q and (q * n + r) % n = r, for 0 <= r < n",
)
def divide_symbolic(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Divide by an expression that is known to be positive."""
    if not _int(e) or type(e.b) is IntImm or ana.bound(e.b).min <= 0:
        return None
    divisor = ana.linear(e.b)
    quotient, rest = Linear(), Linear()
    total = ana.linear(e.a)
    rest.const = total.const
    for key, (coeff, term) in total.terms.items():
        if ana.keys.same(term, e.b):
            quotient.const += coeff
            continue
        factor = _cofactor(ana, term, e.b)
        if factor is None:
            rest.add_term(key, coeff, term)
        else:
            quotient.add(ana.linear(factor), coeff)
    below = rest.minus(divisor)
    below.const += 1
    if not (ana.never_positive(rest.scaled(-1)) and ana.never_positive(below)):
        return None
    return _accept(ana, quotient if isinstance(e, FloorDiv) else rest, e)


def _cofactor(ana: Analyzer, term: Expr, divisor: Expr) -> Expr | None:
    """What the term is the divisor's multiple by."""
    if isinstance(term, Mul) and ana.is_exact(term):
        if ana.keys.same(term.b, divisor):
            return term.a
        if ana.keys.same(term.a, divisor):
            return term.b
    return None

"""More rules for quotients and remainders: by symbols, of either kind, in their canonical form."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from ..expr import BinaryOp, Div, Expr, FloorDiv, FloorMod, IntImm, Mod, Mul, const
from ..types import PrimType
from .linear import Linear, rebuild
from .rules import Class, rule

if TYPE_CHECKING:
    from .analyzer import Analyzer

ANY, INDEX = Class.ANY, Class.INDEX
_DIVISIONS = (FloorDiv, FloorMod, Div, Mod)


def _int(e: Expr) -> bool:
    ty = e.ty
    return isinstance(ty, PrimType) and ty.dtype.is_scalar and (ty.dtype.is_int or ty.dtype.is_uint)


def _constant(e: BinaryOp) -> int:
    """The constant divisor of an integer division, else 0."""
    return e.b.value if type(e.b) is IntImm and _int(e) else 0


def _built(ana: Analyzer, total: Linear, e: Expr) -> Expr | None:
    """The sum as an expression; None where it might wrap, or overflow where that counts."""
    from .simplify import _inside

    result = rebuild(total, e.dtype, ana.wraps(e))
    if result is None:
        return None
    fine = ana.is_exact(result) if ana.wraps(e) else not ana.strict or _inside(ana, result)
    return result if fine else None


@rule(_DIVISIONS, "divide-itself", ANY, "x // x = 1, x % x = 0 (x is not 0, or the program fails)")
def divide_itself(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Divide a value by itself."""
    if not _int(e) or not ana.keys.same(e.a, e.b):
        return None
    return const(1 if isinstance(e, FloorDiv | Div) else 0, e.dtype)


@rule(Mod, "mod-sign", ANY, "truncmod(x, -c) = truncmod(x, c)")
def mod_sign(ana: Analyzer, e: Mod) -> Expr | None:
    """The sign of the divisor does not matter."""
    c = _constant(e)
    return Mod(e.a, const(-c, e.dtype)) if e.dtype.min_value < c < 0 else None


@rule((Div, Mod), "exact-truncated", INDEX, "truncdiv(c * t, c) = t and truncmod(c * t, c) = 0 for a sum t")
def exact_truncated(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Divide a sum of multiples of the divisor."""
    c = _constant(e)
    if c == 0 or abs(c) == 1:
        return None
    total = ana.linear(e.a)
    if not total.terms or total.const % c or [k for k in total.coeffs() if k % c]:
        return None
    if isinstance(e, Mod):
        return const(0, e.dtype)
    terms = {key: (k // c, t) for key, (k, t) in total.terms.items()}
    return _built(ana, Linear(terms, total.const // c), e)


@rule(Div, "truncated-factor", INDEX, "truncdiv(g * t, g * c) = truncdiv(t, c)")
def truncated_factor(ana: Analyzer, e: Div) -> Expr | None:
    """Drop a common factor."""
    c = _constant(e)
    if c <= 0:
        return None
    total = ana.linear(e.a)
    factor = gcd(c, total.const, *total.coeffs())
    if factor <= 1 or not total.terms:
        return None
    terms = {key: (k // factor, t) for key, (k, t) in total.terms.items()}
    inner = _built(ana, Linear(terms, total.const // factor), e)
    return Div(inner, const(c // factor, e.dtype)) if inner is not None else None


@rule(Div, "nested-truncated", ANY, "truncdiv(truncdiv(x, c1), c2) = truncdiv(x, c1 * c2)")
def nested_truncated(ana: Analyzer, e: Div) -> Expr | None:
    """Join two quotients."""
    inner, c2 = e.a, _constant(e)
    if type(inner) is not Div or c2 <= 0:
        return None
    c1 = _constant(inner)
    if c1 <= 0 or c1 * c2 > e.dtype.max_value:
        return None
    return Div(inner.a, const(c1 * c2, e.dtype))


@rule(FloorDiv, "quotient-plus", INDEX, "(x // c1 + k) // c2 = (x + k * c1) // (c1 * c2)")
def quotient_plus(ana: Analyzer, e: FloorDiv) -> Expr | None:
    """Join two quotients with a constant between."""
    c2 = _constant(e)
    if c2 <= 1:
        return None
    total = ana.linear(e.a)
    if len(total.terms) != 1 or not total.const:
        return None
    ((coeff, inner),) = total.terms.values()
    if coeff != 1 or type(inner) is not FloorDiv:
        return None
    c1 = _constant(inner)
    if c1 <= 0 or c1 * c2 > e.dtype.max_value:
        return None
    under = ana.linear(inner.a).copy()
    under.const += total.const * c1
    made = _built(ana, under, e)
    return FloorDiv(made, const(c1 * c2, e.dtype)) if made is not None else None


@rule(FloorDiv, "quotient-less-remainder", INDEX, "(x - x % c) // c = x // c; (x - x % n) // n = x // n")
def quotient_less_remainder(ana: Analyzer, e: FloorDiv) -> Expr | None:
    """Drop a remainder that is taken away."""
    if not _int(e) or ana.wraps(e):
        return None
    total = ana.linear(e.a)
    for key, (coeff, term) in total.terms.items():
        if type(term) is not FloorMod or coeff != -1 or not ana.keys.same(term.b, e.b):
            continue
        rest = total.copy()
        del rest.terms[key]
        difference = rest.minus(ana.linear(term.a))
        if difference.is_const and difference.const == 0:
            return FloorDiv(term.a, e.b)
    return None


@rule(
    FloorMod,
    "remainder-of-remainder",
    INDEX,
    "(x - x % c) % c = 0, (x + (-x) % n) % n = 0: a remainder by the divisor counts as its dividend",
)
def remainder_of_remainder(ana: Analyzer, e: FloorMod) -> Expr | None:
    """Replace remainders by the same divisor (or a multiple of it) by their dividends where terms go."""
    if not _int(e):
        return None
    total = ana.linear(e.a)
    rest = total.copy()
    for key, (coeff, term) in total.terms.items():
        if type(term) is FloorMod and _multiple(ana, term.b, e.b):
            del rest.terms[key]
            rest.add(ana.linear(term.a), coeff)
    if len(rest.terms) >= len(total.terms):
        return None
    made = _built(ana, rest, e)
    return FloorMod(made, e.b) if made is not None else None


def _multiple(ana: Analyzer, a: Expr, b: Expr) -> bool:
    """Whether a is a multiple of b by a number, of either sign."""
    if type(a) is IntImm and type(b) is IntImm:
        return b.value != 0 and a.value % b.value == 0
    x, y = ana.linear(a), ana.linear(b)
    return not x.is_const and (_same(x, y) or _same(x.scaled(-1), y))


def _same(x: Linear, y: Linear) -> bool:
    difference = x.minus(y)
    return difference.is_const and difference.const == 0


@rule(FloorDiv, "divide-negated", INDEX, "a // -b = -a // b")
def divide_negated(ana: Analyzer, e: FloorDiv) -> Expr | None:
    """Prefer the positive divisor."""
    if not _int(e) or ana.wraps(e):
        return None
    divisor = ana.linear(e.b)
    if divisor.const > 0 or max(divisor.coeffs(), default=divisor.const) >= 0:
        return None
    a, b = _built(ana, ana.linear(e.a).scaled(-1), e), _built(ana, divisor.scaled(-1), e)
    return None if a is None or b is None else FloorDiv(a, b)


@rule(FloorMod, "digit-form", ANY, "(x // a) % b = x % (a * b) // a, for a, b > 0")
def digit_form(ana: Analyzer, e: FloorMod) -> Expr | None:
    """The canonical form of a digit."""
    inner, b = e.a, _constant(e)
    if type(inner) is not FloorDiv or b <= 0:
        return None
    a = _constant(inner)
    if a <= 0 or a * b > e.dtype.max_value:
        return None
    return FloorDiv(FloorMod(inner.a, const(a * b, e.dtype)), inner.b)


@rule(
    (FloorDiv, FloorMod),
    "divide-by-symbols",
    INDEX,
    "(q * n + r) // n = q + r // n and (q * n + r) % n = r % n, whatever the sign of n",
)
def divide_by_symbols(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Take multiples of a divisor that is no constant out."""
    if not _int(e) or type(e.b) is IntImm or ana.wraps(e):
        return None
    whole = _exact(ana, e)
    if whole is not None:
        return whole
    quotient, rest = Linear(), Linear()
    total = ana.linear(e.a)
    rest.const = total.const
    for key, (coeff, term) in total.terms.items():
        factor = _cofactor(ana, coeff, term, e.b)
        if factor is None:
            rest.add_term(key, coeff, term)
        else:
            quotient.add(factor)
    if not quotient.terms and not quotient.const:
        return None
    inner = _built(ana, rest, e)
    if inner is None:
        return None
    if isinstance(e, FloorMod):
        return FloorMod(inner, e.b)
    tail = FloorDiv(inner, e.b)
    if rest.terms or rest.const:
        quotient.add_term(ana.keys.key(tail), 1, tail)
    return _built(ana, quotient, e)


def _cofactor(ana: Analyzer, coeff: int, term: Expr, divisor: Expr) -> Linear | None:
    """`coeff * term / divisor` where the divisor divides it plainly."""
    number = 1
    if isinstance(divisor, Mul):
        factor = divisor.b
        if isinstance(factor, IntImm):
            number, divisor = factor.value, divisor.a
    if number == 0 or coeff % number:
        return None
    if ana.keys.same(term, divisor):
        return Linear({}, coeff // number)
    if type(term) is Mul:
        for one, other in ((term.a, term.b), (term.b, term.a)):
            if ana.keys.same(one, divisor):
                return Linear({}, 0).add(ana.linear(other), coeff // number)
    return None


def _exact(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """The result where the divisor divides the whole as a polynomial."""
    from .sizes import NotAffine, Sizes

    sizes = Sizes(ana)
    found = sizes.exact(sizes.of(e.a), sizes.of(e.b))
    if found is None:
        return None
    if isinstance(e, FloorMod):
        return const(0, e.dtype)
    if isinstance(found, int):
        fits = e.dtype.min_value <= found <= e.dtype.max_value
        return const(found, e.dtype) if fits else None
    try:
        made = sizes.expr(found, e.dtype)
    except NotAffine:
        return None
    return made if _built(ana, ana.linear(made), e) is not None else None

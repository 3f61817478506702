"""Proofs of integer inequalities by bounds, known facts and replacing terms by their limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..expr import Expr, FloorDiv, FloorMod, IntImm, Max, Min, Mul, Var
from .linear import Linear, linear

if TYPE_CHECKING:
    from .analyzer import Analyzer

DEPTH = 6
"""How many replacements one after another a proof may take."""


class Limits(NamedTuple):
    """Sums that a variable does not go below and above."""

    min: Linear
    max: Linear


def never_positive(ana: Analyzer, total: Linear, depth: int = DEPTH) -> bool:
    """Whether the sum is provably at most 0."""
    if total.bound(ana).max <= 0:
        return True
    if total.is_const:
        return False
    for fact in ana.inequalities:
        if fact.terms and not fact.terms.keys().isdisjoint(total.terms):
            rest = total.minus(fact)
            if len(rest.terms) < len(total.terms) + len(fact.terms) and rest.bound(ana).max <= 0:
                return True
    if depth == 0:
        return False
    # what depends on variables first: a variable replaced loses what ties it to such terms
    compound = [item for item in total.terms.items() if not isinstance(item[1][1], Var)]
    plain = [item for item in total.terms.items() if isinstance(item[1][1], Var)]
    for key, (coeff, term) in (*compound, *plain):
        for limit in _limits(ana, term, coeff):
            weaker = total.copy()
            del weaker.terms[key]
            weaker.add(limit)
            if never_positive(ana, weaker, depth - 1):
                return True
            if isinstance(term, Var):
                return False  # the order in which variables are replaced does not matter: one try is enough
    return False


def _limits(ana: Analyzer, term: Expr, coeff: int) -> list[Linear]:
    """Sums that `coeff * term` does not exceed."""
    if isinstance(term, Var):
        limits = ana.limits.get(term)
        if limits is None:
            return []
        return [(limits.max if coeff > 0 else limits.min).scaled(coeff)]
    if isinstance(term, FloorDiv) and isinstance(term.b, IntImm) and term.b.value > 0:
        return _quotient(ana, term, coeff)
    if isinstance(term, FloorMod) and isinstance(term.b, IntImm) and term.b.value > 0:
        # x % c <= x where x is not negative
        if coeff > 0 and ana.bound(term.a).min >= 0:
            return [linear(ana, term.a).scaled(coeff)]
        return []
    if isinstance(term, Min | Max) and (coeff > 0) == isinstance(term, Min):
        return [linear(ana, side).scaled(coeff) for side in (term.a, term.b)]
    if isinstance(term, Mul):
        return _product(ana, term, coeff)
    return []


def _quotient(ana: Analyzer, term: FloorDiv, coeff: int) -> list[Linear]:
    divisor = int(term.b)  # type: ignore[call-overload]
    if coeff % divisor:
        return []
    part = linear(ana, term.a).scaled(coeff // divisor)
    if coeff < 0:
        # x // c >= (x - c + 1) / c
        part.const += (-coeff // divisor) * (divisor - 1)
    return [part]


def _product(ana: Analyzer, term: Mul, coeff: int) -> list[Linear]:
    """Limits of `x * y` where y is not negative: x replaced by its own limit."""
    found: list[Linear] = []
    if not ana.is_exact(term):
        return found
    for x, y in ((term.a, term.b), (term.b, term.a)):
        if not isinstance(x, Var) or x not in ana.limits or ana.bound(y).min < 0:
            continue
        limit = ana.limits[x].max if coeff > 0 else ana.limits[x].min
        total = Linear()
        for c, t in limit.terms.values():
            product = Mul(t, y)
            key = ana.keys.key(product)
            ana.unbounded.add(key)  # no value of the program, so its type's range says nothing
            total.add_term(key, c * coeff, product)
        if limit.const:
            total.add(linear(ana, y), limit.const * coeff)
        found.append(total)
    return found

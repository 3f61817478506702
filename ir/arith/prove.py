"""Proofs of integer inequalities by bounds, known facts and replacing terms by their limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..expr import Expr, FloorDiv, FloorMod, IntImm, Max, Min, Mul, Select, Var
from .linear import Linear, linear

if TYPE_CHECKING:
    from .analyzer import Analyzer

DEPTH = 6
"""How many replacements one after another a proof may take."""

CHAIN = 4
"""How many facts one after another a proof may take."""

TRIES = 200
"""How many facts a proof may try altogether."""


SUMS = 500
"""How many sums a proof may look at altogether: a product of sums has terms enough for millions."""


class Limits(NamedTuple):
    """Sums that a variable does not go below and above."""

    min: Linear
    max: Linear


def never_positive(ana: Analyzer, total: Linear, depth: int = DEPTH, left: list[int] | None = None) -> bool:
    """Whether the sum is provably at most 0. `left` counts the sums that the proof may still look at."""
    left = [SUMS] if left is None else left
    left[0] -= 1
    if total.bound(ana).max <= 0:
        return True
    if total.is_const:
        return False
    if ana.inequalities and _by_facts(ana, total, CHAIN if ana.chained else 1, (), [TRIES]):
        return True
    if depth == 0 or left[0] <= 0:
        return False
    # what depends on variables first: a variable replaced loses what ties it to such terms
    compound = [item for item in total.terms.items() if not isinstance(item[1][1], Var)]
    plain = [item for item in total.terms.items() if isinstance(item[1][1], Var)]
    for key, (coeff, term) in (*compound, *plain):
        for limit in _limits(ana, term, coeff):
            if never_positive(ana, _with(total, key, limit), depth - 1, left):
                return True
            if isinstance(term, Var):
                return False  # the order in which variables are replaced does not matter: one try is enough
        either = _alternatives(ana, term, coeff)
        if either and _both(ana, total, key, either, depth - 1, left):
            return True
    return False


def _with(total: Linear, key: int, limit: Linear) -> Linear:
    """The sum with this term replaced."""
    other = total.copy()
    del other.terms[key]
    return other.add(limit)


def _both(ana: Analyzer, total: Linear, key: int, either: list[Linear], depth: int, left: list[int]) -> bool:
    for limit in either:
        if not never_positive(ana, _with(total, key, limit), depth, left):
            return False
    return True


def _by_facts(ana: Analyzer, total: Linear, chain: int, used: tuple[int, ...], tries: list[int]) -> bool:
    """Whether the sum is at most a sum of multiples of known facts, each `form <= 0`."""
    for number, fact in enumerate(ana.inequalities):
        if tries[0] <= 0:
            return False
        if number in used or not fact.terms or fact.terms.keys().isdisjoint(total.terms):
            continue
        for factor in _factors(total, fact):
            tries[0] -= 1
            rest = total.copy().add(fact, -factor)
            if rest.bound(ana).max <= 0:
                return True
            shorter = len(rest.terms) <= len(total.terms)
            if chain > 1 and shorter and _by_facts(ana, rest, chain - 1, (*used, number), tries):
                return True
        for times in _factors(fact, total):
            # of integers, x <= 0 where times * x < times
            rest = total.scaled(times)
            rest.const -= times - 1
            if times > 1 and rest.add(fact, -1).bound(ana).max <= 0:
                return True
    return False


def _factors(total: Linear, fact: Linear) -> list[int]:
    """How many times the fact must be taken to cancel a term."""
    found: list[int] = []
    for key, (coeff, _) in fact.terms.items():
        own = total.terms.get(key)
        if own is not None and own[0] % coeff == 0 and own[0] // coeff > 0:
            factor = own[0] // coeff
            if factor not in found:
                found.append(factor)
    return found


def _limits(ana: Analyzer, term: Expr, coeff: int) -> list[Linear]:
    """Sums that `coeff * term` does not exceed."""
    if isinstance(term, Var):
        limits = ana.limits.get(term)
        if limits is None:
            return []
        return [(limits.max if coeff > 0 else limits.min).scaled(coeff)]
    if isinstance(term, FloorDiv) and isinstance(term.b, IntImm) and term.b.value > 0:
        return _quotient(ana, term, coeff)
    if isinstance(term, FloorMod):
        return _remainder(ana, term, coeff)
    if isinstance(term, Min | Max) and (coeff > 0) == isinstance(term, Min):
        return [linear(ana, side).scaled(coeff) for side in (term.a, term.b)]
    if isinstance(term, Mul):
        return _product(ana, term, coeff)
    return []


def _alternatives(ana: Analyzer, term: Expr, coeff: int) -> list[Linear]:
    """Sums of which one is `coeff * term`."""
    if isinstance(term, Min | Max) and (coeff > 0) == isinstance(term, Max):
        return [linear(ana, side).scaled(coeff) for side in (term.a, term.b)]
    if isinstance(term, Select):
        return [linear(ana, side).scaled(coeff) for side in (term.true_value, term.false_value)]
    return []


def _remainder(ana: Analyzer, term: FloorMod, coeff: int) -> list[Linear]:
    divisor = ana.bound(term.b)
    if divisor.min <= 0:
        return []
    found: list[Linear] = []
    if coeff > 0:
        # x % c <= x where x is not negative, and x % n < n
        if ana.bound(term.a).min >= 0:
            found.append(linear(ana, term.a).scaled(coeff))
        if not isinstance(term.b, IntImm):
            below = linear(ana, term.b).scaled(coeff)
            below.const -= coeff
            found.append(below)
    return found


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
        if isinstance(x, FloorDiv) and ana.keys.same(x.b, y) and ana.bound(y).min > 0:
            # x // n * n <= x, and >= x - n + 1
            total = linear(ana, x.a).scaled(coeff)
            if coeff < 0:
                total.add(linear(ana, y), -coeff)
                total.const += coeff
            found.append(total)
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

"""Conditions as a conjunction of disjunctions."""

from __future__ import annotations

from ...ir import And, Expr, IntImm, Or, const
from ...ir.arith import Analyzer
from ...ir.arith.simplify import simplify
from ..common import is_steady

_MOST_CLAUSES = 32
"""More disjunctions than these are not made: distributing may give exponentially many."""

Clause = list[Expr]


def as_and_of_ors(ana: Analyzer, e: Expr) -> Expr:
    """The condition as a conjunction of disjunctions, simplified between all parts.

    It comes back as it is where that would grow too much.  Parts that read memory keep their order,
    since one may guard the other.
    """
    if not isinstance(e, And | Or):
        return e
    clauses = _clauses(e)
    if clauses is None:
        return e
    for k, clause in enumerate(clauses):
        clauses[k] = _simplified(ana, clause)
    return _joined(And, [_joined(Or, c) for c in _merged(ana, clauses)])


def _clauses(e: Expr) -> list[Clause] | None:
    if not isinstance(e, And | Or):
        return [[e]]
    a, b = _clauses(e.a), _clauses(e.b)
    if a is None or b is None:
        return None
    if isinstance(e, And):
        return a + b if len(a) + len(b) <= _MOST_CLAUSES else None
    if len(a) * len(b) > _MOST_CLAUSES:
        return None
    return [x + y for x in a for y in b]


def _simplified(ana: Analyzer, parts: Clause) -> Clause:
    """The parts of one disjunction: pairs that amount to one part are joined."""
    kept: Clause = []
    for part in parts:
        if any(ana.keys.same(part, other) for other in kept):
            continue
        joined = False
        for k, other in enumerate(kept):
            one = _one(ana, Or, other, part)
            if one is not None:
                _replace(kept, k, one, part)
                joined = True
                break
        if not joined:
            kept.append(part)
    return kept


def _one(ana: Analyzer, kind: type[And] | type[Or], a: Expr, b: Expr) -> Expr | None:
    """A single condition that says what the two say together, or None."""
    made = simplify(ana, kind(a, b))
    return None if isinstance(made, And | Or) else made


def _replace(kept: Clause, k: int, one: Expr, later: Expr) -> None:
    """Put the joined condition in the place of the later part, of the earlier one if memory is read."""
    steady = is_steady(later) and all(is_steady(e) for e in kept)
    if steady:
        del kept[k]
        kept.append(one)
    else:
        kept[k] = one


def _merged(ana: Analyzer, clauses: list[Clause]) -> list[Clause]:
    """The conjunction of the clauses: what others imply goes, those that differ in one part join."""
    kept: list[Clause] = []
    for clause in clauses:
        if any(_implies(ana, other, clause) for other in kept):
            continue
        place = None
        for k, other in enumerate(kept):
            joined = _join(ana, other, clause)
            if joined is not None:
                place, clause = k, joined
                break
        if place is None:
            kept.append(clause)
        elif all(is_steady(e) for c in (*kept, clause) for e in c):
            del kept[place]
            kept.append(clause)
        else:
            kept[place] = clause
    return kept


def _implies(ana: Analyzer, a: Clause, b: Clause) -> bool:
    """Whether every part of the first disjunction is one of the second."""
    return all(any(ana.keys.same(x, y) for y in b) for x in a)


def _join(ana: Analyzer, a: Clause, b: Clause) -> Clause | None:
    """One disjunction for two that differ in one part, in the order of the second, or None."""
    only = [x for x in a if not any(ana.keys.same(x, y) for y in b)]
    others = [k for k, y in enumerate(b) if not any(ana.keys.same(x, y) for x in a)]
    if len(only) != 1 or len(others) != 1 or len(a) != len(b):
        return None
    one = _one(ana, And, only[0], b[others[0]])
    return None if one is None else [one if k == others[0] else y for k, y in enumerate(b)]


def _joined(kind: type[And] | type[Or], parts: list[Expr]) -> Expr:
    """The parts in one expression; constants that decide or do not matter go."""
    total: Expr | None = None
    for part in parts:
        if isinstance(part, IntImm):
            if bool(part.value) is not (kind is And):
                return part
            continue
        total = part if total is None else kind(total, part)
    return const(kind is And, "bool") if total is None else total

"""Rules for comparisons and logic."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from ..expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOp,
    Comparison,
    Expr,
    IntImm,
    Mul,
    Not,
    Or,
    Sub,
    Var,
)
from ..types import BOOL, PrimType
from ..visitor import walk
from .analyzer import reads_memory
from .linear import Linear, rebuild
from .rules import Class, rule

if TYPE_CHECKING:
    from .analyzer import Analyzer

ANY, INDEX = Class.ANY, Class.INDEX
_COMPARISONS = (EQ, NE, LT, LE, GT, GE)
NEGATED: dict[type, type[Comparison]] = {LT: GE, GE: LT, GT: LE, LE: GT, EQ: NE, NE: EQ}


def _int(e: Expr) -> bool:
    ty = e.ty
    return isinstance(ty, PrimType) and ty.dtype.is_scalar and ty.dtype.is_integral


def truth(value: bool) -> Expr:
    """The bool constant."""
    return IntImm(BOOL, int(value))


def _is(e: Expr, value: bool) -> bool:
    return type(e) is IntImm and bool(e.value) is value


@rule(
    (*_COMPARISONS, And, Or, Not),
    "known-fact",
    ANY,
    "a condition that is assumed is true, its negation false",
)
def known_fact(ana: Analyzer, e: Expr) -> Expr | None:
    """Look the condition up among the facts."""
    if not ana.facts or e.ty is not BOOL:
        return None
    found = ana.facts.get(ana.keys.key(e))
    return None if found is None else truth(found)


@rule(_COMPARISONS, "compare-itself", ANY, "integers: x == x, x <= x; x < x is false")
def compare_itself(ana: Analyzer, e: Comparison) -> Expr | None:
    """Compare an integer with itself."""
    if _int(e.a) and ana.keys.same(e.a, e.b):
        return truth(isinstance(e, EQ | LE | GE))
    return None


@rule(
    _COMPARISONS,
    "compare-bounds",
    INDEX,
    "bounds, remainders, facts and limits of a - b decide the comparison",
)
def compare_bounds(ana: Analyzer, e: Comparison) -> Expr | None:
    """Decide a comparison of integers."""
    if not _int(e.a):
        return None
    difference = ana.linear(e.a).minus(ana.linear(e.b))
    if isinstance(e, EQ | NE):
        if difference.is_const:
            return truth((difference.const == 0) == isinstance(e, EQ))
        if _never_zero(ana, difference):
            return truth(isinstance(e, NE))
        if ana.never_positive(difference) and ana.never_positive(difference.scaled(-1)):
            return truth(isinstance(e, EQ))
        return None
    if isinstance(e, GT | GE):
        difference = difference.scaled(-1)
    strict = isinstance(e, LT | GT)
    below = difference.copy()
    below.const += strict
    if ana.never_positive(below):
        return truth(True)
    above = difference.scaled(-1)
    above.const += not strict
    return truth(False) if ana.never_positive(above) else None


def _never_zero(ana: Analyzer, total: Linear) -> bool:
    bound = total.bound(ana)
    if bound.min > 0 or bound.max < 0:
        return True
    coeff, base = 0, total.const
    for c, term in total.terms.values():
        known = ana.modular(term)
        coeff = gcd(coeff, c * known.coeff)
        base += c * known.base
    if (base % coeff if coeff else base) != 0:
        return True
    for sign in (1, -1):
        form = total.scaled(sign)
        form.const += 1
        if ana.never_positive(form):
            return True
    return False


@rule(
    _COMPARISONS, "compare-sums", INDEX, "terms on both sides cancel, common factors go, constants go right"
)
def compare_sums(ana: Analyzer, e: Comparison) -> Expr | None:
    """Compare less on each side."""
    dtype = e.a.dtype
    if not _int(e.a) or dtype.is_bool or dtype.is_uint:
        return None
    a, b = ana.linear(e.a), ana.linear(e.b)
    total = a.minus(b)
    before = len(total.terms)
    if before > 1:
        from .sums import _remainders

        _remainders(ana, total)
    shared = len(total.terms) < len(a.terms) + len(b.terms) or len(total.terms) < before
    movable = a.const != 0 and (b.const != 0 or not b.terms) or (b.const != 0 and not a.terms and b.terms)
    negative = a.const < 0 and a.terms or b.const < 0 and b.terms
    factor = gcd(*total.coeffs())
    near = abs(total.const) == 1 and isinstance(e, LT | LE) and a.terms and b.terms
    if not (shared or (movable and a.terms) or negative or factor > 1 or near):
        return None
    constant = -total.const
    if factor > 1:
        if isinstance(e, EQ | NE) and constant % factor:
            return truth(isinstance(e, NE))
        # g * t < k exactly where t < ceil(k / g); g * t <= k exactly where t <= floor(k / g)
        constant = -(-constant // factor) if isinstance(e, LT | GE) else constant // factor
    left, right = Linear(), Linear()
    for key, (coeff, term) in total.terms.items():
        (left if coeff > 0 else right).add_term(key, abs(coeff) // factor, term)
    kind = type(e)
    if left.terms and right.terms and isinstance(e, LT | LE):
        # a < b + 1 is a <= b, a <= b - 1 is a < b
        if constant == 1 and kind is LT or constant == -1 and kind is LE:
            kind, constant = (LE if kind is LT else LT), 0
    if not left.terms:
        # only negative terms: t on the right, the constant on the left
        left.const = -constant
    else:
        right.const = constant
        if right.terms and constant < 0:
            left.const, right.const = -constant, 0
    sides = [rebuild(side, dtype, ana.wraps(e.a)) for side in (left, right)]
    if sides[0] is None or sides[1] is None:
        return None
    for side in sides:
        if side is None or not (ana.is_exact(side) and _calm(ana, side)):
            return None
    result = kind(sides[0], sides[1])
    return None if ana.keys.same(result, e) else result


@rule((LT, LE), "compare-blocks", INDEX, "g * t + s < g * k is t < k, where 0 <= s < g")
def compare_blocks(ana: Analyzer, e: Comparison) -> Expr | None:
    """Drop the terms that cannot matter: they stay within one block of the others' steps."""
    dtype = e.a.dtype
    if not _int(e.a) or not dtype.is_int:
        return None
    total = ana.linear(e.a).minus(ana.linear(e.b))
    # a <= b is a - b - 1 < 0
    total.const -= isinstance(e, LE)
    if len(total.terms) < 2:
        return None
    for g in sorted({abs(c) for c in total.coeffs()} - {1}, reverse=True):
        big, small = Linear(), Linear({}, total.const)
        for key, (coeff, term) in total.terms.items():
            (small if coeff % g else big).add_term(key, coeff, term)
        bound = small.bound(ana)
        if not small.terms or not big.terms or bound.min // g != bound.max // g:
            continue
        left, right = Linear(), Linear()
        for key, (coeff, term) in big.terms.items():
            (left if coeff > 0 else right).add_term(key, abs(coeff) // g, term)
        limit = -(bound.min // g)
        if left.terms and (not right.terms or limit > 0):
            right.const = limit
        else:
            left.const = -limit
        sides = [rebuild(side, dtype, ana.wraps(e.a)) for side in (left, right)]
        if sides[0] is None or sides[1] is None:
            continue
        if (
            ana.is_exact(sides[0])
            and ana.is_exact(sides[1])
            and _calm(ana, sides[0])
            and _calm(ana, sides[1])
        ):
            return LT(sides[0], sides[1])
    return None


def _calm(ana: Analyzer, side: Expr) -> bool:
    from .simplify import _inside

    return not ana.strict or ana.wraps(side) or _inside(ana, side)


@rule(Not, "not-constant", ANY, "not True = False")
def not_constant(ana: Analyzer, e: Not) -> Expr | None:
    """Fold a negated constant."""
    return truth(not e.a.value) if type(e.a) is IntImm else None


@rule(Not, "not-not", ANY, "not not x = x")
def not_not(ana: Analyzer, e: Not) -> Expr | None:
    """Drop a double negation."""
    return e.a.a if isinstance(e.a, Not) else None


@rule(
    Not, "not-comparison", ANY, "integers: not (a < b) = a >= b, and so on (not for floats, which may be NaN)"
)
def not_comparison(ana: Analyzer, e: Not) -> Expr | None:
    """Turn a negated comparison round."""
    inner = e.a
    if isinstance(inner, Comparison) and inner.a.dtype.is_integral:
        return NEGATED[type(inner)](inner.a, inner.b)
    return None


@rule(
    (And, Or), "logic-constant", ANY, "True and x = x, False and x = False; True or x = True, False or x = x"
)
def logic_constant(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Drop a constant operand; the left one decides first, the right one is pure here."""
    if e.ty is not BOOL:
        return None
    neutral = isinstance(e, And)
    for one, other in ((e.a, e.b), (e.b, e.a)):
        if _is(one, neutral):
            return other
        if _is(one, not neutral):
            return one
    return None


@rule((And, Or), "logic-same", ANY, "x and x = x, x or x = x; x and not x = False, x or not x = True")
def logic_same(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Join equal operands."""
    if e.ty is not BOOL:
        return None
    if ana.keys.same(e.a, e.b):
        return e.a
    for one, other in ((e.a, e.b), (e.b, e.a)):
        if isinstance(one, Not) and ana.keys.same(one.a, other):
            return truth(isinstance(e, Or))
    return None


@rule((And, Or), "logic-implied", ANY, "a and b = b where b implies a; a or b = a where b implies a")
def logic_implied(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Drop a comparison that follows from the other operand."""
    if e.ty is not BOOL or not isinstance(e.a, Comparison) or not isinstance(e.b, Comparison):
        return None
    if not (_int(e.a.a) and _int(e.b.a)):
        return None
    # the left operand may guard the right one, which must be fine on its own then
    if reads_memory(e.a) or not _cannot_fail(ana, e.b):
        return None
    keep = isinstance(e, And)
    from .simplify import simplify

    with ana.assume(e.b, truth=keep):
        if _is(simplify(ana, e.a), keep):
            return e.b
    return None


def _cannot_fail(ana: Analyzer, e: Expr) -> bool:
    """Whether evaluating the expression raises no error whatever its variables are."""
    with ana.mode(data=True):
        for node in walk(e):
            if not isinstance(node, Var | IntImm | Comparison | Add | Sub | Mul):
                return False
            if isinstance(node, Add | Sub | Mul) and not ana.is_exact(node):
                return False
    return True

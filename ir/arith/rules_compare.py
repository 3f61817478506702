"""Rules that bring comparisons and logic into one form: `<` and `<=`, positive constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    And,
    BinaryOp,
    Comparison,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Var,
    const,
)
from ..types import BOOL, PrimType
from .linear import rebuild
from .rules import Class, rule

if TYPE_CHECKING:
    from .analyzer import Analyzer

ANY, INDEX = Class.ANY, Class.INDEX


def _int(e: Expr) -> bool:
    ty = e.ty
    return isinstance(ty, PrimType) and ty.dtype.is_scalar and (ty.dtype.is_int or ty.dtype.is_uint)


@rule((GT, GE), "compare-turn", ANY, "a > b is b < a, a >= b is b <= a (floats too)")
def compare_turn(ana: Analyzer, e: Comparison) -> Expr | None:
    """Turn a comparison round."""
    return (LT if isinstance(e, GT) else LE)(e.b, e.a)


@rule((EQ, NE), "constant-right", ANY, "c == x is x == c")
def constant_right(ana: Analyzer, e: Comparison) -> Expr | None:
    """The constant of an equation goes right."""
    if type(e.a) is IntImm and type(e.b) is not IntImm and _int(e.a):
        return type(e)(e.b, e.a)
    return None


@rule(
    (LT, LE),
    "compare-quotient",
    ANY,
    "x // c < k is x < k * c, for c > 0, and alike for both kinds and sides",
)
def compare_quotient(ana: Analyzer, e: Comparison) -> Expr | None:
    """Compare the dividend of a quotient instead."""
    if not _int(e.a):
        return None
    for quotient, limit, below in ((e.a, e.b, True), (e.b, e.a, False)):
        if type(quotient) not in (FloorDiv, Div) or type(limit) is not IntImm:
            continue
        assert isinstance(quotient, BinaryOp)
        if type(quotient.b) is not IntImm or quotient.b.value <= 0:
            return None
        c, k = quotient.b.value, limit.value
        # q < k is q <= k - 1, k < q is k + 1 <= q
        strict = isinstance(e, LT)
        if below:
            top = k - 1 if strict else k
            # the largest x with x // c <= top
            last = top * c + c - 1 if type(quotient) is FloorDiv or top >= 0 else top * c
            number = last + 1 if strict else last
        else:
            bottom = k + 1 if strict else k
            first = bottom * c if type(quotient) is FloorDiv or bottom > 0 else bottom * c - (c - 1)
            number = first - 1 if strict else first
        dtype = e.a.dtype
        if not dtype.min_value <= number <= dtype.max_value:
            return None
        end = const(number, dtype)
        return type(e)(quotient.a, end) if below else type(e)(end, quotient.a)
    return None


@rule(
    (LT, LE),
    "compare-extreme",
    INDEX,
    "min(a, b) < k is a < k where b < k is false, True where it is true; alike",
)
def compare_extreme(ana: Analyzer, e: Comparison) -> Expr | None:
    """Compare the side of an extreme that matters."""
    from .simplify import simplify

    if not _int(e.a):
        return None
    for extreme, left in ((e.a, True), (e.b, False)):
        if not isinstance(extreme, Min | Max):
            continue
        # min(a, b) < k, and k < max(a, b), hold where one side does; the others where both do
        either = isinstance(extreme, Min) is left
        for one, other in ((extreme.a, extreme.b), (extreme.b, extreme.a)):
            part = type(e)(one, e.b) if left else type(e)(e.a, one)
            short = simplify(ana, part)
            if type(short) is IntImm:
                if bool(short.value) is either:
                    return short
                return type(e)(other, e.b) if left else type(e)(e.a, other)
    return None


@rule((EQ, NE), "product-zero", INDEX, "x * y == 0 is x == 0 or y == 0; x * y != 0 is x != 0 and y != 0")
def product_zero(ana: Analyzer, e: Comparison) -> Expr | None:
    """A product that is zero has a factor that is (where products do not wrap)."""
    product = e.a
    if type(e.b) is not IntImm or e.b.value or type(product) is not Mul or not ana.is_exact(product):
        return None
    kind = type(e)
    return (Or if kind is EQ else And)(kind(product.a, e.b), kind(product.b, e.b))


@rule(Not, "not-and", ANY, "not (a and b) = not a or not b, not (a or b) = not a and not b")
def not_and(ana: Analyzer, e: Not) -> Expr | None:
    """Move a negation inwards."""
    inner = e.a
    if isinstance(inner, And | Or) and inner.ty is BOOL:
        return (Or if isinstance(inner, And) else And)(Not(inner.a), Not(inner.b))
    return None


@rule(And, "logic-digits", ANY, "x // c == q and x % c == r is x == q * c + r; bounds of the remainder alike")
def logic_digits(ana: Analyzer, e: And) -> Expr | None:
    """Join what is known of a quotient and a remainder."""
    for one, other in ((e.a, e.b), (e.b, e.a)):
        if type(one) is not EQ or type(one.a) is not FloorDiv or type(one.b) is not IntImm:
            continue
        x, c, q = one.a.a, one.a.b, one.b.value
        if type(c) is not IntImm or c.value <= 0 or not _int(x) or not isinstance(other, Comparison):
            continue
        bounds = _remainder_bounds(ana, other, x, c.value)
        if bounds is None:
            continue
        start, dtype = q * c.value, x.dtype
        upper, *ends = bounds
        numbers = [start + n for n in ends]
        if min(numbers) < dtype.min_value or max(numbers) > dtype.max_value or start < dtype.min_value:
            continue
        low, high = const(numbers[0], dtype), const(numbers[1], dtype)
        if type(other) is EQ:
            return EQ(x, low)
        if upper:
            return And(LE(low, x), (LE if type(other) is LE else LT)(x, high))
        return And((LE if type(other) is LE else LT)(low, x), LT(x, high))
    return None


def _remainder_bounds(ana: Analyzer, e: Comparison, x: Expr, c: int) -> tuple[bool, int, int] | None:
    """From a comparison of `x % c` with a constant: whether it is an upper bound, and the ends."""
    for side, limit, left in ((e.a, e.b, True), (e.b, e.a, False)):
        if type(side) is not FloorMod or type(limit) is not IntImm or not ana.keys.same(side.a, x):
            continue
        if type(side.b) is not IntImm or side.b.value != c or not 0 <= limit.value < c:
            continue
        if type(e) is EQ:
            return True, limit.value, limit.value
        if type(e) in (LT, LE):
            # upper ends as they stand; lower ends as they stand, below the next multiple
            return (True, 0, limit.value) if left else (False, limit.value, c)
    return None


@rule(And, "logic-quotient", INDEX, "0 <= x - y * c and x - y * c < c is y == x // c")
def logic_quotient(ana: Analyzer, e: And) -> Expr | None:
    """The definition of the quotient."""
    for low, high in ((e.a, e.b), (e.b, e.a)):
        if type(low) is not LE or type(high) is not LT or type(high.b) is not IntImm or not _int(low.a):
            continue
        if type(low.a) is not IntImm or low.a.value != 0 or ana.wraps(high.b):
            continue
        c, total = high.b.value, ana.linear(low.b)
        difference = total.minus(ana.linear(high.a))
        if difference.terms or difference.const or c <= 0:
            continue
        for key, (coeff, term) in total.terms.items():
            if coeff == -c and isinstance(term, Var):
                rest = total.copy()
                del rest.terms[key]
                x = rebuild(rest, high.b.dtype, False)
                if x is not None and rest.terms and not ana.strict:
                    return EQ(term, FloorDiv(x, high.b))
    return None


@rule(And, "logic-narrow", ANY, "x < 20 and x % 5 < 2 is x < 17 and x % 5 < 2")
def logic_narrow(ana: Analyzer, e: And) -> Expr | None:
    """Lower an upper bound to where the remainder allows a value."""
    for one, other, first in ((e.a, e.b, True), (e.b, e.a, False)):
        if type(one) not in (LT, LE) or type(other) is not LT or type(other.b) is not IntImm:
            continue
        if type(one.b) is not IntImm or type(other.a) is not FloorMod or not _int(one.a):  # type: ignore[attr-defined]
            continue
        inner, r = other.a, other.b.value
        x: Expr = one.a  # type: ignore[attr-defined]
        if type(inner.b) is not IntImm or not 0 < r < inner.b.value or not ana.keys.same(inner.a, x):
            continue
        top = one.b.value - (type(one) is LT)  # type: ignore[attr-defined]
        c = inner.b.value
        if top % c < r:
            continue
        end = top // c * c + r
        if not x.dtype.min_value <= end:
            continue
        narrow = LT(x, const(end, x.dtype))
        return And(narrow, other) if first else And(other, narrow)
    return None

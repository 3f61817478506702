"""Rules that bring comparisons and logic into one form: `<` and `<=` only, positive constants, flat chains."""

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
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Or,
    const,
)
from ..types import BOOL, PrimType
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


@rule((LT, LE), "compare-quotient", ANY, "x // c < k is x < k * c, for c > 0, and alike for both kinds and sides")
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


@rule((LT, LE), "compare-extreme", INDEX, "min(a, b) < k is a < k where b < k is false, True where it is true; alike")
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


@rule((And, Or), "logic-chain", ANY, "a and (b and c) = (a and b) and c")
def logic_chain(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Chains lean to the left; the order of evaluation stays."""
    kind = type(e)
    if type(e.b) is not kind:
        return None
    parts: list[Expr] = []
    rest: Expr = e.b
    while type(rest) is kind:
        parts.append(rest.b)  # type: ignore[attr-defined]
        rest = rest.a  # type: ignore[attr-defined]
    result: Expr = kind(e.a, rest)
    for part in reversed(parts):
        result = kind(result, part)
    return result

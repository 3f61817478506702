"""Rules for vectors: work on one lane where all lanes are alike, ramps kept as ramps."""

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
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    Broadcast,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    LShift,
    Max,
    Min,
    Mod,
    Not,
    Or,
    Ramp,
    RShift,
    Select,
    Sub,
    const,
)
from ..types import BOOL, PrimType
from .linear import Linear, rebuild
from .rules import Class, rule

if TYPE_CHECKING:
    from .analyzer import Analyzer

ANY, INDEX = Class.ANY, Class.INDEX
_BINARY = (
    *(Div, Mod, FloorDiv, FloorMod, Min, Max, LShift, RShift, BitwiseAnd, BitwiseOr, BitwiseXor),
    *(EQ, NE, LT, LE, GT, GE, And, Or),
)


@rule(_BINARY, "vector-lane", ANY, "an operation on two broadcasts is the broadcast of the operation")
def vector_lane(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Compute one lane."""
    from .simplify import simplify

    if type(e.a) is not Broadcast or type(e.b) is not Broadcast:
        return None
    return Broadcast(simplify(ana, type(e)(e.a.value, e.b.value)), e.a.lanes)


@rule((Not, Cast), "vector-unary", ANY, "not and casts of a broadcast are broadcasts")
def vector_unary(ana: Analyzer, e: Not | Cast) -> Expr | None:
    """Compute one lane."""
    from .simplify import simplify

    if isinstance(e, Not):
        return Broadcast(simplify(ana, Not(e.a.value)), e.a.lanes) if type(e.a) is Broadcast else None
    if type(e.value) is not Broadcast or not isinstance(e.ty, PrimType):
        return None
    return Broadcast(simplify(ana, Cast(PrimType(e.dtype.element), e.value.value)), e.value.lanes)


@rule(Select, "vector-select", ANY, "a choice of broadcasts by a broadcast condition is a broadcast choice")
def vector_select(ana: Analyzer, e: Select) -> Expr | None:
    """Choose for one lane."""
    from .simplify import simplify

    c, a, b = e.condition, e.true_value, e.false_value
    if type(c) is Broadcast and type(a) is Broadcast and type(b) is Broadcast:
        return Broadcast(simplify(ana, Select(c.value, a.value, b.value)), a.lanes)
    return None


@rule(
    (Min, Max), "vector-extremes", ANY, "min(min(v, broadcast x), broadcast y) = min(v, broadcast min(x, y))"
)
def vector_extremes(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Join the broadcasts of a chain (integers: NaN would make the order count)."""
    from .simplify import simplify

    inner, kind = e.a, type(e)
    if type(e.b) is not Broadcast or type(inner) is not kind or not e.dtype.is_integral:
        return None
    assert isinstance(inner, BinaryOp)
    if type(inner.b) is not Broadcast:
        return None
    return kind(inner.a, Broadcast(simplify(ana, kind(inner.b.value, e.b.value)), e.b.lanes))


@rule(Sub, "broadcast-less-ramp", ANY, "broadcast a - ramp(b, s) = ramp(a - b, -s)")
def broadcast_less_ramp(ana: Analyzer, e: Sub) -> Expr | None:
    """Count the other way."""
    from .simplify import simplify

    a, b = e.a, e.b
    if type(a) is not Broadcast or type(b) is not Ramp or type(b.stride) is not IntImm or not e.dtype.is_int:
        return None
    if b.stride.value == b.stride.dtype.min_value:
        return None
    return Ramp(simplify(ana, Sub(a.value, b.base)), const(-b.stride.value, b.stride.dtype), b.lanes)


@rule(
    (FloorDiv, FloorMod),
    "vector-block",
    INDEX,
    "lanes that stay within one block of the divisor share the quotient",
)
def vector_block(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Divide the base where the steps of the ramp do not reach the next multiple of the divisor."""
    from .simplify import simplify

    a, b = e.a, e.b
    if type(a) is not Ramp or type(b) is not Broadcast or type(b.value) is not IntImm:
        return None
    if a.dtype.scalable or type(a.stride) is not IntImm or b.value.value <= 0 or not _stays(ana, a):
        return None
    c, step, last = b.value.value, a.stride.value, a.dtype.lanes - 1
    known = ana.modular(a.base)
    # the base is known modulo g, a divisor of c: base % c = g * k + start for some k
    g = known.coeff if known.coeff and c % known.coeff == 0 else 0
    if known.coeff and known.coeff % c == 0 or known.coeff == 0:
        g = c
    if not g or step < 0 or known.base % g + step * last >= g:
        return None
    if isinstance(e, FloorDiv):
        return Broadcast(simplify(ana, FloorDiv(a.base, b.value)), a.lanes)
    return Ramp(simplify(ana, FloorMod(a.base, b.value)), a.stride, a.lanes)


def _stays(ana: Analyzer, a: Ramp) -> bool:
    """Whether no lane of the ramp leaves the type."""
    bound, own = ana.bound(a), a.base.dtype
    if ana.wraps(a):
        ends = ana.bound(a.base), a.dtype.lanes - 1
        step = int(a.stride)  # type: ignore[call-overload]
        low, high = ends[0].min + min(0, step * ends[1]), ends[0].max + max(0, step * ends[1])
        return bool(own.min_value <= low and high <= own.max_value)
    return bool(own.min_value <= bound.min and bound.max <= own.max_value)


@rule(
    FloorMod, "vector-remainder", INDEX, "ramp(8 * x + 7, s) % c = ramp(7 % c, s) % c, where c divides the 8"
)
def vector_remainder(ana: Analyzer, e: FloorMod) -> Expr | None:
    """Drop the multiples of the divisor in the base of a ramp."""
    a, b = e.a, e.b
    if type(a) is not Ramp or type(b) is not Broadcast or type(b.value) is not IntImm or b.value.value <= 0:
        return None
    c = b.value.value
    if ana.wraps(a) or type(a.stride) is not IntImm or a.dtype.scalable:
        return None
    total = ana.linear(a.base)
    rest = Linear({}, total.const % c)
    for key, (coeff, term) in total.terms.items():
        if coeff % c:
            rest.add_term(key, coeff, term)
    if rest.terms or (not total.terms and rest.const == total.const):
        return None
    base = rebuild(rest, a.base.dtype, False)
    end = rest.const + a.stride.value * (a.dtype.lanes - 1)
    if base is None or not a.base.dtype.min_value <= end <= a.base.dtype.max_value:
        return None
    return FloorMod(Ramp(base, a.stride, a.lanes), b)


@rule(
    (Div, Mod),
    "vector-truncated",
    ANY,
    "truncated division of a ramp of values not negative is floor division",
)
def vector_truncated(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Prefer the floor form."""
    if type(e.a) is not Ramp or not e.dtype.is_int or e.dtype.scalable or not _stays(ana, e.a):
        return None
    if ana.bound(e.a).min < 0 or ana.bound(e.b).min <= 0:
        return None
    return (FloorDiv if isinstance(e, Div) else FloorMod)(e.a, e.b)


@rule((LT, LE), "vector-compare", INDEX, "bounds decide the comparison of all lanes")
def vector_compare(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Compare all lanes at once."""
    a, b = e.a, e.b
    vector = a if isinstance(a, Ramp | Broadcast) else b
    if not isinstance(vector, Ramp | Broadcast) or not a.dtype.is_int or a.dtype.scalable:
        return None
    low, high = ana.bound(a), ana.bound(b)
    if low.max < high.min or (isinstance(e, LE) and low.max == high.min):
        return Broadcast(IntImm(BOOL, 1), vector.lanes)
    if low.min > high.max or (isinstance(e, LT) and low.min == high.max):
        return Broadcast(IntImm(BOOL, 0), vector.lanes)
    return None

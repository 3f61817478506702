"""Rules for min and max, choices, casts, bits and vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..expr import (
    Add,
    BinaryOp,
    BitwiseAnd,
    BitwiseNot,
    BitwiseOr,
    BitwiseXor,
    Broadcast,
    Call,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    LShift,
    Max,
    Min,
    Mul,
    Not,
    Ramp,
    RShift,
    Select,
    Sub,
    Var,
    const,
)
from ..op import Op
from ..types import BOOL, PrimType
from .rules import Class, rule

if TYPE_CHECKING:
    from .analyzer import Analyzer

ANY, INDEX = Class.ANY, Class.INDEX


def _int(e: Expr) -> bool:
    ty = e.ty
    return isinstance(ty, PrimType) and ty.dtype.is_scalar and (ty.dtype.is_int or ty.dtype.is_uint)


@rule((Min, Max), "extreme-same", ANY, "min(x, x) = x, max(x, x) = x")
def extreme_same(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Drop the choice between equals."""
    return e.a if ana.keys.same(e.a, e.b) else None


@rule((Min, Max), "extreme-order", INDEX, "min(a, b) = a where a <= b is known; max alike")
def extreme_order(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Decide between two integers."""
    if not _int(e):
        return None
    difference = ana.linear(e.a).minus(ana.linear(e.b))
    small, large = (e.a, e.b) if isinstance(e, Min) else (e.b, e.a)
    if ana.never_positive(difference):
        return small
    return large if ana.never_positive(difference.scaled(-1)) else None


@rule(
    (Min, Max),
    "extreme-nested",
    ANY,
    "min(min(x, c1), c2) = min(x, min(c1, c2)); min(min(x, y), x) = min(x, y)",
)
def extreme_nested(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Join two of a kind."""
    inner = e.a
    if not _int(e) or type(inner) is not type(e) or not isinstance(inner, BinaryOp):
        return None
    if type(e.b) is IntImm:
        pick = min if isinstance(e, Min) else max
        for one, other in ((inner.b, inner.a), (inner.a, inner.b)):
            if type(one) is IntImm:
                return type(e)(other, const(pick(e.b.value, one.value), e.dtype))
    if ana.keys.same(inner.a, e.b) or ana.keys.same(inner.b, e.b):
        return inner
    return None


@rule(Select, "select-known", ANY, "Select(True, a, b) = a, Select(c, a, a) = a")
def select_known(ana: Analyzer, e: Select) -> Expr | None:
    """Take the side that is known."""
    return _choice(ana, e.condition, e.true_value, e.false_value)


def _choice(ana: Analyzer, cond: Expr, then: Expr, other: Expr) -> Expr | None:
    if type(cond) is IntImm:
        return then if cond.value else other
    return then if ana.keys.same(then, other) else None


@rule(Select, "select-bool", ANY, "Select(c, True, False) = c, Select(c, False, True) = not c")
def select_bool(ana: Analyzer, e: Select) -> Expr | None:
    """A choice between truths is the condition."""
    a, b = e.true_value, e.false_value
    if e.ty is not BOOL or e.condition.ty is not BOOL or type(a) is not IntImm or type(b) is not IntImm:
        return None
    return (e.condition if a.value else Not(e.condition)) if a.value != b.value else None


@rule(Select, "select-not", ANY, "Select(not c, a, b) = Select(c, b, a)")
def select_not(ana: Analyzer, e: Select) -> Expr | None:
    """Drop a negation."""
    if isinstance(e.condition, Not):
        return Select(e.condition.a, e.false_value, e.true_value)
    return None


@rule(Call, "if-known", ANY, "if_then_else(True, a, b) = a, if_then_else(c, a, a) = a; likely(True) = True")
def if_known(ana: Analyzer, e: Call) -> Expr | None:
    """Take the side that is known."""
    if not isinstance(e.op, Op):
        return None
    if e.op.name == "prim.if_then_else":
        return _choice(ana, e.args[0], e.args[1], e.args[2])
    if e.op.name == "prim.likely" and type(e.args[0]) is IntImm:
        return e.args[0]
    return None


@rule(Let, "let-plain", ANY, "a name for a constant or a variable is replaced by it")
def let_plain(ana: Analyzer, e: Let) -> Expr | None:
    """Drop a name that says nothing."""
    if not isinstance(e.value, IntImm | Var):
        return None
    from ..visitor import substitute
    from .simplify import simplify

    result: Expr = substitute(e.body, {e.var: e.value})
    return simplify(ana, result)


@rule(Cast, "cast-same", ANY, "a cast to the type it has already")
def cast_same(ana: Analyzer, e: Cast) -> Expr | None:
    """Drop a cast that does nothing."""
    return e.value if e.value.ty is e.ty else None


@rule(Cast, "cast-constant", ANY, "integer constants are cast, wrapping; to bool: not 0")
def cast_constant(ana: Analyzer, e: Cast) -> Expr | None:
    """Fold the cast of an integer constant."""
    if type(e.value) is not IntImm or not isinstance(e.ty, PrimType) or not e.dtype.is_integral:
        return None
    return const(e.dtype.wrap(e.value.value), e.dtype)


@rule(Cast, "cast-cast", ANY, "cast(t, cast(u, x)) = cast(t, x) where every value of x fits u")
def cast_cast(ana: Analyzer, e: Cast) -> Expr | None:
    """Drop the inner cast where it keeps the value."""
    inner = e.value
    if (
        not isinstance(inner, Cast)
        or not (_int(inner) and _int(inner.value))
        or not isinstance(e.ty, PrimType)
    ):
        return None
    bound = ana.bound(inner.value)
    if inner.dtype.min_value <= bound.min and bound.max <= inner.dtype.max_value:
        return Cast(e.ty, inner.value)
    return None


@rule(
    (BitwiseAnd, BitwiseOr, BitwiseXor),
    "bits-constant",
    ANY,
    "bit operations of constants; x & 0 = 0, x | 0 = x",
)
def bits_constant(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Fold bit operations."""
    if not _int(e) and e.ty is not BOOL:
        return None
    if type(e.a) is IntImm and type(e.b) is IntImm:
        a, b = e.a.value, e.b.value
        value = a & b if isinstance(e, BitwiseAnd) else a | b if isinstance(e, BitwiseOr) else a ^ b
        return const(value, e.dtype)
    for one, other in ((e.a, e.b), (e.b, e.a)):
        if type(one) is IntImm and one.value == 0:
            return one if isinstance(e, BitwiseAnd) else other
    return None


@rule(BitwiseAnd, "mask-is-mod", ANY, "x & (2**k - 1) = x where 0 <= x < 2**k")
def mask_is_nothing(ana: Analyzer, e: BitwiseAnd) -> Expr | None:
    """Drop a mask that changes nothing."""
    if not _int(e) or type(e.b) is not IntImm or e.b.value <= 0 or e.b.value & (e.b.value + 1):
        return None
    bound = ana.bound(e.a)
    return e.a if 0 <= bound.min and bound.max <= e.b.value else None


@rule(BitwiseNot, "bits-not", ANY, "~c is computed, ~~x = x")
def bits_not(ana: Analyzer, e: BitwiseNot) -> Expr | None:
    """Fold a complement."""
    if isinstance(e.a, BitwiseNot):
        return e.a.a
    if type(e.a) is IntImm and _int(e):
        return const(e.dtype.wrap(~e.a.value), e.dtype)
    return None


@rule((LShift, RShift), "shift-constant", ANY, "shifts of constants by 0 or more; x << 0 = x")
def shift_constant(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Fold a shift; by the type's width or more it leaves 0, or the sign."""
    if not _int(e) or type(e.b) is not IntImm or e.b.value < 0:
        return None
    if e.b.value == 0:
        return e.a
    if type(e.a) is not IntImm:
        return None
    amount = min(e.b.value, e.dtype.bits)
    value = e.a.value << amount if isinstance(e, LShift) else e.a.value >> amount
    return const(e.dtype.wrap(value), e.dtype)


@rule(
    (Add, Sub, Mul),
    "vector-sum",
    ANY,
    "sums of broadcasts and ramps are ramps; the product of a ramp and a broadcast too",
)
def vector_sum(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Compute on the parts of index vectors (integers only)."""
    if not isinstance(e.ty, PrimType) or e.dtype.is_scalar or not (e.dtype.is_int or e.dtype.is_uint):
        return None
    from .simplify import simplify

    a, b, kind = e.a, e.b, type(e)
    if isinstance(a, Broadcast) and isinstance(b, Broadcast):
        return Broadcast(simplify(ana, kind(a.value, b.value)), a.lanes)
    if isinstance(a, Ramp) and isinstance(b, Broadcast):
        base = simplify(ana, kind(a.base, b.value))
        stride = simplify(ana, Mul(a.stride, b.value)) if kind is Mul else a.stride
        return Ramp(base, stride, a.lanes)
    if isinstance(a, Broadcast) and isinstance(b, Ramp) and kind is not Sub:
        return vector_sum(ana, kind(b, a))
    if isinstance(a, Ramp) and isinstance(b, Ramp) and kind is not Mul:
        base, stride = simplify(ana, kind(a.base, b.base)), simplify(ana, kind(a.stride, b.stride))
        if type(stride) is IntImm and stride.value == 0:
            return Broadcast(base, a.lanes)
        return Ramp(base, stride, a.lanes)
    return None


@rule(
    (FloorDiv, FloorMod),
    "vector-divide",
    INDEX,
    "a ramp inside one block of the divisor divides as its base does",
)
def vector_divide(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Divide index vectors whose lanes share the quotient."""
    a, b = e.a, e.b
    if not isinstance(b, Broadcast) or type(b.value) is not IntImm or b.value.value <= 0:
        return None
    from .simplify import simplify

    c = b.value.value
    if isinstance(a, Broadcast):
        return Broadcast(simplify(ana, type(e)(a.value, b.value)), a.lanes)
    if (
        not isinstance(a, Ramp)
        or type(a.stride) is not IntImm
        or a.dtype.scalable
        or not ana.is_exact(a.base)
    ):
        return None
    step, last = a.stride.value, a.dtype.lanes - 1
    bound = ana.bound(a)
    own = a.base.dtype
    if bound.min < own.min_value or bound.max > own.max_value:
        return None
    known = ana.modular(a.base)
    start = known.base
    inside = known.coeff % c == 0 and 0 <= start % c + step * last < c and step >= 0
    if step % c == 0:
        quotient: Expr = Ramp(simplify(ana, FloorDiv(a.base, b.value)), const(step // c, own), a.lanes)
        rest: Expr = Broadcast(simplify(ana, FloorMod(a.base, b.value)), a.lanes)
    elif inside:
        quotient = Broadcast(simplify(ana, FloorDiv(a.base, b.value)), a.lanes)
        rest = Ramp(simplify(ana, FloorMod(a.base, b.value)), a.stride, a.lanes)
    else:
        return None
    return quotient if isinstance(e, FloorDiv) else rest


@rule(Broadcast, "broadcast-one", ANY, "a vector of one lane is a scalar")
def broadcast_one(ana: Analyzer, e: Broadcast) -> Expr | None:
    """Drop a vector of one lane."""
    return e.value if type(e.lanes) is IntImm and e.lanes.value == 1 else None

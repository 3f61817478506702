"""Constant bounds of integer expressions: the smallest and largest value that is possible.

Bounds are Python integers inside the range of the dtype.  Where arithmetic may leave that range,
the class of the arithmetic decides (DESIGN, section 4): index arithmetic cannot overflow, so the
exact bounds are cut to the range; data arithmetic wraps, so nothing but the range is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import DTypeError
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
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    LShift,
    Max,
    Min,
    Mod,
    Mul,
    Ramp,
    RShift,
    Select,
    Sub,
    Var,
)
from ..op import Op
from ..types import PrimType, Type

if TYPE_CHECKING:
    from .analyzer import Analyzer


class Bound(NamedTuple):
    """The smallest and the largest value."""

    min: int
    max: int

    @property
    def is_const(self) -> bool:
        """Whether only one value is possible."""
        return self.min == self.max


def dtype_bound(e: Expr) -> Bound:
    """The range of the expression's integer type. Raises DTypeError for other types."""
    ty = e.ty
    found = _TYPES.get(ty)
    if found is None:
        if not isinstance(ty, PrimType) or not ty.dtype.is_integral:
            raise DTypeError(f"only integers have constant bounds, not `{e.dtype}`")
        found = _TYPES[ty] = Bound(int(ty.dtype.min_value), int(ty.dtype.max_value))
    return found


_TYPES: dict[Type, Bound] = {}


def exact_bound(ana: Analyzer, e: Expr) -> Bound:
    """Bounds of the value before it is cut to, or wrapped into, the range of its type."""
    rule = _RULES.get(type(e))
    if rule is None:
        return dtype_bound(e)
    found: Bound | None = rule(ana, e)
    return dtype_bound(e) if found is None else found


def const_int_bound(ana: Analyzer, e: Expr) -> Bound:
    """Bounds of the value. Raises DTypeError when the expression is no integer."""
    lo, hi = dtype_bound(e)
    bound = exact_bound(ana, e)
    if bound.min < lo or bound.max > hi:
        if ana.wraps(e):
            return Bound(lo, hi)
        cut = Bound(max(bound.min, lo), min(bound.max, hi))
        return cut if cut.min <= cut.max else Bound(lo, hi)
    return bound


def hull(*bounds: Bound) -> Bound:
    """The smallest interval that holds all of them."""
    return Bound(min([b.min for b in bounds]), max([b.max for b in bounds]))


def _corners(a: Bound, b: Bound, op: Callable[[int, int], int]) -> Bound:
    values = [op(x, y) for x in a for y in b]
    return Bound(min(values), max(values))


def _split_divisor(b: Bound) -> list[Bound]:
    """The divisor's interval without zero."""
    parts = []
    if b.min < 0:
        parts.append(Bound(b.min, min(b.max, -1)))
    if b.max > 0:
        parts.append(Bound(max(b.min, 1), b.max))
    return parts


def trunc_div(a: int, b: int) -> int:
    """C's quotient, rounded toward zero."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def trunc_mod(a: int, b: int) -> int:
    """C's remainder, with the sign of a."""
    return a - trunc_div(a, b) * b


def _of_int(ana: Analyzer, e: IntImm) -> Bound:
    return Bound(e.value, e.value)


def _of_var(ana: Analyzer, e: Var) -> Bound | None:
    return ana.var_bound(e)


def _of_add(ana: Analyzer, e: BinaryOp) -> Bound:
    a, b = ana.bound(e.a), ana.bound(e.b)
    return Bound(a.min + b.min, a.max + b.max)


def _of_sub(ana: Analyzer, e: BinaryOp) -> Bound:
    a, b = ana.bound(e.a), ana.bound(e.b)
    return Bound(a.min - b.max, a.max - b.min)


def _of_mul(ana: Analyzer, e: BinaryOp) -> Bound:
    return _corners(ana.bound(e.a), ana.bound(e.b), lambda x, y: x * y)


def _of_floordiv(ana: Analyzer, e: BinaryOp) -> Bound | None:
    a = ana.bound(e.a)
    parts = [_corners(a, b, lambda x, y: x // y) for b in _split_divisor(ana.bound(e.b))]
    return hull(*parts) if parts else None


def _of_floormod(ana: Analyzer, e: BinaryOp) -> Bound | None:
    a, b = ana.bound(e.a), ana.bound(e.b)
    if b.is_const and b.min != 0:
        c = b.min
        if a.min // c == a.max // c:
            return Bound(a.min % c, a.max % c)
        mod = ana.modular(e.a)
        coeff, base = abs(mod.coeff), mod.base
        if coeff and c > 0:
            from math import gcd

            g = gcd(coeff, c)
            return Bound(base % g, c - g + base % g)
    parts = []
    for part in _split_divisor(b):
        if part.min > 0:
            parts.append(Bound(0, min(part.max - 1, a.max) if a.min >= 0 else part.max - 1))
        else:
            parts.append(Bound(part.min + 1, 0))
    return hull(*parts) if parts else None


def _of_div(ana: Analyzer, e: BinaryOp) -> Bound | None:
    a = ana.bound(e.a)
    parts = [_corners(a, b, trunc_div) for b in _split_divisor(ana.bound(e.b))]
    if not parts:
        return None
    return hull(*parts, Bound(0, 0)) if a.min < 0 < a.max else hull(*parts)


def _of_mod(ana: Analyzer, e: BinaryOp) -> Bound | None:
    a, b = ana.bound(e.a), ana.bound(e.b)
    largest = max(abs(b.min), abs(b.max)) - 1
    if largest < 0:
        return None
    return Bound(max(-largest, min(a.min, 0)), min(largest, max(a.max, 0)))


def _of_min(ana: Analyzer, e: BinaryOp) -> Bound:
    a, b = ana.bound(e.a), ana.bound(e.b)
    return Bound(min(a.min, b.min), min(a.max, b.max))


def _of_max(ana: Analyzer, e: BinaryOp) -> Bound:
    a, b = ana.bound(e.a), ana.bound(e.b)
    return Bound(max(a.min, b.min), max(a.max, b.max))


def _of_select(ana: Analyzer, e: Select) -> Bound:
    return hull(ana.bound(e.true_value), ana.bound(e.false_value))


def _of_cast(ana: Analyzer, e: Cast) -> Bound | None:
    ty = e.value.ty
    if not isinstance(ty, PrimType) or not ty.dtype.is_integral:
        return None
    inner, own = ana.bound(e.value), dtype_bound(e)
    if e.dtype.is_bool:
        return own if inner.min <= 0 <= inner.max else Bound(1, 1)
    # a conversion that does not fit wraps, in index arithmetic too
    return inner if own.min <= inner.min and inner.max <= own.max else own


def _of_and(ana: Analyzer, e: BinaryOp) -> Bound | None:
    a, b = ana.bound(e.a), ana.bound(e.b)
    if a.min >= 0 and b.min >= 0:
        return Bound(0, min(a.max, b.max))
    if a.min >= 0 or b.min >= 0:
        return Bound(0, a.max if a.min >= 0 else b.max)
    return None


def _of_or(ana: Analyzer, e: BinaryOp) -> Bound | None:
    a, b = ana.bound(e.a), ana.bound(e.b)
    if a.min < 0 or b.min < 0:
        return None
    top = (1 << max(a.max.bit_length(), b.max.bit_length())) - 1
    return Bound(max(a.min, b.min) if type(e) is BitwiseOr else 0, top)


def _of_not(ana: Analyzer, e: BitwiseNot) -> Bound | None:
    if not e.dtype.is_int:
        return None
    a = ana.bound(e.a)
    return Bound(~a.max, ~a.min)


def _of_shl(ana: Analyzer, e: BinaryOp) -> Bound | None:
    a, b = ana.bound(e.a), ana.bound(e.b)
    if b.min < 0 or b.max >= e.dtype.bits:
        return None
    exact = _corners(a, b, lambda x, y: x << y)
    own = dtype_bound(e)
    # a shift drops the bits that leave the type, whatever the class of the arithmetic
    return exact if own.min <= exact.min and exact.max <= own.max else None


def _of_shr(ana: Analyzer, e: BinaryOp) -> Bound | None:
    a, b = ana.bound(e.a), ana.bound(e.b)
    if b.min < 0:
        return None
    bits = e.dtype.bits
    return _corners(a, Bound(min(b.min, bits), min(b.max, bits)), lambda x, y: x >> y)


def _of_let(ana: Analyzer, e: Let) -> Bound | None:
    ana.bind_value(e.var, e.value)
    return ana.bound(e.body)


def _of_ramp(ana: Analyzer, e: Ramp) -> Bound | None:
    if e.dtype.scalable:
        return None
    last = Bound(0, e.dtype.lanes - 1)
    step = _corners(ana.bound(e.stride), last, lambda x, y: x * y)
    base = ana.bound(e.base)
    return Bound(base.min + step.min, base.max + step.max)


def _of_broadcast(ana: Analyzer, e: Broadcast) -> Bound:
    return ana.bound(e.value)


def _of_call(ana: Analyzer, e: Call) -> Bound | None:
    if not isinstance(e.op, Op):
        return None
    if e.op.name == "prim.if_then_else":
        return hull(ana.bound(e.args[1]), ana.bound(e.args[2]))
    if e.op.name in ("tirx.popcount", "prim.clz") and isinstance(e.args[0].ty, PrimType):
        return Bound(0, e.args[0].dtype.bits)
    if e.op.name == "prim.likely":
        return ana.bound(e.args[0])
    if e.op.name == "prim.vscale":
        return Bound(1, 16)
    return None


_RULES: dict[type, Callable[[Analyzer, Any], Bound | None]] = {
    IntImm: _of_int,
    Var: _of_var,
    Add: _of_add,
    Sub: _of_sub,
    Mul: _of_mul,
    FloorDiv: _of_floordiv,
    FloorMod: _of_floormod,
    Div: _of_div,
    Mod: _of_mod,
    Min: _of_min,
    Max: _of_max,
    Select: _of_select,
    Cast: _of_cast,
    BitwiseAnd: _of_and,
    BitwiseOr: _of_or,
    BitwiseXor: _of_or,
    BitwiseNot: _of_not,
    LShift: _of_shl,
    RShift: _of_shr,
    Let: _of_let,
    Ramp: _of_ramp,
    Broadcast: _of_broadcast,
    Call: _of_call,
}

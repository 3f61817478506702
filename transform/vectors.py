"""Arithmetic on scalars, ramps and broadcasts that keeps ramps ramps."""

from __future__ import annotations

from typing import Any

from ..dtype import DType
from ..ir import Add, Broadcast, Cast, Expr, IntImm, Mul, PrimType, Ramp, Sub, const


def lanes_of(e: Expr) -> int:
    """How many lanes a value has; 1 of a scalar. Scalable vectors count as 0."""
    dtype = e.dtype
    return 0 if dtype.scalable else dtype.lanes


def element_type(e: Expr) -> PrimType:
    """The type of one lane."""
    return PrimType(e.dtype.element)


def broadcast(e: Expr, lanes: Expr) -> Expr:
    """The scalar in every lane; a vector stays what it is."""
    return e if e.dtype.is_vector else Broadcast(e, lanes)


def vector_type(element: DType, like: DType) -> PrimType:
    """The type of as many lanes as `like` has."""
    return PrimType(element.with_lanes(like.lanes, like.scalable))


def convert(e: Expr, element: DType, *, exact: bool = True) -> Expr:
    """The value with elements of this type.

    With `exact`, ramps stay ramps: right for index arithmetic, which does not overflow.
    """
    old = e.dtype
    if old.element is element:
        return e
    if old.is_scalar:
        if (
            isinstance(e, IntImm)
            and element.is_integral
            and element.min_value <= e.value <= element.max_value
        ):
            return const(e.value, element)
        return Cast(PrimType(element), e)
    if isinstance(e, Broadcast):
        return Broadcast(convert(e.value, element), e.lanes)
    if isinstance(e, Ramp) and exact:
        return Ramp(convert(e.base, element), convert(e.stride, element), e.lanes)
    return Cast(vector_type(element, old), e)


def align(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Two integers, scalar or vector, with elements of the wider type; lanes stay as they are."""
    x, y = a.dtype.element, b.dtype.element
    if x is y:
        return a, b
    wide = x if x.bits >= y.bits else y
    return convert(a, wide), convert(b, wide)


def combine(kind: type[Any], a: Expr, b: Expr) -> Expr:
    """`kind(a, b)` for Add, Sub or Mul of integers, scalar or vector in any mixture.

    Constants fold where the result fits, ramps stay ramps where they can.
    """
    a, b = align(a, b)
    if a.dtype.is_scalar and b.dtype.is_scalar:
        return _scalars(kind, a, b)
    if isinstance(a, Broadcast) and (b.dtype.is_scalar or isinstance(b, Broadcast)):
        return Broadcast(combine(kind, a.value, b.value if isinstance(b, Broadcast) else b), a.lanes)
    if isinstance(b, Broadcast) and a.dtype.is_scalar:
        return Broadcast(combine(kind, a, b.value), b.lanes)
    if isinstance(a, Ramp):
        found = _ramp_with(kind, a, b)
        if found is not None:
            return found
    if isinstance(b, Ramp) and not isinstance(a, Ramp):
        if kind is Sub:
            flat = _scalar_part(a)
            if flat is not None:
                zero = const(0, b.stride.dtype)
                return Ramp(combine(Sub, flat, b.base), combine(Sub, zero, b.stride), b.lanes)
        else:
            found = _ramp_with(kind, b, a)
            if found is not None:
                return found
    lanes = _lanes_expr(a if a.dtype.is_vector else b)
    return kind(broadcast(a, lanes), broadcast(b, lanes))


def _scalar_part(e: Expr) -> Expr | None:
    if e.dtype.is_scalar:
        return e
    return e.value if isinstance(e, Broadcast) else None


def _ramp_with(kind: type[Any], ramp: Ramp, other: Expr) -> Expr | None:
    flat = _scalar_part(other)
    if flat is not None:
        stride = combine(Mul, ramp.stride, flat) if kind is Mul else ramp.stride
        return Ramp(combine(kind, ramp.base, flat), stride, ramp.lanes)
    if isinstance(other, Ramp) and kind is not Mul:
        base, stride = combine(kind, ramp.base, other.base), combine(kind, ramp.stride, other.stride)
        if isinstance(stride, IntImm) and stride.value == 0:
            return Broadcast(base, ramp.lanes)
        return Ramp(base, stride, ramp.lanes)
    return None


def _scalars(kind: type[Any], a: Expr, b: Expr) -> Expr:
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        x, y = a.value, b.value
        value = x + y if kind is Add else x - y if kind is Sub else x * y
        if a.dtype.min_value <= value <= a.dtype.max_value:
            return const(value, a.dtype)
    if isinstance(b, IntImm):
        if b.value == (1 if kind is Mul else 0):
            return a
        if b.value == 0 and kind is Mul:
            return b
    if isinstance(a, IntImm):
        if a.value == (1 if kind is Mul else 0) and kind is not Sub:
            return b
        if a.value == 0 and kind is Mul:
            return a
    return kind(a, b)


def _lanes_expr(e: Expr) -> Expr:
    if isinstance(e, Ramp | Broadcast):
        return e.lanes
    dtype = e.dtype
    if dtype.scalable:
        from ..ir import Call

        return Mul(Call("prim.vscale", (), "int32"), const(dtype.lanes, "int32"))
    return const(dtype.lanes, "int32")

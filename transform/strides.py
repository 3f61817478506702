"""Where the elements of a buffer lie."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import INT64, BufferType, Expr, IntImm, Var, const
from .common import buffer_type, cast_to, plus, times


def strides_of(buffer: Var) -> tuple[Expr, ...]:
    """The strides in elements, those of a compact row-major buffer where the type gives none."""
    ty = buffer_type(buffer)
    if ty.strides:
        return ty.strides
    found: list[Expr] = []
    size: Expr | None = None
    for extent in reversed(ty.shape):
        found.append(const(1, extent.dtype) if size is None else size)
        size = extent if size is None else times(size, extent)
    return tuple(reversed(found))


def element_count(ty: BufferType) -> Expr:
    """How many elements a compact buffer of this shape has (1 of a shape without dimensions)."""
    size: Expr = const(1, ty.shape[0].dtype if ty.shape else "int32")
    for extent in ty.shape:
        size = times(size, extent)
    return size


def reach(buffer: Var) -> Expr:
    """How many elements from the first one on a buffer may touch, its offset included."""
    ty = buffer_type(buffer)
    if not ty.strides and ty.elem_offset is None:
        return element_count(ty)
    total: Expr = const(1, "int32")
    if ty.strides:
        for extent, stride in zip(ty.shape, ty.strides):
            total = plus(total, times(plus(extent, const(-1, extent.dtype)), stride))
    else:
        total = element_count(ty)
    return total if ty.elem_offset is None else plus(total, ty.elem_offset)


def needs_wide_index(buffer: Var) -> bool:
    """Whether offsets may leave int32: the number of elements is not a constant below 2**31."""
    size = reach(buffer)
    return not (isinstance(size, IntImm) and size.value < 1 << 31)


def linear_offset(buffer: Var, indices: Sequence[Expr]) -> Expr:
    """The offset of an element from the buffer's pointer, in elements, the buffer's own offset included.

    Computed in int64 unless the buffer is known to be small.
    """
    ty = buffer_type(buffer)
    wide = needs_wide_index(buffer)
    offset: Expr | None = None
    for index, stride in zip(indices, strides_of(buffer), strict=True):
        if wide:
            index, stride = cast_to(index, INT64), cast_to(stride, INT64)
        term = times(index, stride)
        offset = term if offset is None else plus(offset, term)
    if ty.elem_offset is not None:
        own = cast_to(ty.elem_offset, INT64) if wide else ty.elem_offset
        offset = own if offset is None else plus(own, offset)
    return const(0, "int32") if offset is None else offset

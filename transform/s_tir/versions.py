"""Buffers with several versions, and the accesses that go to one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ...ir import (
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Expr,
    FloorMod,
    IntImm,
    Range,
    Var,
    const,
)
from ...ir.visitor import Rewriter
from ..common import buffer_type, operator_name, plus, pointed_buffer, times

_POINTERS: Final[Mapping[str, tuple[tuple[int, int], ...]]] = {
    "tirx.tvm_access_ptr": ((1, 2),),
    "tirx.s_tir.cp_async_raw": ((0, 1), (2, 3)),
    "tirx.ptx_legacy.ldmatrix": ((3, 4), (5, 6)),
    "tirx.ptx_legacy.mma": ((6, 7), (8, 9), (10, 11)),
    "tirx.mma_fill": ((1, 2),),
    "tirx.mma_fill_legacy": ((1, 2),),
    "tirx.mma_store": ((3, 4),),
    "tirx.mma_store_legacy": ((3, 4),),
    "tirx.tvm_load_matrix_sync": ((0, 4),),
    "tirx.tvm_store_matrix_sync": ((0, 4),),
    "tirx.tvm_fill_fragment": ((0, 4),),
    "tirx.tvm_mma_sync": ((0, 1), (2, 3), (4, 5), (6, 7)),
    "tirx.tvm_bmma_sync": ((0, 1), (2, 3), (4, 5), (6, 7)),
}
"""Where operators take a pointer, and where the offset or the number of the fragment from there."""

_LANES: Final = 32
_FRAGMENT: Final = 256
"""Elements of a matrix fragment: 16 by 16, 8 by 32 and 32 by 8 are all that there is."""


def versioned(buffer: Var, count: int) -> Var:
    """The buffer with so many versions, which its first index chooses."""
    ty = buffer_type(buffer)
    like = ty.shape[0].dtype if ty.shape else "int32"
    strides: tuple[Expr, ...] = ()
    if ty.strides:
        strides = (times(ty.shape[0], ty.strides[0]), *ty.strides)
    return Var(buffer.name, ty.replace(shape=(const(count, like), *ty.shape), strides=strides), buffer.span)


class Versions(Rewriter):
    """Accesses of buffers with several versions go to that of an iteration.

    Regions of blocks name that version too, or with `whole` all of them.  `fault` makes the error for a
    pointer of a buffer that is handed to what has no place for an offset.
    """

    def __init__(
        self, new: Mapping[Var, Var], step: Expr, whole: bool, fault: Callable[[str], Exception]
    ) -> None:
        super().__init__()
        self.new, self.step, self.whole, self.fault = new, step, whole, fault

    def _version(self, buffer: Var) -> Expr:
        size = buffer_type(self.new[buffer]).shape[0]
        assert isinstance(size, IntImm)
        return FloorMod(self.step, const(size.value, self.step.dtype))

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        if e.buffer not in self.new:
            return self.visit_fields(e)
        indices = (self._version(e.buffer), *self.visit_tuple(e.indices))
        return BufferLoad(self.new[e.buffer], indices, e.span)

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        if stmt.buffer not in self.new:
            return self.visit_fields(stmt)
        indices = (self._version(stmt.buffer), *self.visit_tuple(stmt.indices))
        return BufferStore(self.new[stmt.buffer], self.visit(stmt.value), indices, stmt.span)

    def visit_BufferRegion(self, region: BufferRegion) -> Any:
        if region.buffer not in self.new:
            return self.visit_fields(region)
        low = self._version(region.buffer)
        first = Range(low, const(1, low.dtype))
        if self.whole:
            size = buffer_type(self.new[region.buffer]).shape[0]
            first = Range(const(0, size.dtype), size)
        return BufferRegion(self.new[region.buffer], [first, *self.visit_tuple(region.region)], region.span)

    def visit_Call(self, e: Call) -> Any:
        for buffer in (pointed_buffer(e), *e.args):
            if buffer in self.new:  # where an operator can take an offset, it is not looked at by itself
                raise self.fault(f"`{getattr(buffer, 'name', '')}` needs copies, but its pointer is used")
        pointers: dict[int, Expr] = {}
        offsets: dict[int, Expr] = {}
        for at, offset in _POINTERS.get(operator_name(e), ()):
            pointer, buffer = e.args[at], pointed_buffer(e.args[at])
            if isinstance(pointer, Call) and buffer in self.new and buffer is not None:
                pointers[at] = pointer.replace(args=(self.new[buffer],))
                offsets[offset] = self._distance(buffer)
        args = [pointers[k] if k in pointers else self.visit(arg) for k, arg in enumerate(e.args)]
        for at, more in offsets.items():
            args[at] = plus(args[at], more)
        return e.replace(args=args) if any(a is not b for a, b in zip(args, e.args, strict=True)) else e

    def _distance(self, buffer: Var) -> Expr:
        """How far an iteration's version lies from the start, in what the operator counts in."""
        ty = buffer_type(buffer)
        size: Expr = times(ty.shape[0], ty.strides[0]) if ty.strides else const(1, self.step.dtype)
        for extent in () if ty.strides else ty.shape:
            size = times(size, extent)
        if not isinstance(size, IntImm):
            return times(self._version(buffer), size)
        unit = 1
        if ty.storage_scope.startswith("wmma."):
            unit = _FRAGMENT
        elif ty.storage_scope.startswith("m16n8k8."):
            unit = _LANES
        if size.value % unit:
            raise self.fault(f"`{buffer.name}` needs copies, but holds no whole fragments")
        return times(self._version(buffer), const(size.value // unit, self.step.dtype))

"""Where and how a buffer is kept: its storage scope, alignment and element type."""

from __future__ import annotations

from typing import Any

from ...dtype import DType
from ...errors import LoopwrightError
from ...ir import BufferLoad, BufferStore, Cast, MatchBufferRegion, PrimType, Rewriter, SBlock, Var
from ...ir.stmt import BlockRef
from ..buffers import Redirect, allocator, buffer_at, buffer_type, named_buffer
from ..handles import SBlockRV
from ..legality_data import storage_scope_reason
from ..refusal import Refused, demand, refuse
from ..registry import primitive
from ..state import State

_BY_NAME = named_buffer("buffer_index", "write")


@primitive(prepare=_BY_NAME)
def set_scope(state: State, block: SBlockRV, buffer_index: int | str | Var, storage_scope: str) -> State:
    """Keep a buffer that the block writes in another storage scope; views of it follow.

    Every handle is kept.

    before:
        C = T.sblock_alloc_buffer((64,))
        for i in range(64):
            with T.sblock("C"):
                vi = T.axis.spatial(64, i)
                C[vi] = A[vi] + 1.0
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = C[vi] * 2.0
    steps:
        sch.set_scope("C", 0, "shared")
    after:
        C_shared = T.sblock_alloc_buffer((64,), scope="shared")
        for i in range(64):
            with T.sblock("C"):
                vi = T.axis.spatial(64, i)
                C_shared[vi] = A[vi] + 1.0
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = C_shared[vi] * 2.0
    """
    buffer, owner = written_and_allocated(state, block, buffer_index)
    demand(storage_scope_reason(storage_scope, state.block(block)))
    ty = buffer_type(buffer)
    if ty.storage_scope == storage_scope:
        return state
    new = Var(f"{buffer.name}_{storage_scope}", ty.replace(storage_scope=storage_scope), buffer.span)
    return replace_allocated(state, owner, buffer, new, _Rescope(buffer, new))


@primitive(prepare=_BY_NAME)
def storage_align(
    state: State, block: SBlockRV, buffer_index: int | str | Var, axis: int, factor: int, offset: int
) -> State:
    """Ask that the stride of a dimension of a written buffer be `k * factor + offset`, when it gets memory.

    Every handle is kept.

    before:
        C = T.sblock_alloc_buffer((64,))
        for i in range(64):
            with T.sblock("C"):
                vi = T.axis.spatial(64, i)
                C[vi] = A[vi] + 1.0
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = C[vi] * 2.0
    steps:
        sch.storage_align("C", 0, -1, 4, 1)
    after:
        C = T.sblock_alloc_buffer((64,))
        for i in range(64):
            with T.sblock("C"):
                vi = T.axis.spatial(64, i)
                T.sblock_attr({"buffer_dim_align": [[0, 0, 4, 1]]})
                C[vi] = A[vi] + 1.0
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = C[vi] * 2.0
    """
    node = state.block(block)
    buffer, _ = written_and_allocated(state, block, buffer_index)
    rank = len(buffer_type(buffer).shape)
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise refuse("axis-range", f"`{buffer.name}` has {rank} dimensions; there is no axis {axis!r}", node)
    if not isinstance(factor, int) or factor <= 0:
        raise refuse("align-factor", f"the factor of an alignment is positive, not {factor!r}", node)
    if not isinstance(offset, int):
        raise refuse("align-factor", f"the offset of an alignment is a number, not {offset!r}", node)
    entry = (buffer_index, axis % rank, factor, offset)
    rows = [tuple(row) for row in node.annotations.get("buffer_dim_align", ())]
    place = [k for k, row in enumerate(rows) if row[:2] == entry[:2]]
    if place:
        rows[place[0]] = entry
    else:
        rows.append(entry)
    return state.replace_block(
        block, node.replace(annotations=node.annotations.set(buffer_dim_align=tuple(rows)))
    )


@primitive(kind="UnsafeSetDType", prepare=_BY_NAME)
def unsafe_set_dtype(
    state: State, block: SBlockRV, buffer_index: int | str | Var, dtype: str | DType
) -> State:
    """Keep the elements of a written buffer in another type, cast at each access: results may change.

    Every handle is kept.

    buffers: A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")
    before:
        C = T.sblock_alloc_buffer((64,))
        for i in range(64):
            with T.sblock("C"):
                vi = T.axis.spatial(64, i)
                C[vi] = A[vi] + 1.0
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = C[vi] * 2.0
    steps:
        sch.unsafe_set_dtype("C", 0, "float16")
    after:
        C = T.sblock_alloc_buffer((64,), "float16")
        for i in range(64):
            with T.sblock("C"):
                vi = T.axis.spatial(64, i)
                C[vi] = T.Cast("float16", A[vi] + 1.0)
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = T.Cast("float32", C[vi]) * 2.0
    """
    buffer, owner = written_and_allocated(state, block, buffer_index)
    try:
        wanted = DType(dtype)
    except LoopwrightError as err:
        raise refuse("dtype", f"{dtype!r} is no element type", state.block(block)) from err
    ty = buffer_type(buffer)
    if ty.dtype is wanted:
        return state
    if wanted.lanes != ty.dtype.lanes or wanted.is_handle:
        raise refuse("dtype", f"`{ty.dtype}` elements cannot be kept as `{wanted}`", state.block(block))
    new = Var(buffer.name, ty.replace(dtype=wanted), buffer.span)
    return replace_allocated(state, owner, buffer, new, _Retype(buffer, new))


def written_and_allocated(state: State, block: SBlockRV, index: Any) -> tuple[Var, BlockRef]:
    """The buffer at this position among those that a block writes, and the block that allocates it."""
    buffer = buffer_at(state, block, index, "write")
    owner = allocator(state, block.target, buffer)
    if owner is None:
        text = f"`{buffer.name}` is not allocated by a block: it is a parameter, or a view of another buffer"
        raise refuse("not-allocated", text, state.block(block))
    return buffer, owner


def replace_allocated(state: State, owner: BlockRef, old: Var, new: Var, rewriter: Rewriter) -> State:
    """The state with a buffer replaced where it is allocated, and rewritten in that block."""
    node = state.block(owner)
    made: SBlock = rewriter(node)
    buffers = [new if b is old else b for b in node.alloc_buffers]
    return state.replace_block(owner, made.replace(alloc_buffers=buffers))


class _Rescope(Redirect):
    """Puts a buffer in place of another that has the same layout; pointers to it follow."""

    def define(self, var: Var) -> Var:
        return var if var is self.old else super().define(var)

    def visit_Var(self, var: Var) -> Any:
        return self.new if var is self.old else self.vars.get(var, var)


class _Retype(Rewriter):
    """Casts at each access of a buffer, and of views of it, that takes another dtype."""

    def __init__(self, old: Var, new: Var) -> None:
        super().__init__()
        self.changed = {old: new}

    def define(self, var: Var) -> Var:
        return var if var in self.changed else super().define(var)

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        new = self.changed.get(e.buffer)
        if new is None:
            return self.visit_fields(e)
        return Cast(e.ty, BufferLoad(new, self.visit_tuple(e.indices)))

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        new = self.changed.get(stmt.buffer)
        if new is None:
            return self.visit_fields(stmt)
        value = self.visit(stmt.value)
        dtype = buffer_type(new).dtype.with_lanes(value.dtype.lanes)
        return BufferStore(new, Cast(PrimType(dtype), value), self.visit_tuple(stmt.indices), stmt.span)

    def visit_BufferRegion(self, region: Any) -> Any:
        new = self.changed.get(region.buffer)
        return self.visit_fields(region) if new is None else region.replace(buffer=new)

    def visit_MatchBufferRegion(self, match: MatchBufferRegion) -> Any:
        new = self.changed.get(match.source.buffer)
        if new is None:
            return match
        ty = buffer_type(match.buffer).replace(dtype=buffer_type(new).dtype)
        view = self.changed[match.buffer] = Var(match.buffer.name, ty, match.buffer.span)
        return match.replace(buffer=view, source=self.visit(match.source))

    def visit_Var(self, var: Var) -> Any:
        if var in self.changed:
            raise self._pointer(var)
        return self.vars.get(var, var)

    def _pointer(self, var: Var) -> Refused:
        return refuse(
            "opaque-access", f"a pointer to `{var.name}` is used, whose elements would change type", var
        )

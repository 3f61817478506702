"""Keeping only the part of a buffer that is still needed."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import (
    LE,
    LT,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    FloorMod,
    For,
    IterVar,
    Or,
    Range,
    SBlockRealize,
    Var,
    const,
)
from ...ir.types import BufferType
from ...ir.visitor import Rewriter
from ..handles import SBlockRV
from ..legality import not_output, uses_vars
from ..legality_rolling import (
    Window,
    common_loops,
    only_read_later_reason,
    plain_axes_reason,
    rolling_reason,
    users_of,
    window_read_reason,
    windows,
)
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import both, is_const, map_realizes
from ..state import State


@primitive()
def rolling_buffer(state: State, block: SBlockRV, write_buffer_index: int) -> State:
    """Fold a buffer to the window that moves over it, and compute only what is new in each iteration.

    Axes that follow the loop of the window become opaque: their order counts from now on.  Every
    handle is kept.

    buffers: A: T.Buffer((12,), "float32"), B: T.Buffer((8,), "float32")
    before:
        C = T.sblock_alloc_buffer((10,))
        for i in range(2):
            for j in range(6):
                with T.sblock("C"):
                    vi = T.axis.spatial(10, i * 4 + j)
                    C[vi] = A[vi] + A[vi + 2]
            for j in range(4):
                with T.sblock("B"):
                    vi = T.axis.spatial(8, i * 4 + j)
                    B[vi] = C[vi] + C[vi + 2]
    steps:
        sch.rolling_buffer("C", 0)
    after:
        C = T.sblock_alloc_buffer((6,))
        for i in range(2):
            for j in range(6):
                with T.sblock("C"):
                    vi = T.axis.opaque(10, i * 4 + j)
                    T.where(i < 1 or 2 <= j)
                    C[vi % 6] = A[vi] + A[vi + 2]
            for j in range(4):
                with T.sblock("B"):
                    vi = T.axis.opaque(8, i * 4 + j)
                    T.reads(C[0:6])
                    T.writes(B[vi])
                    B[vi] = C[vi % 6] + C[(vi + 2) % 6]
    """
    root, scope, child = state.standing(block)
    ref = child.ref
    writes = child.block.writes
    if not 0 <= write_buffer_index < len(writes):
        name = child.block.name_hint
        text = f"block `{name}` writes {len(writes)} buffers; there is no index {write_buffer_index}"
        raise refuse("buffer-index", text, child.block)
    buffer = writes[write_buffer_index].buffer
    demand(not_output(state, child.block))
    demand(only_read_later_reason(scope, ref, buffer))
    demand(plain_axes_reason(child.block))
    users = users_of(scope, ref, buffer)
    if state.check:
        demand(window_read_reason(scope, child, users, buffer))
    outer = common_loops(child, users)
    if not users or not outer:
        text = f"no loop is around block `{child.block.name_hint}` and those that read `{buffer.name}`"
        raise refuse("no-common-loop", text, child.block)
    found = windows(child, buffer, outer)
    demand(rolling_reason(child, found, buffer))
    depth = {id(lp): k for k, lp in enumerate(outer)}
    moving = sorted([w for w in found if w.overlaps], key=lambda w: depth[id(w.loop)])
    rolled = moving[0]
    fold = _Fold(buffer, rolled)
    new = _folded(rolled.loop, child.realize, moving, rolled.loop, fold)
    state = state.replace(rolled.loop, new)
    top = state.block(root)
    buffers = [fold.made if b is buffer else b for b in top.alloc_buffers]
    return state.replace_block(root, top.replace(alloc_buffers=buffers))


class _Fold(Rewriter):
    """Replaces the buffer by one of the window's size, indices of its dimension by their remainder."""

    def __init__(self, buffer: Var, window: Window) -> None:
        super().__init__()
        ty = buffer.ty
        assert isinstance(ty, BufferType)
        self.buffer = buffer
        self.dim = window.dim
        self.size = const(window.extent, ty.shape[window.dim].dtype)
        shape = [self.size if k == self.dim else s for k, s in enumerate(ty.shape)]
        self.made = Var(buffer.name, BufferType(ty.dtype, shape, storage_scope=ty.storage_scope))

    def _indices(self, indices: Sequence[Expr]) -> list[Expr]:
        made = [self.visit(i) for i in indices]
        index = made[self.dim]
        made[self.dim] = FloorMod(index, const(self.size.value, index.dtype))  # type: ignore[attr-defined]
        return made

    def visit_BufferLoad(self, e: BufferLoad) -> Expr:
        if e.buffer is self.buffer:
            return BufferLoad(self.made, self._indices(e.indices))
        made: Expr = self.visit_fields(e)
        return made

    def visit_BufferStore(self, stmt: BufferStore) -> BufferStore:
        if stmt.buffer is self.buffer:
            return BufferStore(self.made, self.visit(stmt.value), self._indices(stmt.indices))
        made: BufferStore = self.visit_fields(stmt)
        return made

    def visit_BufferRegion(self, e: BufferRegion) -> BufferRegion:
        if e.buffer is not self.buffer:
            made: BufferRegion = self.visit_fields(e)
            return made
        dims = list(e.region)
        old = dims[self.dim]
        if is_const(old.extent, 1):
            by = const(self.size.value, old.min.dtype)  # type: ignore[attr-defined]
            dims[self.dim] = Range(FloorMod(old.min, by), old.extent)
        else:
            dims[self.dim] = Range(const(0, self.size.dtype), self.size)
        return BufferRegion(self.made, dims)


def _folded(stmt: For, own: SBlockRealize, moving: Sequence[Window], rolled: For, fold: _Fold) -> For:
    """The loop with the buffer folded, recomputation guarded away, and axes that follow the loop opaque."""

    def change(realize: SBlockRealize) -> SBlockRealize:
        block = realize.block
        axes: list[IterVar] = []
        for axis, value in zip(block.iter_vars, realize.iter_values):
            follows = axis.iter_type == 0 and uses_vars(value, (rolled.loop_var,))
            axes.append(axis.replace(iter_type=IterVar.OPAQUE) if follows else axis)
        made: SBlockRealize = fold(realize.replace(block=block.replace(iter_vars=axes)))
        if realize is not own:
            return made
        predicate = made.predicate
        for w in sorted(moving, key=lambda w: w.dim):
            one = const(1, w.loop.loop_var.dtype)
            old = const(w.extent - w.stride, w.inner.dtype)
            predicate = both(predicate, Or(LT(w.loop.loop_var, one), LE(old, w.inner)))
        return made.replace(predicate=predicate)

    made = map_realizes(stmt, change)
    assert isinstance(made, For)
    return made

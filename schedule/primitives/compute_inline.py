"""Putting a block's expression where its result is read."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import LoopwrightError
from ...ir import (
    BufferLoad,
    BufferStore,
    Cast,
    Expr,
    IndexMap,
    Let,
    SBlock,
    Var,
    find,
    renew_definitions,
    substitute,
)
from ...ir.analysis.blocks import BlockScope
from ...ir.analysis.regions import block_access_regions
from ...ir.analysis.uses import uses_below
from ...ir.stmt import BlockRef
from ...ir.visitor import Rewriter
from ...node import Attrs
from ..handles import SBlockRV
from ..legality_inline import element_loads, inline_block_reason, single_store, store_axes_reason
from ..moves import (
    allocated_reason,
    drop_buffers,
    mentions,
    own_axes_reason,
    remove_leaf,
    settled_inputs_reason,
)
from ..refusal import demand, refuse
from ..registry import primitive
from ..state import State


@primitive()
def compute_inline(state: State, block: SBlockRV) -> State:
    """Put the value that a block computes where it is read; the block and its buffer are gone.

    The block's handle and those of loops that held only it are consumed; all others are kept.

    before:
        C = T.sblock_alloc_buffer((64,))
        for i in range(64):
            with T.sblock("C"):
                vi = T.axis.spatial(64, i)
                C[vi] = A[vi] * 2.0
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = C[vi] + 1.0
    steps:
        sch.compute_inline("C")
    after:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] * 2.0 + 1.0
    """
    root, scope, child = state.standing(block)
    ref = child.ref
    demand(inline_block_reason(scope, ref, others_branch=True))
    demand(allocated_reason(state, child.block, "its result would be lost"))
    demand(own_axes_reason(child) or settled_inputs_reason(scope, ref))
    store = single_store(child.block)
    cell = _cell(child.block, store)
    if cell is None:
        demand(store_axes_reason(child.block, store))
    readers = _readers(scope, ref, store.buffer)
    state = remove_leaf(state, ref)
    for reader in readers:
        realize = state.realize(reader)
        alone = len(readers) == 1 and cell is None
        named = substitute(realize, _axes_taken_over(realize.block, store)) if alone else realize
        made = Inliner(store, cell)(named)
        state = state.replace(realize, made)
    return drop_buffers(state, root, [store.buffer])


class Cell(NamedTuple):
    """The axes of a block, and the map from the indices of an element that it stores to them."""

    axes: list[Var]
    inverse: IndexMap


def _cell(block: SBlock, store: BufferStore) -> Cell | None:
    """How the cell that is stored gives the axes; None where its indices are axes, or not one to one."""
    if store_axes_reason(block, store) is None or not block.iter_vars:
        return None
    axes = [a.var for a in block.iter_vars]
    domains = [a.dom for a in block.iter_vars]
    try:
        return Cell(axes, IndexMap(axes, store.indices).non_surjective_inverse(domains)[0])
    except LoopwrightError:
        return None


def _axes_taken_over(block: SBlock, store: BufferStore) -> dict[Var, Var]:
    """Which axes of the only reader may become those of the block that goes.

    Where the reader has axes of the same names and reads the very element of its axes, the value can
    stand there as it is: nothing is seen of it, and a long chain is not copied at each step.
    """
    own = {a.var for a in block.iter_vars}
    found: dict[Var, Var] = {}
    for load in element_loads(block.body, store.buffer):
        for axis, index in zip(store.indices, load.indices):
            if not (isinstance(axis, Var) and isinstance(index, Var) and index in own):
                return {}
            if (
                axis.name != index.name
                or axis.ty is not index.ty
                or found.setdefault(index, axis) is not axis
            ):
                return {}
    return found if len(set(found.values())) == len(found) else {}


def _readers(scope: BlockScope, ref: BlockRef, buffer: Var) -> list[BlockRef]:
    """The blocks that use the buffer. Raises Refused where one of them does more than load elements."""
    found: list[BlockRef] = []
    for other in scope.mentioning(buffer):
        child = scope.children[other]
        for lp in child.loops:
            if mentions_in_range(lp.min, buffer) or mentions_in_range(lp.extent, buffer):
                text = f"the range of loop `{lp.loop_var.name}` reads `{buffer.name}`"
                raise refuse("opaque-access", text, lp)
        if other is not ref and mentions(child.realize, buffer):
            element_loads(child.realize, buffer)
            found.append(other)
    return found


def mentions_in_range(e: Expr, buffer: Var) -> bool:
    """Whether the bound of a loop reads the buffer."""
    return bool([n for n in find(e, BufferLoad) if n.buffer is buffer])


class Inliner(Rewriter):
    """Replaces loads of the stored buffer by the stored value; signatures of blocks follow.

    `cell` says how an element gives the axes, where its indices are not those axes themselves.
    """

    def __init__(self, store: BufferStore, cell: Cell | None = None) -> None:
        super().__init__()
        self.store = store
        self.cell = cell
        self.binds = any(isinstance(n, Let) for n in uses_below(store))

    def visit_BufferLoad(self, e: BufferLoad) -> Expr:
        made = self.visit_fields(e)
        if e.buffer is not self.store.buffer:
            assert isinstance(made, Expr)
            return made
        values: dict[Var, Expr] = {}
        pairs = zip(self.store.indices, made.indices)
        if self.cell is not None:
            pairs = zip(self.cell.axes, self.cell.inverse.map_indices(made.indices))
        for axis, index in pairs:
            if isinstance(axis, Var) and index is not axis:
                values[axis] = index if index.ty is axis.ty else Cast(axis.ty, index)
        value = substitute(self.store.value, values)
        return renew_definitions(value) if self.binds else value

    def visit_SBlock(self, block: SBlock) -> SBlock:
        bare = block.replace(reads=(), writes=())
        made = self.visit_fields(bare)
        if made is bare:
            return block
        if any(r.buffer is self.store.buffer for r in block.reads):
            # What was declared of the buffer that goes says nothing of those that are read instead.
            rest = {k: v for k, v in block.annotations.items() if k != "explicit_read_region"}
            block = block.replace(annotations=Attrs(rest))
            made = made.replace(annotations=block.annotations)
        return fresh_reads(made.replace(writes=block.writes), block)


def fresh_reads(block: SBlock, old: SBlock) -> SBlock:
    """The block with its reads found anew, unless they were declared by hand to stay."""
    if "explicit_read_region" in old.annotations:
        return block.replace(reads=old.reads)
    return block.replace(reads=block_access_regions(block)[0])

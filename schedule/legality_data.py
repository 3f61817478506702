"""Legality checks of the primitives that move data: each returns a Reason, or None."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import suggest
from ..ir import BufferLoad, BufferStore, Expr, For, SBlock, Var, structural_equal, walk
from ..ir.analysis.blocks import ChildBlock, block_scope, child_blocks
from ..ir.analysis.cover import covers, shared_loops
from ..ir.stmt import BlockRef
from .refusal import Reason
from .rewrite import is_const
from .state import State

_BASES = ("global", "shared", "warp", "local", "texture", "wmma.matrix_a", "wmma.matrix_b")
_SCOPES = (
    *_BASES,
    "wmma.accumulator",
    "m16n8k8.matrixA",
    "m16n8k8.matrixB",
    "m16n8k8.matrixC",
    "metal.simdgroup",
)
_TAGGED = re.compile(r"(global|shared|warp|local|texture|trn|amx)(\.\w+)*")


def storage_scope_reason(scope: object, block: SBlock) -> Reason | None:
    """The name is that of a storage scope: "global", "shared", "local", ..., some with a tag behind a dot."""
    if isinstance(scope, str) and (scope in _SCOPES or _TAGGED.fullmatch(scope)):
        return None
    near = suggest(scope, _SCOPES) if isinstance(scope, str) else ()
    return Reason("storage-scope", f"there is no storage scope {scope!r}", block, tuple(near))


def only_blocks_reason(state: State, root: BlockRef) -> Reason | None:
    """Between a block and the blocks below there are only loops: whatever stands there always runs."""
    block = state.block(root)
    if state.scope(root).only_blocks:
        return own_loops_reason(state, root)
    text = f"in block `{block.name_hint}` there are statements other than loops and blocks"
    return Reason("stage-pipeline", text, block)


def own_loops_reason(state: State, root: BlockRef) -> Reason | None:
    """Blocks of the scope use loops outside of it only through axes of the block around, as a copy must.

    Blocks without axes, such as those of a partitioned loop, let what is inside use any loop.
    """
    outside = {p.node.loop_var for p in state.ancestors(root) if isinstance(p.node, For)}
    if outside:
        block = state.block(root)
        for n in walk(block):
            if isinstance(n, Var) and n in outside:
                text = f"block `{block.name_hint}` uses loop `{n.name}` around it other than through an axis"
                return Reason("loop-in-block", text, block)
    return None


def runs_always_reason(state: State, root: BlockRef, refs: Iterable[BlockRef]) -> Reason | None:
    """These blocks do not stand in the initialiser of their scope, which runs at times only."""
    init = state.block(root).init
    inside = {c.ref for c in child_blocks(init)[0]} if init is not None else set()
    for ref in refs:
        if ref in inside:
            node = state.block(ref)
            text = f"block `{node.name_hint}` stands in the initialiser of block `{root.name}`"
            return Reason("in-initialiser", text, node)
    return None


def one_writer_reason(state: State, root: BlockRef, buffer: Var) -> Reason | None:
    """At most one block of a scope writes the buffer, and the scope has no other view of it."""
    scope = state.scope(root)
    writers = scope.writers.get(buffer, [])
    if len(writers) > 1:
        names = ", ".join([f"`{scope.children[w].block.name_hint}`" for w in writers])
        text = f"several blocks write `{buffer.name}`: {names}"
        return Reason("several-writers", text, scope.children[writers[1]].block)
    block = state.block(root)
    for match in block.match_buffers:
        same = [m for m in block.match_buffers if m.source.buffer is match.source.buffer]
        if match.source.buffer is buffer or (match.buffer is buffer and len(same) > 1):
            text = f"block `{block.name_hint}` has another view of `{buffer.name}`"
            return Reason("aliased-buffer", text, block)
    return None


def written_before_reason(
    state: State, root: BlockRef, buffer: Var, readers: Sequence[ChildBlock]
) -> Reason | None:
    """What these blocks read of the buffer is what its writer in the scope has written, and not older.

    That holds of itself for a buffer which the scope allocates: there is nothing older.
    """
    scope = state.scope(root)
    writers = [scope.children[w] for w in scope.writers.get(buffer, ())]
    if not writers or not state.check or buffer in state.block(root).alloc_buffers:
        return None
    for child in readers:
        for region in child.block.reads:
            if region.buffer is buffer and not covers(child, region, writers):
                text = f"block `{child.block.name_hint}` may read older parts of `{buffer.name}`"
                return Reason("region-cover", text, child.block)
    return None


def repeats_around(a: ChildBlock, b: ChildBlock) -> bool:
    """Whether a loop around both blocks may run more than once."""
    for lp in a.loops[: shared_loops(a.loops, b.loops)]:
        if not is_const(lp.extent, 1):
            return True
    return False


def accumulates_reason(block: SBlock, buffer: Var) -> Reason | None:
    """The block does not read what was in the buffer before.

    It has no load of the buffer; or loads, in a reduction with initialiser, just what it stores; or its
    blocks read what blocks before them, in it, have written.
    """
    if block.init is not None:
        return _own_loads_reason(block, buffer)
    scope = block_scope(block)
    if not scope.children:
        for load in walk(block.body):
            if isinstance(load, BufferLoad) and load.buffer is buffer:
                return _reads_too(block, buffer, load)
        return None
    for ref, child in scope.children.items():
        declared = [r for r in child.block.reads if r.buffer is buffer]
        before = [
            scope.children[w] for w in scope.writers.get(buffer, ()) if scope.order[w] < scope.order[ref]
        ]
        for region in declared:
            if not before or not covers(child, region, before):
                return _reads_too(block, buffer, child.block)
        if not declared:
            why = accumulates_reason(child.block, buffer)
            if why is not None:
                return why
    return None


def _own_loads_reason(block: SBlock, buffer: Var) -> Reason | None:
    stores = [s for s in walk(block) if isinstance(s, BufferStore) and s.buffer is buffer]
    for load in walk(block):
        if isinstance(load, BufferLoad) and load.buffer is buffer:
            if not any(_same(load.indices, s.indices) for s in stores):
                return _reads_too(block, buffer, load)
    return None


def _reads_too(block: SBlock, buffer: Var, at: Any) -> Reason:
    text = f"block `{block.name_hint}` reads `{buffer.name}`, which it writes"
    return Reason("in-place", text, at, ("`cache_inplace` copies the old values in and the new ones out",))


def _same(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    for x, y in zip(a, b):
        if not structural_equal(x, y):
            return False
    return True

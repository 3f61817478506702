"""Legality checks of the primitives that move data: each returns a Reason, or None."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import suggest
from ..ir import (
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Var,
    find,
    structural_equal,
    walk,
)
from ..ir.analysis.blocks import BlockScope, ChildBlock, block_scope, child_blocks
from ..ir.analysis.cover import covers, shared_loops
from ..ir.stmt import BlockRef
from .refusal import Reason
from .rewrite import is_const
from .state import State, block_ref

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
    return Reason("bare-statement", text, block)


def reads_reason(state: State, block: BlockRef, buffer: Var) -> Reason | None:
    """The block may read a copy of the buffer that is made just before it.

    In its scope only loops stand around blocks, or conditions around which no loop stands; blocks that
    write the buffer run at least as often as this one.
    """
    root = state.scope_root(block)
    scope = state.scope(root)
    held = conditions_around(scope)
    if held is None:
        return only_blocks_reason(state, root)
    for writer in scope.writers.get(buffer, ()):
        if not held[writer] <= held[block]:
            return only_blocks_reason(state, root)
    return own_loops_reason(state, root)


def conditions_around(scope: BlockScope, in_loops: bool = False) -> dict[BlockRef, frozenset[int]] | None:
    """For each block of a scope the cases of conditions (the `id` of each) in which it stands.

    None where other things stand in the scope than loops, blocks and conditions, where a condition reads
    memory, or (unless `in_loops`) one stands in a loop.
    """
    if scope.only_blocks:
        return dict.fromkeys(scope.children, frozenset())
    found: dict[BlockRef, frozenset[int]] = {}
    stack: list[tuple[Stmt, frozenset[int], bool]] = []
    stack += [(p.stmt, frozenset(), False) for p in scope.parts.values()]
    while stack:
        top, cases, looped = stack.pop()
        if isinstance(top, SBlockRealize):
            found[block_ref(top.block)] = cases
        elif isinstance(top, SeqStmt):
            stack += [(s, cases, looped) for s in top.seq]
        elif isinstance(top, For):
            stack.append((top.body, cases, not in_loops))
        elif isinstance(top, IfThenElse) and not looped and not find(top.condition, BufferLoad):
            for case in (top.then_case, top.else_case):
                if case is not None:
                    stack.append((case, cases | {id(case)}, False))
        else:
            return None
    return found


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
        return Reason("several-producers", text, scope.children[writers[1]].block)
    return one_view_reason(state, root, buffer)


def one_view_reason(state: State, root: BlockRef, buffer: Var) -> Reason | None:
    """The scope has no other view of the buffer."""
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
    """The block does not read what was in the buffer before, itself or through a view.

    It has no load of the buffer; or loads, in a reduction with initialiser, just what it stores; or its
    blocks read what blocks before them, in it, have written.
    """
    views = [m.buffer for m in block.match_buffers if m.source.buffer is buffer]
    for name in (buffer, *views):
        why = _accumulates_reason(block, name)
        if why is not None:
            return why
    if views and block.init is None and not block_scope(block).children:
        declared = [r for r in block.reads if r.buffer is buffer]
        return _reads_too(block, buffer, block) if declared else None
    return None


def _accumulates_reason(block: SBlock, buffer: Var) -> Reason | None:
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

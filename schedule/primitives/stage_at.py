"""Staging what is accessed inside a loop, as one block that copies (`auto_copy`)."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import (
    Add,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    IterVar,
    Range,
    SBlock,
    SBlockRealize,
    Var,
    const,
    substitute,
    walk,
)
from ...ir.analysis.blocks import BlockScope, ChildBlock
from ...ir.analysis.cover import covers, shared_loops
from ...ir.arith.intset import union
from ...ir.stmt import BlockRef, SeqStmt
from ..buffers import (
    Redirect,
    allocate,
    allocator,
    buffer_at,
    buffer_type,
    named_buffer,
    new_buffer,
    one_type,
)
from ..copies import Part, part_of, relaxed, within
from ..handles import LoopRV, SBlockRV
from ..legality_data import accumulates_reason, one_view_reason, only_blocks_reason, storage_scope_reason
from ..refusal import Reason, demand, refuse
from ..registry import primitive
from ..rewrite import is_const, is_true, serial_loops
from ..state import State, block_ref, identity
from ..written import fills_its_part, fills_reason, initialised_reason, outer_condition
from .cache_read import analyzer_at, statement_at


@primitive(prepare=named_buffer("read_buffer_index", "read"))
def read_at(
    state: State, loop: LoopRV, block: SBlockRV, read_buffer_index: int | str | Var, storage_scope: str
) -> tuple[State, SBlockRV]:
    """Copy what the blocks in a loop read of a buffer, in each iteration, with one block marked `auto_copy`.

    Every handle is kept; the new block's is returned.

    before:
        for i, j in T.grid(4, 16):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i * 16 + j)
                B[vi] = A[vi] + 1.0
    steps:
        sch.read_at(sch.get_loops("B")[0], "B", 0, "shared")
    after:
        A_shared = T.sblock_alloc_buffer((64,), scope="shared")
        for i in range(4):
            with T.sblock("A_shared"):
                v0 = T.axis.spatial(4, i)
                T.reads(A[v0 * 16:v0 * 16 + 16])
                T.writes(A_shared[v0 * 16:v0 * 16 + 16])
                T.sblock_attr({"auto_copy": True})
                for ax0 in range(16):
                    A_shared[v0 * 16 + ax0] = A[v0 * 16 + ax0]
            for j in range(16):
                with T.sblock("B"):
                    vi = T.axis.spatial(64, i * 16 + j)
                    B[vi] = A_shared[vi] + 1.0
    """
    buffer = buffer_at(state, block, read_buffer_index, "read")
    root, scope, level = _place(state, loop, block, storage_scope)
    node = state.loop(loop)
    readers = [c for c in _in_loop(scope, node) if [r for r in c.block.reads if r.buffer is buffer]]
    writers = [c for c in _in_loop(scope, node) if [r for r in c.block.writes if r.buffer is buffer]]
    loops = readers[0].loops[:level]
    ana = analyzer_at(state, root, loops)
    box = relaxed(readers[0], _regions(readers[0], buffer), level, ana)
    for child in readers[1:]:
        box = [union(ana, a, b) for a, b in zip(box, relaxed(child, _regions(child, buffer), level, ana))]
    part = part_of(buffer, box, ana, clip=False)
    demand(_between_reason(scope, readers, level, buffer))
    if not _is_written(state, readers[0], BufferRegion(buffer, part.ranges)):
        if writers:
            text = f"parts of `{buffer.name}` may not be written yet, and a copy of it would read them"
            raise refuse("uninitialized-read", text, readers[0].block)
        for child in readers:
            demand(initialised_reason(state, child.ref, buffer, everything=False))
    copy = new_buffer(buffer, f"{buffer.name}_{storage_scope}", scope=storage_scope)
    made = _stage(buffer, copy, part, loops, copy.name)
    for child in readers:
        realize = state.realize(child.ref)
        state = state.replace(realize, Redirect(buffer, copy, reads_only=True)(realize))
    at = state.place(identity(statement_at(readers[0], level))).node
    state = state.replace(at, SeqStmt([made, at]))
    return allocate(state, root, [copy]), SBlockRV(block_ref(made.block))


def _between_reason(
    scope: BlockScope, readers: Sequence[ChildBlock], level: int, buffer: Var
) -> Reason | None:
    """Between a copy made before all readers and the last of them no block in the loop writes the buffer."""
    first, last = scope.order[readers[0].ref], scope.order[readers[-1].ref]
    for ref in scope.writers.get(buffer, ()):
        child = scope.children[ref]
        if shared_loops(child.loops, readers[0].loops) < level:
            continue
        top = statement_at(child, level)
        if first < scope.order[ref] < last or any(statement_at(c, level) is top for c in readers):
            text = f"block `{child.block.name_hint}` writes `{buffer.name}` after it would be copied"
            return Reason("written-in-loop", text, child.block)
    return None


def _is_written(state: State, reader: ChildBlock, part: BufferRegion) -> bool:
    """Whether the part has a value where the reader runs: from outside, or from blocks before it."""
    if allocator(state, reader.ref, part.buffer) is None:
        return True
    scope = state.scope_around(reader.ref)
    before = [scope.children[w] for w in scope.writers.get(part.buffer, ())]
    before = [c for c in before if scope.order[c.ref] < scope.order[reader.ref]]
    before = [c for c in before if fills_its_part(c, part.buffer, shared_loops(c.loops, reader.loops))]
    here = ChildBlock(reader.realize.replace(predicate=const(1, "bool")), reader.loops)
    return bool(before) and covers(here, part, before)


@primitive(prepare=named_buffer("write_buffer_index", "write"))
def write_at(
    state: State, loop: LoopRV, block: SBlockRV, write_buffer_index: int | str | Var, storage_scope: str
) -> tuple[State, SBlockRV]:
    """Let a block in a loop write a new buffer, and copy what it wrote back in each iteration.

    The copy is one block marked `auto_copy`.  Every handle is kept; the new block's is returned.

    before:
        for i, j in T.grid(4, 16):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i * 16 + j)
                B[vi] = A[vi] + 1.0
    steps:
        sch.write_at(sch.get_loops("B")[0], "B", 0, "shared")
    after:
        B_shared = T.sblock_alloc_buffer((64,), scope="shared")
        for i in range(4):
            for j in range(16):
                with T.sblock("B"):
                    vi = T.axis.spatial(64, i * 16 + j)
                    B_shared[vi] = A[vi] + 1.0
            with T.sblock("B_shared"):
                v0 = T.axis.spatial(4, i)
                T.reads(B_shared[v0 * 16:v0 * 16 + 16])
                T.writes(B[v0 * 16:v0 * 16 + 16])
                T.sblock_attr({"auto_copy": True})
                for ax0 in range(16):
                    B[v0 * 16 + ax0] = B_shared[v0 * 16 + ax0]
    """
    buffer = buffer_at(state, block, write_buffer_index, "write")
    root, scope, level = _place(state, loop, block, storage_scope)
    demand(one_view_reason(state, root, buffer) or accumulates_reason(state.block(block), buffer))
    child = scope.children[block.target]
    top = statement_at(child, level)
    for ref in (*scope.readers.get(buffer, ()), *scope.writers.get(buffer, ())):
        other = scope.children[ref]
        if ref is not child.ref and level <= len(other.loops) and statement_at(other, level) is top:
            text = f"block `{other.block.name_hint}` uses `{buffer.name}` before it could be copied back"
            raise refuse("shared-loop", text, other.block)
    loops = child.loops[:level]
    ana = analyzer_at(state, root, loops)
    regions = [r for r in child.block.writes if r.buffer is buffer]
    part = part_of(buffer, relaxed(child, regions, level, ana), ana, clip=False)
    demand(fills_reason(child, buffer, level, part, ana))
    copy = new_buffer(buffer, f"{buffer.name}_{storage_scope}", scope=storage_scope)
    made = _stage(copy, buffer, part, loops, copy.name).replace(predicate=outer_condition(child, level))
    realize = state.realize(block)
    state = state.replace(realize, Redirect(buffer, copy)(realize))
    at = state.place(identity(top)).node
    state = state.replace(at, SeqStmt([at, made]))
    return allocate(state, root, [copy]), SBlockRV(block_ref(made.block))


def _regions(child: ChildBlock, buffer: Var) -> list[BufferRegion]:
    return [r for r in child.block.reads if r.buffer is buffer]


def _place(
    state: State, loop: LoopRV, block: SBlockRV, storage_scope: str
) -> tuple[BlockRef, BlockScope, int]:
    """The scope of a block, and inside how many of its loops the given one ends. Raises Refused."""
    demand(storage_scope_reason(storage_scope, state.block(block)))
    node = state.loop(loop)
    root = state.scope_root(block)
    demand(only_blocks_reason(state, root))
    scope = state.scope(root)
    around = scope.children[block.target].loops
    for k, lp in enumerate(around):
        if lp is node:
            return root, scope, k + 1
    text = (
        f"block `{state.block(block).name_hint}` does not stand in loop `{node.loop_var.name}` of its scope"
    )
    raise refuse("not-in-loop", text, node)


def _in_loop(scope: BlockScope, loop: For) -> list[ChildBlock]:
    return [c for c in scope.children.values() if any(lp is loop for lp in c.loops)]


def _stage(source: Var, target: Var, part: Part, loops: Sequence[For], name: str) -> SBlockRealize:
    """One block that copies a part, with an axis for each loop that the part depends on."""
    by_var = {lp.loop_var: lp for lp in loops}
    used: list[Var] = []
    for r in part.ranges:
        for n in walk(r, outer_first=True):
            if isinstance(n, Var) and n in by_var and n not in used:
                used.append(n)
    axes = [
        IterVar(Range(by_var[v].min, by_var[v].extent), Var(f"v{k}", v.ty), IterVar.DATA_PAR)
        for k, v in enumerate(used)
    ]
    table = dict(zip(used, [a.var for a in axes]))
    ranges = [substitute(r, table) for r in part.ranges]
    inner = [Var(f"ax{k}", r.extent.ty) for k, r in enumerate(ranges)]
    at: list[Expr] = [v if is_const(r.min, 0) else Add(*one_type(r.min, v)) for r, v in zip(ranges, inner)]
    inside: Expr = const(1, "bool")
    for index, size, limits in zip(at, buffer_type(source).shape, part.limits):
        inside = within(index, size, limits, inside)
    body: BufferStore | IfThenElse = BufferStore(target, BufferLoad(source, at), at)
    if not is_true(inside):
        body = IfThenElse(inside, body)
    block = SBlock(
        axes,
        [BufferRegion(source, ranges)],
        [BufferRegion(target, ranges)],
        name,
        serial_loops(inner, [r.extent for r in ranges], body),
        annotations={"auto_copy": True},
    )
    return SBlockRealize(used, const(1, "bool"), block)

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
from ...ir.arith.intset import union
from ...ir.stmt import BlockRef, SeqStmt
from ..buffers import Redirect, allocate, buffer_at, buffer_type, named_buffer, new_buffer, one_type
from ..copies import Part, part_of, relaxed, within
from ..handles import LoopRV, SBlockRV
from ..legality_data import accumulates_reason, one_writer_reason, only_blocks_reason, storage_scope_reason
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import is_const, is_true, serial_loops
from ..state import State, block_ref, identity
from ..written import fills_reason, initialised_reason, outer_condition
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
    for child in _in_loop(scope, node):
        if [r for r in child.block.writes if r.buffer is buffer]:
            text = f"block `{child.block.name_hint}` writes `{buffer.name}` in loop `{node.loop_var.name}`"
            raise refuse("written-in-loop", text, child.block)
    loops = readers[0].loops[:level]
    ana = analyzer_at(state, root, loops)
    box = relaxed(readers[0], _regions(readers[0], buffer), level, ana)
    for child in readers[1:]:
        box = [union(ana, a, b) for a, b in zip(box, relaxed(child, _regions(child, buffer), level, ana))]
    part = part_of(buffer, box, ana, clip=False)
    demand(initialised_reason(state, block.target, buffer))
    copy = new_buffer(buffer, f"{buffer.name}_{storage_scope}", scope=storage_scope)
    made = _stage(buffer, copy, part, loops, copy.name)
    for child in readers:
        realize = state.realize(child.ref)
        state = state.replace(realize, Redirect(buffer, copy, reads_only=True)(realize))
    at = state.place(identity(statement_at(readers[0], level))).node
    state = state.replace(at, SeqStmt([made, at]))
    return allocate(state, root, [copy]), SBlockRV(block_ref(made.block))


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
    demand(one_writer_reason(state, root, buffer) or accumulates_reason(state.block(block), buffer))
    child = scope.children[block.target]
    top = statement_at(child, level)
    for ref in scope.readers.get(buffer, ()):
        other = scope.children[ref]
        if ref is not child.ref and level <= len(other.loops) and statement_at(other, level) is top:
            text = f"block `{other.block.name_hint}` reads `{buffer.name}` before it could be copied back"
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

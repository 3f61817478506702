"""Working on a copy of a buffer that a block changes in place."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import BufferRegion, BufferStore, Range, Var, structural_equal, substitute
from ...ir.analysis.blocks import ChildBlock
from ...ir.arith import Analyzer
from ...ir.arith.intset import IntervalSet, union
from ...ir.stmt import SBlockRealize, SeqStmt
from ..buffers import Redirect, allocate, buffer_at, named_buffer, new_buffer
from ..copies import Copy, copy_part, part_of
from ..handles import SBlockRV
from ..legality_data import only_blocks_reason, storage_scope_reason
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import guard
from ..state import State
from ..written import always_loads, initialised_reason
from .cache_read import analyzer_at


@primitive(prepare=named_buffer("read_buffer_index", "read"))
def cache_inplace(
    state: State, block: SBlockRV, read_buffer_index: int | str | Var, storage_scope: str
) -> tuple[State, list[SBlockRV]]:
    """Let a block that reads and writes a buffer work on a copy: copied in just before it, back just after.

    Every handle is kept; those of the two new blocks are returned, first the one before the block.

    before:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = B[vi] + A[vi]
    steps:
        sch.cache_inplace("B", "B", "local")
    after:
        B_local = T.sblock_alloc_buffer((64,), scope="local")
        for i in range(64):
            for ax0 in range(1):
                with T.sblock("B_local"):
                    v0 = T.axis.spatial(64, i + ax0)
                    B_local[v0] = B[v0]
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B_local[vi] = B_local[vi] + A[vi]
            for ax0 in range(1):
                with T.sblock("B_local"):
                    v0 = T.axis.spatial(64, i + ax0)
                    B[v0] = B_local[v0]
    """
    node = state.block(block)
    buffer = buffer_at(state, block, read_buffer_index, "read")
    demand(storage_scope_reason(storage_scope, node))
    root = state.scope_root(block)
    demand(only_blocks_reason(state, root))
    if not [r for r in node.writes if r.buffer is buffer]:
        text = f"block `{node.name_hint}` reads `{buffer.name}` but does not write it"
        raise refuse("not-in-place", text, node, help="use `cache_read`")
    child = state.scope(root).children[block.target]
    ana = analyzer_at(state, root, child.loops)
    both_ways = [r for r in (*node.reads, *node.writes) if r.buffer is buffer]
    same = all(structural_equal(r, both_ways[0]) for r in both_ways)
    if not (same and isinstance(node.body, BufferStore) and always_loads(node, buffer)):
        demand(initialised_reason(state, child.ref, buffer, everything=not same))
    written = [r for r in node.writes if r.buffer is buffer]
    copy = new_buffer(buffer, f"{buffer.name}_{storage_scope}", scope=storage_scope)
    first = _copy(child, buffer, copy, both_ways, ana, inwards=True)
    last = _copy(child, buffer, copy, written, ana, inwards=False)
    realize = child.realize
    inside: SBlockRealize = Redirect(buffer, copy)(realize)
    stmts = [guard(first.stmt, realize.predicate), inside, guard(last.stmt, realize.predicate)]
    state = state.replace(realize, SeqStmt(stmts))
    return allocate(state, root, [copy]), [SBlockRV(first.ref), SBlockRV(last.ref)]


def _copy(
    child: ChildBlock,
    buffer: Var,
    copy: Var,
    regions: Sequence[BufferRegion],
    ana: Analyzer,
    *,
    inwards: bool,
) -> Copy:
    """A copy of what one iteration of a block accesses by these regions."""
    values = dict(zip([a.var for a in child.block.iter_vars], child.realize.iter_values))
    box: list[IntervalSet] = []
    for region in regions:
        made = [_as_set(substitute(r, values), ana) for r in region.region]
        box = made if not box else [union(ana, a, b) for a, b in zip(box, made)]
    part = part_of(buffer, box, ana, clip=False)
    source, target = (buffer, copy) if inwards else (copy, buffer)
    return copy_part(source, target, part, cropped=None, name=copy.name)


def _as_set(dom: Range, ana: Analyzer) -> IntervalSet:
    return IntervalSet.of_range(Range(ana.simplify(dom.min), ana.simplify(dom.extent)), ana)

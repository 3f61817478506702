"""Making a block of what stands in a loop."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import (
    BufferRegion,
    Expr,
    For,
    IterVar,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Var,
    structural_equal,
    substitute,
)
from ...ir.analysis.blocks import BlockScope, ChildBlock, child_blocks
from ...ir.stmt import BlockRef, seq
from ..division import AxisPart, DividedBlock, divide_block, joined_regions
from ..handles import LoopRV, SBlockRV
from ..legality_data import own_loops_reason
from ..legality_reduction import dropped_loops_reason, feeds, init_inputs_reason, repeated_update_reason
from ..moves import own_axes_reason
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import map_realizes
from ..state import State, block_ref
from .decompose_reduction import init_nest, update_block


@primitive()
def blockize(
    state: State, target: LoopRV | SBlockRV | Sequence[SBlockRV], preserve_unit_iters: bool = True
) -> tuple[State, SBlockRV]:
    """Make a block of a loop with all that stands in it, or of a block or several that stand in a row.

    Each axis of the block inside is divided into an outer and an inner part.  Of a reduction the
    initialiser moves to the new block.  Every handle is kept, the block's handle names the inner
    block; the result is the outer one.

    before:
        for i, j in T.grid(8, 8):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i * 8 + j)
                B[vi] = A[vi] + 1.0
    steps:
        sch.blockize(sch.get_loops("B")[1])
    after:
        for i in range(8):
            with T.sblock("B_o"):
                vi_o = T.axis.spatial(8, i)
                T.reads(A[vi_o * 8:vi_o * 8 + 8])
                T.writes(B[vi_o * 8:vi_o * 8 + 8])
                for j in range(8):
                    with T.sblock("B"):
                        vi_i = T.axis.spatial(8, j)
                        B[vi_o * 8 + vi_i] = A[vi_o * 8 + vi_i] + 1.0
    """
    if not isinstance(target, LoopRV):
        blocks = [target] if isinstance(target, SBlockRV) else target
        return _blocks_of(state, [block_ref(state.block(b)) for b in blocks], preserve_unit_iters)
    loop = state.loop(target)
    below, clean = child_blocks(loop)
    if len(below) != 1 or not clean:
        text = f"{len(below)} blocks stand below loop `{loop.loop_var.name}`, not one alone"
        raise refuse("several-blocks", text, loop)
    child = ChildBlock(below[0].realize, (*state.loops(target), *below[0].loops))
    demand(own_loops_reason(state, state.scope_root(child.ref)))
    outer, inner = state.loops(target), below[0].loops
    divided = _divided(child, outer, inner, preserve_unit_iters)
    made = outer_block(child, inner, loop, divided, preserve_unit_iters)
    values = [p.value for p in divided.outer]
    realize = SBlockRealize(values, divided.outer_condition, made)
    return state.replace(loop, realize), SBlockRV(block_ref(made))


def _divided(child: ChildBlock, outer: Sequence[For], inner: Sequence[For], keep_unit: bool) -> DividedBlock:
    demand(own_axes_reason(child))
    if child.block.init is not None:
        demand(repeated_update_reason(child, inner))
        if inner:
            demand(init_inputs_reason(child.block, inner[0]))
    return divide_block(child, outer, inner, keep_unit)


def outer_block(
    child: ChildBlock, inner: Sequence[For], body: Stmt, divided: DividedBlock, keep_unit: bool
) -> SBlock:
    """The block around `body`, in which the block inside stands with its inner axes."""
    inner_realize = _inner(child, divided)
    axes = [p.axis for p in divided.outer]
    own = [p.axis for p in divided.inner]
    plain = _on_new_axes(child.block, divided)
    reads = joined_regions(plain.reads, own, axes)
    writes = joined_regions(plain.writes, own, axes)
    init = _init(child, inner, divided)
    made = map_realizes(body, lambda r: inner_realize if r is child.realize else r)
    return SBlock(axes, reads, writes, child.block.name_hint + "_o", made, init)


def _on_new_axes(block: SBlock, divided: DividedBlock) -> SBlock:
    """The block with its old axes by new ones."""
    bare = block.replace(iter_vars=())
    made = substitute(bare, divided.axes)
    return made.replace(iter_vars=[p.axis for p in divided.inner])


def _inner(child: ChildBlock, divided: DividedBlock) -> SBlockRealize:
    block = _on_new_axes(child.block, divided)
    if block.init is not None:
        block = update_block(block).replace(name_hint=child.block.name_hint)
    return SBlockRealize([p.value for p in divided.inner], divided.inner_condition, block)


def _init(child: ChildBlock, inner: Sequence[For], divided: DividedBlock) -> Stmt | None:
    """The initialiser of the outer block: that of the inner one for all its data-parallel axes."""
    if child.block.init is None:
        return None
    block = _on_new_axes(child.block, divided)
    realize = SBlockRealize([p.value for p in divided.inner], divided.inner_condition, block)
    new = ChildBlock(realize, tuple(inner))
    kept = [lp for lp in inner if feeds(new, lp, spatial=True)]
    dropped = [lp for lp in inner if not feeds(new, lp, spatial=True)]
    demand(dropped_loops_reason(kept, [lp.loop_var for lp in dropped]))
    return init_nest(new, kept, dropped, suffix="")[1]


# blocks in a row


def _blocks_of(state: State, refs: Sequence[BlockRef], keep_unit: bool) -> tuple[State, SBlockRV]:
    """Make one block of blocks that stand in consecutive statements, with the loops around each."""
    if not refs:
        raise refuse("no-blocks", "there is no block to make one of")
    if len(set(refs)) != len(refs):
        raise refuse("duplicate-block", "a block is given twice", state.realize(refs[0]))
    root = state.scope_root(refs[0])
    demand(own_loops_reason(state, root))
    scope = state.scope(root)
    for ref in refs:
        if state.scope_root(ref) is not root:
            raise refuse("other-scope", "the blocks do not stand in one scope", state.realize(ref))
    outer = _shared(scope, refs)
    parent = outer[-1].loop_var if outer else root
    body = outer[-1].body if outer else state.block(root).body
    stmts = list(body.seq) if isinstance(body, SeqStmt) else [body]
    chosen = _run_of(scope, stmts, refs)
    divided: list[tuple[ChildBlock, DividedBlock]] = []
    axes: list[AxisPart] = []
    for ref in refs:
        child = scope.children[ref]
        if child.block.init is not None:
            text = f"block `{child.block.name_hint}` is a reduction with its initialiser; decompose it before"
            raise refuse("block-has-init", text, child.block)
        found = _divided(child, outer, child.loops[len(outer) :], keep_unit)
        divided.append((child, _aligned(found, axes)))
    made, old = _joined_block(divided, axes, stmts[chosen.start : chosen.stop])
    condition = divided[0][1].outer_condition
    realize = SBlockRealize([p.value for p in axes], condition, made)
    new = seq([*stmts[: chosen.start], realize, *stmts[chosen.stop :]])
    if len(old) == 1 and len(stmts) > 1:
        return state.replace(old[0], realize, inside=parent), SBlockRV(block_ref(made))
    return state.replace(body, new, inside=parent), SBlockRV(block_ref(made))


def _shared(scope: BlockScope, refs: Sequence[BlockRef]) -> list[For]:
    """The loops around all the blocks; for one block, all but none."""
    found = list(scope.children[refs[0]].loops)
    if len(refs) == 1:
        return found
    for ref in refs[1:]:
        loops = scope.children[ref].loops
        count = 0
        while count < min(len(found), len(loops)) and found[count] is loops[count]:
            count += 1
        found = found[:count]
    return found


def _run_of(scope: BlockScope, stmts: Sequence[Stmt], refs: Sequence[BlockRef]) -> slice:
    """Which statements hold just these blocks. Raises Refused when they do not stand in a row."""
    wanted = set(refs)
    inside = [{c.ref for c in scope.below(s)} for s in stmts]
    at = [k for k, found in enumerate(inside) if found & wanted]
    if not at:
        name = scope.children[refs[0]].block.name_hint
        text = f"block `{name}` does not stand in the body of the block around it"
        raise refuse("blocks-not-adjacent", text, scope.children[refs[0]].block)
    run = slice(at[0], at[-1] + 1)
    for k in range(run.start, run.stop):
        if not inside[k] or not inside[k] <= wanted or not child_blocks(stmts[k])[1]:
            raise refuse("blocks-not-adjacent", "other statements stand between the blocks", stmts[k])
    return run


def _aligned(found: DividedBlock, axes: list[AxisPart]) -> DividedBlock:
    """The block divided over the axes that are shared: equal ones are found again, others join them."""
    mapping: dict[Var, Expr] = {}
    taken: set[int] = set()
    for part in found.outer:
        match = None
        for k, known in enumerate(axes):
            same = structural_equal(known.value, part.value) and structural_equal(
                known.axis.dom, part.axis.dom
            )
            if k not in taken and same and known.axis.iter_type == part.axis.iter_type:
                match = k
                break
        if match is None:
            axes.append(part)
            match = len(axes) - 1
        taken.add(match)
        mapping[part.axis.var] = axes[match].axis.var
    moved = {old: substitute(e, mapping) for old, e in found.axes.items()}
    return DividedBlock(moved, found.outer, found.inner, found.outer_condition, found.inner_condition)


def _joined_block(
    divided: Sequence[tuple[ChildBlock, DividedBlock]], axes: Sequence[AxisPart], stmts: Sequence[Stmt]
) -> tuple[SBlock, Sequence[Stmt]]:
    first = divided[0][1].outer_condition
    for child, part in divided[1:]:
        if not structural_equal(part.outer_condition, first):
            raise refuse("predicate-not-divisible", "the predicates of the blocks differ", child.realize)
    inner = {id(child.realize): _inner(child, part) for child, part in divided}
    body = seq([map_realizes(s, lambda r: inner.get(id(r), r)) for s in stmts])
    reads: list[BufferRegion] = []
    writes: list[BufferRegion] = []
    own: list[IterVar] = []
    for child, part in divided:
        plain = _on_new_axes(child.block, part)
        own += [p.axis for p in part.inner]
        reads += plain.reads
        writes += plain.writes
    outer = [p.axis for p in axes]
    name = "outer_" + "".join([child.block.name_hint + "_" for child, _ in divided])
    made = SBlock(outer, joined_regions(reads, own, outer), joined_regions(writes, own, outer), name, body)
    return made, stmts

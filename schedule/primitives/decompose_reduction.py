"""Taking the initialiser of a reduction out of its loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from ...ir import (
    EQ,
    Expr,
    For,
    IterVar,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Var,
    const,
    renew_definitions,
    substitute,
)
from ...ir.analysis.blocks import BlockScope, ChildBlock, is_spatial
from ...ir.analysis.regions import READ, block_access_regions, touched_buffers
from ...ir.arith import Analyzer
from ...ir.visitor import walk
from ..handles import LoopRV, SBlockRV
from ..legality_reduction import (
    dropped_loops_reason,
    feeds,
    init_inputs_reason,
    outer_loops_reason,
    outer_steps_reason,
    reduction_block_reason,
    repeated_update_reason,
)
from ..neutral_reads import combine_all
from ..refusal import demand
from ..registry import primitive
from ..rewrite import bind_loop, both, conjuncts, is_true
from ..state import State, block_ref


@primitive()
def decompose_reduction(state: State, block: SBlockRV, loop: LoopRV) -> tuple[State, SBlockRV]:
    """Run the initialiser of a reduction block as a block of its own, just before a loop around it.

    The block's handle names the update, which no longer has an initialiser; the result is the
    block of the initialiser; all handles are kept.  Where only the scope sees the results all of them are
    initialised, and reductions of them need no longer leave out those without a step.

    before:
        for i, k in T.grid(8, 16):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + A[vi, vk]
    steps:
        sch.decompose_reduction("B", sch.get_loops("B")[1])
    after:
        for i in range(8):
            with T.sblock("B_init"):
                vi = T.axis.spatial(8, i)
                B[vi] = 0.0
            for k in range(16):
                with T.sblock("B_update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    B[vi] = B[vi] + A[vi, vk]
    """
    ref, target = block_ref(state.block(block)), state.loop(loop)
    scope = state.scope_around(ref)
    child = scope.children[ref]
    demand(outer_loops_reason(child, target) or outer_steps_reason(state, child))
    if state.check:
        demand(reduction_block_reason(scope, ref))
    at = [lp is target for lp in child.loops].index(True)
    inner = child.loops[at:]
    demand(repeated_update_reason(child, inner) or init_inputs_reason(child.block, target))
    kept = [lp for lp in inner if feeds(child, lp, spatial=True)]
    dropped = [lp for lp in inner if not feeds(child, lp, spatial=True)]
    demand(dropped_loops_reason(kept, [lp.loop_var for lp in dropped]))
    free = {lp.loop_var for lp in dropped} if _is_alone(scope, child) else set()
    made, nest, left_out = init_nest(child, kept, dropped, free=free)
    state = combine_all(state, scope, child, left_out)
    state = state.replace_block(ref, update_block(child.block))
    target = state.loop(loop)
    state = state.replace(target, SeqStmt([nest, target]))
    return state, SBlockRV(block_ref(made))


def init_nest(
    child: ChildBlock,
    kept: Sequence[For],
    dropped: Sequence[For],
    suffix: str = "_init",
    free: Set[Var] = frozenset(),
) -> tuple[SBlock, Stmt, list[Expr]]:
    """The block of the initialiser under copies of the loops that it needs, named with the suffix.

    It may also initialise what no step of the reduction in the loops `free` reaches; last are the conditions
    that it leaves out for that.
    """
    loops = [_renewed(lp, suffix) for lp in kept]
    mapping: dict[Var, Expr] = {old.loop_var: new.loop_var for old, new in zip(kept, loops)}
    mapping |= {lp.loop_var: lp.min for lp in dropped}
    loops = [
        lp.replace(min=substitute(lp.min, mapping), extent=substitute(lp.extent, mapping)) for lp in loops
    ]
    block = _init_block(child.block)
    values = [
        substitute(v, mapping)
        for a, v in zip(child.block.iter_vars, child.realize.iter_values)
        if is_spatial(a)
    ]
    predicate, left_out = _condition(child, mapping, loops, free)
    nest: Stmt = SBlockRealize(values, predicate, block)
    for lp in reversed(loops):
        nest = lp.replace(body=nest)
    return block, nest, left_out


def _renewed(loop: For, suffix: str) -> For:
    var = Var(loop.loop_var.name + suffix, loop.loop_var.ty)
    thread = loop.thread_binding
    if thread is not None:
        thread = IterVar(thread.dom, Var(thread.var.name, thread.var.ty), thread.iter_type, thread.thread_tag)
    return loop.replace(loop_var=var, thread_binding=thread)


def _init_block(block: SBlock) -> SBlock:
    """The initialiser as a block over the data-parallel axes."""
    assert block.init is not None
    used = {n for n in walk(block.init) if isinstance(n, Var)}
    matches = [m for m in block.match_buffers if m.buffer in used]
    axes = [a for a in block.iter_vars if is_spatial(a)]
    variables = {a.var: Var(a.var.name, a.var.ty) for a in axes}
    fresh = [IterVar(a.dom, variables[a.var], a.iter_type, a.thread_tag) for a in axes]
    bare = SBlock((), (), (), block.name_hint + "_init", block.init, match_buffers=matches)
    made = substitute(bare, variables).replace(iter_vars=fresh, annotations=block.annotations)
    if matches:
        made = renew_definitions(made)
    reads, writes = block_access_regions(made)
    return made.replace(reads=reads, writes=writes)


def _is_alone(scope: BlockScope, child: ChildBlock) -> bool:
    """Whether nobody else writes the results, and nothing outside of the scope sees them."""
    buffers = [w.buffer for w in child.block.writes]
    return all(scope.allocates(b) and scope.writers.get(b) == [child.ref] for b in buffers)


def _condition(
    child: ChildBlock, mapping: Mapping[Var, Expr], loops: Sequence[For], free: Set[Var]
) -> tuple[Expr, list[Expr]]:
    """Where the block would have run its initialiser: its predicate, at the first step of the reduction.

    What it says of the loops in `free` is left out, unless axes would leave their domains.  That comes
    second, where every result is initialised then.
    """
    ana = Analyzer()
    for lp in (*child.loops, *loops):
        bind_loop(ana, lp)
    left_out: list[Expr] = []
    given = conjuncts(child.realize.predicate)
    if free and _stays_inside(child, mapping, ana):
        left_out = [substitute(p, mapping) for p in given if any(n in free for n in walk(p))]
        given = [p for p in given if not any(n in free for n in walk(p))]
    parts = [substitute(p, mapping) for p in given]
    for axis, value in zip(child.block.iter_vars, child.realize.iter_values):
        if not is_spatial(axis) and axis.dom is not None:
            parts.append(EQ(substitute(value, mapping), axis.dom.min))
    result: Expr = const(1, "bool")
    for part in parts:
        if not ana.can_prove(part):
            result = both(result, part)
    return result, left_out if is_true(result) else []


def _stays_inside(child: ChildBlock, mapping: Mapping[Var, Expr], ana: Analyzer) -> bool:
    """Whether the data-parallel axes keep to their domains without the predicate."""
    for axis, value in zip(child.block.iter_vars, child.realize.iter_values):
        if is_spatial(axis) and axis.dom is not None:
            at = substitute(value, mapping)
            low, high = axis.dom.min, axis.dom.min + axis.dom.extent
            if not (ana.can_prove(at >= low) and ana.can_prove(at < high)):
                return False
    return True


def update_block(block: SBlock) -> SBlock:
    """The block without its initialiser: what it writes counts as read now."""
    read = {r.buffer for r in block.reads}
    loaded = {b for b, modes in touched_buffers(block.body).items() if modes & READ}
    own = [r for r in block.writes if r.buffer in loaded and r.buffer not in read]
    return block.replace(name_hint=block.name_hint + "_update", init=None, reads=[*own, *block.reads])

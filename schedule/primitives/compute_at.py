"""Computing a block under a loop of its consumers or of its producers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...ir import (
    GE,
    LE,
    LT,
    Add,
    And,
    Cast,
    Expr,
    For,
    IntImm,
    IterVar,
    Range,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Var,
    const,
    substitute,
)
from ...ir.analysis.blocks import BlockScope, ChildBlock, is_spatial
from ...ir.analysis.cover import bind_sizes, relaxed_region
from ...ir.arith import Analyzer
from ...ir.arith.intset import IntervalSet, union
from ...ir.arith.iter_map import detect_iter_map
from ...ir.stmt import BlockRef, ForKind, seq
from ...ir.types import BufferType
from ..handles import INLINE, LoopRV, SBlockRV
from ..legality import not_output
from ..legality_compute_at import (
    all_below_reason,
    all_produced_reason,
    blocks_below,
    carried_conditions,
    inputs_reason,
    once_reason,
    place_reason,
    produced_boxes,
    reads_produced_reason,
    without_further_conditions,
)
from ..legality_inline import whole_domain_reason
from ..locate import AxisSolver, domain_of
from ..moves import own_axes_reason, remove_leaf, settled_inputs_reason
from ..refusal import Reason, Refused, demand, refuse
from ..registry import primitive
from ..rewrite import bind_loop, is_const, serial_loops
from ..state import State, block_ref
from .compute_inline import compute_inline
from .reverse_compute_inline import reverse_compute_inline


@primitive()
def compute_at(
    state: State, block: SBlockRV, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
) -> State:
    """Compute a block inside a loop of its consumers, each time what they need in that iteration.

    `index` is the place among the statements of the loop: -1 the last possible, -2 the first.  The
    block's handle is kept; those of the loops that held only it are consumed; all others are kept.
    `loop` may be a mark of `sample_compute_location`: the block stays where it is, or is inlined.

    before:
        C = T.sblock_alloc_buffer((64,))
        for i in range(64):
            with T.sblock("C"):
                vi = T.axis.spatial(64, i)
                C[vi] = A[vi] * 2.0
        for i, j in T.grid(8, 8):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i * 8 + j)
                B[vi] = C[vi] + 1.0
    steps:
        sch.compute_at("C", sch.get_loops("B")[0])
    after:
        C = T.sblock_alloc_buffer((64,))
        for i in range(8):
            for ax0 in range(8):
                with T.sblock("C"):
                    vi = T.axis.spatial(64, i * 8 + ax0)
                    C[vi] = A[vi] * 2.0
            for j in range(8):
                with T.sblock("B"):
                    vi = T.axis.spatial(64, i * 8 + j)
                    B[vi] = C[vi] + 1.0
    """
    if isinstance(loop.target, str):
        return _at_mark(state, block, loop.target, compute_inline)
    scope, child, target, below = _placed(state, block, loop)
    ref = child.ref
    demand(not_output(state, child.block))
    consumers = scope.consumers(ref)
    demand(all_below_reason(scope, ref, consumers, below, "consumer"))
    demand(own_axes_reason(child) or settled_inputs_reason(scope, ref))
    asked = carried_conditions(child)
    at = _position(scope, target, scope.producers(ref), consumers, index)
    loops = [*state.loops(loop), target]
    ana = _analyzer(loops)
    boxes = _needed_boxes(scope, child, consumers, loops, ana)
    solved = AxisSolver(child.block.iter_vars, ana).solve(child.block.writes, boxes)
    nest = _nest(child, solved, loops, ana, preserve_unit_loops, asked)
    demand(inputs_reason(scope, ChildBlock(nest.realize, (*loops, *nest.loops))))
    return _moved(state, ref, target, nest, at)


def _placed(
    state: State, block: SBlockRV, loop: LoopRV
) -> tuple[BlockScope, ChildBlock, For, list[BlockRef]]:
    """The scope, the block in it, the loop where it may go, and the blocks below that. Raises Refused."""
    target = state.loop(loop)
    demand(place_reason(state, block_ref(state.block(block)), target))
    _, scope, child = state.standing(block)
    return scope, child, target, blocks_below(scope, target)


def _at_mark(state: State, block: SBlockRV, mark: str, inline: Callable[[State, SBlockRV], State]) -> State:
    """What a place that `sample_compute_location` gives stands for: the block stays, or is inlined."""
    return inline(state, block) if mark == INLINE else state


@primitive()
def reverse_compute_at(
    state: State, block: SBlockRV, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
) -> State:
    """Compute a block inside a loop of its producers, each time what their results of that iteration allow.

    `index` is the place among the statements of the loop: -1 the last possible, -2 the first.  The
    block's handle is kept; those of the loops that held only it are consumed; all others are kept.
    `loop` may be a mark of `sample_compute_location`: the block stays where it is, or is inlined.

    before:
        C = T.sblock_alloc_buffer((64,))
        for i, j in T.grid(8, 8):
            with T.sblock("C"):
                vi = T.axis.spatial(64, i * 8 + j)
                C[vi] = A[vi] * 2.0
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = C[vi] + 1.0
    steps:
        sch.reverse_compute_at("B", sch.get_loops("C")[0])
    after:
        C = T.sblock_alloc_buffer((64,))
        for i in range(8):
            for j in range(8):
                with T.sblock("C"):
                    vi = T.axis.spatial(64, i * 8 + j)
                    C[vi] = A[vi] * 2.0
            for ax0 in range(8):
                with T.sblock("B"):
                    vi = T.axis.spatial(64, i * 8 + ax0)
                    B[vi] = C[vi] + 1.0
    """
    if isinstance(loop.target, str):
        return _at_mark(state, block, loop.target, reverse_compute_inline)
    scope, child, target, below = _placed(state, block, loop)
    ref = child.ref
    producers = scope.producers(ref)
    demand(all_below_reason(scope, ref, producers, below, "producer"))
    asked = carried_conditions(child)
    demand(own_axes_reason(child) or whole_domain_reason(without_further_conditions(child)))
    at = _position(scope, target, producers, scope.consumers(ref), index)
    loops = [*state.loops(loop), target]
    boxes, why = produced_boxes(scope, child, producers, loops)
    demand(why or all_produced_reason(scope, child, producers, boxes))
    nest = _consumer_nest(child, boxes, loops, preserve_unit_loops, asked)
    demand(once_reason(nest.realize, (*loops, *nest.loops), nest.partial))
    return _moved(state, ref, target, nest, at)


def _consumer_nest(
    child: ChildBlock,
    boxes: Mapping[Var, Sequence[IntervalSet]],
    loops: Sequence[For],
    keep_unit: bool,
    asked: Sequence[Expr],
) -> _Nest:
    """The consumer over all values of its axes whose reads of one produced buffer meet its box.

    Refused where such a value reads something that is not in the boxes.
    """
    reason: Reason | None = None
    for region in child.block.reads:
        if region.buffer not in boxes:
            continue
        ana = _analyzer(loops)
        solved = AxisSolver(child.block.iter_vars, ana).region(region, boxes[region.buffer])
        nest = _nest(child, solved, loops, ana, keep_unit, asked)
        moved = ChildBlock(nest.realize, (*loops, *nest.loops))
        why = reads_produced_reason(moved, len(loops), boxes, ana)
        if why is None:
            return nest
        reason = reason or why
    if reason is None:
        text = f"block `{child.block.name_hint}` reads nothing that its producers write"
        reason = Reason("no-producer", text, child.block)
    raise Refused(reason)


class _Nest(NamedTuple):
    """A block under its new loops; `partial` where not all of a reduction runs in them."""

    stmt: Stmt
    loops: list[For]
    realize: SBlockRealize
    partial: bool


def _analyzer(loops: Sequence[For]) -> Analyzer:
    ana = Analyzer()
    bind_sizes(ana, loops)
    for lp in loops:
        bind_loop(ana, lp)
    return ana


def _position(
    scope: BlockScope,
    target: For,
    producers: Sequence[BlockRef],
    consumers: Sequence[BlockRef],
    index: int,
) -> int:
    """Before which statement of the loop the block goes: after all producers, before all consumers."""
    stmts = target.body.seq if isinstance(target.body, SeqStmt) else (target.body,)
    first, last = 0, len(stmts)
    for k, stmt in enumerate(stmts):
        inside = blocks_below(scope, stmt)
        if any(p is b for p in producers for b in inside):
            first = k + 1
        if last == len(stmts) and any(c is b for c in consumers for b in inside):
            last = k
    if first > last:
        raise refuse(
            "order-dependence", "no place in the loop is after all producers and before all consumers", target
        )
    if index == -1:
        return last
    if index == -2:
        return first
    if not first <= index <= last:
        text = f"index {index} is not between {first}, after the producers, and {last}, before the consumers"
        raise refuse("insert-position", text, target)
    return index


_RANKS = {"global": 0, "shared": 1, "warp": 2}


def _needed_boxes(
    scope: BlockScope,
    child: ChildBlock,
    consumers: Sequence[BlockRef],
    loops: Sequence[For],
    ana: Analyzer,
) -> dict[Var, list[IntervalSet]]:
    """What the consumers read of the block's buffers in an iteration of the innermost of the loops.

    Where threads share the buffer, all that they need together.
    """
    boxes: dict[Var, list[IntervalSet]] = {}
    for written in child.block.writes:
        buffer = written.buffer
        outer = _shared_from(buffer, loops)
        inner = [lp for k, lp in enumerate(loops) if k in outer or is_const(lp.extent, 1)]
        for ref in consumers:
            consumer = scope.children[ref]
            moved = ChildBlock(consumer.realize, (*inner, *consumer.loops[len(loops) :]))
            for region in consumer.block.reads:
                if region.buffer is buffer:
                    box = relaxed_region(moved, region, 0, ana)
                    old = boxes.get(buffer)
                    boxes[buffer] = box if old is None else [union(ana, a, b) for a, b in zip(old, box)]
    return boxes


def _shared_from(buffer: Var, loops: Sequence[For]) -> set[int]:
    """Which of the loops run on threads that see the same buffer."""
    scope = buffer.ty.storage_scope if isinstance(buffer.ty, BufferType) else "global"
    rank = _RANKS.get(scope.split(".", 1)[0], 3)
    found: set[int] = set()
    for k, lp in enumerate(loops):
        if lp.kind is ForKind.THREAD_BINDING and lp.thread_binding is not None:
            tag = lp.thread_binding.thread_tag
            if rank <= (0 if tag.startswith("blockIdx") else 1):
                found.add(k)
    return found


def _nest(
    child: ChildBlock,
    solved: Mapping[Var, IntervalSet],
    loops: Sequence[For],
    ana: Analyzer,
    preserve_unit_loops: bool,
    asked: Sequence[Expr],
) -> _Nest:
    """The block under loops `ax0`, `ax1`, ... over the values of its axes for which `asked` holds."""
    variables: list[Var] = []
    extents: list[Expr] = []
    values: list[Expr] = []
    predicate: Expr | None = None
    partial = False
    for axis in child.block.iter_vars:
        low, extent, checks = _range(axis, solved.get(axis.var), loops, ana)
        if not preserve_unit_loops:
            low = _only_value(low, ana)
        dom = domain_of(axis)
        if not is_spatial(axis) and not ana.can_prove_equal(extent, dom.extent):
            partial = True
        value = checked = low
        if not is_const(extent, 1) or preserve_unit_loops:
            var = Var(f"ax{len(variables)}", low.ty)
            variables.append(var)
            extents.append(extent)
            ana.bind(var, Range(const(0, var.dtype), extent))
            value = var if is_const(low, 0) else Add(low, var)
            checked = low if is_const(extent, 1) else value
        values.append(value)
        for kind in checks:
            limit = dom.min if kind is GE else dom.min + dom.extent
            part = ana.simplify(kind(checked, limit))
            predicate = part if predicate is None else And(predicate, part)
    of = {axis.var: value for axis, value in zip(child.block.iter_vars, values)}
    for cond in asked:
        part = ana.simplify(substitute(cond, of))
        predicate = part if predicate is None else And(predicate, part)
    realize = SBlockRealize(values, const(1, "bool") if predicate is None else predicate, child.block)
    stmt = serial_loops(variables, extents, realize)
    made: list[For] = []
    inner = stmt
    while isinstance(inner, For):
        made.append(inner)
        inner = inner.body
    return _Nest(stmt, made, realize, partial)


def _range(
    axis: IterVar, wanted: IntervalSet | None, loops: Sequence[For], ana: Analyzer
) -> tuple[Expr, Expr, list[type[GE] | type[LT]]]:
    """First value and number of values of an axis, and which ends of its domain need a check."""
    dom = domain_of(axis)
    if wanted is None or wanted.min is None or wanted.max is None:
        return dom.min, dom.extent, []
    low, high = _typed(wanted.min, axis.var), _typed(wanted.max, axis.var)
    end = dom.min + dom.extent
    checks: list[type[GE] | type[LT]] = []
    first, last = low, high
    if not ana.can_prove(GE(low, dom.min)):
        checks.append(GE)
        first = dom.min if ana.can_prove(LE(low, dom.min)) else low
    if not ana.can_prove(LT(high, end)) and not _below(high, end, loops, ana):
        checks.append(LT)
        last = end - 1 if ana.can_prove(GE(high + 1, end)) else high
    cut = _only_value(ana.simplify(last + 1 - first), ana)
    if checks and isinstance(cut, IntImm):
        cut_ends = [GE] * (first is dom.min) + [LT] * (last is not high)
        checks = [c for c in checks if c not in cut_ends]
        low, high = first, last
    return ana.simplify(low), _only_value(ana.simplify(high + 1 - low), ana), checks


def _only_value(e: Expr, ana: Analyzer) -> Expr:
    """The constant that the expression is where it can have no other value; else itself."""
    bound = ana.bound(e)
    return const(bound.min, e.dtype) if bound.min == bound.max else e


def _below(high: Expr, end: Expr, loops: Sequence[For], ana: Analyzer) -> bool:
    """Whether the value, as an affine map of the loops, stays below the end."""
    iters = {lp.loop_var: Range(lp.min, lp.extent) for lp in loops}
    found = detect_iter_map([high], iters, analyzer=ana)
    if not found.indices:
        return False
    total = found.indices[0]
    last = total.base
    for part in total.args:
        last = last + (part.extent - 1) * part.scale
    return ana.can_prove(LT(last, end))


def _typed(e: Expr, like: Var) -> Expr:
    return e if e.ty is like.ty else Cast(like.ty, e)


def _moved(state: State, ref: BlockRef, target: For, nest: _Nest, at: int) -> State:
    """The state in which the nest stands in the loop and the block no longer at its old place."""
    state = remove_leaf(state, ref)
    now = state.loop(target.loop_var)
    stmts = list(now.body.seq if isinstance(now.body, SeqStmt) else (now.body,))
    stmts.insert(at, nest.stmt)
    return state.replace(now, now.replace(body=seq(stmts)))

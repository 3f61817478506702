"""Legality of computing a block under another loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from ..ir import (
    GE,
    LE,
    LT,
    Add,
    And,
    BufferRegion,
    Expr,
    For,
    ForKind,
    IntImm,
    Range,
    Stmt,
    Sub,
    Var,
    const,
    substitute,
    walk,
)
from ..ir.analysis.blocks import BlockScope, ChildBlock, is_spatial
from ..ir.analysis.cover import Box, conditions, covers, is_const, relaxed_region, written_box
from ..ir.arith import Analyzer
from ..ir.arith.intset import IntervalSet
from ..ir.arith.iter_map import detect_iter_map
from ..ir.stmt import BlockRef, SBlockRealize
from ..ir.types import BufferType
from .legality import affine_binding, complete_or_reduction, stage_pipeline, uses_vars, writes_once
from .legality_inline import may_skip_reads
from .moves import partial_reduction_reason, shared_loops
from .refusal import Reason, Refused
from .state import State, block_ref


def place_reason(state: State, block: BlockRef, loop: For) -> Reason | None:
    """The loop stands in the block's scope and not around it; the scope is a stage pipeline.

    The block is complete or a reduction.
    """
    name = state.block(block).name_hint
    root = state.scope_root(block)
    if state.scope_root(loop.loop_var) is not root:
        text = f"block `{name}` and loop `{loop.loop_var.name}` do not stand in the same block scope"
        return Reason("other-scope", text, loop)
    if any(lp is loop for lp in state.loops(block)):
        text = f"loop `{loop.loop_var.name}` is an ancestor of block `{name}` already"
        return Reason("loop-is-ancestor", text, loop)
    why = stage_pipeline(state, block)
    if why is not None or not state.check:
        return why
    return complete_or_reduction(state.scope(root), state.block(block))


def all_below_reason(
    scope: BlockScope, ref: BlockRef, others: Sequence[BlockRef], below: Sequence[BlockRef], what: str
) -> Reason | None:
    """All producers or consumers of a block stand below the loop, and there is one."""
    name = scope.children[ref].block.name_hint
    if not others:
        code = "no-producer" if what == "producer" else "no-consumer"
        return Reason(code, f"block `{name}` has no {what} in its scope", scope.children[ref].block)
    for other in others:
        if not any(other is b for b in below):
            block = scope.children[other].block
            text = f"block `{name}` requires all the {what}s below the loop, but `{block.name_hint}` is not"
            return Reason("not-below-loop", text, block)
    return None


def carried_predicate_reason(child: ChildBlock) -> Reason | None:
    """The block's predicate says no more than that its axes keep to their domains."""
    return _more_than_domains(child) if further_conditions(child) else None


def carried_conditions(child: ChildBlock) -> list[Expr]:
    """What the block's predicate says beyond the domains of its axes, said of the axes.

    Raises Refused where it says it of loops that are no axes.
    """
    axes: dict[Var, Expr] = {}
    for axis, value in zip(child.block.iter_vars, child.realize.iter_values):
        if isinstance(value, Var):
            axes.setdefault(value, axis.var)
    loops = [lp.loop_var for lp in child.loops]
    found = further_conditions(child)
    for part in found:
        if uses_vars(part, [v for v in loops if v not in axes]):
            raise Refused(_more_than_domains(child))
    return [substitute(part, axes) for part in found]


def further_conditions(child: ChildBlock) -> list[Expr]:
    """The parts of the block's predicate that do not follow from its axes keeping to their domains."""
    ana = Analyzer()
    for lp in child.loops:
        ana.bind(lp.loop_var, Range(lp.min, lp.extent))
    inside: Expr = const(1, "bool")
    for axis, value in zip(child.block.iter_vars, child.realize.iter_values):
        if axis.dom is not None:
            inside = And(inside, GE(value, axis.dom.min))
            inside = And(inside, LT(value, axis.dom.min + axis.dom.extent))
    with ana.assume(inside):
        return [part for part in conditions(child.realize.predicate) if not ana.can_prove(part)]


def without_further_conditions(child: ChildBlock) -> ChildBlock:
    """The block as if its predicate said no more than that its axes keep to their domains."""
    further = further_conditions(child)
    kept = [c for c in conditions(child.realize.predicate) if not any(c is f for f in further)]
    predicate = reduce(And, kept) if kept else const(1, "bool")
    return ChildBlock(child.realize.replace(predicate=predicate), child.loops) if further else child


def _more_than_domains(child: ChildBlock) -> Reason:
    text = f"block `{child.block.name_hint}` has a predicate that is more than the domain of its axes"
    return Reason("block-predicate", text, child.realize)


def produced_boxes(
    scope: BlockScope, child: ChildBlock, producers: Sequence[BlockRef], loops: Sequence[For]
) -> tuple[dict[Var, list[IntervalSet]], Reason | None]:
    """What one iteration of the innermost of these loops has written for a consumer, buffer by buffer.

    A Reason where the producers do not fill boxes, or where sums are not complete and never will be.
    """
    boxes: dict[Var, list[IntervalSet]] = {}
    ana = Analyzer()
    for lp in loops:
        ana.bind(lp.loop_var, Range(lp.min, lp.extent))
    read = {r.buffer for r in child.block.reads}
    for ref in producers:
        producer = scope.children[ref]
        why = partial_reduction_reason(producer, loops)
        if why is not None and not _again(child, loops):
            return {}, why
        why = affine_binding(producer.realize, producer.loops)
        if why is not None:
            return {}, why
        for region in producer.block.writes:
            if region.buffer not in read:
                continue
            box = exact_box(producer, region, [lp for lp in loops if not is_const(lp.extent, 1)], ana)
            name = producer.block.name_hint
            if box is None:
                text = f"what block `{name}` writes of `{region.buffer.name}` in an iteration is no box"
                return {}, Reason("no-box", text, producer.block)
            if not _reads_by_axes(child, region.buffer, _guarded(producer, region, loops)):
                text = f"cells of `{region.buffer.name}` that block `{name}` leaves out are others' cells"
                return {}, Reason("block-predicate", text, producer.realize)
            old = boxes.get(region.buffer)
            if old is not None and not _same_box(ana, old, box):
                text = f"several blocks write different parts of `{region.buffer.name}`"
                return {}, Reason("no-box", text, producer.block)
            boxes[region.buffer] = box
    return boxes, None


def _guarded(producer: ChildBlock, region: BufferRegion, loops: Sequence[For]) -> set[int]:
    """The dimensions of a region along which the block leaves out cells in some iterations of these loops."""
    ana = Analyzer()
    for lp in producer.loops:
        ana.bind(lp.loop_var, Range(lp.min, lp.extent))
    outer = [lp.loop_var for lp in loops]
    asked = [
        c for c in conditions(producer.realize.predicate) if uses_vars(c, outer) and not ana.can_prove(c)
    ]
    limited = [n for c in asked for n in walk(c) if isinstance(n, Var)]
    values = {a.var: v for a, v in zip(producer.block.iter_vars, producer.realize.iter_values)}
    places = [substitute(r.min, values) for r in region.region]
    found = {k for k, place in enumerate(places) if uses_vars(place, limited)}
    return found or set(range(len(places) if asked else 0))


def _reads_by_axes(child: ChildBlock, buffer: Var, dimensions: Iterable[int]) -> bool:
    """Whether in these dimensions the block reads at an axis of its own: beyond its end is no other cell."""
    axes = {a.var for a in child.block.iter_vars}
    for region in child.block.reads:
        if region.buffer is buffer:
            own = [{n for n in walk(r.min) if isinstance(n, Var) and n in axes} for r in region.region]
            for k in dimensions:
                others = set().union(*own[:k], *own[k + 1 :])
                if own[k] & others or (own[k] and _shifted(region.region[k].min) not in own[k]):
                    return False
    return True


def _shifted(e: Expr) -> Expr:
    """The expression without a constant added to it."""
    while isinstance(e, Add | Sub) and isinstance(e.b, IntImm):
        e = e.a
    return e


def all_produced_reason(
    scope: BlockScope, child: ChildBlock, producers: Sequence[BlockRef], buffers: Iterable[Var]
) -> Reason | None:
    """For each value of its axes the block reads something that its producers write.

    A block that may leave out reads also runs for values for which it needs nothing; those would belong
    to no iteration of the producers' loops.
    """
    if not may_skip_reads(child.block.body):
        return None
    ana = Analyzer()
    wanted = set(buffers)
    whole = ChildBlock(child.realize.replace(predicate=const(1, "bool")), child.loops)
    for region in child.block.reads:
        if region.buffer not in wanted:
            continue
        read = relaxed_region(whole, region, 0, ana)
        written = [w for p in producers for w in _boxes_of(scope.children[p], region.buffer)]
        if not any(_inside(ana, read, box) for box in written):
            text = (
                f"block `{child.block.name_hint}` also runs where it reads nothing of `{region.buffer.name}`"
            )
            return Reason("region-cover", text, child.block)
    return None


def _boxes_of(producer: ChildBlock, buffer: Var) -> list[Box]:
    boxes = [written_box(producer, w, 0) for w in producer.block.writes if w.buffer is buffer]
    return [b for b in boxes if b is not None]


def _inside(ana: Analyzer, read: Sequence[IntervalSet], box: Box) -> bool:
    for r, w in zip(read, box):
        if r.min is None or r.max is None:
            return False
        if not (ana.can_prove(LE(w.low, r.min)) and ana.can_prove(LT(r.max, w.end))):
            return False
    return True


def _again(child: ChildBlock, loops: Sequence[For]) -> bool:
    """Whether a block may run on parts of sums: it runs again, in order, until they are whole."""
    if child.block.init is not None or any(not is_spatial(a) for a in child.block.iter_vars):
        return False
    return all(lp.kind in (ForKind.SERIAL, ForKind.UNROLLED) for lp in loops)


def exact_box(
    producer: ChildBlock, region: BufferRegion, outer: Sequence[For], ana: Analyzer
) -> list[IntervalSet] | None:
    """The box of elements that the block writes in its loops but the outer ones; its guards count as true.

    A guarded element that is needed is written in the same iteration of the outer loops, since
    different iterations write different elements.
    """
    if not writes_once(producer.block, region):
        return None
    known = conditions(producer.realize.predicate)
    found = written_box(producer, region, outer, known)
    if found is None:
        return None
    box: list[IntervalSet] = []
    for extent in found:
        low = ana.simplify(extent.low)
        box.append(IntervalSet(low, ana.simplify(extent.end - 1)))
    return box


def _same_box(ana: Analyzer, a: Sequence[IntervalSet], b: Sequence[IntervalSet]) -> bool:
    for x, y in zip(a, b):
        assert x.min is not None and x.max is not None and y.min is not None and y.max is not None
        if not (ana.can_prove_equal(x.min, y.min) and ana.can_prove_equal(x.max, y.max)):
            return False
    return True


def inputs_reason(scope: BlockScope, moved: ChildBlock) -> Reason | None:
    """What a block at its new place reads of buffers written in loops around it has been written by then."""
    for region in moved.block.reads:
        writers = [scope.children[w] for w in scope.writers.get(region.buffer, ()) if w is not moved.ref]
        before = [w for w in writers if shared_loops(w, moved)]
        if before and not covers(moved, region, before):
            name, buffer = moved.block.name_hint, region.buffer.name
            text = f"block `{name}` would read parts of `{buffer}` that are written in other iterations"
            return Reason("region-cover", text, moved.block)
    return None


def reads_produced_reason(
    child: ChildBlock, outer: int, boxes: Mapping[Var, Sequence[IntervalSet]], ana: Analyzer
) -> Reason | None:
    """What the block, at its new place, reads has been written in the iteration."""
    for region in child.block.reads:
        box = boxes.get(region.buffer)
        if box is None:
            continue
        read = relaxed_region(child, region, outer, ana)
        shape = region.buffer.ty.shape if isinstance(region.buffer.ty, BufferType) else ()
        for have, want, size in zip(box, read, shape):
            assert have.min is not None and have.max is not None
            low = ana.can_prove(have.min <= 0) or (
                want.min is not None and ana.can_prove(have.min <= want.min)
            )
            high = ana.can_prove(have.max >= size - 1) or (
                want.max is not None and ana.can_prove(have.max >= want.max)
            )
            if not (low and high):
                text = (
                    f"block `{child.block.name_hint}` would read parts of `{region.buffer.name}` "
                    "that are written in other iterations"
                )
                return Reason("region-cover", text, child.block)
    return None


def once_reason(realize: SBlockRealize, loops: Sequence[For], partial: bool) -> Reason | None:
    """A reduction at its new place adds each term once.

    Where each iteration of the loops around runs the whole reduction it may be run again, unless
    iterations run at the same time.
    """
    block = realize.block
    if not [a for a in block.iter_vars if not is_spatial(a)] and block.init is None:
        return None
    serial = True
    for lp in loops:
        if lp.kind in (ForKind.PARALLEL, ForKind.VECTORIZED, ForKind.THREAD_BINDING):
            serial = False
            if lp.thread_binding is not None and lp.thread_binding.thread_tag.startswith("threadIdx"):
                continue
            for axis, value in zip(block.iter_vars, realize.iter_values):
                if not is_spatial(axis) and uses_vars(value, (lp.loop_var,)):
                    text = f"loop `{lp.loop_var.name}`, which is not serial, would feed a reduction"
                    return Reason("loop-feeds", text, lp)
    if serial and not partial:
        return None
    iters = {lp.loop_var: Range(lp.min, lp.extent) for lp in loops}
    if detect_iter_map(realize.iter_values, iters, realize.predicate, "bijective").indices:
        return None
    text = f"block `{block.name_hint}` would add terms of its reduction more than once"
    return Reason("repeated-reduction", text, block)


def blocks_below(scope: BlockScope, stmt: Stmt) -> list[BlockRef]:
    """The blocks of the scope that stand in a statement."""
    return [block_ref(c.block) for c in scope.below(stmt)]

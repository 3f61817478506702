"""Region cover: whether what a block reads has all been written by blocks before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd
from typing import NamedTuple

from ..arith import Analyzer
from ..arith.intset import EVERYTHING, IntervalSet, eval_set
from ..arith.iter_map import detect_iter_map
from ..arith.region import estimate_region_strict_bound
from ..equal import structural_equal
from ..expr import (
    GE,
    GT,
    LE,
    LT,
    And,
    BufferRegion,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Max,
    Min,
    Mul,
    Range,
    Var,
    const,
)
from ..operators import add, mul, sub
from ..stmt import BlockRef, For
from ..types import BufferType
from ..visitor import Rewriter, substitute, walk
from .blocks import BlockScope, ChildBlock


class Extent(NamedTuple):
    """The integers from `low` up to, but not including, `end`."""

    low: Expr
    end: Expr


Box = tuple[Extent, ...]


def region_cover_reason(scope: BlockScope, ref: BlockRef) -> str | None:
    """Why what a block reads is not all written by blocks before it, in the loops that they share.

    Buffers that no block before it writes do not matter here.
    """
    child = scope.children[ref]
    at = scope.order[ref]
    for region in child.block.reads:
        writers = [w for w in scope.writers.get(region.buffer, ()) if w is not ref]
        if not writers:
            continue
        before = [scope.children[w] for w in writers if scope.order[w] < at]
        if before and not covers(child, region, before):
            return f"block `{child.block.name_hint}` may read parts of `{region.buffer.name}` not yet written"
    return None


_KNOWN: dict[tuple[int, ...], tuple[bool, object]] = {}
"""Answers by what they depend on, with those objects, so that no other object takes their place.

A primitive changes few of the blocks in its scope, and asks about all.
"""
_MOST_KNOWN = 4096


def covers(child: ChildBlock, region: BufferRegion, before: Sequence[ChildBlock]) -> bool:
    """Whether the producers write all of a region that a block reads, before it does.

    Of buffers that threads share, what all threads of the block of threads write counts.
    """
    parts = [region, *_stands_for(child)]
    for producer in before:
        parts += _stands_for(producer)
    key = tuple(map(id, parts))
    found = _KNOWN.get(key)
    if found is None:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        found = _KNOWN[key] = _covers(child, region, before), parts
    return found[0]


def _stands_for(child: ChildBlock) -> list[object]:
    """All that an answer depends on of a block: itself, and its loops but for what else they hold."""
    found: list[object] = [child.realize]
    for lp in child.loops:
        found += (lp.loop_var, lp.min, lp.extent, lp.step, lp.thread_binding)
    return found


def _covers(child: ChildBlock, region: BufferRegion, before: Sequence[ChildBlock]) -> bool:
    common = min([shared_loops(child.loops, p.loops) for p in before])
    shared = [lp for lp in child.loops[:common] if not is_const(lp.extent, 1)]
    outer = [lp for lp in shared if not _threads_share(lp, region.buffer)]
    ana = Analyzer()
    bind_sizes(ana, child.loops)
    for lp in outer:
        ana.bind(lp.loop_var, Range(lp.min, lp.extent))
    read = relaxed_region(child, region, outer, ana)
    known = conditions(child.realize.predicate)
    running = _while_running(child)
    boxes: list[Box] = []
    with running.assume(child.realize.predicate):
        for producer in before:
            for written in producer.block.writes:
                if written.buffer is region.buffer:
                    held = [*known, *_held_where_read(ana, producer, outer, read, region.buffer)]
                    held += [c for c, plain in _guards(producer, outer) if running.can_prove(plain)]
                    box = written_box(producer, written, outer, held, running)
                    if box is not None:
                        boxes.append(box)
        boxes = _joined(ana, boxes)
        if any(_holds(ana, box, read, region.buffer) for box in boxes):
            return True
        if known and any(_holds_each(running, box, _bound_region(child, region)) for box in boxes):
            return True
    return any(_repeats(child, region, p, w) for p in before for w in p.block.writes)


def bind_sizes(ana: Analyzer, loops: Sequence[For]) -> None:
    """Let the analyzer know what holds while the loops run: symbols that are sizes are positive.

    A loop that runs has a positive extent; of a product of sizes, which are not negative, each
    factor is positive then.
    """
    for lp in loops:
        stack = [lp.extent]
        while stack:
            e = stack.pop()
            if isinstance(e, Mul):
                stack += [e.a, e.b]
            elif isinstance(e, Var):
                ana.bind_bound(e, low=1)


def _while_running(child: ChildBlock) -> Analyzer:
    """What is known of the loops around a block."""
    ana = Analyzer()
    bind_sizes(ana, child.loops)
    for lp in child.loops:
        ana.bind(lp.loop_var, Range(lp.min, lp.extent))
    return ana


def _holds_each(ana: Analyzer, box: Box, places: Sequence[Range]) -> bool:
    """Whether the box holds what is read in each iteration."""
    return all(
        _less(ana, w.low, r.min) and _less(ana, add(r.min, r.extent), w.end) for w, r in zip(box, places)
    )


def _guards(producer: ChildBlock, outer: Sequence[For]) -> list[tuple[Expr, Expr]]:
    """The conditions of a block on the outer loops alone, and each without loops of one iteration."""
    inner = inner_loops(producer, outer)
    once = {lp.loop_var: lp.min for lp in inner if is_const(lp.extent, 1)}
    found = [(c, substitute(c, once)) for c in conditions(producer.realize.predicate)]
    return [(c, plain) for c, plain in found if not mentions(plain, [lp.loop_var for lp in inner])]


def _repeats(child: ChildBlock, region: BufferRegion, producer: ChildBlock, written: BufferRegion) -> bool:
    """Whether a block reads in each iteration what the producer, in loops alike, has written in its own."""
    common = shared_loops(child.loops, producer.loops)
    mine, theirs = child.loops[common:], producer.loops[common:]
    if written.buffer is not region.buffer or len(mine) != len(theirs):
        return False
    table: dict[Var, Expr] = {}
    for a, b in zip(mine, theirs):
        same = structural_equal(substitute(a.min, table), b.min)
        if not same or a.step or b.step or not structural_equal(substitute(a.extent, table), b.extent):
            return False
        table[a.loop_var] = b.loop_var
    held = [substitute(c, table) for c in conditions(child.realize.predicate)]
    for c in conditions(producer.realize.predicate):
        if not any(structural_equal(c, h) for h in held):
            return False
    places = [substitute(r, table) for r in _bound_region(child, region)]
    return all(structural_equal(a, b) for a, b in zip(places, _bound_region(producer, written)))


def _bound_region(child: ChildBlock, region: BufferRegion) -> list[Range]:
    """The region by loops, the axes replaced by their values."""
    values = {axis.var: value for axis, value in zip(child.block.iter_vars, child.realize.iter_values)}
    return [substitute(r, values) for r in region.region]


def _held_where_read(
    ana: Analyzer, producer: ChildBlock, outer: Sequence[For], read: Sequence[IntervalSet], buffer: Var
) -> list[Expr]:
    """Guards of the producer on the shared loops that hold wherever the one element read is in the buffer."""
    shape = buffer.ty.shape if isinstance(buffer.ty, BufferType) else ()
    guards = _guards(producer, outer)
    inside: Expr | None = None
    for r, size in zip(read, shape) if guards else ():
        if r.min is not None and r.is_point and r.min.ty is size.ty:
            part = And(GE(r.min, IntImm(size.ty, 0)), LT(r.min, size))
            inside = part if inside is None else And(inside, part)
    if inside is None:
        return []
    with ana.assume(inside):
        return [c for c, plain in guards if ana.can_prove(plain)]


def _threads_share(loop: For, buffer: Var) -> bool:
    """Whether the loop runs on threads that synchronise before they read the buffer."""
    tag = "" if loop.thread_binding is None else loop.thread_binding.thread_tag
    scope = buffer.ty.storage_scope if isinstance(buffer.ty, BufferType) else ""
    if scope.startswith("shared"):
        return tag.startswith(("threadIdx", "vthread"))
    return scope.startswith("warp") and tag == "threadIdx.x"


def _holds(ana: Analyzer, box: Box, read: Sequence[IntervalSet], buffer: Var) -> bool:
    """Whether the box holds the region read; nothing outside the buffer is ever read."""
    shape = buffer.ty.shape if isinstance(buffer.ty, BufferType) else ()
    for size, w, r in zip(shape, box, read):
        zero = const(0, w.low.dtype)
        if not (is_const(w.low, 0) or (r.min is not None and _less(ana, w.low, r.min))):
            if r.min is None or r.min.ty is not zero.ty or not _less(ana, w.low, Max(r.min, zero)):
                return False
        if _less(ana, size, w.end):
            continue
        if r.max is None or not _less(ana, add(r.max, 1), w.end):
            if r.max is None or r.max.ty is not size.ty or not _less(ana, Min(add(r.max, 1), size), w.end):
                return False
    return True


def _less(ana: Analyzer, a: Expr, b: Expr) -> bool:
    """Whether a <= b for certain."""
    return a.ty is b.ty and ana.can_prove(LE(a, b))


def _joined(ana: Analyzer, boxes: list[Box]) -> list[Box]:
    """The boxes, and those that two of them make together where they adjoin."""
    found = list(boxes)
    for a in boxes:
        total = a
        for b in boxes:
            made = _union(ana, total, b) if b is not total else None
            total = total if made is None else made
        if total is not a:
            found.append(total)
    return found


def _union(ana: Analyzer, a: Box, b: Box) -> Box | None:
    """The box that two boxes fill: equal but in one dimension, where they meet."""
    differing = [k for k, (x, y) in enumerate(zip(a, b)) if not _same(ana, x, y)]
    if len(differing) != 1:
        return None
    k = differing[0]
    low, high = a[k], b[k]
    if not (
        _less(ana, low.low, high.low) and _less(ana, high.low, low.end) and _less(ana, low.end, high.end)
    ):
        return None
    return (*a[:k], Extent(low.low, high.end), *a[k + 1 :])


def _same(ana: Analyzer, a: Extent, b: Extent) -> bool:
    return ana.can_prove_equal(a.low, b.low) and ana.can_prove_equal(a.end, b.end)


def written_box(
    child: ChildBlock,
    region: BufferRegion,
    outer: int | Sequence[For],
    known: Sequence[Expr] = (),
    where: Analyzer | None = None,
) -> Box | None:
    """A box of which a block writes every cell in the iterations of its loops but the outer ones.

    `outer` are those loops, or how many of the outermost.

    The ends mention variables from outside those loops only.  `known` are conditions that hold, `where` knows
    what else holds.  None where no such box is found: the cells do not fill one, or a guard is in the way.
    """
    inner = inner_loops(child, outer)
    iters = {lp.loop_var: Range(lp.min, lp.extent) for lp in inner}
    guard = [c for c in conditions(child.realize.predicate) if not any(structural_equal(c, k) for k in known)]
    single = {lp.loop_var: lp.min for lp in inner if is_const(lp.extent, 1)}
    for c in guard:
        # the search below says nothing of conditions on loops around, nor on loops of one iteration
        if not mentions(c, iters.keys() - single.keys()) and not Analyzer().can_prove(substitute(c, single)):
            return None
    mapping = {axis.var: value for axis, value in zip(child.block.iter_vars, child.realize.iter_values)}
    lows = [_by_parts(substitute(r.min, mapping), inner) for r in region.region]
    predicate: Expr | bool = True
    for c in _of_first_terms(guard, inner, lows, where or Analyzer()):
        predicate = c if predicate is True else And(predicate, c)
    found = detect_iter_map(lows, iters, predicate)
    if lows and not found.indices:
        widths = [substitute(r.extent, mapping) for r in region.region]
        sets = estimate_region_strict_bound([Range(m, e) for m, e in zip(lows, widths)], iters, predicate)
        if sets is None:
            return None
        return tuple([Extent(s.min, add(s.max, 1)) for s in sets if s.min is not None and s.max is not None])
    box: list[Extent] = []
    for total, r in zip(found.indices, region.region):
        width = substitute(r.extent, mapping)
        if mentions(width, iters) or len(total.args) > 1:
            return None
        low, end = total.base, add(total.base, width)
        for part in total.args:
            dense = is_const(part.scale, 1) or _const_less(part.scale, width)
            if not dense:
                return None
            end = add(add(total.base, mul(sub(part.extent, 1), part.scale)), width)
        box.append(Extent(low, end))
    return tuple(box)


def _by_parts(e: Expr, inner: Sequence[For]) -> Expr:
    """The expression with quotients and remainders taken apart that the inner loops do not carry over:
    (16 * i + j) % 64 is 16 * i % 64 + j for j below 16.
    """
    variables = [lp.loop_var for lp in inner]
    if not any(isinstance(n, FloorDiv | FloorMod) and mentions(n, variables) for n in walk(e)):
        return e
    ana = Analyzer()
    for lp in inner:
        ana.bind(lp.loop_var, Range(lp.min, lp.extent))
    return _Parts(ana, {lp.loop_var: lp.min for lp in inner})(e)


class _Parts(Rewriter):
    """Takes quotients and remainders apart into what the variables change and what they do not."""

    def __init__(self, ana: Analyzer, first: dict[Var, Expr]) -> None:
        super().__init__()
        self.ana, self.first = ana, first

    def visit_FloorDiv(self, e: FloorDiv) -> Expr:
        """The quotient of what does not change, where the change does not reach the next one."""
        made = self.visit_fields(e)
        base = self._base(made)
        return made if base is None else FloorDiv(base, made.b)

    def visit_FloorMod(self, e: FloorMod) -> Expr:
        """The remainder of what does not change, and the change."""
        made = self.visit_fields(e)
        base = self._base(made)
        return made if base is None else add(FloorMod(base, made.b), self.ana.simplify(sub(made.a, base)))

    def _base(self, e: FloorDiv | FloorMod) -> Expr | None:
        """What is divided at the first iteration; None where other iterations might pass a multiple."""
        if not isinstance(e.b, IntImm) or e.b.value <= 0 or not mentions(e.a, self.first):
            return None
        base = self.ana.simplify(substitute(e.a, self.first))
        change = self.ana.const_int_bound(self.ana.simplify(sub(e.a, base)))
        steps = self.ana.modular_set(base)
        width = gcd(steps.coeff, e.b.value)
        return base if steps.base % width == 0 and 0 <= change.min and change.max < width else None


def _of_first_terms(
    guard: Sequence[Expr], inner: Sequence[For], lows: Sequence[Expr], where: Analyzer
) -> list[Expr]:
    """What the guards ask of the first iterations of the loops on which the place does not depend.

    A cell that is written in those is written.
    """
    if not guard:
        return []
    first: dict[Var, Expr] = {}
    ana = Analyzer()
    for lp in inner:
        ana.bind(lp.loop_var, Range(lp.min, lp.extent))
        if not any(mentions(low, [lp.loop_var]) for low in lows) and where.can_prove(
            GT(lp.extent, const(0, lp.extent.dtype))
        ):
            first[lp.loop_var] = lp.min
    asked = [substitute(c, first) for c in guard] if first else list(guard)
    return [c for c in asked if not ana.can_prove(c)]


def inner_loops(child: ChildBlock, outer: int | Sequence[For]) -> list[For]:
    """The loops of a block but the outer ones: given ones, or so many of the outermost."""
    if isinstance(outer, int):
        return list(child.loops[outer:])
    return [lp for lp in child.loops if not any(lp is o for o in outer)]


def _const_less(a: Expr, b: Expr) -> bool:
    return isinstance(a, IntImm) and isinstance(b, IntImm) and 0 < a.value <= b.value


def conditions(e: Expr) -> list[Expr]:
    """The conditions that a condition joins by `and`; none for true."""
    if isinstance(e, And):
        return conditions(e.a) + conditions(e.b)
    return [] if isinstance(e, IntImm) and e.value else [e]


def mentions(e: Expr, variables: Iterable[Var]) -> bool:
    """Whether the expression mentions one of the variables."""
    wanted = set(variables)
    for n in walk(e):
        if isinstance(n, Var) and n in wanted:
            return True
    return False


def is_const(e: Expr | None, value: int) -> bool:
    """Whether this is the integer constant."""
    return isinstance(e, IntImm) and e.value == value


def shared_loops(a: Sequence[For], b: Sequence[For]) -> int:
    """How many outermost loops the two have in common."""
    count = 0
    for x, y in zip(a, b):
        if x is not y:
            break
        count += 1
    return count


def relaxed_region(
    child: ChildBlock, region: BufferRegion, outer: int | Sequence[For], ana: Analyzer | None = None
) -> list[IntervalSet]:
    """What a block accesses by this region in all iterations of its loops but the outer ones.

    The ends mention variables from outside those loops only; the block's predicate is not used.
    """
    ana = ana or Analyzer()
    domain: dict[Var, IntervalSet] = {}
    for lp in inner_loops(child, outer):
        low = eval_set(lp.min, domain, ana)
        high = eval_set(sub(add(lp.min, lp.extent), 1), domain, ana)
        domain[lp.loop_var] = IntervalSet(low.min, high.max)
    for axis, value in zip(child.block.iter_vars, child.realize.iter_values):
        domain[axis.var] = _within(eval_set(value, domain, ana), axis, ana)
    box: list[IntervalSet] = []
    for r in region.region:
        first = eval_set(r.min, domain, ana)
        last = first if is_const(r.extent, 1) else eval_set(sub(add(r.min, r.extent), 1), domain, ana)
        box.append(IntervalSet(first.min, last.max))
    return box


def _within(values: IntervalSet, axis: IterVar, ana: Analyzer) -> IntervalSet:
    """The values of an axis, cut to its domain: a guarded block runs only there."""
    if axis.dom is None or values is EVERYTHING or values.max is None:
        return values
    end = ana.simplify(sub(add(axis.dom.min, axis.dom.extent), 1))
    if values.max.ty is end.ty and ana.can_prove(GE(values.max, end)):
        return IntervalSet(values.min, end)
    return values

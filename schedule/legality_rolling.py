"""Legality of keeping only a window of a buffer while loops go over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ir import Expr, For, ForKind, IntImm, IterVar, Range, SBlock, Var, find, substitute
from ..ir.analysis.blocks import BlockScope, ChildBlock, DepKind, is_reduction, is_spatial
from ..ir.analysis.cover import covers
from ..ir.arith import Analyzer
from ..ir.arith.intset import IntervalSet, eval_set
from ..ir.operators import add, sub
from ..ir.stmt import BlockRef, BufferStore
from .legality import uses_vars
from .legality_compute_at import carried_predicate_reason
from .legality_inline import element_loads
from .moves import mentions, shared_loops
from .refusal import Reason, refuse
from .rewrite import is_const

MOST_STEPS = 1024
"""How many iterations are looked at one by one."""


@dataclass(frozen=True, slots=True)
class Window:
    """In each iteration of `loop` a block writes `extent` elements of a dimension.

    From one iteration to the next they move on by `stride` at most; `inner` is the place in the window that
    one run of the block writes.
    """

    dim: int
    loop: For
    stride: int
    extent: int
    inner: Expr

    @property
    def overlaps(self) -> bool:
        """Whether parts have been written in the iteration before."""
        return self.stride < self.extent


def only_read_later_reason(scope: BlockScope, ref: BlockRef, buffer: Var) -> Reason | None:
    """The block alone writes the buffer, and others only read it afterwards."""
    child = scope.children[ref]
    for dep in (*scope.deps_by_src(ref), *scope.deps_by_dst(ref)):
        other = scope.children[dep.dst if dep.src is ref else dep.src]
        touches = [r for r in (*other.block.reads, *other.block.writes) if r.buffer is buffer]
        if touches and not (dep.src is ref and dep.kind is DepKind.RAW):
            what = f"read `{buffer.name}` after `{child.block.name_hint}`"
            text = f"block `{other.block.name_hint}` does more than {what}"
            return Reason("order-dependence", text, other.block)
    return None


def users_of(scope: BlockScope, ref: BlockRef, buffer: Var) -> list[ChildBlock]:
    """The other blocks that use the buffer. Raises Refused unless they load elements only."""
    found: list[ChildBlock] = []
    for other, child in scope.children.items():
        if other is not ref and mentions(child.realize, buffer):
            element_loads(child.realize, buffer)
            found.append(child)
    return found


def window_read_reason(
    scope: BlockScope, child: ChildBlock, users: Sequence[ChildBlock], buffer: Var
) -> Reason | None:
    """What others read of the buffer the block has written in the same iteration of the loops around both."""
    if not scope.only_blocks:
        text = f"statements other than loops and blocks stand in the scope of block `{child.block.name_hint}`"
        return Reason("bare-statement", text, child.block)
    for user in users:
        for region in user.block.reads:
            if region.buffer is buffer and not covers(user, region, [child]):
                name = user.block.name_hint
                text = f"block `{name}` may read parts of `{buffer.name}` written in other iterations"
                return Reason("region-cover", text, user.block)
    return None


def common_loops(child: ChildBlock, users: Sequence[ChildBlock]) -> tuple[For, ...]:
    """The loops around the block and all who read its result."""
    loops = child.loops
    for user in users:
        shared = shared_loops(child, user)
        loops = shared if len(shared) < len(loops) else loops
    return loops


def windows(child: ChildBlock, buffer: Var, outer: Sequence[For]) -> list[Window]:
    """The windows that move with one of the outer loops. Raises Refused where a dimension is no such."""
    block = child.block
    store_dims = _plain_store(block, buffer)
    values = {a.var: v for a, v in zip(block.iter_vars, child.realize.iter_values)}
    ana = Analyzer()
    for lp in child.loops:
        ana.bind(lp.loop_var, Range(lp.min, lp.extent))
    domain = {
        lp.loop_var: IntervalSet.of_range(Range(lp.min, lp.extent), ana) for lp in child.loops[len(outer) :]
    }
    found: list[Window] = []
    for k, axis in enumerate(store_dims):
        value = values[axis]
        span = eval_set(value, domain, ana)
        loops = [lp for lp in outer if uses_vars(value, (lp.loop_var,)) and not is_const(lp.extent, 1)]
        if not loops:
            continue
        made = _window(k, value, span, loops, ana)
        if made is None:
            text = f"dimension {k} of `{buffer.name}` does not move evenly with one loop"
            raise refuse("no-window", text, block)
        found.append(made)
    return found


def _plain_store(block: SBlock, buffer: Var) -> list[Var]:
    """The axes at which the block stores the buffer, all data-parallel ones among them."""
    axes = {a.var: a for a in block.iter_vars}
    stores = [s for s in find(block, BufferStore) if s.buffer is buffer]
    for store in stores:
        plain = all(isinstance(i, Var) and i in axes for i in store.indices)
        same = all(a is b for a, b in zip(store.indices, stores[0].indices))
        if not plain or not same or len(set(store.indices)) != len(store.indices):
            raise refuse("store-pattern", f"`{buffer.name}` is not stored at different axes", store)
    used: list[Var] = [i for i in stores[0].indices if isinstance(i, Var)]
    for axis in block.iter_vars:
        if (
            not is_reduction(axis)
            and axis.var not in set(used)
            and not (axis.dom and is_const(axis.dom.extent, 1))
        ):
            raise refuse("store-pattern", f"axis `{axis.var.name}` does not index `{buffer.name}`", block)
    return used


def _window(k: int, value: Expr, span: IntervalSet, loops: Sequence[For], ana: Analyzer) -> Window | None:
    if len(loops) != 1 or span.min is None or span.max is None:
        return None
    loop = loops[0]
    extent = ana.simplify(sub(span.max, span.min))
    steps = _steps(span.min, loop, ana)
    if not isinstance(extent, IntImm) or steps is None or min(steps) < 0 or not is_const(loop.min, 0):
        return None
    return Window(k, loop, max(steps), extent.value + 1, ana.simplify(sub(value, span.min)))


def _steps(low: Expr, loop: For, ana: Analyzer) -> list[int] | None:
    """How far the start of the window moves from one iteration to the next: one number where it is even."""
    following = substitute(low, {loop.loop_var: add(loop.loop_var, 1)})
    step = ana.simplify(sub(following, low))
    if isinstance(step, IntImm):
        return [step.value]
    if not isinstance(loop.extent, IntImm) or loop.extent.value > MOST_STEPS:
        return None
    starts: list[int] = []
    for k in range(loop.extent.value):
        at = Analyzer().simplify(substitute(low, {loop.loop_var: IntImm(loop.loop_var.ty, k)}))
        if not isinstance(at, IntImm):
            return None
        starts.append(at.value)
    return [b - a for a, b in zip(starts, starts[1:])]


def plain_axes_reason(block: SBlock) -> Reason | None:
    """All axes are data-parallel or reductions, or follow the loop of another window."""
    for axis in block.iter_vars:
        if not is_spatial(axis) and not is_reduction(axis) and axis.iter_type != IterVar.OPAQUE:
            what = "neither data-parallel nor a reduction"
            text = f"axis `{axis.var.name}` of block `{block.name_hint}` is {what}"
            return Reason("axis-kind", text, block)
    return None


def rolling_reason(child: ChildBlock, found: Sequence[Window], buffer: Var) -> Reason | None:
    """Some window overlaps, loops of overlapping windows are serial, one each, and no guard is in the way."""
    moving = [w for w in found if w.overlaps]
    if not moving:
        text = f"no dimension of `{buffer.name}` is a window that moves by less than its width"
        return Reason("no-window", text, child.block)
    if len({id(w.loop) for w in found}) != len(found):
        return Reason("no-window", f"two dimensions of `{buffer.name}` move with one loop", child.block)
    for w in moving:
        if w.loop.kind is not ForKind.SERIAL:
            return Reason("loop-not-plain", f"loop `{w.loop.loop_var.name}` is not serial", w.loop)
    return carried_predicate_reason(child)

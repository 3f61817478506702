"""Legality of taking reductions apart."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import For, ForKind, SBlock, Stmt, Var
from ..ir.analysis.blocks import BlockScope, ChildBlock, is_spatial, reduction_reason
from ..ir.analysis.regions import READ, WRITE, touched_buffers
from ..ir.stmt import BlockRef
from .legality import binds_once, stage_pipeline, uses_vars
from .refusal import Reason
from .rewrite import is_const
from .state import State


def reduction_block_reason(scope: BlockScope, ref: BlockRef) -> Reason | None:
    """The block is a reduction block."""
    why = reduction_reason(scope, ref)
    return None if why is None else Reason("block-kind", why, scope.children[ref].block)


def feeds(child: ChildBlock, loop: For, *, spatial: bool) -> bool:
    """Whether the loop feeds a data-parallel axis of the block, or one of the others."""
    for axis, value in zip(child.block.iter_vars, child.realize.iter_values):
        if is_spatial(axis) == spatial and uses_vars(value, (loop.loop_var,)):
            return True
    return False


def outer_loops_reason(child: ChildBlock, loop: For) -> Reason | None:
    """The loop is around the block, and no loop outside of it feeds a reduction axis."""
    name = child.block.name_hint
    if not any(lp is loop for lp in child.loops):
        text = f"loop `{loop.loop_var.name}` is not one of the loops around block `{name}` in its scope"
        return Reason("not-in-loop", text, loop)
    for lp in child.loops:
        if lp is loop:
            break
        if feeds(child, lp, spatial=False):
            text = (
                f"loop `{lp.loop_var.name}` outside of `{loop.loop_var.name}` feeds the reduction of `{name}`"
            )
            return Reason("reduction-loop-outside", text, lp)
    return None


def outer_steps_reason(state: State, child: ChildBlock) -> Reason | None:
    """Each run of the block's scope runs the whole reduction: nothing around the scope feeds its axes."""
    outside: list[Var] = []
    for above in list(state.ancestors(child.ref))[len(child.loops) :]:
        node = above.node
        outside += [node.loop_var] if isinstance(node, For) else [a.var for a in node.block.iter_vars]
    for axis, value in zip(child.block.iter_vars, child.realize.iter_values):
        if not is_spatial(axis) and uses_vars(value, outside):
            text = f"axis `{axis.var.name}` of block `{child.block.name_hint}` goes on outside of its scope"
            return Reason("reduction-loop-outside", text, child.realize)
    return None


def repeated_update_reason(child: ChildBlock, loops: Sequence[For]) -> Reason | None:
    """Different iterations of these innermost loops run the block for different values of its axes.

    What repeats a step of the reduction repeats its initialiser too, as long as both are one block.
    """
    if binds_once(child, len(child.loops) - len(loops)):
        return None
    text = f"the loops run steps of the reduction of block `{child.block.name_hint}` more than once"
    return Reason("repeated-reduction", text, child.realize)


def idle_loop_reason(child: ChildBlock, loops: Sequence[For]) -> Reason | None:
    """No loop among these repeats the block without feeding an axis."""
    for lp in loops:
        fed = feeds(child, lp, spatial=True) or feeds(child, lp, spatial=False)
        if not fed and not is_const(lp.extent, 1):
            text = (
                f"loop `{lp.loop_var.name}` repeats block `{child.block.name_hint}` without feeding an axis"
            )
            return Reason("repeated-reduction", text, lp)
    return None


def init_inputs_reason(block: SBlock, loop: Stmt) -> Reason | None:
    """What the initialiser reads is not computed in the statement before which it will run."""
    assert block.init is not None
    read = {b for b, modes in touched_buffers(block.init).items() if modes & READ}
    written = {b for b, modes in touched_buffers(loop).items() if modes & WRITE}
    for buffer in read & written:
        text = f"the initialiser of block `{block.name_hint}` reads `{buffer.name}`, which the loop computes"
        return Reason("order-dependence", text, block)
    return None


def dropped_loops_reason(kept: Sequence[For], dropped: Sequence[Var]) -> Reason | None:
    """The ranges of loops that stay do not depend on loops that go."""
    for lp in kept:
        if uses_vars(lp.extent, dropped) or uses_vars(lp.min, dropped):
            text = f"the range of loop `{lp.loop_var.name}` depends on a loop of the reduction"
            return Reason("dependent-extent", text, lp)
    return None


def factor_loop_reason(state: State, child: ChildBlock, loop: For) -> Reason | None:
    """The loop is serial and feeds only reduction axes; every loop around feeds axes of one kind."""
    block, name = child.block, loop.loop_var.name
    if loop.kind is not ForKind.SERIAL:
        return Reason("loop-not-plain", f"loop `{name}` is not serial", loop)
    if feeds(child, loop, spatial=True):
        text = f"loop `{name}` feeds a data-parallel axis of block `{block.name_hint}`"
        return Reason("loop-feeds", text, loop)
    if not feeds(child, loop, spatial=False) and not is_const(loop.extent, 1):
        text = f"loop `{name}` feeds no reduction axis of block `{block.name_hint}`"
        return Reason("loop-feeds", text, loop)
    for lp in child.loops:
        if feeds(child, lp, spatial=True) and feeds(child, lp, spatial=False):
            what = f"data-parallel and reduction axes of block `{block.name_hint}`"
            text = f"loop `{lp.loop_var.name}` feeds {what}"
            return Reason("loop-feeds", text, lp)
    return stage_pipeline(state, loop.loop_var) or idle_loop_reason(child, child.loops)


def single_block(scope: BlockScope, loop: For) -> ChildBlock | Reason:
    """The one block below the loop, or why there is none."""
    below = scope.below(loop)
    if len(below) != 1:
        text = f"{len(below)} blocks stand below loop `{loop.loop_var.name}`, not one"
        return Reason("several-blocks", text, loop)
    return scope.children[below[0].ref]


def first_child_reason(scope: BlockScope, child: ChildBlock) -> Reason | None:
    """The block is the first below the outermost loop around it."""
    outermost = child.loops[0]
    if scope.below(outermost)[0].ref is child.ref:
        return None
    text = f"block `{child.block.name_hint}` is not the first block below loop `{outermost.loop_var.name}`"
    return Reason("not-first-block", text, outermost)

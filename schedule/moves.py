"""Taking a block out of its place, and what must hold of blocks that run at another time."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import For, SBlock, SBlockRealize, SeqStmt, Stmt, Var, walk
from ..ir.analysis.blocks import BlockScope, ChildBlock, is_spatial
from ..ir.analysis.cover import region_cover_reason
from ..ir.analysis.uses import uses_below
from ..ir.stmt import BlockRef
from .handles import SBlockRV
from .legality import uses_vars
from .refusal import Reason, refuse
from .state import State, block_ref, identity


def remove_leaf(state: State, of: SBlockRV | BlockRef) -> State:
    """The state without the block and without the loops that hold nothing else.

    Raises Refused where nothing would remain in the scope.
    """
    node = state.place(of).node
    while True:
        parent = state.place(identity(node)).parent
        above = None if parent is None else state.place(parent).node
        if not isinstance(above, For) or above.body is not node:
            break
        node = above
    body = None if above is None else above.body if isinstance(above, For) else above.block.body
    if not isinstance(body, SeqStmt):
        name = state.block(of).name_hint
        raise refuse("only-leaf", f"block `{name}` is all that its scope computes", state.realize(of))
    return state.replace(node, SeqStmt(()))


def drop_buffers(state: State, root: BlockRef, buffers: Sequence[Var]) -> State:
    """The state in which the block no longer allocates these buffers."""
    block = state.block(root)
    gone = set(buffers)
    kept = [b for b in block.alloc_buffers if b not in gone]
    return (
        state
        if len(kept) == len(block.alloc_buffers)
        else state.replace_block(root, block.replace(alloc_buffers=kept))
    )


def allocated_reason(state: State, block: SBlock, what: str) -> Reason | None:
    """Every buffer that the block writes is allocated in its scope: nobody outside sees it."""
    own = set(state.block(state.scope_root(block_ref(block))).alloc_buffers)
    for region in block.writes:
        if region.buffer not in own:
            text = (
                f"block `{block.name_hint}` writes `{region.buffer.name}`, which is visible outside its scope"
            )
            return Reason("output-block", text, block, notes=(what,))
    return None


def own_axes_reason(child: ChildBlock) -> Reason | None:
    """The block names loops of its scope only through its axes."""
    around = {lp.loop_var for lp in child.loops}
    for var in uses_below(child.block):
        if isinstance(var, Var) and var in around:
            text = f"block `{child.block.name_hint}` uses loop `{var.name}` other than through an axis"
            return Reason("loop-in-block", text, child.block)
    return None


def settled_inputs_reason(scope: BlockScope, ref: BlockRef) -> Reason | None:
    """What the block reads has its last value when the block runs, and keeps it.

    No later block writes it, and no reduction that computes it goes on in a loop around both; so for
    the blocks that compute it as well.
    """
    seen = {ref}
    todo = [ref]
    while todo:
        at = todo.pop()
        child = scope.children[at]
        for region in child.block.reads:
            for writer in scope.writers.get(region.buffer, ()):
                if writer is at:
                    continue
                why = _unsettled(scope, child, scope.children[writer], region.buffer)
                if why is not None:
                    return why
                if writer not in seen and shared_loops(child, scope.children[writer]):
                    seen.add(writer)
                    todo.append(writer)
    return None


def _unsettled(scope: BlockScope, child: ChildBlock, writer: ChildBlock, buffer: Var) -> Reason | None:
    name = writer.block.name_hint
    if scope.order[writer.ref] > scope.order[child.ref]:
        text = f"block `{name}` writes `{buffer.name}` after block `{child.block.name_hint}` has read it"
        return Reason("order-dependence", text, writer.block)
    shared = shared_loops(child, writer)
    if not shared:
        return None
    why = partial_reduction_reason(writer, shared)
    if why is not None:
        return why
    text2 = region_cover_reason(scope, child.ref)
    return None if text2 is None else Reason("region-cover", text2, child.block)


def partial_reduction_reason(writer: ChildBlock, loops: Sequence[For]) -> Reason | None:
    """Within one iteration of these loops the block has computed final values, not parts of sums."""
    names = {lp.loop_var for lp in loops}
    for axis, value in zip(writer.block.iter_vars, writer.realize.iter_values):
        if not is_spatial(axis) and uses_vars(value, names):
            text = (
                f"block `{writer.block.name_hint}` has only part of its reduction over `{axis.var.name}` "
                "done in an iteration of the loops around"
            )
            return Reason("partial-reduction", text, writer.block)
    return None


def shared_loops(a: ChildBlock, b: ChildBlock) -> tuple[For, ...]:
    """The loops around both."""
    count = 0
    for x, y in zip(a.loops, b.loops):
        if x is not y:
            break
        count += 1
    return a.loops[:count]


def mentions(stmt: Stmt | SBlockRealize, buffer: Var) -> bool:
    """Whether a buffer occurs anywhere in a statement, signatures of blocks included."""
    for node in walk(stmt):
        if node is buffer:
            return True
    return False

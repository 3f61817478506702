"""Legality checks that primitives and the search share: each returns a Reason, or None."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..ir import Expr, For, ForKind, IntImm, Var, structural_equal, walk
from ..ir.analysis.blocks import (
    BlockScope,
    affine_binding_reason,
    child_blocks,
    complete_or_reduction_reason,
    is_reduction,
    is_spatial,
    local_scope,
    region_cover_reason,
    stage_pipeline_reason,
)
from ..ir.arith import Analyzer
from ..ir.stmt import SBlock, SBlockRealize, SeqStmt
from .refusal import Reason
from .handles import Identity
from .state import State, block_ref


def plain_loop_reason(loop: For) -> Reason | None:
    """The loop carries no annotation, no thread binding, and steps by one."""
    name = loop.loop_var.name
    if loop.annotations or loop.thread_binding is not None:
        what = "annotations" if loop.annotations else "a thread binding"
        return Reason("loop-not-plain", f"loop `{name}` has {what}", loop)
    if loop.step is not None:
        return Reason("loop-not-plain", f"loop `{name}` has a step", loop)
    return None


def starts_at_zero_reason(loop: For) -> Reason | None:
    """The loop starts at zero."""
    if isinstance(loop.min, IntImm) and loop.min.value == 0:
        return None
    if Analyzer().can_prove_equal(loop.min, IntImm(loop.min.ty, 0)):
        return None
    return Reason("loop-start", f"loop `{loop.loop_var.name}` does not start at 0", loop)


def chain_reason(loops: Sequence[For]) -> Reason | None:
    """Each loop's body is the next loop and nothing else."""
    for outer, inner in zip(loops, loops[1:]):
        if outer.body is not inner:
            a, b = outer.loop_var.name, inner.loop_var.name
            if _inside(outer, inner):
                return Reason(
                    "loop-not-only-child", f"loop `{b}` is not the only statement in loop `{a}`", outer
                )
            return Reason("loops-not-nested", f"loop `{b}` does not stand directly in loop `{a}`", inner)
    return None


def _inside(outer: For, inner: For) -> bool:
    return isinstance(outer.body, SeqStmt) and any([s is inner for s in outer.body.seq])


def uses_vars(e: Expr, variables: Iterable[Var]) -> bool:
    """Whether an expression mentions one of the variables."""
    wanted = set(variables)
    for n in walk(e):
        if isinstance(n, Var) and n in wanted:
            return True
    return False


def stage_pipeline(state: State, of: Identity) -> Reason | None:
    """The scope in which this loop or block stands is a stage pipeline."""
    if not state.check:
        return None
    root = state.scope_root(of)
    why = stage_pipeline_reason(state.scope(root))
    if why is None:
        return None
    name = state.block(root).name_hint
    return Reason("stage-pipeline", f"the scope of block `{name}` is no stage pipeline: {why}", state.realize(root))


def complete_or_reduction(scope: BlockScope, block: SBlock) -> Reason | None:
    """The block is complete or a reduction block in its scope."""
    why = complete_or_reduction_reason(scope, block_ref(block))
    if why is None:
        return None
    return Reason(
        "block-kind", f"block `{block.name_hint}` is neither complete nor a reduction: {why}", block
    )


def affine_binding(realize: SBlockRealize, loops: Sequence[For]) -> Reason | None:
    """The block's bindings are an affine map of these loops."""
    why = affine_binding_reason(realize, loops)
    return None if why is None else Reason("binding-not-affine", why, realize)


def not_output(state: State, block: SBlock) -> Reason | None:
    """The block writes only buffers allocated in its scope."""
    root = state.block(state.scope_root(block_ref(block)))
    for region in block.writes:
        if not any([region.buffer is b for b in root.alloc_buffers]):
            text = f"block `{block.name_hint}` writes `{region.buffer.name}`, an output of its scope"
            return Reason("output-block", text, block)
    return None


def reorder_block_reason(realize: SBlockRealize, loops: Sequence[For]) -> Reason | None:
    """The iterations of a block may run in any order."""
    block = realize.block
    for axis in block.iter_vars:
        if not is_spatial(axis) and not is_reduction(axis):
            return Reason(
                "axis-kind",
                f"axis `{axis.var.name}` of block `{block.name_hint}` is neither data-parallel nor a reduction",
                block,
            )
    return affine_binding(realize, loops) or in_place_reason(block)


def in_place_reason(block: SBlock) -> Reason | None:
    """What a block reads of a buffer that it writes is just what it writes."""
    for written in block.writes:
        for read in block.reads:
            if read.buffer is written.buffer and not structural_equal(read, written):
                return Reason(
                    "order-dependence",
                    f"block `{block.name_hint}` reads parts of `{read.buffer.name}` that other iterations write",
                    block,
                )
    return None


def independent_iterations_reason(loop: For, outer: Sequence[For]) -> Reason | None:
    """Blocks below the loop depend on each other only within an iteration of it and the loops around it.

    `outer` are the loops around it up to the scope.
    """
    children, clean = child_blocks(loop.body)
    if len(children) < 2:
        return None
    scope = local_scope(loop.body)
    for child in children:
        why = region_cover_reason(scope, child.ref)
        if why is None:
            for dep in scope.deps_by_dst(child.ref):
                if dep.kind == 2:
                    other = scope.children[dep.src].block.name_hint
                    why = f"block `{child.block.name_hint}` writes what block `{other}` reads"
        if why is not None:
            return Reason("order-dependence", why, child.block)
    return None


def loop_kind_reason(state: State, loop: For, kind: ForKind, thread_tag: str = "") -> Reason | None:
    """The iterations of the loop may run at the same time: parallel, vectorized or on threads.

    The scope is a stage pipeline, each block below is complete or a reduction with affine
    bindings, and the loop feeds data-parallel axes only (threads of one block may share a reduction).
    """
    if not state.check:
        return None
    why = stage_pipeline(state, loop.loop_var)
    if why is not None:
        return why
    outer = tuple(state.loops(loop.loop_var))
    scope = state.scope_around(loop.loop_var)
    for child in child_blocks(loop, outer)[0]:
        why = complete_or_reduction(scope, child.block) or affine_binding(child.realize, child.loops)
        if why is not None:
            return why
        for axis, value in zip(child.block.iter_vars, child.realize.iter_values):
            if not uses_vars(value, (loop.loop_var,)) or is_spatial(axis):
                continue
            if is_reduction(axis) and thread_tag.startswith("threadIdx"):
                continue
            return Reason(
                "loop-feeds-reduction",
                f"loop `{loop.loop_var.name}` feeds axis `{axis.var.name}` of block "
                f"`{child.block.name_hint}`, which is not data-parallel",
                child.block,
            )
    return None

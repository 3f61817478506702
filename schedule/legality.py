"""Legality checks that primitives and the search share: each returns a Reason, or None."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ..ir import (
    BufferRegion,
    BufferStore,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    IntImm,
    IterVar,
    Mul,
    Range,
    Var,
    structural_equal,
    walk,
)
from ..ir.analysis.blocks import (
    BlockScope,
    ChildBlock,
    DepKind,
    affine_binding_reason,
    child_blocks,
    complete_or_reduction_reason,
    is_reduction,
    is_spatial,
    local_scope,
    stage_pipeline_reason,
)
from ..ir.analysis.cover import region_cover_reason, relaxed_region
from ..ir.arith import Analyzer
from ..ir.arith.intset import IntervalSet
from ..ir.arith.iter_map import detect_iter_map
from ..ir.stmt import AttrStmt, SBlock, SBlockRealize, SeqStmt, Stmt
from .counting import distinct
from .handles import Identity
from .refusal import Reason
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
    return isinstance(outer.body, SeqStmt) and any(s is inner for s in outer.body.seq)


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
    return Reason(
        "stage-pipeline", f"the scope of block `{name}` is no stage pipeline: {why}", state.realize(root)
    )


def complete_or_reduction(scope: BlockScope, block: SBlock) -> Reason | None:
    """The block is complete or a reduction block in its scope."""
    why = complete_or_reduction_reason(scope, block_ref(block))
    if why is None:
        return None
    return Reason(
        "block-kind",
        f"block `{block.name_hint}` is neither a complete block nor a reduction block: {why}",
        block,
    )


def affine_binding(realize: SBlockRealize, loops: Sequence[For]) -> Reason | None:
    """The block's bindings are an affine map of these loops."""
    why = affine_binding_reason(realize, loops)
    return None if why is None else Reason("binding-not-affine", why, realize)


def not_output(state: State, block: SBlock) -> Reason | None:
    """The block writes only buffers allocated in its scope."""
    root = state.block(state.scope_root(block_ref(block)))
    for region in block.writes:
        if not any(region.buffer is b for b in root.alloc_buffers):
            text = f"`{block.name_hint}` is an output block: `{region.buffer.name}` is an output of its scope"
            return Reason("output-block", text, block)
    return None


def reorder_block_reason(scope: BlockScope, child: ChildBlock, loop: For) -> Reason | None:
    """The iterations of a block in a loop may run in any order."""
    block = child.block
    for axis in block.iter_vars:
        if not is_spatial(axis) and not is_reduction(axis):
            return Reason(
                "axis-kind",
                f"axis `{axis.var.name}` of `{block.name_hint}` is neither data-parallel nor a reduction",
                block,
            )
    at = [lp is loop for lp in child.loops].index(True)
    return (
        affine_binding(child.realize, child.loops[at:])
        or in_place_reason(block)
        or write_conflict_reason(scope, child, loop)
    )


def binds_once(child: ChildBlock, inner: int) -> bool:
    """Whether different iterations of the loops from number `inner` on bind different values."""
    values, predicate = child.realize.iter_values, child.realize.predicate
    for loops in (child.loops[inner:], child.loops):
        domains = {lp.loop_var: Range(lp.min, lp.extent) for lp in loops}
        for guard in (predicate, True):
            if not domains or detect_iter_map(values, domains, guard, "bijective").indices:
                return True
    return False


def write_conflict_reason(scope: BlockScope, child: ChildBlock, loop: For) -> Reason | None:
    """Iterations of the loop (and those in it) do not disturb what each other write.

    A reduction is computed once; another block writes a cell with one value only.  Buffers used
    within an iteration of the loop only are free: each iteration may have its own.
    """
    block = child.block
    at = [lp is loop for lp in child.loops].index(True)
    if block.init is not None:
        if binds_once(child, at):
            return None
    elif all(writes_once(block, region) for region in block.writes):
        return None
    for region in block.writes:
        if not is_private(scope, region.buffer, loop):
            text = f"iterations of loop `{loop.loop_var.name}` write the same part of `{region.buffer.name}`"
            return Reason("write-conflict", text, child.realize)
    return None


def first_iteration_reason(child: ChildBlock, before: Sequence[For], after: Sequence[For]) -> Reason | None:
    """A reduction still starts with its first step when these loops change from one order to the other.

    Where one loop feeds a reduction and a data-parallel axis (after a fusion), loops that feed the
    same axes must keep their order: otherwise a later step of the reduction would come first.
    """
    if child.block.init is None:
        return None
    groups: list[set[Var]] = []
    used: dict[Var, set[bool]] = {}
    loops = {lp.loop_var for lp in child.loops if not _is_one(Range(lp.min, lp.extent))}
    for axis, value in zip(child.block.iter_vars, child.realize.iter_values):
        feeding = {n for n in walk(value) if isinstance(n, Var) and n in loops}
        for var in feeding:
            used.setdefault(var, set()).add(is_spatial(axis))
        groups = [
            *[g for g in groups if not g & feeding],
            feeding.union(*[g for g in groups if g & feeding]),
        ]
    for group in groups:
        if not any(len(used[v]) > 1 for v in group):
            continue
        old = [lp.loop_var for lp in before if lp.loop_var in group]
        new = [lp.loop_var for lp in after if lp.loop_var in group]
        if any(x is not y for x, y in zip(old, new)):
            text = (
                f"loops that feed both a reduction and a data-parallel axis of `{child.block.name_hint}` move"
            )
            return Reason("reduction-order", text, child.realize)
    return None


def is_private(scope: BlockScope, buffer: Var, loop: For) -> bool:
    """Whether a buffer is allocated in the scope and used below the loop only."""
    users = [*scope.writers.get(buffer, ()), *scope.readers.get(buffer, ())]
    below = [u for u in users if any(lp is loop for lp in scope.children[u].loops)]
    return scope.allocates(buffer) and len(below) == len(users)


def writes_once(block: SBlock, region: BufferRegion) -> bool:
    """Whether different values of the data-parallel axes write different cells."""
    axes = [a for a in block.iter_vars if is_spatial(a) and not _is_one(a.dom)]
    wide = [r for r in region.region if not _is_one(r)]
    if all(_apart(r, axes) for r in wide) and _tell_apart([r.min for r in region.region], axes):
        return True
    stored = _stored_at(block, region.buffer) if wide else None
    return stored is not None and _tell_apart(stored, axes)


def _tell_apart(places: Sequence[Expr], axes: Sequence[IterVar]) -> bool:
    """Whether different values of the axes give different places."""
    plain = {p for p in places if isinstance(p, Var)}
    return all(a.var in plain for a in axes) or distinct(places, axes)


def _apart(r: Range, axes: Sequence[IterVar]) -> bool:
    """Whether ranges for different values of the axes do not meet: multiples of their length, or fixed."""
    match r.min:
        case Mul(a=Var(), b=IntImm(value=step)) | Mul(a=IntImm(value=step), b=Var()):
            return isinstance(r.extent, IntImm) and r.extent.value <= step
    return not uses_vars(r.min, [a.var for a in axes])


def _stored_at(block: SBlock, buffer: Var) -> list[Expr] | None:
    """The indices of the one store to a buffer, where a block's body is that store alone."""
    if isinstance(block.body, BufferStore) and block.body.buffer is buffer:
        return list(block.body.indices)
    return None


def _is_one(dom: Range | None) -> bool:
    return dom is not None and isinstance(dom.extent, IntImm) and dom.extent.value == 1


def in_place_reason(block: SBlock) -> Reason | None:
    """What a block reads of a buffer that it writes is just what it writes."""
    for written in block.writes:
        for read in block.reads:
            if read.buffer is written.buffer and not structural_equal(read, written):
                return Reason(
                    "order-dependence",
                    f"block `{block.name_hint}` reads of `{read.buffer.name}` what other iterations write",
                    block,
                )
    return None


def independent_iterations_reason(
    loop: For, own: Collection[Var] = (), outer: Sequence[For] = ()
) -> Reason | None:
    """Blocks below the loop depend on each other only within an iteration of it and the loops around it.

    `outer` are loops around it, as far as known.  Of the buffers `own` each iteration is known to use
    cells that no other one uses.
    """
    bare = bare_statement(loop.body)
    if bare is not None:
        return Reason("bare-statement", f"loop `{loop.loop_var.name}` holds statements outside blocks", loop)
    children, clean = child_blocks(loop.body)
    if len(children) < 2:
        return None
    if not clean:
        text = f"loop `{loop.loop_var.name}` holds other statements than loops and blocks"
        return Reason("bare-statement", text, loop)
    scope = local_scope(loop.body, (*outer, loop))
    for child in children:
        why = region_cover_reason(scope, child.ref)
        if why is None:
            for dep in scope.deps_by_dst(child.ref):
                other = scope.children[dep.src].block
                if _shared(child.block, other) <= set(own):
                    continue
                if dep.kind is DepKind.WAR:
                    why = f"block `{child.block.name_hint}` writes what block `{other.name_hint}` reads"
                elif dep.kind is DepKind.WAW:
                    why = f"blocks `{other.name_hint}` and `{child.block.name_hint}` write the same buffer"
        if why is not None:
            return Reason("order-dependence", why, child.block)
    return None


def _shared(block: SBlock, other: SBlock) -> set[Var]:
    """The buffers that both blocks use, and one of them writes."""
    first, second = ({r.buffer for r in (*b.reads, *b.writes)} for b in (block, other))
    return first & second & {r.buffer for b in (block, other) for r in b.writes}


def own_cells(loop: For, around: Sequence[For]) -> set[Var]:
    """The buffers of which each iteration of these loops uses one box of cells that no other iteration uses.

    `loop` is the innermost of them; the others hold nothing else.
    """
    found: dict[Var, list[IntervalSet] | None] = {}
    for child in child_blocks(loop.body)[0]:
        for region in (*child.block.reads, *child.block.writes):
            box = relaxed_region(child, region, 0)
            known = found.setdefault(region.buffer, box)
            if known is None or not all(_same_ends(a, b) for a, b in zip(known, box)):
                found[region.buffer] = None
    axes = [IterVar(Range(lp.min, lp.extent), lp.loop_var, IterVar.DATA_PAR) for lp in around]
    result: set[Var] = set()
    for buffer, own in found.items():
        points = [s.min for s in own or () if s.is_point and s.min is not None]
        if points and distinct(points, axes):
            result.add(buffer)
    return result


def _same_ends(a: IntervalSet, b: IntervalSet) -> bool:
    if a.min is None or a.max is None or b.min is None or b.max is None:
        return False
    return structural_equal(a.min, b.min) and structural_equal(a.max, b.max)


def bare_statement(stmt: Stmt) -> Stmt | None:
    """A statement outside blocks that does something, or None."""
    stack = [stmt]
    while stack:
        top = stack.pop()
        if isinstance(top, SBlockRealize):
            continue
        if isinstance(top, SeqStmt):
            stack.extend(top.seq)
        elif isinstance(top, For | AttrStmt):
            stack.append(top.body)
        elif isinstance(top, IfThenElse):
            stack.append(top.then_case)
            if top.else_case is not None:
                stack.append(top.else_case)
        elif not (isinstance(top, Evaluate) and isinstance(top.value, IntImm)):
            return top
    return None


def loop_kind_reason(state: State, loop: For, thread_tag: str = "") -> Reason | None:
    """The iterations of the loop may run at the same time: parallel, vectorized or on threads.

    Each block below is complete or a reduction among the blocks below, has affine bindings, and the
    loop feeds data-parallel axes only (threads of one thread block may share a reduction); blocks
    depend on each other within an iteration only.
    """
    if not state.check:
        return None
    outer = tuple(state.loops(loop.loop_var))
    why = independent_iterations_reason(loop, (), outer)
    if why is not None:
        return why
    local = local_scope(loop, outer)
    scope = state.scope_around(loop.loop_var)
    for child in local.children.values():
        why = (
            complete_or_reduction(local, child.block)
            or affine_binding(child.realize, child.loops)
            or _feeds_reason(child, loop, thread_tag)
            or write_conflict_reason(scope, child, loop)
        )
        if why is not None:
            return why
    return None


def _feeds_reason(child: ChildBlock, loop: For, thread_tag: str) -> Reason | None:
    for axis, value in zip(child.block.iter_vars, child.realize.iter_values):
        if is_spatial(axis) or not uses_vars(value, (loop.loop_var,)):
            continue
        if is_reduction(axis) and thread_tag.startswith("threadIdx"):
            continue
        text = f"loop `{loop.loop_var.name}` feeds axis `{axis.var.name}` of block `{child.block.name_hint}`"
        return Reason("loop-feeds", f"{text}, which is not data-parallel", child.block)
    return None

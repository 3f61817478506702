"""Splitting a copy with padding into filling and copying."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import (
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IterVar,
    Range,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Var,
    const,
    renew_definitions,
    substitute,
)
from ...ir.analysis.blocks import BlockScope, ChildBlock, complete_reason
from ...ir.analysis.regions import block_access_regions
from ...ir.arith import Analyzer
from ...ir.operators import add, sub
from ...ir.stmt import BlockRef
from ...ir.visitor import Rewriter
from ..handles import LoopRV, SBlockRV
from ..legality import uses_vars
from ..padding import PaddedCopy, inner_extent, padded_copy
from ..refusal import Reason, Refused, demand
from ..registry import primitive
from ..rewrite import bind_loop, both, conjuncts, is_const, map_realizes
from ..state import State, block_ref


@primitive()
def decompose_padding(state: State, block: SBlockRV, loop: LoopRV) -> tuple[State, SBlockRV]:
    """Fill with the constant just before a loop, and let the block copy only what is inside.

    The block's handle names the copy; the result is the block that fills; all handles are kept.

    buffers: A: T.Buffer((64,), "float32"), B: T.Buffer((68,), "float32")
    before:
        for i in range(68):
            with T.sblock("B"):
                vi = T.axis.spatial(68, i)
                B[vi] = T.if_then_else(2 <= vi and vi < 66, A[vi - 2], T.float32(0))
    steps:
        sch.decompose_padding("B", sch.get_loops("B")[0])
    after:
        for i in range(68):
            with T.sblock("B_pad_const"):
                vi = T.axis.spatial(68, i)
                B[vi] = T.float32(0)
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi + 2] = A[vi]
    """
    ref, target = block_ref(state.block(block)), state.loop(loop)
    scope = state.scope_around(ref)
    child = scope.children[ref]
    demand(_where_reason(scope, ref, target))
    copy = padded_copy(child.block)
    at = [lp is target for lp in child.loops].index(True)
    outer, inner = child.loops[:at], child.loops[at:]
    filled, nest = _fill(child, copy, outer, inner)
    changed = _inside(scope, child, copy, outer, inner)
    state = state.replace(target, SeqStmt([nest, _in_place(target, child, changed, inner)]))
    return state, SBlockRV(filled)


def can_decompose_padding(state: State, block: SBlockRV, loop: LoopRV) -> bool:
    """Whether `decompose_padding` would be accepted."""
    try:
        decompose_padding(state, block, loop)
    except Refused:
        return False
    return True


def _where_reason(scope: BlockScope, ref: BlockRef, target: For) -> Reason | None:
    child = scope.children[ref]
    if not any(lp is target for lp in child.loops):
        text = f"loop `{target.loop_var.name}` is not around block `{child.block.name_hint}`"
        return Reason("not-in-loop", text, target)
    why = complete_reason(scope, ref)
    return None if why is None else Reason("block-kind", why, child.block)


def _fill(
    child: ChildBlock, copy: PaddedCopy, outer: Sequence[For], inner: Sequence[For]
) -> tuple[BlockRef, Stmt]:
    """The block that stores the constant for all values of the axes, under copies of the inner loops."""
    block = child.block
    body = BufferStore(copy.store.buffer, copy.fill, copy.store.indices)
    made = SBlock(
        block.iter_vars, (), (), block.name_hint + "_pad_const", body, annotations=block.annotations
    )
    reads, writes = block_access_regions(made)
    made = made.replace(reads=reads, writes=writes)
    nest: Stmt = SBlockRealize(_values(child, outer), child.realize.predicate, made)
    for lp in reversed(inner):
        nest = lp.replace(body=nest)
    nest = renew_definitions(nest)
    found = nest
    while isinstance(found, For):
        found = found.body
    assert isinstance(found, SBlockRealize)
    return block_ref(found.block), nest


def _values(child: ChildBlock, outer: Sequence[For]) -> list[Expr]:
    """The bindings, simplified by what is known of the outer loops."""
    ana = Analyzer()
    for lp in outer:
        bind_loop(ana, lp)
    found: list[Expr] = []
    for value in child.realize.iter_values:
        bound = ana.bound(value)
        found.append(const(bound.min, value.dtype) if bound.min == bound.max else value)
    return found


def _inside(
    scope: BlockScope, child: ChildBlock, copy: PaddedCopy, outer: Sequence[For], inner: Sequence[For]
) -> tuple[SBlockRealize, dict[Var, Expr]]:
    """The copy over the values inside, and the new extents of loops that run only those."""
    block = child.block
    axes: list[IterVar] = []
    values: list[Expr] = []
    mapping: dict[Var, Expr] = {}
    extents: dict[Var, Expr] = {}
    kept: list[Var] = []
    ana = Analyzer()
    for lp in child.loops:
        bind_loop(ana, lp)
    for axis, value in zip(block.iter_vars, _values(child, outer)):
        var = Var(axis.var.name, axis.var.ty)
        bound = copy.bounds.get(axis.var)
        if bound is None:
            mapping[axis.var] = var
            axes.append(IterVar(axis.dom, var, axis.iter_type, axis.thread_tag))
            values.append(value)
            continue
        extent = inner_extent(bound)
        mapping[axis.var] = add(var, bound[0])
        axes.append(IterVar(Range(const(0, var.dtype), extent), var, axis.iter_type, axis.thread_tag))
        own = [lp for lp in inner if lp.loop_var is value]
        if own and _own_loop(scope, child, own[0], axis):
            extents[own[0].loop_var] = extent
            values.append(value)
        else:
            kept.append(axis.var)
            values.append(ana.simplify(sub(value, bound[0])))
    predicate = _predicate(child, copy, kept)
    store = BufferStore(copy.store.buffer, copy.value, copy.store.indices)
    made = _simplified(substitute(store, mapping), axes)
    new = block.replace(iter_vars=axes, body=made)
    reads, writes = block_access_regions(new)
    return SBlockRealize(values, predicate, new.replace(reads=reads, writes=writes)), extents


def _own_loop(scope: BlockScope, child: ChildBlock, loop: For, axis: IterVar) -> bool:
    """Whether the loop runs just this axis of this block: then it may run fewer values."""
    if len(scope.below(loop)) != 1 or not is_const(loop.min, 0) or axis.dom is None:
        return False
    uses = [v for v in child.realize.iter_values if _mentions(v, loop.loop_var)]
    if len(uses) != 1 or _mentions(child.realize.predicate, loop.loop_var):
        return False
    for other in child.loops:
        if _mentions(other.min, loop.loop_var) or _mentions(other.extent, loop.loop_var):
            return False
    ana = Analyzer()
    return is_const(axis.dom.min, 0) and ana.can_prove_equal(loop.extent, axis.dom.extent)


def _mentions(e: Expr, var: Var) -> bool:
    return uses_vars(e, (var,))


def _predicate(child: ChildBlock, copy: PaddedCopy, kept: Sequence[Var]) -> Expr:
    """Where the copy runs: parts of the condition that loops do not keep to, and the old predicate."""
    by_axis: dict[Var, Expr] = {}
    for axis, value in zip(child.block.iter_vars, child.realize.iter_values):
        moved = axis.var in copy.bounds and axis.var not in set(kept)
        by_axis[axis.var] = add(value, copy.bounds[axis.var][0]) if moved else value
    ana = Analyzer()
    for lp in child.loops:
        bind_loop(ana, lp)
    result: Expr = const(1, "bool")
    for part in copy.parts:
        is_bound = not any(part is p for p in copy.other)
        if is_bound and not any(_mentions(part, v) for v in kept):
            continue
        result = both(result, substitute(part, by_axis))
    for part in conjuncts(child.realize.predicate):
        result = both(result, part)
    return result


def _simplified(store: BufferStore, axes: Sequence[IterVar]) -> BufferStore:
    """The store with the indices of the copy simplified."""
    ana = Analyzer()
    for a in axes:
        if a.dom is not None:
            ana.bind(a.var, a.dom)
    made: BufferStore = _Indices(ana)(store)
    return made.replace(indices=[ana.simplify(i) for i in made.indices])


class _Indices(Rewriter):
    """Simplifies the indices of loads."""

    def __init__(self, ana: Analyzer) -> None:
        super().__init__()
        self.ana = ana

    def visit_BufferLoad(self, e: BufferLoad) -> Expr:
        return e.replace(indices=[self.ana.simplify(self.visit(i)) for i in e.indices])


def _in_place(
    stmt: Stmt, child: ChildBlock, changed: tuple[SBlockRealize, dict[Var, Expr]], inner: Sequence[For]
) -> Stmt:
    """The loop with the copy in place of the block, and its loops with their new extents."""
    realize, extents = changed
    made = map_realizes(stmt, lambda r: realize if r is child.realize else r)

    def shrink(s: Stmt) -> Stmt:
        if isinstance(s, For):
            body = shrink(s.body)
            extent = extents.get(s.loop_var)
            return s.replace(body=body, extent=s.extent if extent is None else extent)
        if isinstance(s, SeqStmt):
            return s.replace(seq=[shrink(x) for x in s.seq])
        return s

    return shrink(made) if extents else made

"""Computing partial results of a reduction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir import (
    And,
    Bind,
    BufferLoad,
    BufferRegion,
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
    substitute,
    walk,
)
from ...ir.analysis.blocks import ChildBlock, is_spatial
from ...ir.analysis.cover import bind_sizes
from ...ir.arith import Analyzer
from ...ir.stmt import BlockRef
from ...ir.types import BufferType
from ..handles import LoopRV, SBlockRV
from ..legality_reduction import (
    factor_loop_reason,
    feeds,
    first_child_reason,
    outer_steps_reason,
    reduction_block_reason,
    single_block,
)
from ..reducers import Reduction, reduction_of
from ..refusal import Reason, demand, refuse
from ..registry import primitive
from ..rewrite import bind_loop, both, conjuncts, is_const
from ..state import State, block_ref


@primitive(kind="RFactor")
def rfactor(state: State, loop: LoopRV, factor_axis: int) -> tuple[State, SBlockRV]:
    """Compute a reduction in two steps: partial results for each iteration of a loop, then their reduction.

    Partial results go to a new buffer with the loop as dimension `factor_axis` (negative: from the
    end).  The order in which values are combined changes, so of equal extremes argmin and argmax may
    keep another.  Handles of the block and of the loops around it name the second step; those of
    other loops of the reduction are consumed; the result is the block of the partial results.

    buffers: A: T.Buffer((8, 16), "float32"), B: T.Buffer((8,), "float32")
    before:
        for i, k0, k1 in T.grid(8, 4, 4):
            with T.sblock("B"):
                vi = T.axis.spatial(8, i)
                vk = T.axis.reduce(16, k0 * 4 + k1)
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + A[vi, vk]
    steps:
        sch.rfactor(sch.get_loops("B")[2], 0)
    after:
        B_rf = T.sblock_alloc_buffer((4, 8))
        for i, k0, k1 in T.grid(8, 4, 4):
            with T.sblock("B_rf"):
                vk1, vi, vk0 = T.axis.remap("SSR", [k1, i, k0])
                with T.init():
                    B_rf[vk1, vi] = 0.0
                B_rf[vk1, vi] = B_rf[vk1, vi] + A[vi, vk0 * 4 + vk1]
        for i, k1 in T.grid(8, 4):
            with T.sblock("B"):
                vk1, vi = T.axis.remap("RS", [k1, i])
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + B_rf[vk1, vi]
    """
    target = state.loop(loop)
    root = state.scope_root(loop)
    scope = state.scope(root)
    child = single_block(scope, target)
    if isinstance(child, Reason):
        demand(child)
    assert isinstance(child, ChildBlock)
    if state.check:
        demand(reduction_block_reason(scope, child.ref))
    demand(factor_loop_reason(state, child, target) or first_child_reason(scope, child))
    demand(outer_steps_reason(state, child))
    found = reduction_of(child.block)
    rank = len(found.indices)
    if not -rank - 1 <= factor_axis <= rank:
        text = f"`factor_axis` is {factor_axis}, but must be from {-rank - 1} to {rank}"
        raise refuse("factor-axis", text, child.block)
    plan = _Plan(child, target, found, factor_axis if factor_axis >= 0 else factor_axis + rank + 1)
    keep = plan.final_condition()
    partial, nest = plan.partial()
    state = state.replace(child.loops[0], SeqStmt([nest, plan.final(keep)]))
    block = state.block(root)
    state = state.replace_block(root, block.replace(alloc_buffers=[*block.alloc_buffers, *plan.buffers]))
    return state, SBlockRV(partial)


@dataclass(slots=True)
class _Plan:
    """The two blocks that take the place of one."""

    child: ChildBlock
    loop: For
    found: Reduction
    position: int
    buffers: tuple[Var, ...] = ()

    def __post_init__(self) -> None:
        made: list[Var] = []
        for buffer in self.found.buffers:
            ty = buffer.ty
            assert isinstance(ty, BufferType)
            shape = self._inserted(ty.shape, self.loop.extent)
            made.append(Var(buffer.name + ".rf", BufferType(ty.dtype, shape, storage_scope=ty.storage_scope)))
        self.buffers = tuple(made)

    def _inserted(self, items: Sequence[Expr], item: Expr) -> list[Expr]:
        return [*items[: self.position], item, *items[self.position :]]

    def _factor_axis(self, kind: int) -> IterVar:
        var = self.loop.loop_var
        return IterVar(Range(const(0, var.dtype), self.loop.extent), Var("v" + var.name, var.ty), kind)

    # the partial results

    def partial(self) -> tuple[BlockRef, Stmt]:
        """The block of the partial results, and the nest in which it stands: all loops, renewed."""
        child, loop = self.child, self.loop
        fresh = {lp.loop_var: Var(lp.loop_var.name, lp.loop_var.ty) for lp in child.loops}
        axes, values, mapping = self._partial_axes()
        first = axes[0].var
        found, block = self.found, child.block
        indices = self._inserted([substitute(i, mapping) for i in found.indices], first)
        terms = [substitute(t, mapping) for t in found.terms]
        left = [BufferLoad(b, indices) for b in self.buffers]
        reduces = any(not is_spatial(a) for a in axes)
        results = found.combined(left, terms) if reduces else terms
        body = _stores(self.buffers, indices, results, [n + "_rf" for n in found.names])
        init = None
        if reduces:
            starts = [substitute(s, mapping) for s in found.starts]
            init = _stores(self.buffers, indices, starts, [])
        own = set(found.buffers)
        reads = [substitute(r, mapping) for r in block.reads if r.buffer not in own]
        writes = _elements(self.buffers, indices)
        made = SBlock(axes, reads, writes, block.name_hint + "_rf", body, init, annotations=block.annotations)
        realize = SBlockRealize(values, child.realize.predicate, made)
        if not is_const(loop.min, 0):
            raise refuse("loop-start", f"loop `{loop.loop_var.name}` does not start at 0", loop)
        nest: Stmt = substitute(realize, fresh)
        for lp in reversed(child.loops):
            nest = lp.replace(
                loop_var=fresh[lp.loop_var],
                min=substitute(lp.min, fresh),
                extent=substitute(lp.extent, fresh),
                body=nest,
            )
        return block_ref(made), nest

    def _partial_axes(self) -> tuple[list[IterVar], list[Expr], dict[Var, Expr]]:
        """The axes, their bindings over the old loops, and the old axes by the new ones.

        A reduction axis that the loop feeds is taken apart into one axis for each loop.
        """
        child = self.child
        factor = self._factor_axis(0)
        axes, values = [factor], [self.loop.loop_var]
        by_loop: dict[Var, Expr] = {self.loop.loop_var: factor.var}
        mapping: dict[Var, Expr] = {}
        around = {lp.loop_var: lp for lp in child.loops}
        for axis, value in zip(child.block.iter_vars, child.realize.iter_values):
            used = [n for n in walk(value) if isinstance(n, Var) and n in around]
            if is_spatial(axis) or self.loop.loop_var not in set(used):
                new = Var(axis.var.name, axis.var.ty)
                axes.append(IterVar(axis.dom, new, axis.iter_type, axis.thread_tag))
                values.append(value)  # type: ignore[arg-type]
                mapping[axis.var] = new
                continue
            for var in dict.fromkeys(used):
                if var not in by_loop:
                    lp = around[var]
                    by_loop[var] = new = Var("v" + var.name, var.ty)
                    axes.append(IterVar(Range(lp.min, lp.extent), new, axis.iter_type))
                    values.append(var)
            mapping[axis.var] = substitute(value, by_loop)
        return axes, list(values), mapping

    # their reduction

    def final(self, predicate: Expr) -> Stmt:
        """The old subtree with the block that reduces the partial results in place of the old one."""
        child, found = self.child, self.found
        factor = self._factor_axis(2)
        axes, values, mapping = [factor], [self.loop.loop_var], {}
        for axis, value in zip(child.block.iter_vars, child.realize.iter_values):
            if is_spatial(axis):
                mapping[axis.var] = new = Var(axis.var.name, axis.var.ty)
                axes.append(IterVar(axis.dom, new, axis.iter_type, axis.thread_tag))
                values.append(value)  # type: ignore[arg-type]
        indices = [substitute(i, mapping) for i in found.indices]
        inner = self._inserted(indices, factor.var)
        left = [BufferLoad(b, indices) for b in found.buffers]
        right = [BufferLoad(b, inner) for b in self.buffers]
        body = _stores(found.buffers, indices, found.combined(left, right), found.names)
        init = _stores(found.buffers, indices, [substitute(s, mapping) for s in found.starts], [])
        block = child.block
        reads, writes = _elements(self.buffers, inner), _elements(found.buffers, indices)
        made = block.replace(iter_vars=axes, reads=reads, writes=writes, body=body, init=init)
        realize = SBlockRealize(values, predicate, made.replace(alloc_buffers=(), match_buffers=()))
        return self._in_place(child.loops[0], realize)

    def _in_place(self, stmt: Stmt, realize: SBlockRealize) -> Stmt:
        """The statement with the new block for the old one, without the loops of the old reduction."""
        if stmt is self.child.realize:
            return realize
        if isinstance(stmt, For) and any(lp is stmt for lp in self.child.loops):
            body = self._in_place(stmt.body, realize)
            goes = stmt is not self.loop and feeds(self.child, stmt, spatial=False)
            return body if goes else stmt.replace(body=body)
        if isinstance(stmt, SeqStmt):
            made = [self._in_place(s, realize) for s in stmt.seq]
            return SeqStmt(made)
        return stmt

    def final_condition(self) -> Expr:
        """Which partial results take part: those for which the reduction has a first step.

        Refused where the predicate leaves out first steps but not all others.
        """
        child = self.child
        first = {
            lp.loop_var: lp.min
            for lp in child.loops
            if feeds(child, lp, spatial=False) and lp is not self.loop
        }
        ana = Analyzer()
        bind_sizes(ana, child.loops)
        for lp in child.loops:
            bind_loop(ana, lp)
        result: Expr = const(1, "bool")
        for part in conjuncts(child.realize.predicate):
            at_first = substitute(part, first)
            if not ana.can_prove(at_first):
                result = both(result, at_first)
        known = child.realize.predicate
        start = substitute(result, {self.loop.loop_var: self.loop.min})
        with ana.assume(known):
            holds = _proved(ana, result)
        with ana.assume(result):
            begins = _proved(ana, start)
        if holds and begins:
            return result
        name = child.block.name_hint
        text = f"the predicate of block `{name}` may leave out the first step of a partial result"
        raise refuse("block-predicate", text, child.realize)


def _proved(ana: Analyzer, condition: Expr) -> bool:
    if isinstance(condition, And):
        return _proved(ana, condition.a) and _proved(ana, condition.b)
    return ana.can_prove(condition)


def _stores(
    buffers: Sequence[Var], indices: Sequence[Expr], values: Sequence[Expr], names: Sequence[str]
) -> Stmt:
    """Stores of the values; of several that depend on each other through `let` variables."""
    if not names:
        stores: list[Stmt] = [BufferStore(b, v, indices) for b, v in zip(buffers, values)]
        return stores[0] if len(stores) == 1 else SeqStmt(stores)
    variables = [Var(n, v.ty) for n, v in zip(names, values)]
    binds = [Bind(x, v) for x, v in zip(variables, values)]
    return SeqStmt([*binds, *[BufferStore(b, x, indices) for b, x in zip(buffers, variables)]])


def _elements(buffers: Sequence[Var], indices: Sequence[Expr]) -> list[BufferRegion]:
    """The regions of one element each."""
    return [BufferRegion(b, [Range(i, const(1, i.dtype)) for i in indices]) for b in buffers]

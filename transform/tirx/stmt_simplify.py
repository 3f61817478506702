"""Arithmetic simplification with what loops and conditions say."""

from __future__ import annotations

from typing import Any

from ...ir import (
    GE,
    GT,
    AssertStmt,
    AttrStmt,
    Bind,
    BufferRegion,
    BufferStore,
    BufferType,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    IterVar,
    PrimFunc,
    PrimType,
    Range,
    SBlock,
    SBlockRealize,
    Var,
    While,
    const,
)
from ...ir.arith import Analyzer
from ...ir.arith.simplify import simplify
from ...ir.visitor import Rewriter, substitute
from ..common import is_steady
from ..context import PassContext
from ..loops import jumps_out, size_of
from ..registry import prim_func_pass
from .boolean_forms import as_and_of_ors
from .remove_no_op import stores_own_value

_KEY = "tirx.StmtSimplify"


@prim_func_pass(_KEY, "tirx.Simplify", "s_tir.StmtSimplify")
def stmt_simplify(func: PrimFunc, spread_casts: bool = True) -> PrimFunc:
    """Expressions are simplified; branches and loops that bounds decide are resolved.

    Indices, extents and bindings count as index arithmetic, which does not overflow; everything
    else as data arithmetic, which wraps.  Sizes in the types of parameters are not negative.  The
    setting `tirx.StmtSimplify` has three options: `transitively_prove_inequalities` (the default)
    proves comparisons by chains of known ones, `convert_boolean_to_and_of_ors` brings conditions
    into that form, and `apply_constraints_to_boolean_branches` is always on.  Without `spread_casts`
    sums that are converted to a wider type stay together, which suits machines with narrow registers.

    before:
        @T.prim_func
        def f(A: T.Buffer((16,), "int32")):
            for i, j in T.grid(4, 4):
                if i * 4 + j < 16:
                    A[(i * 4 + j) // 4 * 4 + (i * 4 + j) % 4] = i - i + j

    after:
        @T.prim_func
        def f(A: T.Buffer((16,), "int32")):
            for i, j in T.grid(4, 4):
                A[i * 4 + j] = j
    """
    return _Simplify(spread_casts)(func)


class _Simplify(Rewriter):
    def __init__(self, spread_casts: bool) -> None:
        super().__init__()
        self.ana = Analyzer(strict=True)
        self.ana.spread_casts = spread_casts
        context = PassContext.current()
        self.ana.chained = context.option(_KEY, "transitively_prove_inequalities")
        self.clauses: bool = context.option(_KEY, "convert_boolean_to_and_of_ors")

    def index(self, e: Expr) -> Expr:
        """The expression simplified as index arithmetic."""
        with self.ana.mode(data=False):
            return simplify(self.ana, super().visit(e))

    def data(self, e: Expr) -> Expr:
        """The expression simplified as data arithmetic."""
        with self.ana.mode(data=True):
            new = simplify(self.ana, super().visit(e))
            return as_and_of_ors(self.ana, new) if self.clauses else new

    def visit(self, node: Any) -> Any:
        if isinstance(node, Expr) and isinstance(node.ty, PrimType):
            if isinstance(node, IntImm):
                return node
            return self.data(node)
        return super().visit(node)

    def visit_Expr(self, e: Expr) -> Any:
        # simplify() goes through children itself; variables in types are renewed by the table's Var method
        return e if not self.vars else substitute(e, self.vars)

    def visit_PrimFunc(self, func: PrimFunc) -> Any:
        for p in func.params:
            if isinstance(p.ty, BufferType):
                for extent in p.ty.shape:
                    if isinstance(extent, Var):
                        self.ana.bind_bound(extent, 0)
                    elif not isinstance(extent, IntImm):
                        with self.ana.mode(data=False):
                            self.ana.learn(GE(extent, const(0, extent.dtype)))
        body = self.visit(func.body)
        return func if body is func.body else func.replace(body=body)

    def visit_For(self, loop: For) -> Any:
        low, extent = self.index(loop.min), self.index(loop.extent)
        if isinstance(extent, IntImm):
            if extent.value <= 0:
                return Evaluate(0)
            one = extent.value == 1 and loop.kind is not ForKind.THREAD_BINDING
            one = one and loop.step is None and not loop.annotations and is_steady(low)
            if one and not jumps_out(loop.body):
                self.vars[loop.loop_var] = low
                return self.visit(loop.body)
        step = None if loop.step is None else self.index(loop.step)
        self.ana.bind(loop.loop_var, Range(low, extent))
        if isinstance(extent, IntImm):
            body = self.visit(loop.body)
        else:
            with self.ana.mode(data=False), self.ana.assume(GT(extent, const(0, extent.dtype))):
                body = self.visit(loop.body)
        if low is loop.min and extent is loop.extent and step is loop.step and body is loop.body:
            return loop
        return loop.replace(min=low, extent=extent, step=step, body=body)

    def visit_IfThenElse(self, stmt: IfThenElse) -> Any:
        cond = self.data(stmt.condition)
        if isinstance(cond, IntImm):
            if cond.value:
                return self.visit(stmt.then_case)
            return Evaluate(0) if stmt.else_case is None else self.visit(stmt.else_case)
        with self.ana.mode(data=True), self.ana.assume(cond):
            then = self.visit(stmt.then_case)
        other = None
        if stmt.else_case is not None:
            with self.ana.mode(data=True), self.ana.assume(cond, truth=False):
                other = self.visit(stmt.else_case)
        if cond is stmt.condition and then is stmt.then_case and other is stmt.else_case:
            return stmt
        return stmt.replace(condition=cond, then_case=then, else_case=other)

    def visit_While(self, stmt: While) -> Any:
        cond, body = self.data(stmt.condition), self.visit(stmt.body)
        if isinstance(cond, IntImm) and not cond.value:
            return Evaluate(0)
        same = cond is stmt.condition and body is stmt.body
        return stmt if same else stmt.replace(condition=cond, body=body)

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        indices = tuple([self.index(i) for i in stmt.indices])
        value = self.data(stmt.value)
        buffer = super().visit(stmt.buffer)
        same = value is stmt.value and buffer is stmt.buffer
        if not same or any(a is not b for a, b in zip(indices, stmt.indices)):
            stmt = stmt.replace(buffer=buffer, value=value, indices=indices)
        return Evaluate(0) if stores_own_value(self.ana, stmt) else stmt

    def visit_Bind(self, stmt: Bind) -> Any:
        if not isinstance(stmt.value.ty, PrimType):
            return self.visit_fields(stmt)
        value = self.data(stmt.value)
        if isinstance(value, IntImm | Var) and value.ty is stmt.var.ty:
            self.vars[stmt.var] = value
            return Evaluate(0)
        with self.ana.mode(data=True):
            self.ana.bind(stmt.var, value)
        if value.dtype.is_bool and value.dtype.is_scalar and is_steady(value) and _is_short(value):
            self.vars[stmt.var] = value  # a condition in place says more than its name
        return stmt if value is stmt.value else stmt.replace(value=value)

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        axis = stmt.node
        if stmt.attr_key != "thread_extent" or not isinstance(axis, IterVar):
            return self.visit_fields(stmt)
        extent = self.index(stmt.value)
        self.ana.bind(axis.var, Range(const(0, extent.dtype), extent))
        body = self.visit(stmt.body)
        same = extent is stmt.value and body is stmt.body
        return stmt if same else stmt.replace(value=extent, body=body)

    def visit_Evaluate(self, stmt: Evaluate) -> Any:
        if not isinstance(stmt.value.ty, PrimType):
            return self.visit_fields(stmt)
        value = self.data(stmt.value)
        return stmt if value is stmt.value else stmt.replace(value=value)

    def visit_AssertStmt(self, stmt: AssertStmt) -> Any:
        cond = self.data(stmt.condition)
        return stmt if cond is stmt.condition else stmt.replace(condition=cond)

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> Any:
        return self.visit_fields(stmt)

    def visit_BufferRegion(self, region: BufferRegion) -> Any:
        ranges = []
        for r in region.region:
            low, extent = self.index(r.min), self.index(r.extent)
            ranges.append(r if low is r.min and extent is r.extent else Range(low, extent, r.span))
        buffer = super().visit(region.buffer)
        if buffer is region.buffer and all(a is b for a, b in zip(ranges, region.region)):
            return region
        return BufferRegion(buffer, ranges, region.span)

    def visit_SBlockRealize(self, realize: SBlockRealize) -> Any:
        values = tuple([self.index(v) for v in realize.iter_values])
        predicate = self.index(realize.predicate)
        if isinstance(predicate, IntImm) and not predicate.value:
            return Evaluate(0)
        for axis, value in zip(realize.block.iter_vars, values):
            if axis.dom is not None:
                self.ana.bind(axis.var, axis.dom)
                bound = self.ana.bound(value)
                own = self.ana.var_bound(axis.var)
                self.ana.bind_bound(axis.var, max(own.min, bound.min), min(own.max, bound.max))
        with self.ana.mode(data=False), self.ana.assume(predicate):
            block = self.visit(realize.block)
        same = predicate is realize.predicate and block is realize.block
        if same and all(a is b for a, b in zip(values, realize.iter_values)):
            return realize
        return realize.replace(iter_values=values, predicate=predicate, block=block)

    def visit_SBlock(self, block: SBlock) -> Any:
        return self.visit_fields(block)


def _is_short(e: Expr) -> bool:
    """Whether evaluating the condition again costs little."""
    return size_of(e) <= 8

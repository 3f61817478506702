"""Every variable is defined once in a module."""

from __future__ import annotations

from typing import Any

from ...ir import (
    AttrStmt,
    Bind,
    BlockRef,
    IfThenElse,
    IRModule,
    IterVar,
    Let,
    PrimFunc,
    PrimType,
    SBlock,
    Stmt,
    Var,
)
from ...ir.visitor import Rewriter, symbol_vars
from ..registry import register_pass


@register_pass("tirx.ConvertSSA", "s_tir.ConvertSSA")
def convert_ssa(mod: IRModule) -> IRModule:
    """A variable or block that is defined again, here or in another function, is renewed there.

    A second definition holds for the statements after it in the same sequence.  A thread axis that a
    function launches several times stays one variable.  Script cannot write a variable that is
    defined twice, so the example shows that a program without one stays as it is.

    before:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            for i in range(4):
                A[i] = i
            for i in range(4):
                A[i] = A[i] + i

    after:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            for i in range(4):
                A[i] = i
            for i in range(4):
                A[i] = A[i] + i
    """
    once = _Once()
    return mod.map_prim_funcs(once)


class _Once(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[Var | BlockRef] = set()
        """What is defined so far, in this function or in those before it."""
        self.here: set[Var] = set()
        """What this function defines so far."""
        self.threads: dict[Var, Var] = {}
        """The axes that this function launched, and what each is now."""

    def define_all(self, variables: tuple[Var, ...], symbols: bool) -> tuple[Var, ...]:
        if symbols:
            for var in variables:
                for symbol in () if isinstance(var.ty, PrimType) else symbol_vars(var):
                    if symbol not in self.here and symbol not in variables:
                        self.define(symbol)
        return super().define_all(variables, symbols)

    def define(self, var: Var) -> Var:
        ty = var.ty if var.ty.__class__ is PrimType else self.visit(var.ty)
        again = var in self.seen
        self.seen.add(var)
        self.here.add(var)
        if ty is var.ty and not again:
            return var
        new = self.vars[var] = Var(var.name, ty, var.span)
        self.seen.add(new)
        return new

    def visit_PrimFunc(self, func: PrimFunc) -> Any:
        self.vars, self.here, self.threads = {}, set(), {}
        return self.visit_fields(func)

    def visit_Stmt(self, stmt: Stmt) -> Any:
        """Definitions inside a statement end with it."""
        outside, self.vars = self.vars, dict(self.vars)
        new = self.visit_fields(stmt)
        self.vars = outside
        return new

    def _flat(self, stmt: Stmt) -> Any:
        return self.visit_fields(stmt)

    visit_AllocBuffer = visit_DeclBuffer = _flat

    def visit_Bind(self, stmt: Bind) -> Any:
        value = self.visit(stmt.value)
        var = self.define(stmt.var)
        return stmt if value is stmt.value and var is stmt.var else stmt.replace(var=var, value=value)

    def visit_Let(self, e: Let) -> Any:
        value = self.visit(e.value)
        outside, self.vars = self.vars, dict(self.vars)
        var, body = self.define(e.var), self.visit(e.body)
        self.vars = outside
        same = value is e.value and var is e.var and body is e.body
        return e if same else e.replace(var=var, value=value, body=body)

    def visit_IfThenElse(self, stmt: IfThenElse) -> Any:
        cond = self.visit(stmt.condition)
        cases = []
        for case in (stmt.then_case, stmt.else_case):
            outside, self.vars = self.vars, dict(self.vars)
            cases.append(None if case is None else self.visit(case))
            self.vars = outside
        if cond is stmt.condition and cases[0] is stmt.then_case and cases[1] is stmt.else_case:
            return stmt
        return stmt.replace(condition=cond, then_case=cases[0], else_case=cases[1])

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        node = stmt.node
        if not isinstance(node, IterVar):
            return self.visit_Stmt(stmt)
        outside, self.vars = self.vars, dict(self.vars)
        if stmt.attr_key == "thread_extent":
            if node.var in self.threads:
                self.vars[node.var] = self.threads[node.var]
            else:
                self.threads[node.var] = self.define(node.var)
            node = self._axis(node, self.threads[node.var])
        else:  # a hint on a loop's variable, which may be defined further in
            node = self._axis(node, self.vars.get(node.var, node.var))
        value, body = self.visit_value(stmt.value), self.visit(stmt.body)
        self.vars = outside
        same = node is stmt.node and value is stmt.value and body is stmt.body
        return stmt if same else stmt.replace(node=node, value=value, body=body)

    def _axis(self, axis: IterVar, var: Any) -> IterVar:
        dom = None if axis.dom is None else self.visit(axis.dom)
        return axis if dom is axis.dom and var is axis.var else axis.replace(dom=dom, var=var)

    def visit_SBlock(self, block: SBlock) -> Any:
        again = block.ref in self.seen
        self.seen.add(block.ref)  # type: ignore[arg-type]
        new = self.visit_Stmt(block)
        return new.replace(ref=BlockRef(block.name_hint)) if again else new

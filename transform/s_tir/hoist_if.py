"""Branches that a loop does not decide move out of it."""

from __future__ import annotations

from typing import Any

from ...ir import AttrStmt, Expr, For, ForKind, IfThenElse, IterVar, PrimFunc, Stmt, Var
from ...ir.visitor import Rewriter, renew_definitions, walk
from ..context import PassContext
from ..registry import prim_func_pass
from ..speculation import never_fails


@prim_func_pass("s_tir.HoistIfThenElse")
def hoist_if_then_else(func: PrimFunc, variant: str | None = None) -> PrimFunc:
    """An `if` that is all of a loop's body moves out of the loop, where the loop does not decide it.

    Conditions on thread axes stay, unless the option `support_block_scope_hoisting` of the setting
    `s_tir.HoistIfThenElse` is set; then an `if` also moves out of the launch of a thread axis.
    The variant "basic" does not look at the option.

    before:
        @T.prim_func
        def f(A: T.Buffer((4, 4), "int32"), n: T.int32):
            for i, j in T.grid(4, 4):
                if i < n:
                    A[i, j] = 1
                else:
                    A[i, j] = 2

    after:
        @T.prim_func
        def f(A: T.Buffer((4, 4), "int32"), n: T.int32):
            for i in range(4):
                if i < n:
                    for j in range(4):
                        A[i, j] = 1
                else:
                    for j in range(4):
                        A[i, j] = 2
    """
    wide = PassContext.current().option("s_tir.HoistIfThenElse", "support_block_scope_hoisting")
    return _Hoist(bool(wide) and variant != "basic")(func)


class _Hoist(Rewriter):
    def __init__(self, wide: bool) -> None:
        super().__init__()
        self.wide = wide
        self.threads: set[Var] = set()

    def visit_For(self, loop: For) -> Any:
        bound = loop.kind is ForKind.THREAD_BINDING
        if bound:
            self.threads.add(loop.loop_var)
        new = self.visit_fields(loop)
        return new if bound and not self.wide else self._hoisted(new, new.loop_var)

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        axis = stmt.node
        if not isinstance(axis, IterVar):
            return self.visit_fields(stmt)
        self.threads.add(axis.var)
        new = self.visit_fields(stmt)
        return self._hoisted(new, new.node.var) if self.wide else new

    def _hoisted(self, around: For | AttrStmt, own: Var) -> Stmt:
        """The loop or launch with the branch in it outside, if its own variable does not decide it."""
        branch = around.body
        if not isinstance(branch, IfThenElse) or not self._movable(branch.condition, own):
            return around
        then = self._hoisted(around.replace(body=branch.then_case), own)
        other = branch.else_case
        if other is not None:
            other = self._hoisted(renew_definitions(around.replace(body=other)), own)
        return branch.replace(then_case=then, else_case=other)

    def _movable(self, condition: Expr, own: Var) -> bool:
        used = {n for n in walk(condition) if isinstance(n, Var)}
        return own not in used and (self.wide or not used & self.threads) and never_fails(condition)

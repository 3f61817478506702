"""Statements that only check or assume go."""

from __future__ import annotations

from typing import Any

from ...ir import AssertStmt, Call, Evaluate, Op, PrimFunc, SeqStmt, seq
from ...ir.visitor import Rewriter
from ..registry import prim_func_pass
from .remove_no_op import without_no_ops


@prim_func_pass("tirx.RemoveAssume")
def remove_assume(func: PrimFunc) -> PrimFunc:
    """Assumptions are removed, with what is empty without them.

    before:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            for i in range(4):
                T.assume(A[i] == 0)
            A[0] = 1

    after:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            A[0] = 1
    """
    new = _Assumptions()(func)
    return func if new is func else without_no_ops(new)


class _Assumptions(Rewriter):
    def visit_Evaluate(self, stmt: Evaluate) -> Any:
        call = stmt.value
        if isinstance(call, Call) and isinstance(call.op, Op) and call.op.name == "tirx.assume":
            return Evaluate(0)
        return stmt


@prim_func_pass("tirx.SkipAssert")
def skip_assert(func: PrimFunc) -> PrimFunc:
    """Assertions are removed.

    before:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            assert A[0] > 0, "positive"
            A[0] = 1

    after:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            A[0] = 1
    """
    return _Assertions()(func)


class _Assertions(Rewriter):
    def visit_AssertStmt(self, stmt: AssertStmt) -> Any:
        return Evaluate(0)

    def visit_SeqStmt(self, stmt: SeqStmt) -> Any:
        kept = [s for s in stmt.seq if not isinstance(s, AssertStmt)]
        if len(kept) == len(stmt.seq):
            return super().visit_SeqStmt(stmt)
        return self.visit(seq(kept))

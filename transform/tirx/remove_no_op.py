"""What does nothing goes."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...ir import (
    AllocBuffer,
    Bind,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    IntImm,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    seq,
)
from ...ir.arith.keys import Keys
from ...ir.visitor import Rewriter, Visitor
from ..common import is_nothing
from ..registry import prim_func_pass


@prim_func_pass("tirx.RemoveNoOp")
def remove_no_op(func: PrimFunc) -> PrimFunc:
    """Empty loops and branches, values that are not used, unused names and buffers are removed.

    before:
        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            B = T.alloc_buffer((8,))
            for i in range(8):
                x: T.let = A[i]
                if i < 4:
                    T.evaluate(0)
            A[0] = 1

    after:
        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            A[0] = 1
    """
    return _Remove(func)(func)


class _Uses(Visitor):
    """Counts the uses of every variable, up or down."""

    def __init__(self, counts: Counter[Var], step: int) -> None:
        self.counts = counts
        self.step = step

    def visit_Var(self, var: Var) -> None:
        self.counts[var] += self.step


class _Remove(Rewriter):
    """Goes through sequences from the end, so that what only removed statements use goes with them."""

    def __init__(self, func: PrimFunc) -> None:
        super().__init__()
        self.keys = Keys()
        self.uses: Counter[Var] = Counter()
        _Uses(self.uses, 1)(func)

    def drop(self, stmt: Stmt) -> Stmt:
        """Nothing, in place of the statement."""
        _Uses(self.uses, -1).visit(stmt)
        return Evaluate(0)

    def visit_SeqStmt(self, stmt: SeqStmt) -> Any:
        made = [self.visit(s) for s in reversed(stmt.seq)]
        made.reverse()
        kept = [s for s in made if not is_nothing(s)]
        if len(kept) == len(made) and all(a is b for a, b in zip(made, stmt.seq)):
            return stmt
        return seq(kept)

    def visit_Evaluate(self, stmt: Evaluate) -> Any:
        if not isinstance(stmt.value, IntImm) and self.keys.pure(stmt.value):
            return self.drop(stmt)
        return stmt

    def visit_For(self, loop: For) -> Any:
        if isinstance(loop.extent, IntImm) and loop.extent.value <= 0:
            return self.drop(loop)
        loop = self.visit_fields(loop)
        if is_nothing(loop.body) and self.keys.pure(loop.min) and self.keys.pure(loop.extent):
            return self.drop(loop)
        return loop

    def visit_IfThenElse(self, stmt: IfThenElse) -> Any:
        stmt = self.visit_fields(stmt)
        if stmt.else_case is not None and is_nothing(stmt.else_case):
            stmt = stmt.replace(else_case=None)
        if is_nothing(stmt.then_case) and stmt.else_case is None and self.keys.pure(stmt.condition):
            return self.drop(stmt)
        return stmt

    def visit_Bind(self, stmt: Bind) -> Any:
        return self.drop(stmt) if not self.uses[stmt.var] and self.keys.pure(stmt.value) else stmt

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> Any:
        return stmt if self.uses[stmt.buffer] else self.drop(stmt)

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> Any:
        return self.drop(stmt) if not self.uses[stmt.buffer] and self.keys.pure(stmt.data) else stmt

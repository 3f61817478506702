"""What does nothing goes."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...ir import (
    LE,
    AllocBuffer,
    Bind,
    BufferLoad,
    BufferStore,
    Call,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    IntImm,
    Not,
    Op,
    PrimFunc,
    PrimType,
    Range,
    SeqStmt,
    Stmt,
    Var,
    const,
    seq,
)
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, Visitor
from ..common import is_nothing
from ..context import PassContext
from ..registry import prim_func_pass

_KEY = "tirx.RemoveNoOp"
PROFILING = ("tirx.start_profile_intrinsic", "tirx.end_profile_intrinsic")
"""The calls that the option `ignore_profiler_call` counts as nothing."""


@prim_func_pass(_KEY)
def remove_no_op(func: PrimFunc) -> PrimFunc:
    """Empty loops and branches, values that are not used, unused names and buffers are removed.

    So are loops that provably run no iteration, and stores of what stands in the cell already.

    before:
        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            B = T.alloc_buffer((8,))
            for i in range(8):
                x: T.let = A[i]
                if i < 4:
                    T.evaluate(0)
            A[1] = A[1]
            A[0] = 1

    after:
        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            A[0] = 1
    """
    return without_no_ops(func)


def without_no_ops(func: PrimFunc) -> PrimFunc:
    """The function without what does nothing; itself where there is no such thing."""
    new: PrimFunc = _Remove(func)(func)
    return new


def stores_own_value(ana: Analyzer, store: BufferStore) -> bool:
    """Whether the statement stores into a cell what was just read from it."""
    load = store.value
    if not isinstance(load, BufferLoad) or load.buffer is not store.buffer:
        return False
    with ana.mode(data=False):
        return all(ana.can_prove_equal(a, b) for a, b in zip(load.indices, store.indices))


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
        self.ana = Analyzer()
        self.keys = self.ana.keys
        self.ignored = PROFILING if PassContext.current().option(_KEY, "ignore_profiler_call") else ()
        self.uses: Counter[Var] = Counter()
        _Uses(self.uses, 1)(func)

    def drop(self, stmt: Stmt) -> Stmt:
        """Nothing, in place of the statement."""
        _Uses(self.uses, -1).visit(stmt)
        return Evaluate(0)

    def visit_SeqStmt(self, stmt: SeqStmt) -> Any:
        for one in stmt.seq:
            if isinstance(one, Bind) and isinstance(one.value.ty, PrimType):
                with self.ana.mode(data=True):
                    self.ana.bind(one.var, one.value)
        made = [self.visit(s) for s in reversed(stmt.seq)]
        made.reverse()
        kept = [s for s in made if not is_nothing(s)]
        if len(kept) == len(made) and all(a is b for a, b in zip(made, stmt.seq)):
            return stmt
        return seq(kept)

    def visit_Evaluate(self, stmt: Evaluate) -> Any:
        value = stmt.value
        ignored = isinstance(value, Call) and isinstance(value.op, Op) and value.op.name in self.ignored
        if ignored or (not isinstance(value, IntImm) and self.keys.pure(value)):
            return self.drop(stmt)
        return stmt

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        return self.drop(stmt) if stores_own_value(self.ana, stmt) else stmt

    def visit_For(self, loop: For) -> Any:
        if self._never_runs(loop):
            return self.drop(loop)
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        loop = self.visit_fields(loop)
        if is_nothing(loop.body) and self.keys.pure(loop.min) and self.keys.pure(loop.extent):
            return self.drop(loop)
        return loop

    def _never_runs(self, loop: For) -> bool:
        extent = loop.extent
        if isinstance(extent, IntImm):
            return extent.value <= 0
        with self.ana.mode(data=False):
            return self.keys.pure(extent) and self.ana.can_prove(LE(extent, const(0, extent.dtype)))

    def visit_IfThenElse(self, stmt: IfThenElse) -> Any:
        cond = stmt.condition
        if isinstance(cond, IntImm):
            cases = (stmt.then_case, stmt.else_case)
            taken, skipped = cases if cond.value else cases[::-1]
            if skipped is not None:
                self.drop(skipped)
            return Evaluate(0) if taken is None else self.visit(taken)
        with self.ana.mode(data=True), self.ana.assume(cond):
            then = self.visit(stmt.then_case)
        other = None
        if stmt.else_case is not None:
            with self.ana.mode(data=True), self.ana.assume(cond, truth=False):
                other = self.visit(stmt.else_case)
        if is_nothing(other):
            other = None
        if is_nothing(then) and other is not None:
            return IfThenElse(Not(cond), other, None, stmt.span)
        if is_nothing(then) and self.keys.pure(cond):
            return self.drop(stmt.replace(then_case=then, else_case=None))
        same = then is stmt.then_case and other is stmt.else_case
        return stmt if same else stmt.replace(then_case=then, else_case=other)

    def visit_Bind(self, stmt: Bind) -> Any:
        return self.drop(stmt) if not self.uses[stmt.var] and self.keys.pure(stmt.value) else stmt

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> Any:
        return stmt if self.uses[stmt.buffer] else self.drop(stmt)

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> Any:
        return self.drop(stmt) if not self.uses[stmt.buffer] and self.keys.pure(stmt.data) else stmt

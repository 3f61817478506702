"""Accesses that check their bounds."""

from __future__ import annotations

from typing import Any

from ...ir import (
    LE,
    LT,
    And,
    AssertStmt,
    Bind,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    IntImm,
    Let,
    Not,
    Op,
    Or,
    PrimFunc,
    Ramp,
    Stmt,
    Var,
    const,
    seq,
)
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, Visitor, renew_definitions
from ..common import both, buffer_type, plus, times, widened
from ..registry import prim_func_pass


@prim_func_pass("s_tir.InstrumentBoundCheckers")
def instrument_bound_checkers(func: PrimFunc) -> PrimFunc:
    """Before each statement, its accesses are asserted to lie within their buffers.

    Accesses that a condition in the same expression guards are asserted where it holds.  Not checked
    are those whose index is a vector other than a ramp of constant stride, those below a name bound in
    the expression, and those in the condition of a `while`.

    before:
        @T.prim_func
        def f(A: T.Buffer((8,), "int32"), n: T.int32):
            A[n] = 1

    after:
        @T.prim_func
        def f(A: T.Buffer((8,), "int32"), n: T.int32):
            assert 0 <= n and n < 8, ("IndexError", ["an index of `A` is out of bounds"])
            A[n] = 1
    """
    body = _Instrument()(func.body)
    return func if body is func.body else func.replace(body=body)


class _Instrument(Rewriter):
    """Puts the assertions in front of statements; blocks check where they access, not where they declare."""

    def _checked(self, stmt: Stmt, *parts: Expr) -> Stmt:
        finder = _Accesses()
        for part in parts:
            finder.visit(part)
        return seq([*finder.checks, stmt])

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        target = BufferLoad(stmt.buffer, stmt.indices)
        return self._checked(stmt, stmt.value, target)

    def visit_Evaluate(self, stmt: Evaluate) -> Any:
        return self._checked(stmt, stmt.value)

    def visit_Bind(self, stmt: Bind) -> Any:
        return self._checked(stmt, stmt.value)

    def visit_IfThenElse(self, stmt: IfThenElse) -> Any:
        return self._checked(self.visit_fields(stmt), stmt.condition)

    def visit_For(self, loop: For) -> Any:
        return self._checked(self.visit_fields(loop), loop.min, loop.extent)

    def visit_Expr(self, e: Expr) -> Any:
        return e


class _Accesses(Visitor):
    """Collects the assertions for the accesses in an expression, inner ones first."""

    def __init__(self) -> None:
        self.checks: list[Stmt] = []
        self.guard: Expr | None = None
        self.ana = Analyzer(data=True)

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        for index in e.indices:
            self.visit(index)
        self._check(e.buffer, e.indices)

    def _check(self, buffer: Var, indices: tuple[Expr, ...]) -> None:
        inside: Expr | None = None
        for index, size in zip(indices, buffer_type(buffer).shape):
            ends = _ends(index)
            if ends is None:
                return
            low, high = ends
            for part in (LE(const(0, low.dtype), low), LT(*widened(high, size))):
                inside = inside if self.ana.can_prove(part) else both(inside, part)
        if inside is None:
            return
        test = inside if self.guard is None else Or(Not(self.guard), inside)
        text = f"an index of `{buffer.name}` is out of bounds"
        self.checks.append(renew_definitions(AssertStmt("IndexError", test, (text,))))

    def _under(self, condition: Expr, part: Expr) -> None:
        kept = self.guard
        self.guard = condition if kept is None else And(kept, condition)
        self.visit(part)
        self.guard = kept

    def visit_Call(self, e: Call) -> None:
        name = e.op.name if isinstance(e.op, Op) else ""
        if name == "prim.if_then_else":
            self.visit(e.args[0])
            self._under(e.args[0], e.args[1])
            self._under(Not(e.args[0]), e.args[2])
            return
        if name == "tirx.address_of":
            return
        for arg in e.args:
            self.visit(arg)

    def visit_And(self, e: And) -> None:
        self.visit(e.a)
        self._under(e.a, e.b)

    def visit_Or(self, e: Or) -> None:
        self.visit(e.a)
        self._under(Not(e.a), e.b)

    def visit_Let(self, e: Let) -> None:
        self.visit(e.value)


def _ends(index: Expr) -> tuple[Expr, Expr] | None:
    """The smallest and the largest index of an access; None where they are not known."""
    if index.dtype.is_scalar:
        return index, index
    if (
        not isinstance(index, Ramp)
        or not isinstance(index.stride, IntImm)
        or not isinstance(index.lanes, IntImm)
    ):
        return None
    reach = times(index.stride, const(index.lanes.value - 1, index.stride.dtype))
    last = plus(index.base, reach)
    return (index.base, last) if index.stride.value >= 0 else (last, index.base)

"""How much work a program does: its arithmetic operations, counted."""

from __future__ import annotations

from ...node import runs_deep
from ..arith import Analyzer
from ..expr import (
    Add,
    And,
    BufferLoad,
    Call,
    Comparison,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Range,
    Select,
    Sub,
)
from ..function import IRModule, PrimFunc
from ..op import Effect, Op, find_record
from ..stmt import (
    AttrStmt,
    Bind,
    BufferStore,
    For,
    IfThenElse,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    While,
)
from ..visitor import children

COUNTED = (Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max)
ESTIMATE = "estimated_flops"
"""The function attribute that says the number instead."""


@runs_deep
def estimate_flops(program: IRModule | PrimFunc | Stmt) -> float:
    """How many sums, products, quotients, minima and maxima the program computes for what it stores.

    Each counts one, a vector one for each lane.  Index arithmetic, conditions and calls do not
    count (what a pure call is given does), nor do initialisers of blocks.  A loop counts with the largest
    extent that it can have, a while loop once, of two branches the dearer one.  A function's
    attribute `estimated_flops` is taken in place of counting.
    """
    if isinstance(program, IRModule):
        total = 0.0
        for func in program.functions.values():
            if isinstance(func, PrimFunc):
                total += _of_func(func)
        return total
    return _of_func(program) if isinstance(program, PrimFunc) else _Counter().stmt(program)


def _of_func(func: PrimFunc) -> float:
    known = func.attrs.get(ESTIMATE)
    if known is not None:
        return float(getattr(known, "value", known))
    return _Counter().stmt(func.body)


class _Counter:
    def __init__(self) -> None:
        self.ana = Analyzer()

    def stmt(self, stmt: Stmt) -> float:
        """The operations of one statement."""
        if isinstance(stmt, SeqStmt):
            total = 0.0
            for s in stmt.seq:
                total += self.stmt(s)
            return total
        if isinstance(stmt, For):
            self.ana.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
            return max(self.ana.const_int_bound(stmt.extent).max, 0) * self.stmt(stmt.body)
        if isinstance(stmt, IfThenElse):
            other = 0.0 if stmt.else_case is None else self.stmt(stmt.else_case)
            return max(self.stmt(stmt.then_case), other)
        if isinstance(stmt, SBlockRealize):
            return self.block(stmt.block)
        if isinstance(stmt, SBlock):
            return self.block(stmt)
        if isinstance(stmt, AttrStmt | While):
            return self.stmt(stmt.body)
        if isinstance(stmt, BufferStore | Bind):
            return self.expr(stmt.value)
        return 0.0

    def block(self, block: SBlock) -> float:
        """The operations of a block's body, for one run of it."""
        for axis in block.iter_vars:
            if axis.dom is not None:
                self.ana.bind(axis.var, axis.dom)
        return self.stmt(block.body)

    def expr(self, e: Expr) -> float:
        """The operations of one value."""
        if isinstance(e, BufferLoad | Comparison | And | Or | Not):
            return 0.0
        if isinstance(e, Select):
            return max(self.expr(e.true_value), self.expr(e.false_value))
        if isinstance(e, Call):
            record = find_record(e.op.name) if isinstance(e.op, Op) else None
            if record is None or record.effect > Effect.READ:
                return 0.0
            if record.name == "prim.if_then_else":
                return max(self.expr(e.args[1]), self.expr(e.args[2]))
        own = float(e.dtype.lanes) if isinstance(e, COUNTED) else 0.0
        if isinstance(e, Let):
            return self.expr(e.value) + self.expr(e.body)
        for child in children(e):
            if isinstance(child, Expr):
                own += self.expr(child)
        return own


__all__ = ["ESTIMATE", "estimate_flops"]

"""Whether the iterations of loops do the same to a buffer, each in its own part or all in the same one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import (
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    IfThenElse,
    IterVar,
    MatchBufferRegion,
    Op,
    SBlock,
    SBlockRealize,
    Stmt,
    Var,
    While,
    structural_equal,
)
from ...ir.arith import Analyzer
from ...ir.visitor import Visitor, find, substitute, walk
from ..common import minus


def iterations_alike(body: Stmt, buffer: Var, loops: Sequence[For], ana: Analyzer) -> bool:
    """Whether each iteration of the loops around a statement accesses the buffer as the first one does.

    That is so where no condition around an access depends on the loops, and the loops only move the whole of
    what is accessed.  If nothing else accesses the buffer, the first iteration reads what itself wrote, and
    therefore all do.  `ana` knows the variables around.
    """
    seen = _Seen(buffer, {lp.loop_var: lp.min for lp in loops}, ana)
    seen.visit(body)
    return seen.alike


class _Seen(Visitor):
    def __init__(self, buffer: Var, first: dict[Var, Expr], ana: Analyzer) -> None:
        self.buffer, self.first, self.ana = buffer, first, ana
        self.alike = True
        self.axes: dict[Var, Expr] = {}
        self.depends = False
        self.shift: list[Expr] | None = None

    def _mentions(self, e: Expr) -> bool:
        """Whether the value depends on the loops."""
        if self.axes:
            e = substitute(e, self.axes)
        return any(n in self.first for n in walk(e) if isinstance(n, Var))

    def _access(self, indices: Sequence[Expr]) -> None:
        """Note how far the loops move an access: all must be moved alike."""
        shift = []
        for index in indices:
            at = substitute(index, self.axes) if self.axes else index
            moved = self.ana.simplify(minus(at, substitute(at, self.first)))
            if any(isinstance(n, Var) and n not in self.first for n in walk(moved)):
                self.alike = False
            shift.append(moved)
        if self.depends or (self.shift is not None and not all(map(structural_equal, shift, self.shift))):
            self.alike = False
        self.shift = shift

    def _under(self, condition: Expr, *parts: Any) -> None:
        """Visit what runs under a condition."""
        self.visit(condition)
        kept = self.depends
        self.depends = kept or self._mentions(condition)
        for part in parts:
            if part is not None:
                self.visit(part)
        self.depends = kept

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        self.visit_tuple(e.indices)
        if e.buffer is self.buffer:
            self._access(e.indices)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        self.visit(stmt.value)
        self.visit_tuple(stmt.indices)
        if stmt.buffer is self.buffer:
            self._access(stmt.indices)

    def visit_tuple(self, parts: Sequence[Expr]) -> None:
        """Visit each."""
        for part in parts:
            self.visit(part)

    def visit_MatchBufferRegion(self, match: MatchBufferRegion) -> None:
        if match.source.buffer is self.buffer:
            self._access([r.min for r in match.source.region])

    def visit_Var(self, var: Var) -> None:
        if var is self.buffer:
            self.alike = False  # its pointer is handed out

    def visit_For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        kept = self.depends
        self.depends = kept or self._mentions(loop.min) or self._mentions(loop.extent)
        self.visit(loop.body)
        self.depends = kept

    def visit_IfThenElse(self, stmt: IfThenElse) -> None:
        self._under(stmt.condition, stmt.then_case, stmt.else_case)

    def visit_While(self, stmt: While) -> None:
        self._under(stmt.condition, stmt.body)

    def visit_Call(self, e: Call) -> None:
        if isinstance(e.op, Op) and e.op.name == "prim.if_then_else":
            self._under(e.args[0], *e.args[1:])
            return
        self.visit_tuple([a for a in e.args if isinstance(a, Expr)])

    def visit_SBlockRealize(self, realize: SBlockRealize) -> None:
        self.visit_tuple(realize.iter_values)
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            self.axes[axis.var] = substitute(value, self.axes)
        self._under(realize.predicate, realize.block)

    def visit_SBlock(self, block: SBlock) -> None:
        for match in block.match_buffers:
            self.visit(match)
        if block.init is not None:
            starts = [a.var for a in block.iter_vars if a.iter_type == IterVar.COMM_REDUCE]
            kept = self.depends
            self.depends = kept or any(self._mentions(v) for v in starts)
            self.visit(block.init)
            self.depends = kept
        self.visit(block.body)


def begins_with_write(body: Stmt, buffer: Var) -> bool:
    """Whether the body stores into the buffer before it reads any of it."""
    first = _First(buffer)
    first.visit(body)
    return first.found == "write"


class _First(Visitor):
    """How a buffer is accessed first in the body of a loop or block.

    A branch counts as taken where its condition depends on loops inside only: so is the start of a reduction.
    """

    def __init__(self, buffer: Var) -> None:
        self.buffer, self.found = buffer, ""
        self.inside: set[Var] = set()

    def visit_For(self, loop: For) -> None:
        self.inside.add(loop.loop_var)
        self.visit_fields(loop)

    def visit_SBlockRealize(self, realize: SBlockRealize) -> None:
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            if self.inside.issuperset(find(value, Var)):
                self.inside.add(axis.var)
        block = realize.block
        if any(m.source.buffer is self.buffer for m in block.match_buffers):
            # by another name it is accessed as the block declares
            read = any(r.buffer is self.buffer for r in block.reads)
            self.found = self.found or ("read" if read else "write")
        if block.init is not None:
            self.visit(block.init)
        self.visit(block.body)

    def visit_tuple(self, parts: Sequence[Expr]) -> None:
        """Visit each."""
        for part in parts:
            self.visit(part)

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        if e.buffer is self.buffer:
            self.found = self.found or "read"
        self.visit_fields(e)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        self.visit(stmt.value)
        if stmt.buffer is self.buffer:
            self.found = self.found or "write"

    def visit_Call(self, call: Call) -> None:
        if isinstance(call.op, Op) and call.op.name == "tirx.tvm_thread_allreduce":
            count = call.args[0].value  # type: ignore[attr-defined]
            self.visit_tuple(call.args[1 : count + 2])
            if any(getattr(r, "buffer", None) is self.buffer for r in call.args[count + 2 :]):
                self.found = self.found or "write"
            return
        if not self.found and self.buffer in call.args:
            self.found = "write"  # whoever gets the pointer is taken to fill the buffer
        self.visit_fields(call)

    def visit_IfThenElse(self, stmt: IfThenElse) -> None:
        self.visit(stmt.condition)
        if not self.found and not self.inside.issuperset(find(stmt.condition, Var)):
            self.found = "read" if any(n is self.buffer for n in walk(stmt)) else ""
        self.visit_fields(stmt)

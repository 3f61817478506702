"""Which values are the same in all threads of a block."""

from __future__ import annotations

from typing import Final

from ....ir import (
    AttrStmt,
    Bind,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    DeclBuffer,
    Effect,
    Expr,
    For,
    IfThenElse,
    IterVar,
    Let,
    Op,
    Stmt,
    Var,
    While,
    find_record,
)
from ....ir.visitor import Visitor, walk

_PRIVATE: Final = ("local", "warp", "wmma", "m16n8k8", "metal")


class Uniform:
    """Knows, for a kernel, which expressions give the same value in all threads of a block.

    Cells of shared and global memory that all threads read are taken to be the same for all.
    """

    def __init__(self, kernel: Stmt) -> None:
        self.varying: set[Var] = set()
        finder = _Finder(self)
        while True:
            before = len(self.varying)
            finder(kernel)
            if len(self.varying) == before:
                return

    def same(self, e: Expr) -> bool:
        """Whether all threads get the same value."""
        for node in walk(e):
            if isinstance(node, Var):
                if node in self.varying:
                    return False
            elif isinstance(node, Call) and not _is_steady(node):
                return False
        return True


def _is_steady(call: Call) -> bool:
    if not isinstance(call.op, Op):
        return False
    rec = find_record(call.op.name)
    return rec is not None and rec.effect <= Effect.PURE


class _Finder(Visitor):
    """One round: what depends on varying values varies."""

    def __init__(self, known: Uniform) -> None:
        self.known = known
        self.inside = False
        """Whether only some threads may come here."""

    def mark(self, var: Var) -> None:
        """The variable differs between threads."""
        self.known.varying.add(var)

    def visit_AttrStmt(self, stmt: AttrStmt) -> None:
        axis = stmt.node
        if isinstance(axis, IterVar) and axis.thread_tag.startswith("threadIdx"):
            self.mark(axis.var)
        self.visit(stmt.body)

    def visit_For(self, loop: For) -> None:
        same = self.known.same(loop.min) and self.known.same(loop.extent)
        if not same:
            self.mark(loop.loop_var)
        self._within(not same, loop.body)

    def _within(self, apart: bool, *bodies: Stmt | None) -> None:
        before, self.inside = self.inside, self.inside or apart
        for body in bodies:
            if body is not None:
                self.visit(body)
        self.inside = before

    def visit_While(self, loop: While) -> None:
        self._within(not self.known.same(loop.condition), loop.body)

    def visit_IfThenElse(self, stmt: IfThenElse) -> None:
        self._within(not self.known.same(stmt.condition), stmt.then_case, stmt.else_case)

    def visit_Bind(self, stmt: Bind) -> None:
        self.visit(stmt.value)
        if not self.known.same(stmt.value):
            self.mark(stmt.var)

    def visit_Let(self, e: Let) -> None:
        if not self.known.same(e.value):
            self.mark(e.var)
        self.visit(e.body)

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> None:
        if _is_private(stmt.buffer):  # memory that is written by more than one name
            self.mark(stmt.buffer)
            self.visit(stmt.data)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        self.visit(stmt.value)
        if _is_private(stmt.buffer):
            values = (stmt.value, *stmt.indices)
            if self.inside or not all(self.known.same(e) for e in values):
                self.mark(stmt.buffer)

    def visit_Call(self, call: Call) -> None:
        name = call.op.name if isinstance(call.op, Op) else ""
        if name == "tirx.buffer_data" and isinstance(call.args[0], Var):
            self.mark(call.args[0])  # whoever has the pointer may write
        elif name == "tirx.address_of" and isinstance(call.args[0], BufferLoad):
            self.mark(call.args[0].buffer)
        self.visit_fields(call)


def _is_private(buffer: Var) -> bool:
    """Whether each thread has its own copy."""
    ty = buffer.ty
    return isinstance(ty, BufferType) and (ty.storage_scope or "").startswith(_PRIVATE)

"""Statements that are no blocks, run by one thread."""

from __future__ import annotations

from typing import Any

from ....ir import (
    AllocBuffer,
    DeclBuffer,
    For,
    ForKind,
    IterVar,
    Rewriter,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Var,
    const,
    seq,
)
from ....ir.types import BufferType
from .common import BLOCKS, THREADS


def in_one_thread(body: Stmt) -> Stmt:
    """The statement with what it computes in a grid of one thread.

    The host still allocates what is to lie in global memory, in front.  Parallel loops become serial.
    """
    if isinstance(body, SBlockRealize) and not body.block.iter_vars:
        return body.replace(block=body.block.replace(body=in_one_thread(body.block.body)))
    statements = list(body.seq) if isinstance(body, SeqStmt) else [body]
    host: list[Stmt] = []
    while statements and _is_for_host(statements[0]):
        host.append(statements.pop(0))
    if not statements:
        return body
    inner = _Serial()
    made = inner(seq(statements))
    for tag in (THREADS, BLOCKS):
        var = Var("u", "int32")
        axis = IterVar(None, Var("", var.ty), IterVar.THREAD_INDEX, tag)
        made = For(var, const(0), const(1), ForKind.THREAD_BINDING, made, thread_binding=axis)
    return seq([*host, *inner.scratch, made])


def _is_for_host(stmt: Stmt) -> bool:
    return isinstance(stmt, DeclBuffer) or isinstance(stmt, AllocBuffer) and _is_global(stmt)


def _is_global(stmt: AllocBuffer) -> bool:
    ty = stmt.buffer.ty
    return isinstance(ty, BufferType) and ty.storage_scope == "global"


class _Serial(Rewriter):
    """Makes parallel loops serial, and takes allocations of global memory out, into `scratch`.

    Serial iterations may share the memory: each finds nothing in it that it may use.
    """

    def __init__(self) -> None:
        super().__init__()
        self.scratch: list[Stmt] = []

    def visit_For(self, loop: For) -> Any:
        """A loop of one thread."""
        made = self.visit_fields(loop)
        return made.replace(kind=ForKind.SERIAL) if made.kind is ForKind.PARALLEL else made

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> Any:
        """Memory that every thread sees is the host's to allocate."""
        made = self.visit_fields(stmt)
        if not _is_global(made):
            return made
        self.scratch.append(made)
        return seq([])

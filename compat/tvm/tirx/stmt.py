"""`tvm.tirx.stmt`: statement nodes."""

from __future__ import annotations

from typing import Any

from .... import ir
from ....errors import Diagnostic, UnsupportedError
from ....ir import (
    AttrStmt,
    Bind,
    Break,
    BufferStore,
    Continue,
    Evaluate,
    ForKind,
    IfThenElse,
    Return,
    Stmt,
    While,
)
from ...adapters import adapts, lacking


@adapts(ir.For)
def For(
    loop_var: Any,
    min: Any,
    extent: Any,
    kind: Any,
    body: Any,
    thread_binding: Any = None,
    annotations: Any = None,
    step: Any = None,
    span: Any = None,
) -> Any:
    """A loop, in the peer's order of arguments."""
    return ir.For(loop_var, min, extent, kind, body, step, thread_binding, annotations or {}, span)


@adapts(ir.AllocBuffer)
def AllocBuffer(buffer: Any, annotations: Any = None, span: Any = None) -> Any:
    """Memory for a new buffer. Raises TypeError for the scoped form of older releases."""
    if isinstance(annotations, ir.Stmt):
        raise TypeError("AllocBuffer has no body: it holds for the rest of its sequence")
    return ir.AllocBuffer(buffer, annotations or {}, span)


@adapts(ir.DeclBuffer)
def DeclBuffer(buffer: Any, data: Any = None, span: Any = None) -> Any:
    """A view of memory. Raises TypeError without the pointer to it."""
    if not isinstance(data, ir.Expr):
        raise TypeError("DeclBuffer requires a physical data binding: give the pointer as `data`")
    return ir.DeclBuffer(buffer, data, span)


@adapts(ir.SeqStmt)
def SeqStmt(seq: Any, span: Any = None) -> Any:
    """Statements one after another; with sequences among them they are flattened, without `Evaluate(0)`."""
    if not any(isinstance(one, ir.SeqStmt) for one in seq):
        return ir.SeqStmt(seq, span)
    flat: list[Any] = []
    for one in seq:
        flat += one.seq if isinstance(one, ir.SeqStmt) else [one]
    kept = [one for one in flat if not _is_empty(one)]
    return ir.SeqStmt(kept if len(kept) > 1 else flat, span)


def _is_empty(stmt: Any) -> bool:
    return isinstance(stmt, ir.Evaluate) and isinstance(stmt.value, ir.IntImm) and stmt.value.value == 0


@adapts(ir.AssertStmt)
def AssertStmt(kind: Any, condition: Any, message_parts: Any = None, span: Any = None) -> Any:
    """An assertion."""
    return ir.AssertStmt(kind, condition, message_parts or (), span)


class TilePrimitiveCall:
    """A call of the native device layer, which is not there yet: no node is one. Raises UnsupportedError."""

    def __init__(self, *args: Any, **options: Any) -> None:
        text = "`TilePrimitiveCall` belongs to the native device layer"
        raise UnsupportedError(Diagnostic("unsupported", text))


def stmt_seq(*args: Any) -> Any:
    """The statements as one; expressions are evaluated."""
    return ir.seq([a if isinstance(a, ir.Stmt) else ir.Evaluate(a) for a in args])


def stmt_list(stmt: Any) -> list[Any]:
    """The statements of a sequence, or the one there is."""
    return list(stmt.seq) if isinstance(stmt, ir.SeqStmt) else [stmt]


_missing = lacking("tvm.tirx.stmt")


def __getattr__(name: str) -> Any:
    """Block nodes by their old place. Raises AttributeError for what is not there yet."""
    if name in ("SBlock", "SBlockRealize", "MatchBufferRegion"):
        from ..s_tir import stmt as blocks

        return getattr(blocks, name)
    return _missing(name)


__all__ = [
    "AllocBuffer",
    "AssertStmt",
    "AttrStmt",
    "Bind",
    "Break",
    "BufferStore",
    "Continue",
    "DeclBuffer",
    "Evaluate",
    "For",
    "ForKind",
    "IfThenElse",
    "Return",
    "SeqStmt",
    "Stmt",
    "TilePrimitiveCall",
    "While",
    "stmt_list",
    "stmt_seq",
]

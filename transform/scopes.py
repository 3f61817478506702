"""Bodies as lists of statements."""

from __future__ import annotations

from ..ir import SeqStmt, Stmt


def statements(body: Stmt) -> list[Stmt]:
    """The statements of a body, nested sequences opened."""
    if not isinstance(body, SeqStmt):
        return [body]
    return [inner for s in body.seq for inner in statements(s)]

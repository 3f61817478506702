"""Where the threads of a block must wait for each other."""

from __future__ import annotations

from typing import Final

from ....ir import Call, Evaluate, Stmt, StringImm, const

DISJOINT: Final = "tirx.disjoint_views"
"""The annotation of an allocation whose views have no memory in common."""


def barrier(scope: str) -> Stmt:
    """The statement at which the threads of a block, or of a warp, wait for each other."""
    args = (StringImm(scope), const(False, "bool"), const(-1, "int32"))
    return Evaluate(Call("tirx.tvm_storage_sync", args, "void"))


__all__ = ["DISJOINT", "barrier"]

"""Statements that compute each element from elements at the same place."""

from __future__ import annotations

from collections.abc import Collection

from ...ir import BufferLoad, BufferStore, BufferType, For, ForKind, Range, Stmt, Var
from ...ir.arith import Analyzer
from ...ir.visitor import walk
from .independence import independent


def is_in_place(stmt: Stmt, old: Var, new: Var, names: Collection[Var] = ()) -> bool:
    """Whether the statement may store into `new` where `old` lies.

    So it is when each cell is stored once, after its own cell of `old` and no other was read.
    `names` are further names that memory has.
    """
    ana = Analyzer()
    loops: list[For] = []
    while isinstance(stmt, For):
        if stmt.kind not in (ForKind.SERIAL, ForKind.UNROLLED, ForKind.PARALLEL) or stmt.step is not None:
            return False
        ana.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
        loops.append(stmt)
        stmt = stmt.body
    if not isinstance(stmt, BufferStore) or stmt.buffer is not new:
        return False
    own = 0
    for node in walk(stmt.value):
        if isinstance(node, BufferLoad) and node.buffer is old:
            if not all(ana.keys.same(a, b) for a, b in zip(node.indices, stmt.indices)):
                return False
            own += 1
    for part in (stmt.value, *stmt.indices):
        for node in walk(part):
            if isinstance(node, Var) and isinstance(node.ty, BufferType):
                if node is new or node in names or (node is old and not own):
                    return False
    return bool(own) and all(independent(loop.body, loop.loop_var, ana) for loop in loops)

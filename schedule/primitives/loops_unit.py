"""Loops of one iteration, and the mark of postprocessing."""

from __future__ import annotations

from ...ir import For, ForKind, Var, const
from ..handles import LoopRV, SBlockRV
from ..registry import primitive
from ..state import State


@primitive()
def add_unit_loop(state: State, block_or_loop: LoopRV | SBlockRV) -> tuple[State, LoopRV]:
    """Put a loop of one iteration around a block or loop.

    Every handle is kept.

    before:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    steps:
        sch.add_unit_loop("B")
    after:
        for i, u in T.grid(64, 1):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    """
    node = state.place(block_or_loop).node
    var = Var("u", "int32")
    made = For(var, const(0), const(1), ForKind.SERIAL, node)
    return state.replace(node, made), LoopRV(var)


@primitive()
def enter_postproc(state: State) -> State:
    """Mark in the trace where postprocessing starts; the program stays as it is."""
    return state

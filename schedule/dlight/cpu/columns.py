"""Reductions whose results lie side by side: sums of columns, vectors times matrices, what is left."""

from __future__ import annotations

from ....ir import Var
from ...handles import LoopRV, SBlockRV
from ...schedule import Schedule
from ..machine import Machine
from ..program import Facts, facts, is_plain, uses
from ..rule import Taken

RESULTS = 512
"""Results that are kept at once: few enough for the nearest cache, enough to fill vectors."""


def columns(sch: Schedule, block: SBlockRV, machine: Machine) -> Taken | None:
    """The innermost loop runs along the results; it goes through the terms of many results in step.

    before:
        for k, j in T.grid(64, 4096):
            with T.sblock("S"):
                vk, vj = T.axis.remap("RS", [k, j])
                with T.init():
                    S[vj] = 0.0
                S[vj] = S[vj] + A[vk, vj]
    """
    found = facts(sch, block)
    if not found.is_reduction or not is_plain(sch, found):
        return None
    along = _along(found)
    loops = dict(zip([n.loop_var for n in found.loops], sch.get_loops(block)))
    reduced = [loops[n.loop_var] for v in found.reduced if (n := found.loop_of(v.var))]
    if len(reduced) != len(found.reduced):
        return None
    outer = [rv for rv in loops.values() if rv not in reduced and (along is None or rv.target is not along)]
    inner: list[LoopRV] = []
    if along is not None:
        part, lane = sch.split(loops[along], [None, RESULTS])
        outer, inner = [*outer, part], [lane]
    sch.reorder(*outer, *reduced, *inner)
    if outer and machine.cores > 1:
        sch.parallel(sch.fuse(*outer) if len(outer) > 1 else outer[0])
    sch.decompose_reduction(block, reduced[0])
    return Taken((block,), "terms of neighbouring results are read together")


def _along(found: Facts) -> Var | None:
    """The variable of a loop along which results and terms lie side by side; None where there is none."""
    store = found.store
    if store is None or not store.indices:
        return None
    axis = store.indices[-1]
    loop = found.loop_of(axis) if isinstance(axis, Var) else None
    if loop is None or axis not in {v.var for v in found.spatial}:
        return None
    for load in found.loads():
        if isinstance(axis, Var) and any(uses(i, axis) for i in load.indices[:-1]):
            return None
    return loop.loop_var

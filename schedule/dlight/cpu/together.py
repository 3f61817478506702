"""Products joined by what works on their rows, as in attention."""

from __future__ import annotations

from ...handles import LoopRV, SBlockRV
from ...schedule import Schedule
from ..machine import Machine
from ..program import facts
from ..rule import Taken
from .contraction import contraction
from .matmul import tiled
from .rows import by_rows, connected


def together(sch: Schedule, block: SBlockRV, machine: Machine) -> Taken | None:
    """Two products of one batch and the rows between them run for some rows at a time.

    What the first product gives for these rows is still in the cache when the others need it.

    before:
        for b, i, j, d in T.grid(2, 64, 64, 16):
            with T.sblock("S"):
                vb, vi, vj, vd = T.axis.remap("SSSR", [b, i, j, d])
                with T.init():
                    S[vb, vi, vj] = 0.0
                S[vb, vi, vj] = S[vb, vi, vj] + Q[vb, vi, vd] * K[vb, vj, vd]
        for b, i, j in T.grid(2, 64, 64):
            with T.sblock("Z"):
                vb, vi, vj = T.axis.remap("SSR", [b, i, j])
                with T.init():
                    Z[vb, vi] = 0.0
                Z[vb, vi] = Z[vb, vi] + S[vb, vi, vj]
        for b, i, j in T.grid(2, 64, 64):
            with T.sblock("N"):
                vb, vi, vj = T.axis.remap("SSS", [b, i, j])
                N[vb, vi, vj] = S[vb, vi, vj] / Z[vb, vi]
        for b, i, d, j in T.grid(2, 64, 16, 64):
            with T.sblock("O"):
                vb, vi, vd, vj = T.axis.remap("SSSR", [b, i, d, j])
                with T.init():
                    O[vb, vi, vd] = 0.0
                O[vb, vi, vd] = O[vb, vi, vd] + N[vb, vi, vj] * V[vb, vj, vd]
    """
    first = contraction(facts(sch, block))
    if first is None or not first.batch:
        return None
    group = connected(sch, block)
    products = [f for f in group if (c := contraction(f)) is not None and len(c.batch) == len(first.batch)]
    if len(products) != 2 or products[0].rv != block:
        return None
    alone = machine._replace(cores=1)
    made = [tiled(sch, f.rv, alone) for f in products]
    start, end = made
    between = [f.rv for f in group if f not in products and f.rv not in [m.finish for m in made if m]]
    middle = by_rows(sch, between[0], alone) if start is not None and end is not None and between else None
    if start is None or end is None or middle is None or start.loops.block is None or end.loops.block is None:
        return None
    high, count = [sch.get(rv).extent for rv in (start.loops.row, start.loops.group)]
    part, _ = sch.split(middle.row, [None, high * count])
    whole = sch.merge(start.loops.block, part, end.loops.block)
    outer: list[LoopRV] = [*sch.get_loops(block)[: len(first.batch)], whole]
    if machine.cores > 1:
        sch.parallel(sch.fuse(*outer))
        for one in (start, end):
            sch.parallel(sch.get_loops(one.panels)[0])
    starts = [(f.rv, one.loops.depth) for f, one in zip(products, (start, end))]
    for rv, loop in (*starts, *middle.starts):
        sch.decompose_reduction(rv, loop)
    blocks = (*[f.rv for f in group], start.panels, end.panels, start.finish, end.finish)
    return Taken(blocks, "two products and the rows between them, some rows at a time")

"""Reductions of everything to one value."""

from __future__ import annotations

from ...handles import SBlockRV
from ...schedule import Schedule
from ..machine import Machine
from ..program import Facts, extent, facts, is_plain
from ..rule import Taken
from .elementwise import CHUNKS, SMALL
from .rows import along_rows, by_lanes, vectorize_lanes


def total(sch: Schedule, block: SBlockRV, machine: Machine) -> Taken | None:
    """A long reduction to one value: each chunk has partial results of its own, one for each lane of its
    vectors; chunks run in parallel.

    before:
        for i, k in T.grid(1, 65536):
            with T.sblock("S"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = 0.0
                S[vi] = S[vi] + A[vk]
    """
    found = facts(sch, block)
    if not found.is_reduction or not is_plain(sch, found) or not along_rows(found):
        return None
    if any(found.size(v.var) != 1 for v in found.spatial) or not _is_long(found):
        return None
    loops = sch.get_loops(block)
    outer = found.loop_of(found.reduced[0].var)
    if outer is None:
        return None
    at = [n.loop_var for n in found.loops].index(outer.loop_var)
    count = extent(outer.extent)
    chunks = machine.cores * CHUNKS
    if count is not None:
        chunks = next(n for n in range(min(chunks, count), 0, -1) if count % n == 0)
    chunk, _ = sch.split(loops[at], [chunks, None])
    part: SBlockRV = sch.rfactor(chunk, 0)
    lanes = by_lanes(sch, facts(sch, part), machine)
    row = sch.get_loops(part)[at]
    sch.reorder(row, *sch.get_loops(part)[:at])
    if machine.cores > 1:
        sch.parallel(row)
    if lanes is not None:
        sch.compute_at(lanes, row)
        start = vectorize_lanes(sch, lanes, row)
        if start is not None:
            sch.decompose_reduction(lanes, start)
    return Taken((block, part), f"it reduces everything to one value, in {chunks} chunks")


def _is_long(found: Facts) -> bool:
    """Whether a chunk is worth waking a thread for; sizes known at run time only count as large."""
    work = 1
    for axis in found.reduced:
        size = found.size(axis.var)
        work *= SMALL if size is None else size
    return work >= SMALL

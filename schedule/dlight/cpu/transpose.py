"""Blocks that write along one dimension and read along another: transposes, changes of layout."""

from __future__ import annotations

from ....ir import BufferLoad, Var
from ...handles import LoopRV, SBlockRV
from ...schedule import Schedule
from ..machine import Machine
from ..program import Facts, extent, facts, is_plain
from ..rule import Taken
from .stream import is_large_result, stream

LINE = 64
"""Bytes of a line of the cache: what is read along a line is used before the line is gone."""
LINES = 4
"""Lines side by side that are read after one another, while their pages are known."""
LENGTH = 512
"""Results that are written in a row before the next line is read."""


def transpose(sch: Schedule, block: SBlockRV, machine: Machine) -> Taken | None:
    """The elements of a line that is read are used one after the other; results are written in some rows.

    before:
        for i, j in T.grid(256, 1024):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]
    after:
        for i_0 in T.parallel(4):
            for j_0, i_1, j_1 in T.grid(2, 4, 512):
                for i_2 in T.unroll(16):
                    with T.sblock("B"):
                        vi = T.axis.spatial(256, i_0 * 64 + i_1 * 16 + i_2)
                        vj = T.axis.spatial(1024, j_0 * 512 + j_1)
                        B[vi, vj] = A[vj, vi]
    """
    found = facts(sch, block)
    axes = _directions(found)
    if axes is None or not is_plain(sch, found):
        return None
    written, read = axes
    line = max(1, LINE * 8 // found.block.writes[0].buffer.dtype.bits)
    sizes = found.size(written), found.size(read)
    if any(n is not None and n < line for n in sizes):
        return None
    of = dict(zip([n.loop_var for n in found.loops], sch.get_loops(block)))
    rows, along = [of[n.loop_var] for v in (read, written) if (n := found.loop_of(v)) is not None]
    others: list[LoopRV] = [rv for rv in of.values() if rv not in (rows, along)]
    why = "it reads along one dimension and writes along another"
    if _by_tiles(sch, found, machine, rows, along, others):
        return Taken((block,), f"{why}, a tile of registers at a time")
    outer, middle, inner = sch.split(rows, [None, LINES, line])
    part, length = sch.split(along, [None, LENGTH])
    sch.reorder(*others, outer, part, middle, length, inner)
    sch.unroll(inner)
    if machine.cores > 1:
        sch.parallel(sch.fuse(*others, outer) if others else outer)
    return Taken((block,), why)


def _by_tiles(
    sch: Schedule, found: Facts, machine: Machine, rows: LoopRV, along: LoopRV, others: list[LoopRV]
) -> bool:
    """Where a large array is only copied: square tiles in registers, so that rows are read to their ends in
    whole vectors, and written past the caches.  Whether that was possible.
    """
    store = found.store
    assert store is not None
    side = machine.lanes(store.buffer.dtype.bits)
    sizes = [extent(sch.get(rv).extent) for rv in (rows, along)]
    whole = all(n is not None and n % side == 0 for n in sizes)
    if side < 4 or not whole or not isinstance(store.value, BufferLoad) or not is_large_result(sch, found):
        return False
    tile = sch.cache_read(found.rv, 0, "local")
    inner, row = sch.split(rows, [None, side])
    outer, lane = sch.split(along, [None, side])
    sch.reorder(*others, outer, inner, row, lane)
    sch.compute_at(tile, inner)
    for loop, vector in (sch.get_loops(tile)[-2:], (row, lane)):
        sch.unroll(loop)
        sch.vectorize(vector)
    stream(sch, found.rv, machine)
    if machine.cores > 1:
        sch.parallel(sch.fuse(*others, outer) if others else outer)
    return True


def _directions(found: Facts) -> tuple[Var, Var] | None:
    """The axis along which the block writes, and the other one along which it reads."""
    store = found.store
    if store is None or found.reduced or not store.indices or not isinstance(store.indices[-1], Var):
        return None
    written = store.indices[-1]
    for load in found.loads():
        read = load.indices[-1] if load.indices else None
        if (
            isinstance(read, Var)
            and read is not written
            and written in load.indices
            and read in store.indices
        ):
            if found.loop_of(read) is not None and found.loop_of(written) is not None:
                return written, read
    return None

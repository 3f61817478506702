"""Functions that read along one dimension and write along another."""

from __future__ import annotations

from typing import NamedTuple

from ....ir import BufferLoad, Var
from ...handles import LoopRV
from ...schedule import Schedule
from ..blocks import BlockInfo, extent_of, inline_all, normalize
from ..program import facts, uses
from ..rule import Taken
from .common import BLOCKS, ROWS, THREADS
from .machine import GpuMachine

TILE = 32
"""Rows and columns of a tile: a warp reads and writes them whole."""
HEIGHT = 8
"""Rows of a tile that a block of threads moves at once."""


class Turned(NamedTuple):
    """A read along the axis `read` in a block that writes along the axis `written`."""

    number: int
    read: Var
    written: Var


def transpose(sch: Schedule, machine: GpuMachine) -> Taken | None:
    """Tiles go through shared memory, so that whole lines are read as well as written.

    Rows of a tile in shared memory are one element apart from where they would clash.

    before:
        for i, j in T.grid(512, 1024):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]
    """
    blocks = normalize(sch)
    if not blocks or not all(b.is_injective for b in blocks) or machine.threads < TILE * HEIGHT:
        return None
    blocks = inline_all(sch, blocks)
    if len(blocks) != 1:
        return None
    (info,) = blocks
    found = _turned(sch, info)
    if found is None:
        return None
    tile = sch.cache_read(info.rv, found.number, "shared")
    loops = {a.var: a.loop for a in info.axes}
    rows, row = sch.split(loops.pop(found.read), [None, TILE])
    columns, column = sch.split(loops.pop(found.written), [None, TILE])
    sch.reorder(*loops.values(), rows, columns, row, column)
    grid = sch.fuse(*loops.values(), rows, columns)
    sch.bind(grid, BLOCKS)
    sch.compute_at(tile, grid, preserve_unit_loops=True)
    *above, along = sch.get_loops(tile)
    (across,) = [rv for rv in above[above.index(grid) + 1 :] if extent_of(sch, rv) != 1]
    _by_threads(sch, along, across)
    _by_threads(sch, column, row)
    sch.storage_align(tile, 0, -2, TILE, 1)
    return Taken((info.rv,), "it reads along one dimension and writes along another: tiles in shared memory")


def _by_threads(sch: Schedule, along: LoopRV, across: LoopRV) -> None:
    steps, height = sch.split(across, [None, HEIGHT])
    sch.bind(along, THREADS)
    sch.bind(height, ROWS)
    sch.unroll(steps)


def _turned(sch: Schedule, info: BlockInfo) -> Turned | None:
    """The read that runs across what is written; None where there is none, or several reads of that array."""
    found = facts(sch, info.rv)
    store = found.store
    if store is None or not store.indices or not isinstance(store.indices[-1], Var):
        return None
    written, axes = store.indices[-1], {a.var: a for a in info.axes}
    reads = [r.buffer for r in found.block.reads]
    for load in found.loads():
        read = load.indices[-1] if load.indices else None
        if not isinstance(read, Var) or read is written or not _crosses(load, read, written):
            continue
        once = sum(other.buffer is load.buffer for other in found.loads()) == 1
        sizes = [axes[v].size for v in (read, written) if v in axes]
        if once and len(sizes) == 2 and all(n is None or n >= TILE for n in sizes):
            return Turned(reads.index(load.buffer), read, written)
    return None


def _crosses(load: BufferLoad, read: Var, written: Var) -> bool:
    """Whether each of the axes moves one index, by one, and the first of them only the last index."""
    others = load.indices[:-1]
    return written in others and not any(uses(i, read) for i in others)

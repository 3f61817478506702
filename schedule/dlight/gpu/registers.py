"""Products computed by all threads of a block: each keeps a tile of the result in registers."""

from __future__ import annotations

from math import gcd
from typing import Any, Final, NamedTuple

from ...handles import SBlockRV
from ...schedule import Schedule
from ..program import extent, facts
from .machine import GpuMachine
from .product import Product, padded
from .runs import WIDEST, write_run
from .staging import Staged, bind_blocks, pipeline, share_copy, stage
from .tiles import largest

LANES: Final = (4, 8)
"""How 32 neighbouring threads stand, by rows and columns of the result."""


class Tile(NamedTuple):
    """Rows and columns of groups of 32 threads in a block, of a thread; steps of the sum in shared memory."""

    groups: tuple[int, int]
    own: tuple[int, int]
    depth: int

    @property
    def rows(self) -> int:
        """Rows of the result that a block computes."""
        return self.groups[0] * LANES[0] * self.own[0]

    @property
    def columns(self) -> int:
        """Columns of the result that a block computes."""
        return self.groups[1] * LANES[1] * self.own[1]

    @property
    def threads(self) -> tuple[int, int]:
        """Threads of a block: groups, and those of a group."""
        return self.groups[0] * self.groups[1], LANES[0] * LANES[1]

    def bytes(self, item: int) -> int:
        """Shared memory for the operands of some steps, which do not begin in the same bank."""
        return ((self.rows + self.columns) * item + 2 * WIDEST) * self.depth


TILES: Final = (
    Tile((2, 2), (16, 8), 8),
    Tile((4, 2), (8, 8), 8),
    Tile((2, 2), (8, 4), 16),
    Tile((2, 1), (4, 4), 16),
)
"""The tiles to choose from, the largest first."""

REGISTERS: Final = 512
"""Bytes of results that a thread keeps at most."""


def choose(rows: int | None, columns: int | None, operand: int, total: int, machine: GpuMachine) -> Tile:
    """The tile for operands and results whose elements have so many bytes."""
    fitting = [
        tile
        for tile in TILES
        if tile.threads[0] * tile.threads[1] <= machine.threads
        and total * tile.own[0] * tile.own[1] <= REGISTERS
        and tile.bytes(operand) <= machine.shared
    ]
    return largest(fitting or TILES[-1:], rows, columns, machine.cores)


def schedule(sch: Schedule, found: Product, machine: GpuMachine) -> str:
    """Schedule all blocks of a product; gives the reason in words."""
    rows, columns, _ = found.sizes(sch)
    block = found.block
    items = [
        r.buffer.dtype.bits // 8 for r in (*facts(sch, block).block.reads, *facts(sch, block).block.writes)
    ]
    tile = choose(rows, columns, max(items[:-1]), items[-1], machine)
    found = padded(sch, found, (tile.rows, tile.columns, tile.depth))
    *batch, i, j, k = sch.get_loops(block)
    stages, scope = _memory(tile, max(items[:-1]), machine)
    i0, i1, i2, i3 = sch.split(i, [None, tile.groups[0], LANES[0], tile.own[0]])
    j0, j1, j2, j3 = sch.split(j, [None, tile.groups[1], LANES[1], tile.own[1]])
    k0, k1 = sch.split(k, [None, tile.depth])
    sch.reorder(*batch, i0, j0, i1, j1, i2, j2, k0, k1, i3, j3)
    bind_blocks(sch, batch, i0, j0)
    sch.bind(sch.fuse(i1, j1), "threadIdx.y")
    lane = sch.fuse(i2, j2)
    sch.bind(lane, "threadIdx.x")
    sch.set_scope(block, 0, "local")
    sch.reverse_compute_at(found.finish, lane)
    staged = [stage(sch, block, side, k0, k1, scope, "local") for side in (found.left, found.right)]
    for one, size, own in zip(staged, (tile.rows, tile.columns), tile.own):
        _lay_out(sch, one, size, own, tile.threads)
    for loop in (k1, i3, j3):
        sch.unroll(loop)
    sch.decompose_reduction(block, k0)
    pipeline(sch, k0, stages)
    _write(sch, found.finish)
    return f"a product: blocks of {tile.rows} by {tile.columns}, {tile.own[0]} by {tile.own[1]} a thread"


def _memory(tile: Tile, item: int, machine: GpuMachine) -> tuple[int, str]:
    """How many stages of copies there is memory for, and which memory."""
    each = tile.bytes(item)
    for stages in (3, 2) if machine.copies_ahead else ():
        if stages * each <= machine.dynamic:
            return stages, "shared" if stages * each <= machine.shared else "shared.dyn"
    return 1, "shared"


def _lay_out(sch: Schedule, one: Staged, size: int, own: int, threads: tuple[int, int]) -> None:
    """Let a thread's elements of a step lie in vectors, and those of neighbouring threads side by side.

    A column of elements is in different banks.
    """
    share_copy(sch, one.copy, 0 if one.along else 1, one.lanes if one.along else 1, threads)
    width = min(own, WIDEST // one.item)
    _, lane = sch.split(sch.get_loops(one.registers)[-1], [None, width])
    sch.vectorize(lane)

    def layout(*index: Any) -> list[Any]:
        *batch, x, k = index
        return [*batch, x // size, k, x % own // width, x % size // own, x % width]

    sch.transform_layout(one.copy, ("write", 0), layout)
    sch.storage_align(one.copy, 0, -4, 8 * WIDEST // one.item, WIDEST // one.item)


def _write(sch: Schedule, finish: SBlockRV) -> None:
    """Write out the loops of the block that takes results: registers cannot be indexed at run time."""
    found = facts(sch, finish)
    run = write_run(found)
    outer, inner = sch.get_loops(finish)[-2:]
    if run.axis is found.block.iter_vars[-2].var:
        sch.reorder(inner, outer)
        outer, inner = inner, outer
    size = extent(sch.get(inner).extent)
    sch.unroll(outer)
    rest, lane = sch.split(inner, [None, gcd(run.lanes, size or 1)])
    sch.unroll(rest)
    sch.vectorize(lane)

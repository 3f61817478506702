"""Products on tensor cores: `ldmatrix` and `mma.sync` on tiles in shared memory; copies run ahead."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

from ...handles import SBlockRV
from ...intrinsics.cuda import has_sum, load_name, sync_name
from ...intrinsics.fragments import INPUTS, OUTPUTS, Element, columns, result, rows
from ...schedule import Schedule
from ..program import Facts, facts
from .machine import GpuMachine
from .product import Product, padded
from .runs import write_run
from .staging import Staged, bind_blocks, pipeline, share_copy, stage
from .tiles import largest

LANES: Final = 32
CUBE: Final = 16


class Tile(NamedTuple):
    """Warps of a block, by rows and columns; tiles of 16 by 16 of a warp; bytes of a row of a stage."""

    warps: tuple[int, int]
    own: tuple[int, int]
    depth: int
    stages: int

    @property
    def rows(self) -> int:
        """Rows of the result that a block computes."""
        return self.warps[0] * self.own[0] * CUBE

    @property
    def columns(self) -> int:
        """Columns of the result that a block computes."""
        return self.warps[1] * self.own[1] * CUBE

    @property
    def threads(self) -> tuple[int, int]:
        """Threads of a block: warps, and those of a warp."""
        return self.warps[0] * self.warps[1], LANES

    @property
    def bytes(self) -> int:
        """Shared memory of a block, with 16 bytes more a row: so reading finds no conflicts of banks."""
        return self.stages * (self.rows + self.columns) * (self.depth + 16)


TILES: Final = (
    Tile((2, 4), (4, 4), 128, 3),
    Tile((2, 2), (4, 4), 128, 3),
    Tile((2, 2), (2, 2), 128, 3),
    Tile((2, 2), (1, 1), 64, 3),
)
"""The tiles to choose from, the largest first."""


class Types(NamedTuple):
    """What the tensor cores multiply, and what they add to."""

    operand: Element
    total: Element


def types_of(found: Facts, machine: GpuMachine) -> Types | None:
    """The element types of a product that the device's tensor cores know; None for others.

    float32 is multiplied with 10 bits of precision only where the target's attribute `tf32` asks for it.
    """
    reads = {str(r.buffer.dtype) for r in found.block.reads}
    written = str(found.block.writes[0].buffer.dtype)
    operands = [e for e in INPUTS.values() if {e.dtype} == reads]
    totals = [e for e in OUTPUTS.values() if e.dtype == written]
    if not machine.is_cuda or machine.arch < 80 or not operands or not totals:
        return None
    made = Types(operands[0], totals[0])
    if made.operand.short == "tf32" and not machine.target.get("tf32", False):
        return None
    if made.operand.short in ("e4m3", "e5m2") and machine.arch < 89:
        return None
    return made if has_sum(*made) else None


def choose(rows: int | None, columns: int | None, machine: GpuMachine) -> Tile | None:
    """The tile for a result; None where that is smaller than what an instruction computes."""
    fitting = [t for t in TILES if t.bytes <= machine.dynamic]
    small = any(n is not None and n < CUBE for n in (rows, columns))
    return None if small or not fitting else largest(fitting, rows, columns, machine.cores)


def schedule(sch: Schedule, found: Product, types: Types, tile: Tile) -> None:
    """Schedule all blocks of a product. Raises ScheduleError where the instructions cannot compute it."""
    e = types.operand
    depth = tile.depth * 8 // e.bits
    found = padded(sch, found, (tile.rows, tile.columns, depth))
    block = found.block
    *batch, i, j, k = sch.get_loops(block)
    i0, i1, i2, i3 = sch.split(i, [None, tile.warps[0], tile.own[0], CUBE])
    j0, j1, j2, j3 = sch.split(j, [None, tile.warps[1], tile.own[1], CUBE])
    k0, k1, k2 = sch.split(k, [None, depth // e.depth, e.depth])
    sch.reorder(*batch, i0, j0, i1, j1, k0, k1, i2, j2, i3, j3, k2)
    bind_blocks(sch, batch, i0, j0)
    warp = sch.fuse(i1, j1)
    sch.bind(warp, "threadIdx.y")
    sch.set_scope(block, 0, "warp")
    sch.reverse_compute_at(found.finish, warp)
    staged = [stage(sch, block, side, k0, k1, "shared.dyn", "warp") for side in (found.left, found.right)]
    for one in staged:
        _lay_out(sch, one, e, one is staged[1], tile)
    _in_tiles(sch, block, result, CUBE)
    init = sch.decompose_reduction(block, k0)
    *_, x, y, inside, _ = sch.get_loops(init)
    sch.unroll(x)
    sch.unroll(y)
    sch.tensorize(inside, f"mma_fill_16x16_{types.total.short}")
    sch.tensorize(i3, sync_name(e, types.total, staged[0].along, not staged[1].along))
    for loop in (k1, i2, j2):
        sch.unroll(loop)
    _take_results(sch, found.finish)
    pipeline(sch, k0, tile.stages)


def _lay_out(sch: Schedule, one: Staged, e: Element, is_b: bool, tile: Tile) -> None:
    """Lay out an operand for the instruction that loads it: in shared memory as it is in global memory.

    Rows of shared memory are an odd number of 16 bytes apart: eight of them lie in different banks.  Of
    32-bit elements by steps of the sum eight columns of four rows are fetched at once.
    """
    share_copy(sch, one.copy, 0 if one.along else 1, one.lanes, tile.threads)
    if one.along:
        sch.transform_layout(one.copy, ("write", 0), lambda *at: [*at[:-2], at[-1], at[-2]])
    apart = (8, 2) if one.along and e.bits == 32 else (2, 1)
    sch.storage_align(one.copy, 0, -2, apart[0] * e.unit, apart[1] * e.unit)
    _in_tiles(sch, one.registers, partial(_place, e, is_b, one.along), e.depth)
    x, k = sch.get_loops(one.registers)[-2:]
    x0, x1 = sch.split(x, [None, CUBE])
    k0, k1 = sch.split(k, [None, e.depth])
    sch.reorder(x0, k0, *((k1, x1) if one.along else (x1, k1)))
    sch.unroll(x0)
    sch.unroll(k0)
    sch.tensorize(k1 if one.along else x1, load_name(e, is_b, one.along != is_b, "shared.dyn"))


def _place(e: Element, is_b: bool, along: bool, x: Any, k: Any) -> tuple[Any, Any]:
    """The lane and place of an element as the intrinsics describe them."""
    if along and e.bits == 16:
        return rows(e, k, x)
    return columns(e, k, x) if along and is_b else rows(e, x, k)


def _in_tiles(sch: Schedule, block: SBlockRV, place: Any, width: int) -> None:
    """Let what a block writes lie in tiles of 16 rows and as many columns, each by lanes."""

    def layout(*at: Any) -> list[Any]:
        *batch, x, y = at
        return [*batch, x // CUBE, y // width, *place(x % CUBE, y % width)]

    sch.transform_layout(block, ("write", 0), layout)


def _take_results(sch: Schedule, finish: SBlockRV) -> None:
    """Each lane takes the results that it holds: pairs of neighbouring columns."""
    found = facts(sch, finish)
    run = write_run(found)
    row, column = sch.get_loops(finish)[-2:]
    i0, i1, i2 = sch.split(row, [None, 2, 8])
    j0, j1, j2, j3 = sch.split(column, [None, 2, 4, 2])
    sch.reorder(i0, j0, i2, j2, j1, i1, j3)
    sch.bind(sch.fuse(i2, j2), "threadIdx.x")
    for loop in (i0, j0, j1, i1):
        sch.unroll(loop)
    if run.axis is found.block.iter_vars[-1].var and run.lanes % 2 == 0:
        sch.vectorize(j3)
    else:
        sch.unroll(j3)

"""Hand schedules for kernels of the comparison: what one would write for a processor with wide vectors.

Each takes a schedule of the kernel as it is written; sizes follow the vectors and registers of this machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Machine:
    """Values of 32 bits in a vector, and how many vector registers there are."""

    def __init__(self) -> None:
        from loopwright import Target

        bits = Target.detect().vector_width
        self.lanes = bits // 32
        self.registers = 32 if bits >= 512 else 16


def gemm(sch: Any, machine: Machine, dtype: str) -> None:
    """Tiles of two vectors by as many rows as registers hold; B in panels; rows that are left get a part
    of their own."""
    lanes = machine.lanes * 32 // int(dtype.removeprefix("float"))
    rows, width, steps, group = (12 if machine.registers == 32 else 6), 2 * lanes, 4, 120
    block = sch.get_sblock("C")
    panels = sch.cache_read(block, 1, "global")
    sch.transform_layout(block, ("read", 1), lambda p, q: (q // width, p, q % width))
    depth, column = sch.get_loops(panels)
    part, depth = sch.split(depth, [None, 16])
    panel, lane = sch.split(column, [None, width])
    sch.reorder(part, panel, depth, lane)
    sch.vectorize(lane)
    sch.parallel(part)
    row = sch.get_loops(block)[0]
    extent = int(sch.get(row).extent)
    rest = extent % rows
    if rest:
        sch.loop_partition(row, [extent - rest, rest])
        _last_rows(sch, sch.get_sblock("C_i1"), width, steps)
        block = sch.get_sblock("C_i0")
    tiles = extent // rows
    group = max(n for n in range(1, tiles + 1) if tiles % n == 0 and n * rows <= max(group, rows))
    i, j, k = sch.get_loops(block)[-3:]
    i0, i1, i2 = sch.split(i, [None, group, rows])
    j0, j1 = sch.split(j, [None, width])
    k0, k1 = sch.split(k, [None, steps])
    sch.reorder(i0, j0, i1, k0, k1, i2, j1)
    sch.parallel(i0)
    _in_registers(sch, block, i1, k0, k1, i2, j1)


def _last_rows(sch: Any, block: Any, width: int, steps: int) -> None:
    i, j, k = sch.get_loops(block)[-3:]
    j0, j1 = sch.split(j, [None, width])
    k0, k1 = sch.split(k, [None, steps])
    sch.reorder(j0, k0, k1, i, j1)
    sch.parallel(j0)
    _in_registers(sch, block, j0, k0, k1, i, j1)


def _in_registers(sch: Any, block: Any, tile: Any, k0: Any, k1: Any, row: Any, lane: Any) -> None:
    """The tile below the loop `tile` is summed in registers and written once."""
    finish = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(finish, tile)
    *_, out_row, out_lane = sch.get_loops(finish)
    for loop in (k1, row, out_row):
        sch.unroll(loop)
    for loop in (lane, out_lane):
        sch.vectorize(loop)
    sch.decompose_reduction(block, k0)


def dwconv(sch: Any, machine: Machine) -> None:
    """A channel at a time, padded in the nearest cache; rows of the result in registers."""
    block, pad = sch.get_sblock("conv"), sch.get_sblock("pad")
    finish = sch.cache_write(block, 0, "local")
    n, c, h, w, y, x = sch.get_loops(block)
    rows, lanes = 8, 8
    h0, h1 = sch.split(h, [None, rows])
    w0, w1 = sch.split(w, [None, lanes])
    sch.reorder(n, c, h0, w0, y, x, h1, w1)
    sch.reverse_compute_at(finish, w0)
    sch.compute_at(pad, c)
    sch.parallel(c)
    *_, out_row, out_lane = sch.get_loops(finish)
    for loop in (y, x, h1, out_row):
        sch.unroll(loop)
    for loop in (w1, out_lane):
        sch.vectorize(loop)
    sch.decompose_reduction(block, y)


def transpose(sch: Any, machine: Machine) -> None:
    """Square tiles in registers: rows are read to their ends, and whole lines written past the caches."""
    side = machine.lanes
    block = sch.get_sblock("T")
    tile = sch.cache_read(block, 0, "local")
    i, j = sch.get_loops(block)
    i0, i1 = sch.split(i, [None, side])
    j0, j1 = sch.split(j, [None, side])
    sch.reorder(j0, i0, i1, j1)
    sch.compute_at(tile, i0)
    row, lane = sch.get_loops(tile)[-2:]
    for loop in (row, i1):
        sch.unroll(loop)
    for loop in (lane, j1):
        sch.vectorize(loop)
    sch.parallel(j0)
    sch.annotate(j0, "streaming", 1)


def rows(sch: Any, machine: Machine, reductions: list[str], final: str, inside: str = "") -> None:
    """All steps of a row before the next row; each reduction keeps a partial result for each lane.

    What the block `inside` computes is added up at once.  The last reduction asks for the next row.
    """
    width = 2 * machine.lanes
    partial = []
    for name in reductions:
        block = sch.get_sblock(name)
        _, lane = sch.split(sch.get_loops(block)[-1], [None, width])
        partial.append((sch.rfactor(lane, 0), block))
    last = sch.get_sblock(final)
    row, column = sch.get_loops(last)
    sch.parallel(row)
    sch.annotate(row, "streaming", 1)
    _, lane = sch.split(column, [None, width])
    sch.vectorize(lane)
    for part, block in reversed(partial):
        sch.compute_at(block, row)
        sch.compute_at(part, row)
        if inside and part is partial[-1][0]:
            sch.compute_at(inside, row)
            outer, lane = sch.split(sch.get_loops(inside)[-1], [None, width])
            sch.vectorize(lane)
            sch.reverse_compute_at(part, outer)
            lane = sch.get_loops(part)[-1]
        else:
            lane, outer = sch.get_loops(part)[1:]
            sch.reorder(outer, lane)
        sch.vectorize(lane)
        if part is partial[-1][0]:
            sch.annotate(outer, "prefetch", int(sch.get(outer).extent))
        sch.decompose_reduction(part, outer)


def bias_gelu(sch: Any, machine: Machine) -> None:
    """One pass over the rows, in whole vectors."""
    sch.compute_inline("bias")
    row, column = sch.get_loops("gelu")
    _, lane = sch.split(column, [None, machine.lanes])
    sch.vectorize(lane)
    sch.parallel(row)
    sch.annotate(row, "streaming", 1)


def schedule(kind: str, params: dict[str, Any], sch: Any) -> bool:
    """Apply the schedule for a kind of kernel; False where there is none here."""
    machine = Machine()
    steps: dict[str, Callable[[], None]] = {
        "gemm": lambda: gemm(sch, machine, params["dtype"]),
        "dwconv": lambda: dwconv(sch, machine),
        "transpose": lambda: transpose(sch, machine),
        "softmax": lambda: rows(sch, machine, ["rowmax", "rowsum"], "norm", "exp"),
        "layernorm": lambda: rows(sch, machine, ["mean", "var"], "norm"),
        "bias_gelu": lambda: bias_gelu(sch, machine),
    }
    if kind not in steps:
        return False
    steps[kind]()
    return True

"""Copies of tiles to shared memory, shared out among the threads of a block."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Final, NamedTuple

from ...handles import LoopRV, SBlockRV
from ...schedule import Schedule
from ..program import extent, facts
from .runs import read_run

NEIGHBOURS: Final = 8
"""How many blocks of columns are computed one after the other for each block of rows."""


class Staged(NamedTuple):
    """An operand on its way: its copy to shared memory, that to registers, and how the first reads memory.

    `along` says that it reads rows or columns one after the other, not steps of the sum; `lanes` is how
    many of them a vector may have, `item` the bytes of an element.
    """

    copy: SBlockRV
    registers: SBlockRV
    along: bool
    lanes: int
    item: int


def stage(
    sch: Schedule, block: SBlockRV, copy: SBlockRV, outer: LoopRV, inner: LoopRV, shared: str, own: str
) -> Staged:
    """Bring an operand to shared memory in each iteration of one loop, to registers in each of another."""
    found = facts(sch, copy)
    x, _ = [v.var for v in found.block.iter_vars[-2:]]
    run = read_run(found)
    sch.set_scope(copy, 0, shared)
    sch.compute_at(copy, outer)
    buffer = facts(sch, copy).block.writes[0].buffer
    number = [r.buffer for r in facts(sch, block).block.reads].index(buffer)
    registers = sch.cache_read(block, number, own)
    sch.compute_at(registers, inner)
    return Staged(copy, registers, run.axis is x, run.lanes, buffer.dtype.bits // 8)


def bind_blocks(sch: Schedule, batch: Sequence[LoopRV], row: LoopRV, column: LoopRV) -> None:
    """Bind the loops over tiles to blocks: those that run at a time need few rows and columns of operands.

    Of loops whose extents are known at run time only, one counts slowest, so that nothing is divided by it;
    others have axes of their own.
    """
    count = extent(sch.get(column).extent)
    outer, inner = sch.split(column, [None, 1 if count is None else gcd(count, NEIGHBOURS)])
    loops = [*batch, outer, row, inner]
    known = [loop for loop in loops if extent(sch.get(loop).extent) is not None]
    unknown = [loop for loop in (row, outer, *batch) if loop not in known]
    sch.reorder(*unknown[:0:-1], *unknown[:1], *known)
    sch.bind(sch.fuse(*unknown[:1], *known), "blockIdx.x")
    for loop, axis in zip(unknown[1:], ("blockIdx.y", "blockIdx.z")):
        sch.bind(loop, axis)


def share_copy(sch: Schedule, copy: SBlockRV, inner: int, lanes: int, threads: tuple[int, int]) -> None:
    """Divide the innermost two loops of a copy among threads, each moving vectors of so many lanes at most.

    `inner` says which of the two runs fastest.
    """
    pair = sch.get_loops(copy)[-2:]
    height, width = [extent(sch.get(loop).extent) or 1 for loop in pair]
    lanes = gcd(lanes, height * width // (threads[0] * threads[1]))
    order = [pair[1 - inner], pair[inner]]
    sch.reorder(*order)
    parts = sch.split(sch.fuse(*order), [None, *threads, *[lanes] * (lanes > 1)])
    sch.bind(parts[1], "threadIdx.y")
    sch.bind(parts[2], "threadIdx.x")
    if lanes > 1:
        sch.vectorize(parts[3])


def pipeline(sch: Schedule, outer: LoopRV, stages: int) -> None:
    """Two copies of a loop run ahead of what uses them, as far as there is memory for so many iterations."""
    if stages == 1:
        return
    sch.annotate(outer, "software_pipeline_stage", [0, 0, stages - 1])
    sch.annotate(outer, "software_pipeline_order", [1, 2, 0])
    sch.annotate(outer, "software_pipeline_async_stages", [0])

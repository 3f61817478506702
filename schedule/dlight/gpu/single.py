"""A kernel for a block."""

from __future__ import annotations

from ...schedule import Schedule
from ..blocks import BlockInfo
from .common import BLOCKS, ROWS, THREADS, attempt_all, combines, loops_of, product
from .elementwise import spread
from .fallback import one_thread_each
from .general_reduction import along_rows
from .machine import GpuMachine

WARP = 32
FEW = 32
"""So many terms a thread adds up alone."""
MANY = 1 << 16
"""So many terms are more than the work of one block of threads."""
WIDTH = 256
TALL = 16
"""Threads that share the terms of results that lie side by side."""


def place(sch: Schedule, info: BlockInfo, machine: GpuMachine) -> str:
    """Run a normalised block in the way that suits it; says in a few words how.

    Threads share the terms of a long reduction; where there are few results blocks of threads do, and what
    these have is combined by another kernel.  Other blocks are written in vectors.
    """
    if info.is_injective:
        spread(sch, info, machine)
        return "a thread for each result or vector"
    results, terms = loops_of(info)
    count, depth = product(sch, results), product(sch, terms)
    if (
        info.is_reduction
        and combines(sch, info.rv)
        and machine.warp >= WARP
        and (depth is None or depth > FEW)
    ):
        inner = along_rows(sch, info)
        few = count is not None and count <= machine.cores // 2 and (depth is None or depth >= MANY)
        if few and inner and attempt_all(sch, _in_parts, sch, info, 2 * machine.cores, machine):
            return "blocks of threads share the terms of a result"
        if inner and attempt_all(sch, _by_threads, sch, info, machine):
            return "a block of threads for each result"
        if not inner and (count is None or count < 8 * machine.cores * WIDTH):
            if attempt_all(sch, _side_by_side, sch, info, machine):
                return f"{TALL} threads for each result"
    one_thread_each(sch, info, machine)
    return "a thread for each result or vector"


def _by_threads(sch: Schedule, info: BlockInfo, machine: GpuMachine) -> None:
    """The threads of a block combine the terms of one result."""
    results, terms = loops_of(info)
    sch.reorder(*results, *terms)
    sch.bind(sch.fuse(*results), BLOCKS)
    step, thread = sch.split(sch.fuse(*terms), [None, min(WIDTH, machine.threads)])
    sch.reorder(thread, step)
    sch.bind(thread, THREADS)


def _in_parts(sch: Schedule, info: BlockInfo, parts: int, machine: GpuMachine) -> None:
    """Blocks of threads combine parts of the terms of a result; then one block combines what these have."""
    results, terms = loops_of(info)
    sch.reorder(*results, *terms)
    sch.fuse(*results)
    threads = min(WIDTH, machine.threads)
    _, part, _ = sch.split(sch.fuse(*terms), [None, parts, threads])
    partial = sch.rfactor(part, 0)
    result, step, part, thread = sch.get_loops(partial)
    sch.reorder(result, part, thread, step)
    sch.bind(result, "blockIdx.y")
    sch.bind(part, BLOCKS)
    sch.bind(thread, THREADS)
    result, part = sch.get_loops(info.rv)
    step, thread = sch.split(part, [None, threads])
    sch.bind(result, BLOCKS)
    sch.reorder(thread, step)
    sch.bind(thread, THREADS)


def _side_by_side(sch: Schedule, info: BlockInfo, machine: GpuMachine) -> None:
    """A warp reads along results, and several warps share the terms of these."""
    results, terms = loops_of(info)
    sch.reorder(*results, *terms)
    grid, column = sch.split(sch.fuse(*results), [None, WARP])
    step, row = sch.split(sch.fuse(*terms), [None, min(TALL, machine.threads // WARP)])
    sch.reorder(grid, column, row, step)
    sch.bind(grid, BLOCKS)
    sch.bind(column, THREADS)
    sch.bind(row, ROWS)

"""Sums of rows or columns, with what computes their terms and what goes on with the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....ir import Add, BufferLoad, BufferStore, IntImm, SBlock, Var, structural_equal
from ....ir.arith import normalize_to_iter_sum
from ...handles import LoopRV, SBlockRV
from ...schedule import Schedule
from ..blocks import (
    Axis,
    BlockInfo,
    dominant_read,
    extent_of,
    inline_contiguous_spatial,
    is_broadcast_epilogue,
    normalize,
)
from ..rule import Taken
from .common import BLOCKS, ROWS, THREADS, unroll
from .machine import GpuMachine
from .threads import suggest_threads

TILE = 16
"""Threads in each direction where results lie side by side in what is read."""
UNROLL = 256
"""Loops of fewer statements are written out."""


class Sum(NamedTuple):
    """The loops of a sum in the order of what is read: over results, over terms, and within what is packed.

    `packed` is the axis that is read in groups of `width`, None where none is; `inner` says that the terms of
    a result lie side by side.
    """

    results: tuple[LoopRV, ...]
    terms: tuple[LoopRV, ...]
    group: LoopRV
    packed: Axis | None
    width: int
    inner: bool


def reduction(sch: Schedule, machine: GpuMachine) -> Taken | None:
    """Threads of a block share the terms of a sum and combine what they have.

    Where the terms of a result lie side by side, a block computes one result; otherwise tiles of results.

    before:
        for i, k in T.grid(512, 4096):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + A[vi, vk]
    """
    blocks = _blocks(sch)
    if blocks is None:
        return None
    block, epilogue = blocks
    found = _arrange(sch, block)
    if found is None:
        return None
    if found.inner:
        why = _one_result_each(sch, block, epilogue, found, machine)
    else:
        why = _tiles_of_results(sch, block, epilogue, found)
    done = (block.rv,) if epilogue is None else (block.rv, epilogue.rv)
    return Taken(done, why)


def _blocks(sch: Schedule) -> tuple[BlockInfo, BlockInfo | None] | None:
    """The sum that the function computes, and a block that goes on with it."""
    infos = normalize(sch)
    if not infos:
        return None
    infos = inline_contiguous_spatial(sch, infos)
    first, *rest = infos
    if len(rest) > 1 or any(not e.is_injective for e in rest) or not first.is_reduction:
        return None
    return (first, rest[0] if rest else None) if _is_sum(sch.get(first.rv)) else None


def _is_sum(block: SBlock) -> bool:
    store = block.body
    if not isinstance(store, BufferStore) or not isinstance(store.value, Add):
        return False
    own = BufferLoad(store.buffer, store.indices)
    return structural_equal(store.value.a, own) or structural_equal(store.value.b, own)


def _arrange(sch: Schedule, info: BlockInfo) -> Sum | None:
    """Bring the loops into the order in which the largest operand holds its elements; None where it is not
    read by each axis, once.
    """
    node = sch.get(info.rv)
    main = dominant_read(node)
    place = main.buffer.offset_of([r.min for r in main.region])[0]
    access = normalize_to_iter_sum(place, {v.var: v.dom for v in node.iter_vars})
    axes = {a.var: a for a in info.axes if a.size != 1}
    if not _is_zero(access.base) or not access.args:
        return None
    results: list[LoopRV] = []
    terms: list[LoopRV] = []
    group: LoopRV | None = None
    packed, count = None, 1
    for part in access.args:
        source = part.source.source
        axis = axes.pop(source, None) if isinstance(source, Var) else None
        if axis is None or not isinstance(part.lower_factor, IntImm):
            return None
        loop = axis.loop
        if part.lower_factor.value > 1:
            if group is not None:
                return None
            packed, count = axis, part.lower_factor.value
            loop, group = sch.split(loop, [None, count])
        (terms if axis.kind == "R" else results).append(loop)
        inner = axis.kind == "R"
    if axes or not terms:
        return None
    results += [a.loop for a in info.axes if a.size == 1]
    if group is None:
        group = sch.add_unit_loop(info.rv)
    sch.reorder(*results, *terms, group)
    return Sum(tuple(results), tuple(terms), group, packed, count, inner)


def _is_zero(e: object) -> bool:
    return isinstance(e, IntImm) and e.value == 0


def _one_result_each(
    sch: Schedule, info: BlockInfo, epilogue: BlockInfo | None, found: Sum, machine: GpuMachine
) -> str:
    block = info.rv
    sch.fuse(*found.results)
    terms = sch.fuse(*found.terms)
    (threads,) = suggest_threads(machine, [extent_of(sch, terms)])
    partial = sch.rfactor(sch.split(terms, [None, threads])[1], 0)
    grid, step, thread, group = sch.get_loops(partial)
    sch.bind(grid, BLOCKS)
    sch.bind(thread, THREADS)
    unroll(sch, thread, UNROLL)
    sch.reorder(grid, thread, step, group)
    sch.set_scope(partial, 0, "local")
    sch.decompose_reduction(partial, step)
    own, part, thread = _total(sch, info, grid, found)
    sch.reorder(own, thread, *part)
    sch.bind(thread, THREADS)
    if epilogue is not None and _spreads(sch, block, epilogue):
        rest = _finish(sch, block, epilogue.rv, grid, "shared")
        sch.bind(sch.split(sch.fuse(*rest), [None, threads])[1], THREADS)
    elif epilogue is not None:
        _finish(sch, block, epilogue.rv, grid, "local")
    return f"{threads} threads sum up each result"


def _tiles_of_results(sch: Schedule, info: BlockInfo, epilogue: BlockInfo | None, found: Sum) -> str:
    block = info.rv
    columns = _divisor(extent_of(sch, found.results[-1]))
    sch.split(sch.fuse(*found.results), [None, columns])
    partial = sch.rfactor(sch.split(sch.fuse(*found.terms), [None, TILE])[1], 0)
    grid, column, step, thread, group = sch.get_loops(partial)
    sch.bind(grid, BLOCKS)
    sch.bind(column, THREADS)
    sch.bind(thread, ROWS)
    sch.reorder(grid, column, thread, step, group)
    sch.set_scope(partial, 0, "local")
    sch.decompose_reduction(partial, step)
    own, part, thread = _total(sch, info, grid, found)
    sch.reorder(own, *part, thread)
    sch.bind(own, THREADS)
    sch.bind(thread, ROWS)
    if epilogue is not None and _spreads(sch, block, epilogue):
        rest = _finish(sch, block, epilogue.rv, grid, "shared")
        _, column, row = sch.split(sch.fuse(*rest), [None, columns, TILE])
        sch.bind(column, THREADS)
        sch.bind(row, ROWS)
    elif epilogue is not None:
        rest = _finish(sch, block, epilogue.rv, grid, "local")
        sch.bind(sch.split(sch.fuse(*rest), [columns, None])[0], THREADS)
    return f"{columns} by {TILE} threads sum up {columns} results side by side"


def _divisor(n: int | None) -> int:
    """The largest divisor up to the width of a tile; 1 for a number that is not known."""
    return 1 if n is None else max(k for k in range(1, TILE + 1) if n % k == 0)


def _total(sch: Schedule, info: BlockInfo, grid: LoopRV, found: Sum) -> tuple[LoopRV, list[LoopRV], LoopRV]:
    """Combine what the threads have within the grid's loop; gives the loops over results, over results that
    were packed together, and over threads.
    """
    sch.reverse_compute_at(info.rv, grid, preserve_unit_loops=True)
    thread, *own = _within(sch, info.rv, grid)
    part: list[LoopRV] = []
    if found.packed is not None and found.packed.kind == "S":
        at = [a for a in info.axes if a.kind == "S"].index(found.packed)
        own[at], low = sch.split(own[at], [None, found.width])
        part = [low]
        sch.reorder(*own, low)
    return sch.fuse(*own), part, thread


def _within(sch: Schedule, block: SBlockRV, at: LoopRV) -> Sequence[LoopRV]:
    loops = sch.get_loops(block)
    return loops[loops.index(at) + 1 :]


def _spreads(sch: Schedule, block: SBlockRV, epilogue: BlockInfo) -> bool:
    """Whether the results are used at several places each, or there is only one."""
    return is_broadcast_epilogue(sch, block, epilogue.rv) or all(a.size == 1 for a in epilogue.axes)


def _finish(sch: Schedule, block: SBlockRV, epilogue: SBlockRV, grid: LoopRV, scope: str) -> Sequence[LoopRV]:
    """Keep the results in this scope and go on with them within the grid's loop; gives the loops there."""
    sch.set_scope(block, 0, scope)
    sch.reverse_compute_at(epilogue, grid, preserve_unit_loops=True)
    return _within(sch, epilogue, grid)

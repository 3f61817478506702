"""Programs that work row by row: softmax, the normalisations, sums and extremes of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....ir import Expr, Var, structural_equal
from ....ir.arith import normalize_to_iter_sum
from ....ir.types import BufferType
from ...handles import LoopRV, SBlockRV
from ...schedule import Schedule
from ..blocks import Axis, BlockInfo, block_info, dominant_read, extent_of, normalize
from ..program import uses
from ..rule import Taken, root_blocks
from .common import BLOCKS, ROWS, THREADS, attempt, combines, unroll
from .elementwise import BYTES, vector_lanes
from .machine import GpuMachine

WARP = 32
SHORT = 1024
"""Rows up to this length are the work of one warp, which needs no barrier."""
LONG = 1 << 16
"""Few rows of this length are shared by blocks of threads: another rule does that."""
KEPT = 32
"""Registers in which a thread keeps its part of a row."""
UNROLL = 256


class Plan(NamedTuple):
    """How rows are shared out: threads a row, rows a block, neighbours that a thread takes at once.

    With `keeps` the threads have the whole row in registers.
    """

    threads: int
    rows: int = 1
    lanes: int = 1
    keeps: bool = False


def general_reduction(sch: Schedule, machine: GpuMachine) -> Taken | None:
    """All blocks that share rows run row by row; the threads of a block, or of a warp, share a row.

    A row that is read more than once is read once, in vectors, and kept in registers.

    before:
        for i, k in T.grid(64, 4096):
            with T.sblock("M"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    M[vi] = T.min_value("float32")
                M[vi] = T.max(M[vi], A[vi, vk])
        for i, j in T.grid(64, 4096):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] - M[vi]
    """
    infos = normalize(sch)
    sums = [b for b in infos or () if b.is_reduction]
    if not infos or not sums:
        return None
    depth = len(_spatial(sums[0]))
    if any(len(_spatial(b)) != depth or not along_rows(sch, b) or not combines(sch, b.rv) for b in sums):
        return None
    infos = _inlined(sch, infos, sums[0], depth)
    if not all(_shares_rows(b, infos[-1], depth) for b in infos) or not _is_fit(infos, depth, machine):
        return None
    plan = _plan(sch, infos, depth, machine)
    row = _rows_of(sch, infos[-1], depth, plan)
    copies = _kept_rows(sch, infos, plan) if plan.keeps else []
    for rv in reversed(root_blocks(sch)):
        if rv != infos[-1].rv:
            if rv not in copies:
                for k in range(len(sch.get(rv).writes)):
                    sch.set_scope(rv, k, "local")
            sch.compute_at(rv, row, preserve_unit_loops=True)
    for rv in root_blocks(sch):
        _share_row(sch, rv, row, plan, copies)
    who = "a warp works on each row" if plan.rows > 1 else f"{plan.threads} threads work on each row"
    return Taken(tuple([b.rv for b in infos]), who + (", which they keep in registers" if copies else ""))


def _spatial(info: BlockInfo) -> list[Axis]:
    return [a for a in info.axes if a.kind == "S"]


def along_rows(sch: Schedule, info: BlockInfo) -> bool:
    """Whether the terms of a result lie side by side in what is read most of."""
    node = sch.get(info.rv)
    if not node.reads:
        return False
    main = dominant_read(node)
    (place,) = main.buffer.offset_of([r.min for r in main.region])
    access = normalize_to_iter_sum(place, {v.var: v.dom for v in node.iter_vars})
    last = access.args[-1].source.source if access.args else None
    return any(a.var is last for a in info.axes if a.kind == "R")


def _inlined(sch: Schedule, infos: Sequence[BlockInfo], total: BlockInfo, depth: int) -> list[BlockInfo]:
    """What remains after blocks that compute elements went where these are read; one value a row stays."""
    left = []
    for info in infos:
        once = len(info.axes) == depth and _shares_rows(info, total, depth)
        if once or not info.is_injective or not attempt(sch.compute_inline, info.rv):
            left.append(info)
    return [block_info(sch, b.rv) for b in left]


def _shares_rows(info: BlockInfo, last: BlockInfo, depth: int) -> bool:
    """Whether the first independent axes are those of the last block, and the others run within a row."""
    own, others = _spatial(info)[:depth], _spatial(last)[:depth]
    same = len(own) == depth and all(structural_equal(a.extent, b.extent) for a, b in zip(own, others))
    return same and all(a.kind in "SR" for a in info.axes)


def _is_fit(infos: Sequence[BlockInfo], depth: int, machine: GpuMachine) -> bool:
    """Whether rows are long enough for threads to share them, and there are blocks of threads enough."""
    sizes = [_row_length(b, depth) for b in infos]
    rows = 1
    for a in _spatial(infos[-1])[:depth]:
        rows = 1 << 30 if a.size is None else rows * a.size
    only_sums = len(_spatial(infos[-1])) == depth
    if rows <= machine.cores // 4 and any(only_sums if n is None else n >= LONG for n in sizes):
        return False
    return any(n is None or n > WARP for n in sizes)


def _plan(sch: Schedule, infos: Sequence[BlockInfo], depth: int, machine: GpuMachine) -> Plan:
    sizes = {_row_length(b, depth) for b in infos} - {1}
    most = min(1024 if machine.is_cuda else 256, machine.threads)
    if None in sizes or not sizes:
        return Plan(min(256, most))
    longest = max(n for n in sizes if n is not None)
    inputs = _inputs(sch, infos)
    if len(sizes) == 1 and inputs and machine.warp >= WARP:
        lanes = min(BYTES * 8 // _bits(v) for v in inputs)
        while longest % lanes:
            lanes //= 2
        units = longest // lanes
        counts = (WARP,) if longest <= SHORT else (256, 512, 128, 1024)
        for threads in counts:
            if threads <= most and units % threads == 0 and units // threads * lanes <= KEPT:
                return Plan(threads, most // threads // 4 if threads == WARP else 1, lanes, keeps=True)
    if longest <= SHORT and machine.warp >= WARP:
        return Plan(WARP, most // WARP // 4)
    return Plan(min(256, most))


def _row_length(info: BlockInfo, depth: int) -> int | None:
    """How many elements of a row the block works on; None where that is known at run time only."""
    total = 1
    rest = [*_spatial(info)[depth:], *[a for a in info.axes if a.kind == "R"]]
    for a in rest:
        if a.size is None:
            return None
        total *= a.size
    return total


def _inputs(sch: Schedule, infos: Sequence[BlockInfo]) -> list[Var]:
    """What more than one block reads of, element by element, and none writes: as long as a row."""
    written = {w.buffer for b in infos for w in sch.get(b.rv).writes}
    read: dict[Var, int] = {}
    for info in infos:
        node = sch.get(info.rv)
        for r in node.reads:
            used = [a.var for a in info.axes if any(uses(x.min, a.var) for x in r.region)]
            if r.buffer not in written and len(used) == len([a for a in info.axes if a.size != 1]):
                read[r.buffer] = read.get(r.buffer, 0) + 1
    return [v for v, n in read.items() if n > 1]


def _bits(buffer: Var) -> int:
    assert isinstance(buffer.ty, BufferType)
    return max(8, buffer.ty.dtype.bits)


def _rows_of(sch: Schedule, last: BlockInfo, depth: int, plan: Plan) -> LoopRV:
    """The loop over rows: of the grid, or of the warps of a block."""
    outer = [a.loop for a in _spatial(last)[:depth]]
    sch.reorder(*outer, *[a.loop for a in last.axes if a.loop not in outer])
    row: LoopRV = sch.fuse(*outer)
    if plan.rows > 1:
        row, warp = sch.split(row, [None, plan.rows])
        sch.bind(warp, ROWS)
        sch.bind(row, BLOCKS)
        return warp
    sch.bind(row, BLOCKS)
    return row


def _kept_rows(sch: Schedule, infos: Sequence[BlockInfo], plan: Plan) -> list[SBlockRV]:
    """Copies of the inputs to registers, in the order in which threads hold their elements."""
    copies = []
    part = plan.threads * plan.lanes
    for buffer in _inputs(sch, infos):
        first = next(b for b in infos if any(r.buffer is buffer for r in sch.get(b.rv).reads))
        reads = sch.get(first.rv).reads
        at = [r.buffer for r in reads].index(buffer)
        terms = [a.var for a in first.axes if a.kind == "R"]
        along = [any(uses(r.min, v) for v in terms) for r in reads[at].region]
        dims = sum(along)
        if not all(along[len(along) - dims :]):
            continue
        shape = buffer.shape

        def by_threads(*index: Expr, dims: int = dims, shape: Sequence[Expr] = shape) -> list[Expr]:
            place = index[-dims]
            for i, n in zip(index[len(index) - dims + 1 :], shape[len(shape) - dims + 1 :]):
                place = place * n + i
            return [*index[:-dims], place // part, place % part // plan.lanes, place % plan.lanes]

        copy = sch.cache_read(first.rv, at, "local")
        sch.transform_layout(copy, ("write", 0), by_threads)
        copies.append(copy)
    return copies


def _share_row(sch: Schedule, rv: SBlockRV, row: LoopRV, plan: Plan, copies: Sequence[SBlockRV]) -> None:
    """Give the elements of the row, or the terms of the reduction, to the threads.

    What is done once a row each thread does for itself, but for the result, which one writes.
    """
    loops = sch.get_loops(rv)
    info = block_info(sch, rv)
    terms = [a.loop for a in info.axes if a.kind == "R"]
    wide = vector_lanes(sch, info) >= plan.lanes
    whole = sch.fuse(*(terms or loops[loops.index(row) + 1 :]))
    if not terms and extent_of(sch, whole) == 1 and sch.get_consumers(rv):
        return
    if plan.keeps and extent_of(sch, whole) != 1:
        step, thread, lane = sch.split(whole, [None, plan.threads, plan.lanes])
        sch.reorder(thread, step, lane)
        if rv in copies or wide and not terms and plan.lanes > 1:
            sch.vectorize(lane)
    else:
        step, thread = sch.split(whole, [None, plan.threads])
        sch.reorder(thread, step)
    sch.bind(thread, THREADS)
    unroll(sch, step, UNROLL)

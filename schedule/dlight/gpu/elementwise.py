"""Functions whose results do not depend on each other: vectors of results for each thread."""

from __future__ import annotations

from math import gcd

from ....ir import BufferLoad, BufferStore, Call, Expr, Range, const, walk
from ....ir.arith import Analyzer
from ....ir.op import Op
from ...handles import LoopRV
from ...schedule import Schedule
from ..blocks import BlockInfo, block_info, inline_all, normalize
from ..program import facts, uses
from ..rule import Taken
from .common import BLOCKS, THREADS, loops_of, product
from .machine import GpuMachine

BYTES = 16
"""The widest access of a thread."""
WIDTH = 256
"""Threads of a block: small blocks start and end at different times, so that memory is always busy."""
MANY = 1 << 22
"""From so many results on each thread computes two vectors: it waits for both at once."""


def elementwise(sch: Schedule, machine: GpuMachine) -> Taken | None:
    """Blocks without reductions: a thread reads, computes and writes up to 16 bytes side by side.

    That is where all arrays are read and written along the last axis, or do not depend on it; otherwise a
    thread computes one result.

    before:
        for i, j in T.grid(512, 512):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1.0
    after:
        for ax0_0_fused_0 in T.thread_binding(256, thread="blockIdx.x"):
            for ax0_0_fused_1 in T.thread_binding(256, thread="threadIdx.x"):
                for ax0_1 in T.vectorized(4):
                    with T.sblock("B"):
                        v0 = T.axis.spatial(262144, ax0_0_fused_0 * 1024 + ax0_0_fused_1 * 4 + ax0_1)
                        B[v0 // 512, v0 % 512] = A[v0 // 512, v0 % 512] + 1.0
    """
    blocks = normalize(sch)
    if not blocks or not all(b.is_injective for b in blocks):
        return None
    blocks = inline_all(sch, blocks)
    widths = [spread(sch, info, machine) for info in blocks]
    return Taken(tuple([b.rv for b in blocks]), f"a thread computes {max(widths)} results side by side")


def spread(sch: Schedule, info: BlockInfo, machine: GpuMachine) -> int:
    """Run a normalised block without reductions on a grid of threads; gives the width of its vectors."""
    info = _flat(sch, info)
    loops, _ = loops_of(info)
    lanes = vector_lanes(sch, info)
    threads = min(WIDTH, machine.threads)
    count = product(sch, loops)
    inner: list[LoopRV] = []
    if lanes > 1:
        outer, lane = sch.split(loops[-1], [None, lanes])
        loops = [*loops[:-1], outer]
        inner = [lane]
    whole = sch.fuse(*loops)
    if count is not None and count >= MANY:
        grid, step, thread = sch.split(whole, [None, 2, threads])
        sch.reorder(grid, thread, step, *inner)
        sch.unroll(step)
    else:
        grid, thread = sch.split(whole, [None, threads])
    sch.bind(grid, BLOCKS)
    sch.bind(thread, THREADS)
    for lane in inner:
        sch.vectorize(lane)
    return lanes


def _flat(sch: Schedule, info: BlockInfo) -> BlockInfo:
    """The block with one axis, where it runs through all arrays from end to end; else as it is."""
    found = facts(sch, info.rv)
    axes = info.axes
    if len(axes) < 2 or len({a.extent.dtype for a in axes}) > 1:
        return info
    flat: Expr = axes[0].var
    for a in axes[1:]:
        flat = flat * a.extent + a.var
    ana = _knowing(info)
    for access in found.accesses():
        place = _place(access, ana)
        if place is None or not ana.can_prove_equal(place, flat):
            return info

    def joined(*values: Expr) -> list[Expr]:
        whole = values[0]
        for a, v in zip(axes[1:], values[1:]):
            whole = whole * a.extent + v
        return [whole]

    sch.transform_block_layout(info.rv, joined)
    return block_info(sch, info.rv)


def vector_lanes(sch: Schedule, info: BlockInfo) -> int:
    """How many neighbours along the last axis a thread can take at once; 1 where arrays run otherwise.

    Vectors are aligned, and no row ends within one.
    """
    found = facts(sch, info.rv)
    body = found.block.body
    size = info.axes[-1].size if info.axes else None
    if not isinstance(body, BufferStore) or size is None or any(map(_chooses, walk(body))):
        return 1
    axis, ana = info.axes[-1].var, _knowing(info)
    lanes = size
    for access in found.accesses():
        place = _place(access, ana)
        if place is None:
            return 1
        if not uses(place, axis):
            continue
        rest = ana.simplify(place - axis) if place.ty is axis.ty else place
        if uses(rest, axis) or access.buffer.dtype.bits < 8:
            return 1
        start = ana.modular_set(rest)
        lanes = gcd(lanes, start.coeff, start.base, BYTES * 8 // access.buffer.dtype.bits)
    return lanes & -lanes


def _knowing(info: BlockInfo) -> Analyzer:
    ana = Analyzer()
    for a in info.axes:
        ana.bind(a.var, Range(const(0, a.extent.dtype), a.extent))
    return ana


def _place(access: BufferLoad | BufferStore, ana: Analyzer) -> Expr | None:
    """How many elements before this one the array holds; None for other accesses than of one element."""
    if not all(i.dtype.is_scalar for i in access.indices):
        return None
    (place,) = access.buffer.offset_of(list(access.indices))
    found: Expr = ana.simplify(place)
    return found


def _chooses(e: object) -> bool:
    """Whether a value is chosen among others, of which some may not be looked at."""
    return isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == "prim.if_then_else"

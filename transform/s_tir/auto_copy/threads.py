"""Copies between global and shared memory that all threads of a block make together."""

from __future__ import annotations

from typing import Final

from ....ir import BufferLoad, BufferStore, BufferType, Expr, For, SBlock, Stmt, Var, const, seq
from ....ir.arith import Analyzer
from ....ir.visitor import renew_definitions, substitute
from ...common import buffer_type
from .nest import Nest, Shared, Threads, address, extent_of, shared_among, step_of, unfused

GLOBAL: Final = ("", "global")
SHARED: Final = ("shared", "shared.dyn")


def by_threads(nest: Nest, threads: Threads) -> SBlock:
    """The copy shared among the threads, neighbours taking neighbours in global memory, in vectors."""
    loops = _in_memory_order(nest)
    extents = [extent_of(loop) for loop in loops]
    count = 1
    for extent in extents:
        count *= extent
    dtype = nest.loops[0].loop_var.dtype
    among = shared_among(threads, count, lanes_of(nest, extents[-1]), dtype)
    values = unfused(among.number, extents)
    store = substitute(nest.store, {loop.loop_var: v for loop, v in zip(loops, values, strict=True)})
    if nest.block.annotations.get("local_stage"):
        return _staged(nest, among, store)
    body = among.by_rounds(among.by_threads(among.inner(among.guarded(store))))
    return nest.block.replace(body=body)


def lanes_of(nest: Nest, innermost: int) -> int:
    """How many elements a thread takes at a time."""
    size = nest.block.annotations.get("vector_bytes")
    bits = buffer_type(nest.target).dtype.bits
    lanes = 1 if size is None else max(int(size) * 8 // bits, 1)
    while innermost % lanes:
        lanes //= 2
    return max(lanes, 1)


def _in_memory_order(nest: Nest) -> list[For]:
    """The loops, sorted by how far apart in global memory their iterations are."""
    target = nest.target
    if buffer_type(target).storage_scope in GLOBAL:
        place = address(target, nest.store.indices)
    else:
        loads = [n for n in nest.sources() if buffer_type(n.buffer).storage_scope in GLOBAL]
        place = address(loads[0].buffer, loads[0].indices) if loads else None
    ana = Analyzer()
    steps = [None if place is None else step_of(place, loop.loop_var, ana) for loop in nest.loops]
    if any(step is None for step in steps):
        return list(nest.loops)
    order = sorted(range(len(steps)), key=lambda k: -abs(steps[k] or 0))
    return [nest.loops[k] for k in order]


def _staged(nest: Nest, among: Shared, store: BufferStore) -> SBlock:
    """The copy in two: all that a thread loads goes to registers first."""
    shape = [const(n, among.lane.dtype) for n in (among.full, among.lanes)]
    ty = BufferType(store.value.dtype, shape, storage_scope="local")
    local = Var(f"{nest.target.name}_local", ty)
    at: tuple[Expr, ...] = (among.rounds, among.lane)

    def each(body: Stmt) -> Stmt:
        return among.by_rounds(among.inner(among.guarded(body)))

    load = renew_definitions(each(BufferStore(local, store.value, at)))
    put = each(store.replace(value=BufferLoad(local, at)))
    body = among.by_threads(seq([load, put]))
    return nest.block.replace(body=body, alloc_buffers=(*nest.block.alloc_buffers, local))

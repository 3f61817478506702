"""Large results that go past the caches."""

from __future__ import annotations

from ....ir import BufferLoad, ForKind, PrimFunc, Var, walk
from ....ir.types import BufferType
from ...handles import LoopRV, SBlockRV
from ...schedule import Schedule
from ..machine import Machine
from ..program import Facts, extent, facts, uses

LARGE = 16 << 20
"""Bytes of a result that is in no cache when the function is done."""
VECTORS = 2
"""Vectors that are computed side by side, since each waits for its operands."""


def stream(sch: Schedule, block: SBlockRV, machine: Machine, *, straight: bool = False) -> bool:
    """Write the result of the block in whole vectors that go past the caches; whether that pays.

    It does for a large result of the function that it does not read again, of which the innermost loop
    writes neighbours (of which it is known where `straight`: all arrays are run through from end to end).
    The loop is split into vectors where it is none yet.
    """
    found = facts(sch, block)
    if not is_large_result(sch, found) or not found.loops:
        return False
    loops: list[LoopRV] = sch.get_loops(block)
    inner = found.loops[-1]
    lanes = machine.lanes(found.block.writes[0].buffer.dtype.bits) * VECTORS
    if inner.kind is ForKind.SERIAL:
        length = extent(inner.extent)
        if length is None or length % lanes or not (straight or _runs_along(found, inner.loop_var)):
            return False
        rest, lane = sch.split(loops[-1], [None, lanes])
        sch.vectorize(lane)
        loops = [*loops[:-1], rest]
    elif inner.kind is not ForKind.VECTORIZED or len(loops) < 2:
        return False
    sch.annotate(loops[0], "streaming", 1)
    return True


def is_large_result(sch: Schedule, found: Facts) -> bool:
    """Whether the block writes a large result of the function, which the function does not read."""
    assert sch.func_working_on is not None
    func = sch.mod[sch.func_working_on]
    assert isinstance(func, PrimFunc)
    if found.is_reduction or len(found.block.writes) != 1:
        return False
    buffer = found.block.writes[0].buffer
    if buffer not in func.params:
        return False
    size = _bytes(buffer.ty)
    return size is not None and size >= LARGE and not _is_read(func, buffer)


def _is_read(func: PrimFunc, buffer: Var) -> bool:
    return any(isinstance(n, BufferLoad) and n.buffer is buffer for n in walk(func.body))


def _bytes(ty: object) -> int | None:
    assert isinstance(ty, BufferType)
    total = ty.dtype.bits // 8
    for size in ty.shape:
        n = extent(size)
        if n is None:
            return None
        total *= n
    return total


def _runs_along(found: Facts, loop_var: Var) -> bool:
    """Whether the loop's variable moves the last index of the store only, by one."""
    store = found.store
    if store is None or not store.indices:
        return False
    axes = {
        iv.var
        for iv, value in zip(found.block.iter_vars, found.realize.iter_values)
        if value is not None and uses(value, loop_var)
    }
    return all(axes.isdisjoint(walk(i)) for i in store.indices[:-1]) and store.indices[-1] in axes

"""The root mean square norm: rows that are squared, summed up and scaled."""

from __future__ import annotations

from ....ir import BufferLoad, BufferStore, Call, Cast, Expr, Mul, structural_equal, walk
from ....ir.op import Op
from ...handles import LoopRV
from ...schedule import Schedule
from ..blocks import has_root
from ..program import Facts, facts
from ..rule import Taken, root_blocks
from .common import BLOCKS, THREADS, attempt
from .machine import GpuMachine

LANES = 8
"""Elements that a thread reads side by side."""
_THREADS = {"cuda": 512, "cuda-sim": 512, "rocm": 256, "opencl": 256}


def rms_norm(sch: Schedule, machine: GpuMachine) -> Taken | None:
    """A block of threads for each row, which it reads once and keeps in registers.

    before:
        for i, j in T.grid(64, 1024):
            with T.sblock("square"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i, j in T.grid(64, 1024):
            with T.sblock("sum"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    S[vi] = 0.0
                S[vi] = S[vi] + B[vi, vj]
        for i in range(64):
            with T.sblock("scale"):
                vi = T.axis.spatial(64, i)
                R[vi] = T.rsqrt(S[vi] * 0.0009765625 + 1e-05)
        for i, j in T.grid(64, 1024):
            with T.sblock("norm"):
                vi, vj = T.axis.remap("SS", [i, j])
                N[vi, vj] = R[vi] * A[vi, vj] * W[vj]
        for i, j in T.grid(64, 1024):
            with T.sblock("result"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = N[vi, vj]
    """
    for rv in root_blocks(sch) if has_root(sch) else ():
        if _moved(facts(sch, rv)) is not None:
            attempt(sch.compute_inline, rv)
    blocks = root_blocks(sch) if has_root(sch) else []
    if len(blocks) != 5 or not _is_norm(*[facts(sch, rv) for rv in blocks]):
        return None
    square, total, scale, norm, result = blocks
    threads = min(_THREADS.get(machine.kind, 64), machine.threads)
    row = sch.cache_read(square, 0, "local")
    written = sch.cache_write(result, 0, "local")
    sch.compute_inline(result)
    for rv, scope in ((square, "local"), (total, "local"), (scale, "shared"), (norm, "local")):
        sch.set_scope(rv, 0, scope)
    *outer, inner = sch.get_loops(row)
    grid = sch.fuse(*outer)
    sch.bind(grid, BLOCKS)
    thread = _shared_out(sch, inner, threads, vector=True)
    for rv in (square, total):
        sch.reverse_compute_at(rv, thread)
    sch.reverse_compute_at(scale, grid)
    sch.reverse_compute_at(norm, grid)
    thread = _shared_out(sch, sch.get_loops(norm)[-1], threads)
    sch.reverse_compute_at(written, thread)
    sch.vectorize(sch.get_loops(written)[-1])
    return Taken((square, total, scale, norm, result), f"{threads} threads keep a row in registers")


def _shared_out(sch: Schedule, loop: LoopRV, threads: int, vector: bool = False) -> LoopRV:
    """Give parts of the loop to threads, in order; the loop over these."""
    thread, _, lane = sch.split(loop, [threads, None, LANES])
    sch.bind(thread, THREADS)
    if vector:
        sch.vectorize(lane)
    return thread


def _is_norm(square: Facts, total: Facts, scale: Facts, norm: Facts, result: Facts) -> bool:
    """Whether these blocks square elements, sum them up by rows, and scale the elements."""
    value = None if square.store is None else square.store.value
    if not isinstance(value, Mul) or not structural_equal(value.a, value.b):
        return False
    return (
        total.is_reduction
        and len(total.reduced) == 1
        and not any(f.reduced for f in (square, scale, norm, result))
        and _has_root(scale)
        and _moved(result) is not None
    )


def _has_root(found: Facts) -> bool:
    calls = [n for n in walk(found.block.body) if isinstance(n, Call) and isinstance(n.op, Op)]
    return any(c.op.name == "tirx.rsqrt" for c in calls)  # type: ignore[union-attr]


def _moved(found: Facts) -> Expr | None:
    """The element that the block only moves or casts; None where it does more."""
    store = found.block.body
    value = store.value if isinstance(store, BufferStore) else None
    while isinstance(value, Cast):
        value = value.value
    return value if isinstance(value, BufferLoad) else None

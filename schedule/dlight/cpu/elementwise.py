"""Blocks whose iterations are all independent: threads outside, a long loop inside."""

from __future__ import annotations

from ....ir import BufferLoad, BufferStore, Var
from ....ir.visitor import Visitor
from ...handles import LoopRV, SBlockRV
from ...schedule import Schedule
from ..machine import Machine
from ..program import Facts, extent, facts, is_plain
from ..rule import Taken
from .stream import stream

SMALL = 1 << 15
"""Fewer operations than this are done before a second thread has woken up."""
CHUNKS = 4
"""Chunks for each core, so that a core that is held up does not hold up the rest."""


def elementwise(sch: Schedule, block: SBlockRV, machine: Machine) -> Taken | None:
    """The outer loops run in parallel; the innermost stays a plain loop, which becomes vectors.

    Loops over arrays that all have the loops' shape are one loop.  Large results go past the caches.

    before:
        for i, j in T.grid(512, 512):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1.0
    after:
        for i_j_fused_0 in T.parallel(8):
            for i_j_fused_1 in range(32768):
                with T.sblock("B"):
                    vi = T.axis.spatial(512, (i_j_fused_0 * 32768 + i_j_fused_1) // 512)
                    vj = T.axis.spatial(512, (i_j_fused_0 * 32768 + i_j_fused_1) % 512)
                    B[vi, vj] = A[vi, vj] + 1.0
    """
    found = facts(sch, block)
    if found.reduced or not found.loops or not is_plain(sch, found):
        return None
    loops: list[LoopRV] = sch.get_loops(block)
    straight = _runs_straight(found)
    if straight and len(loops) > 1:
        loops = [sch.fuse(*loops)]
    spread(sch, loops, machine)
    stream(sch, block, machine, straight=straight)
    return Taken((block,), "its iterations are independent")


def spread(sch: Schedule, loops: list[LoopRV], machine: Machine) -> None:
    """Divide independent loops, outer ones first, among the cores; the last one, or a part, stays inside.

    Of a number of iterations that is known at run time only, chunks have a fixed length: few iterations
    are one chunk, for which no thread is woken.
    """
    if machine.cores < 2 or not loops or (count := _work(sch, loops)) is not None and count < SMALL:
        return
    outer = loops[0]
    if len(loops) > 1:
        sch.parallel(sch.fuse(*loops[:-1]) if len(loops) > 2 else outer)
        return
    total = extent(sch.get(outer).extent)
    if total is None:
        parts, _ = sch.split(outer, [None, SMALL // 4])
    else:
        parts, _ = sch.split(outer, [max(1, min(machine.cores * CHUNKS, total // (SMALL // 8))), None])
    sch.parallel(parts)


def _work(sch: Schedule, loops: list[LoopRV]) -> int | None:
    """The number of iterations; None where a size is known at run time only."""
    total = 1
    for loop in loops:
        n = extent(sch.get(loop).extent)
        if n is None:
            return None
        total *= n
    return total


def _runs_straight(found: Facts) -> bool:
    """Whether all arrays are run through from first to last element as the loops are, and nothing else
    depends on the place.
    """
    axes = [found.axis_of(loop.loop_var) for loop in found.loops]
    if any(a is None for a in axes):
        return False
    return all(_is_identity(access, axes) for access in found.accesses()) and not _Outside(axes).used_in(
        found
    )


class _Outside(Visitor):
    """Looks for axes that are used elsewhere than as indices."""

    def __init__(self, axes: list[Var | None]) -> None:
        self.axes = axes
        self.found = False

    def used_in(self, found: Facts) -> bool:
        """Whether one of the axes is."""
        self.visit(found.block.body)
        return self.found

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        """Indices are where axes belong."""

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        """The value may use axes, the indices are where they belong."""
        self.visit(stmt.value)

    def visit_Var(self, var: Var) -> None:
        """Note a use."""
        self.found = self.found or any(var is a for a in self.axes)


def _is_identity(access: BufferLoad | BufferStore, axes: list[Var | None]) -> bool:
    shape = access.buffer.ty.shape  # type: ignore[attr-defined]
    return len(access.indices) == len(axes) == len(shape) and all(
        i is a for i, a in zip(access.indices, axes)
    )

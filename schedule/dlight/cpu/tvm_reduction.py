"""TVM's schedule of chains of reductions on processors, such as softmax, for those who ask for it by name."""

from __future__ import annotations

from typing import Final

from ....ir import structural_equal
from ...handles import LoopRV
from ...schedule import Schedule
from ..blocks import BlockInfo, extent_of, normalize
from ..rule import Taken

PART: Final = 16
"""Iterations that are unrolled, or lanes of a vector."""


def tvm_reduction(sch: Schedule) -> Taken | None:
    """Rows run in parallel, each through all blocks in turn; blocks without a reduction by vectors.

    None for a function that has no reduction, or ends with one.
    """
    infos = normalize(sch)
    if infos is None or len(infos) < 2:
        return None
    if not infos[-1].is_injective or not any(b.is_reduction for b in infos):
        return None
    *others, last = infos
    shared = _shared_axes(infos)
    if shared:
        row = sch.fuse(*[a.loop for a in last.axes[:shared]])
        sch.parallel(row)
        for block in reversed(others):
            sch.compute_at(block.rv, row, preserve_unit_loops=True)
    for block in infos:
        loops = sch.get_loops(block.rv)
        if len(loops) > (1 if shared else 0):
            _innermost(sch, block, loops[-1])
    return Taken(tuple([b.rv for b in infos]), "a chain of reductions, in the manner of TVM")


def _shared_axes(infos: list[BlockInfo]) -> int:
    """How many leading spatial axes of more than one value are the same in all blocks."""
    count = 0
    for axes in zip(*[b.axes for b in infos]):
        same = all(a.kind == "S" and structural_equal(a.extent, axes[0].extent) for a in axes)
        if not same or axes[0].size == 1:
            break
        count += 1
    return count


def _innermost(sch: Schedule, block: BlockInfo, loop: LoopRV) -> None:
    """The loop in parts: by vectors, or unrolled for a reduction."""
    size = extent_of(sch, loop)
    if size is None or size > PART:
        _, loop = sch.split(loop, [None, PART])
        if block.is_reduction:
            sch.annotate(loop, "pragma_auto_unroll_max_step", PART)
            sch.annotate(loop, "pragma_unroll_explicit", 1)
    if block.is_injective:
        sch.vectorize(loop)

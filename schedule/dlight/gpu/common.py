"""What the rules for GPUs share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....errors import ScheduleError
from ....ir import PrimFunc
from ...handles import LoopRV, SBlockRV
from ...reducers import reduction_of
from ...refusal import Refused
from ...schedule import Schedule
from ..blocks import BlockInfo, extent_of

BLOCKS, THREADS, ROWS = "blockIdx.x", "threadIdx.x", "threadIdx.y"


def function_of(sch: Schedule) -> PrimFunc:
    """The function that the schedule works on."""
    assert sch.func_working_on is not None
    func = sch.mod[sch.func_working_on]
    assert isinstance(func, PrimFunc)
    return func


def attempt(step: Callable[..., Any], *args: Any) -> bool:
    """Whether the step was accepted; where it was refused nothing has happened."""
    try:
        step(*args)
    except ScheduleError:
        return False
    return True


def attempt_all(sch: Schedule, steps: Callable[..., Any], *args: Any) -> bool:
    """Whether all steps of a function were accepted; where one was refused nothing has happened."""
    saved, count = sch.state, len(sch.trace)
    try:
        steps(*args)
    except ScheduleError:
        sch.state = saved
        while len(sch.trace) > count:
            sch.trace.pop()
        return False
    return True


def combines(sch: Schedule, rv: SBlockRV) -> bool:
    """Whether a reduction combines values by a reducer that is known, so that threads can share it."""
    try:
        reduction_of(sch.get(rv))
    except Refused:
        return False
    return True


def loops_of(info: BlockInfo) -> tuple[list[LoopRV], list[LoopRV]]:
    """The loops of a normalised block: those of its independent axes, and the others."""
    spatial = [a.loop for a in info.axes if a.kind == "S"]
    return spatial, [a.loop for a in info.axes if a.kind != "S"]


def bind_flat(sch: Schedule, loops: Sequence[LoopRV], threads: int) -> tuple[LoopRV, LoopRV]:
    """Run the iterations of loops that stand in one another by blocks of so many threads."""
    outer, inner = sch.split(sch.fuse(*loops), [None, threads])
    sch.bind(outer, BLOCKS)
    sch.bind(inner, THREADS)
    return outer, inner


def bind_alone(sch: Schedule, at: SBlockRV | LoopRV) -> None:
    """Run what stands here in a grid of one thread."""
    sch.bind(sch.add_unit_loop(at), THREADS)
    sch.bind(sch.add_unit_loop(at), BLOCKS)


def unroll(sch: Schedule, loop: LoopRV, steps: int) -> None:
    """Write out the loops below where they have fewer statements than that."""
    sch.annotate(loop, "pragma_auto_unroll_max_step", steps)
    sch.annotate(loop, "pragma_unroll_explicit", 1)


def product(sch: Schedule, loops: Sequence[LoopRV]) -> int | None:
    """The iterations of loops that stand in one another; None where that is known at run time only."""
    total = 1
    for loop in loops:
        n = extent_of(sch, loop)
        if n is None:
            return None
        total *= n
    return total


__all__ = [
    "BLOCKS",
    "ROWS",
    "THREADS",
    "attempt",
    "attempt_all",
    "bind_alone",
    "bind_flat",
    "combines",
    "function_of",
    "loops_of",
    "product",
    "unroll",
]

"""The laws of schedules as one check: a sequence of steps keeps results, handles and the trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ScheduleError
from ..ir import PrimFunc, explain_difference, structural_equal
from ..schedule import LoopRV, SBlockRV, Schedule, Trace, replay
from .results import assert_same_results
from .roundtrip import assert_roundtrip

Step = Callable[[Any, Schedule], None]


def check_sequence(
    func: PrimFunc, steps: Sequence[Step], draw: Any, counts: Counter[tuple[str, bool]] | None = None
) -> Schedule:
    """Run the steps on a schedule of `func` and check every law; gives the schedule.

    A refused step changes nothing.  After each step every handle ever given out stands in one place
    or says which step consumed it.  At the end the program computes what it did, is well formed,
    round-trips as script, and its trace comes back from text and JSON and replays.  `counts` gets
    how often each step was accepted and refused.  Raises AssertionError.
    """
    sch = Schedule(func, seed=1, debug_mask="all", error_render_level="fast")
    handles: list[Any] = []
    for step in steps:
        before, count = sch.mod, len(sch.trace)
        accepted = True
        try:
            step(draw, sch)
        except ScheduleError:
            accepted = False
            assert sch.mod is before, "a refused step changed the program"
        if counts is not None:
            counts[step.__name__.removeprefix("_"), accepted] += 1
        for inst in sch.trace.insts[count:]:
            handles += [o for o in inst.outputs if isinstance(o, LoopRV | SBlockRV)]
        for handle in handles:
            check_handle(sch, handle)
    assert_same_results(func, sch.mod["main"])  # type: ignore[arg-type]
    assert_roundtrip(sch.mod)
    check_trace(sch, func)
    return sch


def check_handle(sch: Schedule, handle: LoopRV | SBlockRV) -> None:
    """The handle stands in exactly one place, or says which step consumed it."""
    if isinstance(handle.target, str):
        return
    try:
        node = sch.get(handle)
    except ScheduleError as err:
        assert err.code == "stale-handle" and "consumed it" in str(err), str(err)
    else:
        assert node is not None


def check_trace(sch: Schedule, func: PrimFunc) -> None:
    """The trace comes back from its text and its JSON, and replays to the same program, simplified too."""
    text = str(sch.trace)
    assert str(Trace.from_python(text)) == text
    back = Trace.from_json(sch.trace.as_json())
    assert str(back) == text
    for trace in (back, sch.trace.simplified(False)):
        again = replay(trace, func, error_render_level="fast").mod
        assert structural_equal(again, sch.mod), explain_difference(again, sch.mod)

"""Any sequence of accepted primitives keeps the program's results, and every handle its meaning."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.errors import ScheduleError
from loopwright.ir import explain_difference, structural_equal
from loopwright.schedule import LoopRV, SBlockRV, Schedule, Trace, replay
from loopwright.testing.results import assert_same_results
from loopwright.testing.roundtrip import assert_roundtrip
from loopwright.testing.strategies.scheduled import programs
from loopwright.testing.strategies.steps import steps


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), programs())
def test_accepted_steps_keep_results(data: Any, func: Any) -> None:
    sch = Schedule(func, seed=1, debug_mask="all", error_render_level="fast")
    handles: list[Any] = []
    for step in data.draw(st.lists(steps(), max_size=6)):
        before, count = sch.mod, len(sch.trace)
        try:
            step(data.draw, sch)
        except ScheduleError:
            assert sch.mod is before
        for inst in sch.trace.insts[count:]:
            handles += [o for o in inst.outputs if isinstance(o, LoopRV | SBlockRV)]
        for handle in handles:
            check_handle(sch, handle)
    assert_same_results(func, sch.mod["main"])
    assert_roundtrip(sch.mod)
    check_trace(sch, func)


def check_handle(sch: Schedule, handle: Any) -> None:
    """It stands in exactly one place, or says which step consumed it."""
    try:
        node = sch.get(handle)
    except ScheduleError as err:
        assert err.code == "stale-handle" and "consumed it" in str(err)
    else:
        assert node is not None


def check_trace(sch: Schedule, func: Any) -> None:
    text = str(sch.trace)
    assert str(Trace.from_python(text)) == text
    back = Trace.from_json(sch.trace.as_json())
    assert str(back) == text
    for trace in (back, sch.trace.simplified(False)):
        again = replay(trace, func, error_render_level="fast").mod
        assert structural_equal(again, sch.mod), explain_difference(again, sch.mod)

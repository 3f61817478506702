"""Compiled code of scheduled programs: parallel, vectorised, unrolled, tensorised, and everything else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import loopwright
from loopwright.errors import ScheduleError
from loopwright.testing.results import assert_same_results, copies, sample_arguments
from loopwright.testing.strategies.sequences import sequences

# Threads of a GPU do not run here; the others change what is computed by design.
LEFT_OUT = ("bind", "unsafe_set_dtype", "unsafe_hide_buffer_access")


def scheduled(func: Any, steps: Any, draw: Any) -> loopwright.Schedule:
    """The program after those of the steps that are accepted."""
    sch = loopwright.Schedule(func, seed=1, error_render_level="none")
    for step in steps:
        if step.primitive not in LEFT_OUT:
            try:
                step(draw, sch)
            except ScheduleError:
                continue
    return sch


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(sequences(), st.data())
def test_machine_code_computes_what_the_source_says(sequence: Any, data: st.DataObject) -> None:
    func, steps = sequence
    sch = scheduled(func, steps, data.draw)
    arguments = sample_arguments(func, 1)
    assert_same_results(func, loopwright.build(sch.mod)["main"], *copies(arguments))


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(sequences())
def test_default_schedules_compute_what_the_source_says(sequence: Any) -> None:
    func, _ = sequence
    arguments = sample_arguments(func, 1)
    assert_same_results(func, loopwright.build(func)["main"], *copies(arguments))

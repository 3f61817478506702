"""Any sequence of accepted primitives keeps the program's results, and every handle its meaning."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from loopwright.schedule.registry import PRIMITIVES
from loopwright.testing.schedule_machine import ScheduleMachine
from loopwright.testing.schedules import check_sequence
from loopwright.testing.strategies.all_steps import STEPS
from loopwright.testing.strategies.sequences import sequences

FEW = settings(max_examples=6, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck))


def test_every_primitive_has_a_step() -> None:
    assert {s.primitive for s in STEPS.values()} == set(PRIMITIVES)


def test_machine_of_primitives() -> None:
    run_state_machine_as_test(ScheduleMachine, settings=FEW)  # type: ignore[no-untyped-call]


@pytest.mark.slow
def test_long_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    """LOOPWRIGHT_SEQUENCES says how many, new ones each time; prints how often each option was accepted.

    Refusing everything does not pass: half of them have at least five accepted steps, and among 5,000 each
    primitive with each option is accepted at least 50 times.
    """
    number = int(os.environ.get("LOOPWRIGHT_SEQUENCES", "0"))
    counts: Counter[tuple[str, bool]] = Counter()
    lengths: Counter[int] = Counter()

    @settings(
        FEW,
        max_examples=number or 12,
        derandomize=not number,
        database=None,
        phases=(Phase.generate, Phase.shrink),
    )
    @given(sequences(), st.data())
    def run(sequence: Any, data: Any) -> None:
        func, steps = sequence
        lengths[check_sequence(func, steps, data.draw, counts)] += 1

    try:
        run()
    finally:
        if number:
            with capsys.disabled():
                print(report(counts, lengths))
    assert share(lengths) >= 0.5
    if number >= 5000:
        assert [name for name in STEPS if counts[name, True] < 50] == []


def share(lengths: Counter[int]) -> float:
    """The share of sequences with five accepted steps or more."""
    return sum([n for length, n in lengths.items() if length >= 5]) / max(1, lengths.total())


def report(counts: Counter[tuple[str, bool]], lengths: Counter[int]) -> str:
    """A line on the lengths and one for each step."""
    rows = [f"{lengths.total()} sequences, {share(lengths):.0%} with 5 or more accepted steps"]
    for name in sorted(STEPS):
        rows.append(f"{name:34} accepted {counts[name, True]:6} refused {counts[name, False]:6}")
    return "\n".join(["", *rows])

"""Any sequence of accepted primitives keeps the program's results, and every handle its meaning."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.testing.schedules import check_sequence
from loopwright.testing.strategies.all_steps import STEPS, steps
from loopwright.testing.strategies.scheduled import programs


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), programs())
def test_accepted_steps_keep_results(data: Any, func: Any) -> None:
    check_sequence(func, data.draw(st.lists(steps(), max_size=6)), data.draw)


@pytest.mark.slow
def test_many_long_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    """LOOPWRIGHT_SEQUENCES says how many (5,000 for the thorough run); prints acceptance by primitive."""
    number = int(os.environ.get("LOOPWRIGHT_SEQUENCES", "200"))
    counts: Counter[tuple[str, bool]] = Counter()

    @settings(max_examples=number, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data(), programs())
    def run(data: Any, func: Any) -> None:
        check_sequence(func, data.draw(st.lists(steps(), min_size=6, max_size=12)), data.draw, counts)

    run()
    with capsys.disabled():
        for name in sorted(STEPS):
            print(f"{name:28} accepted {counts[name, True]:6} refused {counts[name, False]:6}")
    if number >= 5000:
        rare = [name for name in STEPS if counts[name, True] < 50]
        assert not rare

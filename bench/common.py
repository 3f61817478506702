"""Timing and output shared by the benchmarks: processor time, several repeats, one row per figure."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Row:
    """One figure: what was measured, in which unit, and the goal it is held against (None: no goal)."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    higher_is_better: bool = False
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without one."""
        if self.goal is None:
            return None
        return self.value >= self.goal if self.higher_is_better else self.value <= self.goal


def seconds(run: Callable[[], object], repeat: int = 5) -> float:
    """The median processor time of `run` over several repeats, after one that is not counted."""
    run()
    times = []
    for _ in range(repeat):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


def nanoseconds_per_call(call: Callable[[], object], rounds: int = 15, number: int = 20_000) -> float:
    """The median over rounds of the processor time of one call, the loop's own cost taken off."""

    def loop(body: Callable[[], object]) -> float:
        start = time.process_time()
        for _ in range(number):
            body()
        return (time.process_time() - start) / number * 1e9

    loop(call)
    empty = statistics.median(loop(_nothing) for _ in range(3))
    return statistics.median(loop(call) for _ in range(rounds)) - empty


def _nothing() -> None:
    pass


def show(rows: list[Row], as_json: bool) -> None:
    """Print the rows as a table, or as JSON lines."""
    if as_json:
        for row in rows:
            print(json.dumps({**asdict(row), "met": row.met}))
        return
    width = max(len(r.name) for r in rows)
    for r in rows:
        sign = ">=" if r.higher_is_better else "<="
        goal = "" if r.goal is None else f"goal {sign} {r.goal:g} {r.unit}: {'met' if r.met else 'MISSED'}"
        print(f"{r.name:{width}}  {r.value:12,.1f} {r.unit:8} {goal}{'  ' + r.note if r.note else ''}")

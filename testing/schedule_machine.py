"""A state machine whose rules are the primitives of schedules, each with each of its options."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from ..ir import PrimFunc
from .schedules import Sequenced
from .strategies.all_steps import STEPS, Step
from .strategies.scheduled import programs


class ScheduleMachine(RuleBasedStateMachine):
    """Schedules a small program; the laws hold throughout."""

    def __init__(self) -> None:
        super().__init__()
        self.run: Sequenced | None = None

    @initialize(func=programs())
    def start(self, func: PrimFunc) -> None:
        """Take a program."""
        self.run = Sequenced(func)

    def teardown(self) -> None:
        """Check what holds at the end of each sequence."""
        if self.run is not None and not self.run.failed:
            self.run.finish()


def _rule(step: Step) -> Any:
    def take(self: ScheduleMachine, data: Any) -> None:
        assert self.run is not None
        self.run.attempt(step, data.draw)

    take.__name__ = step.name.replace("[", "_").removesuffix("]")
    return rule(data=st.data())(take)


for _step in STEPS.values():
    _method = _rule(_step)
    setattr(ScheduleMachine, _method.__name__, _method)

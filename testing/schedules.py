"""The laws of schedules as checks: a sequence of steps keeps results, handles and the trace."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import ScheduleError
from ..ir import PrimFunc, explain_difference, structural_equal
from ..schedule import LoopRV, SBlockRV, Schedule, Trace, replay
from .results import assert_same_results, sample_arguments
from .roundtrip import assert_roundtrip
from .strategies.steps import Draw, Step

FOLDER = "LOOPWRIGHT_COUNTEREXAMPLES"
"""The environment variable that names the folder in which counterexamples are kept."""
TRIES = 3
"""How often a step looks for arguments that are accepted."""
SEEDS = range(3)
"""Seeds of the arguments with which programs of symbolic sizes are compared."""


class Sequenced:
    """A schedule of a function on which steps are tried one by one, and every law is checked.

    A refused step changes nothing.  After each step every handle ever given out stands in one place
    or says which step consumed it.  In the end (`finish`) the program computes what it did, is well
    formed, round-trips as script, and its trace comes back from text and JSON and replays.  What does
    not hold raises AssertionError; the program and the trace so far are noted in it.  After a step that is
    `last` there are no more.
    """

    def __init__(self, func: PrimFunc, counts: Counter[tuple[str, bool]] | None = None) -> None:
        self.func = func
        self.sch = Schedule(func, seed=1, debug_mask="all", error_render_level="fast")
        self.handles: list[LoopRV | SBlockRV] = []
        self.counts: Counter[tuple[str, bool]] = Counter() if counts is None else counts
        self.accepted = 0
        self.ended = self.failed = False

    def attempt(self, step: Step, draw: Draw) -> None:
        """Try the step until it is accepted, a few times."""
        for _ in range(TRIES):
            if self.ended or self._attempt(step, draw):
                break

    def _attempt(self, step: Step, draw: Draw) -> bool:
        before, count = self.sch.mod, len(self.sch.trace)
        try:
            step(draw, self.sch)
            taken = True
        except ScheduleError:
            taken = False
        except Exception as err:
            self._explain(err, f"`{step.name}` failed after these steps")
            raise
        self.counts[step.name, taken] += 1
        self.accepted += taken
        self.ended = taken and step.last
        try:
            assert taken or self.sch.mod is before, "a refused step changed the program"
            for inst in self.sch.trace.insts[count:]:
                self.handles += [o for o in inst.outputs if isinstance(o, LoopRV | SBlockRV)]
            for handle in self.handles:
                check_handle(self.sch, handle)
        except Exception as err:
            self._explain(err, f"after `{step.name}`")
            raise
        return taken

    def finish(self) -> None:
        """Check what holds at the end of a sequence."""
        try:
            for seed in SEEDS if any(_is_symbolic(p) for p in self.func.params) else SEEDS[:1]:
                after: Any = self.sch.mod["main"]
                assert_same_results(self.func, after, *sample_arguments(self.func, seed))
            assert_roundtrip(self.sch.mod)
            check_trace(self.sch, self.func)
        except Exception as err:
            self._explain(err, "after all steps")
            raise

    def _explain(self, err: Exception, when: str) -> None:
        """Note a script that shows the failure in the exception, and keep it in the folder."""
        text = counterexample(self.func, self.sch, f"{when}: {type(err).__name__}: {err}")
        err.add_note(text)
        self.failed = True
        folder = os.environ.get(FOLDER)
        if folder:
            where = _raised_at(err)
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / f"{type(err).__name__}-{where}.py").write_text(text, "utf8")


def _is_symbolic(param: Any) -> bool:
    from ..ir.visitor import type_vars

    return bool(list(type_vars(param.ty)))


def _raised_at(err: Exception) -> str:
    """Module and line where an exception was raised: failures of one kind share it."""
    last = err.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return "unknown" if last is None else f"{Path(last.tb_frame.f_code.co_filename).stem}-{last.tb_lineno}"


def counterexample(func: PrimFunc, sch: Schedule, why: str) -> str:
    """A program that replays the schedule and checks the laws."""
    about = textwrap.indent(why, "# ", lambda line: True)
    return f'''{about}
from loopwright.schedule import Trace
from loopwright.script import parse
from loopwright.testing.schedules import Sequenced

FUNC = parse("""
{func.script(show_meta=True).strip()}
""")

TRACE = Trace.from_python("""
{str(sch.trace).strip()}
""")

run = Sequenced(FUNC)
TRACE.apply_to_schedule(run.sch, remove_postproc=False)
print(run.sch.mod.script())
run.finish()
'''


def check_sequence(
    func: PrimFunc, steps: Sequence[Step], draw: Draw, counts: Counter[tuple[str, bool]] | None = None
) -> int:
    """Try the steps on a schedule of `func` and check every law; gives how many were accepted.

    `counts` gets how often each step was accepted and refused.
    """
    run = Sequenced(func, counts)
    for step in steps:
        run.attempt(step, draw)
    run.finish()
    return run.accepted


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
    read = Trace.from_python(text)
    assert str(read) == text
    back = Trace.from_json(sch.trace.as_json())
    assert str(back) == text
    for trace in (read, back.simplified(False)):
        again = replay(trace, func, error_render_level="fast").mod
        assert structural_equal(again, sch.mod), explain_difference(again, sch.mod)

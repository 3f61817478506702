"""Traces: the instructions that made a schedule, and their sampled decisions.

A trace prints as script (`as_python`), which `from_python` reads back without executing it, and
as JSON in the peer's form (`as_json`, `from_json`).  `replay` applies it to another module.
"""

from __future__ import annotations

import json as _json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..ir import IRModule, PrimFunc, Var
from .handles import LoopRV, SBlockRV
from .instruction import Instruction, InstructionKind
from .names import Names

if TYPE_CHECKING:
    from .schedule import Schedule

DecisionProvider = Callable[[Instruction, Sequence[Any], Sequence[Any], Any], Any]


class Trace:
    """A sequence of instructions and the decisions of those that sample, by instruction."""

    __slots__ = ("_decisions", "_insts")

    def __init__(
        self, insts: Iterable[Instruction] = (), decisions: Mapping[Instruction, Any] | None = None
    ) -> None:
        self._insts = list(insts)
        self._decisions = dict(decisions or {})

    @property
    def insts(self) -> tuple[Instruction, ...]:
        """The instructions in order."""
        return tuple(self._insts)

    @property
    def decisions(self) -> dict[Instruction, Any]:
        """The decisions by instruction (instructions are compared by identity)."""
        return dict(self._decisions)

    def __len__(self) -> int:
        return len(self._insts)

    def copy(self) -> Trace:
        """A trace that can grow on its own."""
        return Trace(self._insts, self._decisions)

    def append(self, inst: Instruction, decision: Any = None) -> None:
        """Add an instruction at the end."""
        self._insts.append(inst)
        if decision is not None:
            self._decisions[inst] = decision

    def pop(self) -> Instruction | None:
        """Take the last instruction off; None when there is none."""
        if not self._insts:
            return None
        last = self._insts.pop()
        self._decisions.pop(last, None)
        return last

    def get_decision(self, inst: Instruction) -> Any:
        """The decision of an instruction, or None."""
        return self._decisions.get(inst)

    def with_decision(self, inst: Instruction, decision: Any, remove_postproc: bool) -> Trace:
        """A copy in which this instruction has this decision."""
        kept = self._kept(remove_postproc)
        table = {i: d for i, d in self._decisions.items() if i in set(kept)}
        table[inst] = decision
        return Trace(kept, table)

    def _kept(self, remove_postproc: bool) -> list[Instruction]:
        if not remove_postproc:
            return list(self._insts)
        kept: list[Instruction] = []
        for inst in self._insts:
            if inst.kind.is_postproc:
                break
            kept.append(inst)
        return kept

    def simplified(self, remove_postproc: bool) -> Trace:
        """A copy without pure instructions whose outputs nobody uses.

        With `remove_postproc` what follows `enter_postproc` goes, too.
        """
        used: set[int] = set()
        kept: list[Instruction] = []
        for inst in reversed(self._kept(remove_postproc)):
            if inst.kind.is_pure and inst.outputs and not any(id(o) in used for o in inst.outputs):
                continue
            kept.append(inst)
            used.update([id(v) for v in inst.mentioned()])
        kept.reverse()
        chosen = set(kept)
        return Trace(kept, {i: d for i, d in self._decisions.items() if i in chosen})

    def apply_to_schedule(
        self, sch: Schedule, remove_postproc: bool = False, decision_provider: DecisionProvider | None = None
    ) -> None:
        """Run the instructions on a schedule; decisions known are taken, others sampled.

        `decision_provider(inst, inputs, attrs, decision)` may choose the decisions.  Raises
        ScheduleError where an instruction is refused.
        """
        known: dict[int, Any] = {}
        for inst in self._kept(remove_postproc):
            decision = self._decisions.get(inst)
            here = inst.with_inputs(known)
            if decision_provider is not None and inst.kind.primitive.samples:
                decision = decision_provider(inst, here.inputs, here.attrs, decision)
            outputs = sch.run(here, decision)
            if len(outputs) != len(inst.outputs):
                from .refusal import Reason, schedule_error

                reason = Reason(
                    "trace", f"it gives {len(outputs)} results here, {len(inst.outputs)} in the trace"
                )
                raise schedule_error(reason, inst.kind.primitive.name, sch.mod, sch.error_render_level)
            for old, new in zip(inst.outputs, outputs):
                known[id(old)] = new

    # text

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """One line of script for each instruction."""
        from .trace_text import python_lines

        return python_lines(self._kept(remove_postproc), self._decisions)

    def __str__(self) -> str:
        lines = self.as_python() or ["pass"]
        head = "# from loopwright import schedule\ndef apply_trace(sch: schedule.Schedule) -> None:\n"
        return head + "\n".join(["  " + line for line in lines])

    def __repr__(self) -> str:
        return f"Trace({len(self._insts)} instructions)"

    def show(self, style: str | None = None) -> None:
        """Print the script of the trace, in colour where the terminal has it."""
        from .view import print_text

        print_text(str(self), style)

    @staticmethod
    def from_python(text: str) -> Trace:
        """The trace that a printed trace says: a function, or bare lines. It is read, never executed.

        Raises ScriptError where the text is no trace.
        """
        from .trace_reader import read_trace

        return read_trace(text)

    # JSON

    def as_json(self, remove_postproc: bool = False) -> list[Any]:
        """The trace as lists: `[[kind, inputs, attrs, outputs], ...]` and `[[index, decision], ...]`."""
        from .trace_json import to_lists

        return to_lists(self._kept(remove_postproc), self._decisions)

    @staticmethod
    def from_json(obj: Any) -> Trace:
        """The trace that JSON-like lists or their text say, ours or the peer's.

        Raises ScheduleError where they say none.
        """
        from .trace_json import from_lists

        return from_lists(_json.loads(obj) if isinstance(obj, str) else obj)

    @staticmethod
    def apply_json_to_schedule(json_obj: Any, sch: Schedule) -> None:
        """Run a trace in JSON form on a schedule."""
        Trace.from_json(json_obj).apply_to_schedule(sch)


def replay(trace: Trace, mod: IRModule | PrimFunc, **options: Any) -> Schedule:
    """A schedule of `mod` with the trace applied; options are those of Schedule.

    Of the module that the trace was made on, the result is structurally equal.
    """
    from .schedule import Schedule

    sch = Schedule(mod, **options)
    trace.apply_to_schedule(sch)
    return sch


__all__ = ["Instruction", "InstructionKind", "LoopRV", "Names", "SBlockRV", "Trace", "Var", "replay"]

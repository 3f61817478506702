"""`tvm.s_tir.schedule.schedule`: schedules and handles."""

from __future__ import annotations

from typing import Any

from .....errors import Diagnostic, ScheduleError
from .....ir import Var
from .....ir.stmt import BlockRef
from .....schedule import ExprRV, Schedule, Trace, handles
from .....schedule import instruction as steps
from .....schedule.refusal import Refused, schedule_error
from ....adapters import adapts, lacking
from ....methods import extend, same_as
from ..sblock_scope import StmtSRef
from .instruction import text


@adapts(handles.LoopRV)
def LoopRV() -> handles.LoopRV:
    """A handle that names no loop yet."""
    return handles.LoopRV(Var("loop"))


@adapts(handles.SBlockRV)
def SBlockRV() -> handles.SBlockRV:
    """A handle that names no block yet."""
    return handles.SBlockRV(BlockRef("block"))


class StaleError(ScheduleError, IndexError):
    """A handle names nothing in this schedule."""


def get_sref(self: Schedule, rand_var_or_stmt: Any) -> StmtSRef:
    """The reference of what a handle names, or of a loop or block. Raises StaleError where it is gone."""
    from .state import sref_of

    if not isinstance(rand_var_or_stmt, handles.LoopRV | handles.SBlockRV):
        found = sref_of(self, rand_var_or_stmt)
        if found is None:
            raise StaleError(Diagnostic("stale-handle", "the statement does not stand in this schedule"))
        return found
    try:
        self.state.place(rand_var_or_stmt)
    except Refused as err:
        told = schedule_error(err.reason, "get_sref", self.mod, self.error_render_level)
        raise StaleError(*told.diagnostics) from None
    return StmtSRef(self, rand_var_or_stmt.target)


def _trace_text(self: Trace) -> str:
    lines = self.as_python() or ["pass"]
    head = "# from tvm import s_tir\ndef apply_trace(sch: s_tir.Schedule) -> None:\n"
    return head + "\n".join(["  " + line for line in lines])


def _same_value(self: Any, other: Any) -> bool:
    return bool(self == other)


extend(
    (Schedule, "get_sref", get_sref),
    (Trace, "__str__", _trace_text),
    (steps.Instruction, "__str__", text),
    (steps.Instruction, "same_as", same_as),
    (steps.InstructionKind, "same_as", _same_value),
    (handles.Handle, "same_as", _same_value),
)

__getattr__ = lacking("tvm.s_tir.schedule.schedule")

__all__ = ["ExprRV", "LoopRV", "SBlockRV", "Schedule", "ScheduleError", "StaleError", "get_sref"]

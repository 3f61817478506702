"""Schedules: how a program is run, never what it computes.

`Schedule(mod)` hands out handles and offers the primitives as methods; each accepted step keeps
the program's meaning and is recorded in a trace, which `replay` applies to another module.
"""

from __future__ import annotations

from ..errors import ScheduleError
from . import primitives  # noqa: F401  they become methods of Schedule
from .handles import INLINE, ROOT, ExprRV, Handle, LoopRV, SBlockRV
from .instruction import Instruction, InstructionKind
from .refusal import Reason, Refused, StaleHandleError, demand, refuse
from .registry import KINDS, PRIMITIVES, Primitive, primitive
from .schedule import Schedule
from .state import State
from .trace import Trace, replay

__all__ = [
    "INLINE",
    "KINDS",
    "PRIMITIVES",
    "ROOT",
    "ExprRV",
    "Handle",
    "Instruction",
    "InstructionKind",
    "LoopRV",
    "Primitive",
    "Reason",
    "Refused",
    "SBlockRV",
    "Schedule",
    "ScheduleError",
    "StaleHandleError",
    "State",
    "Trace",
    "demand",
    "primitive",
    "refuse",
    "replay",
]

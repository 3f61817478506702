"""`tvm.s_tir.schedule`: schedules, handles, traces; the room is loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ....adapters import lacking

_HERE = {
    "schedule": ("ExprRV", "LoopRV", "SBlockRV", "Schedule", "ScheduleError"),
    "instruction": ("Instruction", "InstructionKind"),
    "trace": ("Trace",),
    "state": ("ScheduleDebugMask", "ScheduleState"),
    "..sblock_scope": ("DepKind", "Dependency", "SBlockScope", "StmtSRef"),
    "..sblock_dependence_info": ("SBlockDependenceInfo",),
}
_MODULES = ("analysis", "instruction", "schedule", "state", "testing", "trace", "transform")


def find(name: str, module: str = "tvm.s_tir.schedule") -> Any:
    """A name of the schedule room. Raises AttributeError for what is not there."""
    for place, names in _HERE.items():
        if name in names:
            where = place if place.startswith("..") else f".{place}"
            return getattr(import_module(where, __name__), name)
    return lacking(module)(name)


def __getattr__(name: str) -> Any:
    """What belongs to schedules. Raises AttributeError for what is not there yet."""
    if name in _MODULES:
        try:
            return import_module(f".{name}", __name__)
        except ModuleNotFoundError:
            return lacking("tvm.s_tir.schedule")(name)
    return find(name)


__all__ = ["find"]

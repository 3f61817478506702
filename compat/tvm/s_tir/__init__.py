"""`tvm.s_tir`: schedulable programs and their schedules."""

from __future__ import annotations

from typing import Any

from ....ir import renew_definitions as renew_defs
from . import schedule, stmt, transform
from .stmt import MatchBufferRegion, SBlock, SBlockRealize


def __getattr__(name: str) -> Any:
    """What belongs to schedules, such as `Schedule`. Raises AttributeError for what is not there yet."""
    return schedule.find(name, "tvm.s_tir")


__all__ = [
    "MatchBufferRegion",
    "SBlock",
    "SBlockRealize",
    "renew_defs",
    "schedule",
    "stmt",
    "transform",
]

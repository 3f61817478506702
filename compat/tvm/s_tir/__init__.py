"""`tvm.s_tir`: schedulable programs."""

from __future__ import annotations

from ....ir import renew_definitions as renew_defs
from ...adapters import lacking
from . import schedule, stmt, transform
from .stmt import MatchBufferRegion, SBlock, SBlockRealize

__getattr__ = lacking("tvm.s_tir", "schedules come with their own issue")

__all__ = [
    "MatchBufferRegion",
    "SBlock",
    "SBlockRealize",
    "renew_defs",
    "schedule",
    "stmt",
    "transform",
]

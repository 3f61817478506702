"""`tvm.s_tir.dlight`: default schedules."""

from __future__ import annotations

from ....adapters import lacking
from . import analysis, base, cpu, gpu
from .analysis import IterInfo, SBlockInfo, normalize_prim_func
from .base import ApplyDefaultSchedule, ScheduleRule, try_inline, try_inline_contiguous_spatial

__getattr__ = lacking("tvm.s_tir.dlight")

__all__ = [
    "ApplyDefaultSchedule",
    "IterInfo",
    "SBlockInfo",
    "ScheduleRule",
    "analysis",
    "base",
    "cpu",
    "gpu",
    "normalize_prim_func",
    "try_inline",
    "try_inline_contiguous_spatial",
]

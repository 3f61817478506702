"""Passes: plain functions from IRModule to IRModule, and the pipelines made of them."""

from __future__ import annotations

from .context import (
    CheckRoundTrip,
    CheckWellFormed,
    Instrument,
    PassContext,
    PassEvent,
    PassTiming,
    PrintAfter,
)
from .lower import CPU_PIPELINE, Pipeline, lower
from .registry import Pass, get_pass, list_passes, prim_func_pass, register_pass, sequential

__all__ = [
    "CPU_PIPELINE",
    "CheckRoundTrip",
    "CheckWellFormed",
    "Instrument",
    "Pass",
    "PassContext",
    "PassEvent",
    "PassTiming",
    "Pipeline",
    "PrintAfter",
    "get_pass",
    "list_passes",
    "lower",
    "prim_func_pass",
    "register_pass",
    "sequential",
]

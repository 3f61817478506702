"""`tvm.s_tir`: schedulable programs and their schedules."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ....ir import renew_definitions as renew_defs
from ...adapters import lacking
from . import analysis, schedule, stmt, transform
from .stmt import MatchBufferRegion, SBlock, SBlockRealize

_MODULES = ("meta_schedule", "dlight", "sblock_dependence_info", "sblock_scope", "tensor_intrin")


def __getattr__(name: str) -> Any:
    """What belongs to schedules, such as `Schedule`. Raises AttributeError for what is not there yet."""
    if name in _MODULES:
        try:
            return import_module(f".{name}", __name__)
        except ModuleNotFoundError:
            return lacking("tvm.s_tir")(name)
    if name == "TensorIntrin":
        return import_module(".tensor_intrin", __name__).TensorIntrin
    return schedule.find(name, "tvm.s_tir")


__all__ = [
    "MatchBufferRegion",
    "SBlock",
    "SBlockRealize",
    "analysis",
    "renew_defs",
    "schedule",
    "stmt",
    "transform",
]

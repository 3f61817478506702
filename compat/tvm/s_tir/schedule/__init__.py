"""`tvm.s_tir.schedule`: schedules, handles, traces."""

from __future__ import annotations

from typing import Any

from ....adapters import lacking


def find(name: str, module: str = "tvm.s_tir.schedule") -> Any:
    """A name of the schedule room, which is loaded on first use. Raises AttributeError for others."""
    if not name.startswith("__"):
        from ..... import schedule

        if name in schedule.__all__:
            return getattr(schedule, name)
    return lacking(module)(name)


def __getattr__(name: str) -> Any:
    """What belongs to schedules. Raises AttributeError for what is not there yet."""
    return find(name)


__all__ = ["find"]

"""Reductions over axes that may have no elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import te
from ..ir import IterVar


def over(reducer: Any, value: Any, axes: Sequence[IterVar]) -> Any:
    """The value reduced over the axes by `te.sum` or its like; over no elements its start: 0 for a sum."""
    if any(getattr(axis.dom.extent, "value", 1) == 0 for axis in axes if axis.dom is not None):
        return reducer.identity(value.dtype)
    return reducer(value, axis=list(axes))


def total(value: Any, axes: Sequence[IterVar]) -> Any:
    """The sum of the value over the axes."""
    return over(te.sum, value, axes)


__all__ = ["over", "total"]

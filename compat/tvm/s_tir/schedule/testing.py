"""`tvm.s_tir.schedule.testing`: what tests of schedules compare with."""

from __future__ import annotations

from typing import Any

from ....adapters import lacking
from ...ir.base import assert_structural_equal


def assert_structural_equal_ignore_global_symbol(func1: Any, func2: Any, *args: Any, **kwargs: Any) -> None:
    """Raise ValueError unless both functions are structurally equal, their names apart."""
    same = [f.with_attr("global_symbol", "main") for f in (func1, func2)]
    assert_structural_equal(*same, *args, **kwargs)


_missing = lacking("tvm.s_tir.schedule.testing")


def verify_trace_roundtrip(*args: Any, **kwargs: Any) -> Any:
    """Checks of traces belong to schedules. Raises AttributeError, naming it."""
    return _missing("verify_trace_roundtrip")


__getattr__ = _missing

__all__ = ["assert_structural_equal", "assert_structural_equal_ignore_global_symbol", "verify_trace_roundtrip"]

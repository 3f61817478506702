"""`tvm.s_tir.schedule.testing`: what tests of schedules compare with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ....adapters import lacking
from ...ir.base import assert_structural_equal


def assert_structural_equal_ignore_global_symbol(func1: Any, func2: Any, *args: Any, **kwargs: Any) -> None:
    """Raise ValueError unless both functions are structurally equal, their names apart."""
    same = [f.with_attr("global_symbol", "main") for f in (func1, func2)]
    assert_structural_equal(*same, *args, **kwargs)


def verify_trace_roundtrip(
    sch: Any,
    mod: Any,
    *,
    debug_mask: str | int = "all",
    text_format: str | Sequence[str] = ("python", "json"),
) -> Any:
    """The schedule that the trace's text gives on `mod`. Raises ValueError where its module differs."""
    from .....schedule import Trace, replay

    again = sch
    for form in (text_format,) if isinstance(text_format, str) else text_format:
        if form == "json":
            trace = Trace.from_json(json.dumps(sch.trace.as_json()))
        elif form == "python":
            trace = Trace.from_python("\n".join(sch.trace.as_python()))
        else:
            raise ValueError(f"a trace has no text format {form!r}: it has python and json")
        again = replay(trace, mod, debug_mask=debug_mask)
        assert_structural_equal(again.mod, sch.mod)
    return again


__getattr__ = lacking("tvm.s_tir.schedule.testing")

__all__ = [
    "assert_structural_equal",
    "assert_structural_equal_ignore_global_symbol",
    "verify_trace_roundtrip",
]

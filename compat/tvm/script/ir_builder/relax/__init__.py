"""`tvm.script.ir_builder.relax`: graphs built by Python calls instead of source text."""

from __future__ import annotations

from typing import Any

from . import ir
from .ir import Else, If, Then, arg, dataflow, func_name, func_ret_ty, func_ret_value, function


def __getattr__(name: str) -> Any:
    """A word of `R`. Raises AttributeError for what is none."""
    return getattr(ir, name)


__all__ = [
    "Else",
    "If",
    "Then",
    "arg",
    "dataflow",
    "func_name",
    "func_ret_ty",
    "func_ret_value",
    "function",
    "ir",
]

"""`tvm.sym.pattern`: linear forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .... import ir
from ....ir import arith
from ...adapters import lacking


def detect_linear_equation(expr: Any, var_list: Sequence[Any]) -> list[Any]:
    """Coefficients and base of a sum that is linear in the variables; empty where it is not."""
    return arith.detect_linear_equation(ir.as_expr(expr), list(var_list))


def detect_clip_bound(expr: Any, var_list: Sequence[Any]) -> list[Any]:
    """Lower and upper bound of each variable that the condition sets; empty where there are others."""
    return arith.detect_clip_bound(ir.as_expr(expr), list(var_list))


__getattr__ = lacking("tvm.sym.pattern")

__all__ = ["detect_clip_bound", "detect_linear_equation"]

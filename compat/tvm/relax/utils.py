"""`tvm.relax.utils`: helpers for graphs."""

from __future__ import annotations

from typing import Any

from ....ir.visitor import renew_definitions
from ...adapters import lacking


def copy_with_new_vars(func: Any) -> Any:
    """The same function with variables of its own."""
    return renew_definitions(func)


__getattr__ = lacking("tvm.relax.utils")

__all__ = ["copy_with_new_vars"]

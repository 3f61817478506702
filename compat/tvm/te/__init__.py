"""`tvm.te`: tensor expressions come with their own issue; symbols are there."""

from __future__ import annotations

from typing import Any

from ....ir import Var
from ...adapters import lacking


def var(name: str = "tindex", dtype: Any = "int32", span: Any = None) -> Var:
    """A symbol."""
    return Var(name, dtype)


size_var = var

__getattr__ = lacking("tvm.te", "tensor expressions come with their own issue")

__all__ = ["size_var", "var"]

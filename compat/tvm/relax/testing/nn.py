"""`tvm.relax.testing.nn`: the peer's old way of writing models, of which only the inputs are there."""

from __future__ import annotations

from typing import Any

from .....ir import Var
from .....ir.relax import TensorType
from ....adapters import lacking


def Placeholder(shape: Any, dtype: Any = "float32", name: str = "data") -> Var:
    """An input of a model."""
    return Var(name, TensorType(shape, dtype))


__getattr__ = lacking("tvm.relax.testing.nn", "write models with `tvm.relax.frontend.nn`")

__all__ = ["Placeholder"]

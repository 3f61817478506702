"""`tvm.topi.nn`: operators of neural networks."""

from __future__ import annotations

from typing import Any

from .....ir import const
from .....ir import operators as op
from .....te import Tensor, elementwise
from ..missing import missing
from . import pooling


def relu(x: Tensor) -> Any:
    """The elements, 0 for negative ones."""
    return elementwise(x, lambda value: op.max_(value, const(0, x.dtype)))


_missing = missing("topi.nn")


def __getattr__(name: str) -> Any:
    """Operators by name; one that is not there fails when it is called."""
    return getattr(pooling, name) if name in pooling.__all__ else _missing(name)


__all__ = ["pooling", "relu"]

"""`tvm.topi.nn`: operators of neural networks."""

from __future__ import annotations

from typing import Any

from .....ir import const
from .....ir import operators as op
from .....te import Tensor, elementwise
from ..missing import missing
from . import pooling
from .pooling import adaptive_pool, adaptive_pool1d, adaptive_pool3d, global_pool, pool1d, pool2d, pool3d
from .softmaxes import fast_softmax, log_softmax, softmax


def relu(x: Tensor) -> Any:
    """The elements, 0 for negative ones."""
    return elementwise(x, lambda value: op.max_(value, const(0, x.dtype)))


def leaky_relu(x: Tensor, alpha: float) -> Any:
    """The elements, negative ones times `alpha`."""

    def element(value: Any) -> Any:
        return op.select(op.greater(value, const(0, x.dtype)), value, op.mul(value, const(alpha, x.dtype)))

    return elementwise(x, element)


__getattr__ = missing("topi.nn")

__all__ = [
    "adaptive_pool",
    "adaptive_pool1d",
    "adaptive_pool3d",
    "fast_softmax",
    "global_pool",
    "leaky_relu",
    "log_softmax",
    "pool1d",
    "pool2d",
    "pool3d",
    "pooling",
    "relu",
    "softmax",
]

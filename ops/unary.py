"""Operators that compute each element from one element."""

from __future__ import annotations

from typing import Any

from .. import te
from ..ir import Type
from ..ir.relax import OpPattern, relax_op
from ..ir.relax.op import Tensor
from .infer import float_only, same_type, tensor_type


def _elementwise(function: Any) -> Any:
    return lambda x: te.compute(x.shape, lambda *i: function(x[i]), name="compute")


def _exp_numpy(x: Any) -> Any:
    import numpy as np

    return np.exp(x)


def _float(op: str, x: Any) -> Type:
    return same_type(float_only(op, tensor_type(op, x)))


@relax_op("relax.exp", pattern=OpPattern.ELEMWISE, te=_elementwise(te.exp), numpy=_exp_numpy)
def exp(x: Tensor) -> Type:
    """e to the power of each element."""
    return _float("exp", x)


__all__ = ["exp"]

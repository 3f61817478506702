"""Operators that change the dtype of tensors."""

from __future__ import annotations

from typing import Any

from ..dtype import DType
from ..ir import Type
from ..ir.relax import OpPattern, relax_op
from ..ir.relax.op import Tensor
from . import derivatives as d
from .elementwise import each
from .infer import same_type, tensor_type
from .layout_rules import follow


def _convert(x: Any, dtype: DType) -> Any:
    return x.astype(dtype.numpy())


@relax_op(
    "relax.astype",
    pattern=OpPattern.ELEMWISE,
    te=each(lambda x, dtype: x.astype(dtype)),
    numpy=_convert,
    kernel="cast",
    layout=follow,
    gradient=d.astype,
)
def astype(x: Tensor, dtype: DType) -> Type:
    """The elements converted to a dtype; floats become integers by losing their fraction."""
    return same_type(tensor_type("astype", x), dtype)


@relax_op(
    "relax.wrap_param",
    pattern=OpPattern.ELEMWISE,
    te=each(lambda x, dtype: x.astype(dtype)),
    numpy=_convert,
    kernel="cast",
    layout=follow,
    gradient=d.astype,
)
def wrap_param(data: Tensor, dtype: DType = "float32") -> Type:  # type: ignore[assignment]
    """A parameter of a model converted to the dtype that the program works with."""
    return same_type(tensor_type("wrap_param", data), dtype)


__all__ = ["astype", "wrap_param"]

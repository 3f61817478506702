"""Tensor constants."""

from __future__ import annotations

from typing import Any

from ...dtype import DType
from ...errors import Diagnostic, DTypeError, noun
from ..expr import GenericConst
from .types import TensorType


def tensor_constant(value: Any, dtype: DType | str | None = None) -> GenericConst:
    """A tensor constant: Python's integers give int32 (bools bool), floats float32, arrays keep their dtype.

    The array is kept read-only; equal arrays make equal constants. Raises DTypeError for what is no array.
    """
    import numpy as np

    if isinstance(value, GenericConst):
        return value if dtype is None else tensor_constant(value.value, dtype)
    plain = not hasattr(value, "dtype")
    array = np.array(value)
    if array.dtype == object:
        raise DTypeError(Diagnostic("not-an-expression", f"{noun(value)} is no tensor"))
    if dtype is not None:
        array = array.astype(DType(dtype).numpy())
    elif plain and array.dtype.kind in "iu":
        array = array.astype("int32")
    elif plain and array.dtype.kind == "f":
        array = array.astype("float32")
    array = np.ascontiguousarray(array).reshape(array.shape)
    array.flags.writeable = False
    kind = DType(dtype) if dtype is not None else DType(array.dtype)
    return GenericConst(TensorType(array.shape, kind), array)


__all__ = ["tensor_constant"]

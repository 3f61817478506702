"""What programs ask a tensor about itself."""

from __future__ import annotations

import math
from typing import Any

from ...dtype import DType
from ...errors import ArgumentValueError, Diagnostic
from .builtins import builtin
from .values import describe

_FIELDS = {
    "tensor_ndim": lambda value: value.ndim,
    "tensor_byte_offset": lambda value: 0,
    "tensor_elem_offset": lambda value: 0,
    "tensor_dtype_code": lambda value: DType(value.dtype).code,
    "tensor_dtype_bits": lambda value: DType(value.dtype).bits,
    "tensor_dtype_lanes": lambda value: DType(value.dtype).lanes,
}
_BY_AXIS = {
    "tensor_shape_i": lambda value, axis: value.shape[axis],
    "tensor_stride_i": lambda value, axis: math.prod(value.shape[axis + 1 :]),
}


@builtin("tensor_field")
def tensor_field(name: str, value: Any, axis: int = 0) -> int:
    """A number that describes a tensor, of one of its axes where it has one for each.

    Raises ArgumentValueError for an axis that the tensor does not have.
    """
    if name in _FIELDS:
        return int(_FIELDS[name](value))
    if not 0 <= axis < value.ndim:
        text = f"{describe(value)} has no axis {axis}"
        raise ArgumentValueError(Diagnostic("argument-value", text))
    return int(_BY_AXIS[name](value, axis))


__all__ = ["tensor_field"]

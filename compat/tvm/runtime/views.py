"""Tensors that see a part of another one's memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ....dtype import DType
from ....errors import ArgumentValueError, Diagnostic, UnsupportedError
from ....runtime import Tensor, from_dlpack
from ....runtime.tensor import packed_bits
from ...methods import extend


def create_view(
    self: Tensor, shape: Sequence[int], dtype: Any = None, relative_byte_offset: int = 0
) -> Tensor:
    """A tensor on the bytes of this one from an offset on.

    Raises ArgumentValueError where they do not all lie in it, or it has gaps; UnsupportedError for memory
    of a device.
    """
    if self.device.kind != "cpu":
        raise UnsupportedError(Diagnostic("unsupported", f"`_create_view` of a tensor on `{self.device}`"))
    kind, dims = self.dtype if dtype is None else DType(dtype), tuple(shape)
    start, have = relative_byte_offset, _bytes(self.shape, self.dtype)
    end = start + _bytes(dims, kind)
    if start < 0 or end > have:
        text = f"the view {dims} of `{kind}` would occupy bytes {start} <= i_byte < {end}"
        note = f"the Tensor being viewed only contains {have} bytes"
        raise ArgumentValueError(Diagnostic("tensor-view", f"{text}; {note}"))
    memory = self.view((have,), "uint8").numpy()
    return from_dlpack(memory[start:end]).view(dims, kind)


def _bytes(shape: Sequence[int], dtype: DType) -> int:
    """The bytes of so many elements in memory."""
    bits = packed_bits(dtype) or max(8, dtype.bits)
    return (math.prod(shape) * dtype.lanes * bits + 7) // 8


extend((Tensor, "_create_view", create_view))

__all__ = ["create_view"]

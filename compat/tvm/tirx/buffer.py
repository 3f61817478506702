"""`tvm.tirx.buffer`: buffers, which are variables."""

from __future__ import annotations

import enum
from typing import Any

from .... import ir
from ....ir import BufferRegionType, Var, decl_buffer, pointer_to
from ...adapters import adapts, lacking

Buffer = Var


class BufferAccessKind(enum.IntFlag):
    """What an access pointer is used for."""

    READ = 1
    WRITE = 2


@adapts(ir.BufferType)
def BufferType(
    dtype: Any,
    storage_scope: str = "global",
    shape: Any = (),
    strides: Any = (),
    elem_offset: Any = None,
    data_alignment: int = 64,
    offset_factor: int = 1,
    layout: Any = None,
    allocated_addr: Any = (),
    span: Any = None,
) -> Any:
    """The type of a buffer variable, in the peer's order of arguments."""
    return ir.BufferType(
        dtype,
        shape,
        strides,
        elem_offset,
        storage_scope,
        data_alignment,
        offset_factor,
        layout,
        allocated_addr,
    )


def is_buffer_var(value: Any) -> bool:
    """Whether this is a buffer variable."""
    return isinstance(value, Var) and isinstance(value.ty, ir.BufferType)


def buffer_data(buffer: Any) -> Any:
    """The buffer's data pointer."""
    return buffer.data


def buffer_data_pointer_type(buffer: Any) -> Any:
    """The type of the buffer's data pointer."""
    return pointer_to(buffer)


__getattr__ = lacking("tvm.tirx.buffer")

__all__ = [
    "Buffer",
    "BufferAccessKind",
    "BufferRegionType",
    "BufferType",
    "buffer_data",
    "buffer_data_pointer_type",
    "decl_buffer",
    "is_buffer_var",
]

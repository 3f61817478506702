"""How dtypes look in LLVM: the type of a value in a register and of a cell in memory.

Formats below 32 bits are computed in float32: a register holds a `float` whose value is one
of the format's, memory holds the bits as an integer.  A bool is `i1` in a register and a byte
in memory.
"""

from __future__ import annotations

import ctypes
import struct

from ...dtype import DType
from ...errors import CodegenError, Diagnostic

MAX_LANES = 1024
"""Longer vectors make LLVM very slow."""


def is_small_float(dtype: DType) -> bool:
    """Whether values of this format are computed in float32 and rounded after each operation."""
    return dtype.code == 4 or dtype.code >= 7 or (dtype.code == 2 and dtype.bits == 16)


def vector(element: str, lanes: int) -> str:
    """`element` for one lane, `<n x element>` for more."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def value_type(dtype: DType) -> str:
    """The type of a value in a register. Raises CodegenError for void and scalable vectors."""
    if dtype.scalable:
        raise CodegenError(
            Diagnostic(
                "unsupported-dtype",
                f"scalable vectors such as `{dtype}` need a target with SVE or RISC-V V",
                help=("use vectors of fixed length on this target",),
            )
        )
    if dtype.lanes > MAX_LANES:
        raise CodegenError(
            Diagnostic(
                "unsupported-dtype",
                f"`{dtype}` has more than {MAX_LANES} lanes",
                help=("split the loop before vectorizing the inner one",),
            )
        )
    if dtype.is_void:
        raise CodegenError(Diagnostic("unsupported-dtype", "a value of type `void` cannot be computed"))
    return vector(_element(dtype), dtype.lanes)


def _element(dtype: DType) -> str:
    if dtype.is_bool:
        return "i1"
    if dtype.is_integral:
        return f"i{dtype.bits}"
    if dtype.is_handle:
        return "ptr"
    if dtype.code == 2 and dtype.bits == 64:
        return "double"
    return "float"


def memory_element(dtype: DType) -> str:
    """The type of one lane in memory. Raises CodegenError for formats that are packed below a byte."""
    if dtype.is_bool:
        return "i8"
    if dtype.is_float and dtype.bits < 8 or dtype.is_integral and dtype.bits < 8:
        raise CodegenError(
            Diagnostic(
                "unsupported-dtype",
                f"buffers of `{dtype.element}` are not supported by the llvm back end",
                help=("keep the packed bits in an int8 or uint8 buffer and unpack them in the kernel",),
            )
        )
    if is_small_float(dtype):
        return f"i{dtype.bits}"
    return _element(dtype)


def memory_type(dtype: DType) -> str:
    """The type of a value in memory."""
    return vector(memory_element(dtype), dtype.lanes)


def lane_bytes(dtype: DType) -> int:
    """Bytes of one lane in memory."""
    return 8 if dtype.is_handle else max(1, dtype.bits // 8)


def float_text(value: float, dtype: DType) -> str:
    """The constant as LLVM reads it: the bits of a double that the register's type holds exactly."""
    if is_small_float(dtype):
        value = dtype.element.round(value)
    elif dtype.bits == 32:
        value = ctypes.c_float(value).value
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def float32_text(value: float) -> str:
    """`float_text` of a float32 value."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', ctypes.c_float(value).value))[0]:016X}"


def splat(element: str, text: str, lanes: int) -> str:
    """A constant with `text` in every lane, without its type."""
    if lanes == 1:
        return text
    return "<" + ", ".join([f"{element} {text}"] * lanes) + ">"

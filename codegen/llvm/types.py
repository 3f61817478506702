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


def vector(element: str, lanes: int | DType) -> str:
    """`element` for one lane, `<n x element>` for more, or as many as a value of a dtype has."""
    if isinstance(lanes, DType):
        if lanes.scalable:
            return f"<vscale x {lanes.lanes} x {element}>"
        lanes = lanes.lanes
    return element if lanes == 1 else f"<{lanes} x {element}>"


def value_type(dtype: DType) -> str:
    """The type of a value in a register. Raises CodegenError for void and for too many lanes."""
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
    return vector(_element(dtype), dtype)


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


def is_narrow(dtype: DType) -> bool:
    """Whether a value has fewer bits than the byte that it takes in memory; the others are zero."""
    return dtype.is_bool or 0 < dtype.bits < 8


def memory_element(dtype: DType) -> str:
    """The type of one lane in memory."""
    if is_narrow(dtype):
        return "i8"
    if is_small_float(dtype):
        return f"i{dtype.bits}"
    return _element(dtype)


def memory_type(dtype: DType) -> str:
    """The type of a value in memory."""
    return vector(memory_element(dtype), dtype)


def vector_suffix(dtype: DType) -> str:
    """How the name of an LLVM intrinsic spells a vector in memory."""
    cell = memory_element(dtype)
    return f"{'nx' if dtype.scalable else ''}v{dtype.lanes}" + {
        "float": "f32",
        "double": "f64",
        "ptr": "p0",
    }.get(cell, cell)


def pointers_suffix(dtype: DType) -> str:
    """The same of as many addresses."""
    return f"{'nx' if dtype.scalable else ''}v{dtype.lanes}p0"


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


def splat(element: str, text: str, lanes: int | DType) -> str:
    """A constant with `text` in every lane, without its type."""
    if isinstance(lanes, DType):
        if lanes.scalable:
            return f"splat ({element} {text})"
        lanes = lanes.lanes
    if lanes == 1:
        return text
    return "<" + ", ".join([f"{element} {text}"] * lanes) + ">"

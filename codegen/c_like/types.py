"""Names and constants of dtypes in C."""

from __future__ import annotations

import ctypes
import math
import struct

from ...dtype import DType
from .text import ATOM, UNARY, Term, Unit

FLOAT32, FLOAT64, INT32 = DType("float32"), DType("float64"), DType("int32")


def short(dtype: DType) -> str:
    """A scalar's dtype in the name of a helper function."""
    text = str(dtype.element)
    for long, brief in (("uint", "u"), ("int", "i"), ("bfloat", "bf"), ("float", "f")):
        if text.startswith(long):
            return brief + text[len(long) :]
    return text


def lane_bytes(dtype: DType) -> int:
    """Bytes of one lane in memory."""
    return 8 if dtype.is_handle else max(1, dtype.bits // 8)


def compute_type(dtype: DType) -> DType:
    """The type that functions of real numbers are computed in: float64 for float64, else float32."""
    return (FLOAT64 if dtype.code == 2 and dtype.bits == 64 else FLOAT32).with_lanes(dtype.lanes)


def integer(unit: Unit, dtype: DType, value: int) -> Term:
    """An integer constant."""
    if dtype.is_bool:
        return Term(unit.dialect.types["true"] if value else unit.dialect.types["false"])
    if dtype.is_int and dtype.bits >= 32 and value == dtype.min_value:
        suffix = unit.dialect.suffixes.get(str(dtype), "")
        return Term(f"(-{-(value + 1)}{suffix} - 1)")
    text = f"{value}{unit.dialect.suffixes.get(str(dtype.element), '')}"
    return Term(text, UNARY if value < 0 else ATOM)


def real(unit: Unit, dtype: DType, value: float) -> Term:
    """A float constant."""
    dialect, element = unit.dialect, dtype.element
    if element.bits < 32:
        value = element.round(value)
        if not dialect.carried(element):
            return Term(dialect.small_constant(element, value))
    bits = 64 if element.bits == 64 else 32
    if math.isnan(value):
        return Term(dialect.nan[bits])
    if bits == 32 and not math.isinf(value):
        value = ctypes.c_float(value).value
    if math.isinf(value):
        return Term(f"-{dialect.infinity[bits]}", UNARY) if value < 0 else Term(dialect.infinity[bits])
    text = digits(value, bits)
    return Term(text + ("f" if bits == 32 else ""), UNARY if text[0] == "-" else ATOM)


def digits(value: float, bits: int) -> str:
    """The shortest decimal that means this value in a float of 32 or 64 bits."""
    text = repr(value)
    if bits == 32:
        for n in range(1, 10):
            text = repr(float(f"{value:.{n}g}"))
            if struct.pack("f", float(text)) == struct.pack("f", value):
                break
    return text

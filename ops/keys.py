"""Keys of values: unsigned integers in the same order.

NaN counts as the largest value and, but in exact keys, 0.0 as equal to -0.0.
"""

from __future__ import annotations

from typing import Any

from .. import ir, te
from ..dtype import DType
from ..script import tirx as T


def key_bits(dtype: DType) -> int:
    """How many bits the keys of a dtype have."""
    if dtype.is_float and dtype.bits < 16:
        return 32
    return 8 if dtype.bits <= 8 else dtype.bits


def key_of(value: Any, dtype: DType, descending: bool, exact: bool = False) -> Any:
    """The key of a value: unsigned, in the order of the values, or in the reverse one.

    With `exact` -0.0 is before 0.0, so that a key tells its value.
    """
    bits = key_bits(dtype)
    unsigned = f"uint{bits}"
    top = ir.const(1 << (bits - 1), unsigned)
    if dtype.is_float:
        value = ir.cast(value, f"float{bits}") if dtype.bits < 16 else value
        raw = T.reinterpret(unsigned, value)
        if not exact:
            raw = ir.select(ir.equal(value, ir.const(0, value.dtype)), ir.const(0, unsigned), raw)
        negative = T.reinterpret(unsigned, ir.shift_right(T.reinterpret(f"int{bits}", raw), bits - 1))
        key = ir.bitwise_xor(raw, ir.bitwise_or(negative, top))
        key = ir.select(te.isnan(value), ir.const((1 << bits) - 1, unsigned), key)
    elif dtype.is_int:
        key = ir.bitwise_xor(ir.cast(ir.cast(value, f"int{bits}"), unsigned), top)
    else:
        key = ir.cast(value, unsigned)
    return ir.bitwise_not(key) if descending else key


def value_of(key: Any, dtype: DType, descending: bool) -> Any:
    """The value that has this exact key."""
    bits = key_bits(dtype)
    unsigned, top = f"uint{bits}", ir.const(1 << (bits - 1), f"uint{bits}")
    key = ir.bitwise_not(key) if descending else key
    if dtype.is_float:
        below = ir.sub(ir.shift_right(key, bits - 1), ir.const(1, unsigned))
        raw = ir.bitwise_xor(key, ir.bitwise_or(below, top))
        if dtype.bits < 16:
            return ir.cast(T.reinterpret(f"float{bits}", raw), dtype)
        return T.reinterpret(str(dtype), raw)
    if dtype.is_int:
        return ir.cast(ir.cast(ir.bitwise_xor(key, top), f"int{bits}"), dtype)
    return ir.cast(key, dtype)


__all__ = ["key_bits", "key_of", "value_of"]

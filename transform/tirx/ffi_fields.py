"""The layout of values that cross the calling convention of packed functions.

`T.tvm_struct_get` and `T.tvm_struct_set` name fields by number: those of a tensor descriptor
(DLTensor), and those of an argument cell, which says what it holds and has eight bytes for it.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from ...dtype import DType
from ...ir import HANDLE, INT32, Call, Cast, Evaluate, Expr, PointerType, PrimType, Type, const


class Field(enum.IntEnum):
    """The fields by number."""

    TENSOR_ADDRESS = 0
    TENSOR_DATA = 1
    TENSOR_SHAPE = 2
    TENSOR_STRIDES = 3
    TENSOR_NDIM = 4
    TENSOR_CODE = 5
    TENSOR_BITS = 6
    TENSOR_LANES = 7
    TENSOR_BYTE_OFFSET = 8
    TENSOR_DEVICE_ID = 9
    TENSOR_DEVICE_TYPE = 10
    KIND = 13
    PADDING = 14
    VALUE = 15


class Kind(enum.IntEnum):
    """What a cell may hold."""

    NONE = 0
    INT = 1
    BOOL = 2
    FLOAT = 3
    POINTER = 4
    TENSOR_POINTER = 7
    STRING = 8
    OBJECT = 64
    """The first of the kinds that are objects."""
    TENSOR = 70


OBJECT_HEADER = 24
"""How many bytes stand in front of the descriptor in a tensor object."""
CPU = 1
"""The number of the CPU among device types."""


def get(base: Expr, index: int, field: Field, ty: Type | str) -> Call:
    """The field of the index-th descriptor or cell."""
    return Call("tirx.tvm_struct_get", (base, const(index, "int32"), const(field, "int32")), _type(ty))


def put(base: Expr, index: int, field: Field, value: Any) -> Evaluate:
    """The statement that sets the field of the index-th descriptor or cell."""
    args = (base, const(index, "int32"), const(field, "int32"), value)
    return Evaluate(Call("tirx.tvm_struct_set", args, INT32))


def put_cell(base: Expr, index: int, kind: Kind, value: Expr) -> list[Evaluate]:
    """The statements that fill an argument cell."""
    head = [
        put(base, index, Field.KIND, const(kind, "int32")),
        put(base, index, Field.PADDING, const(0, "int32")),
    ]
    return [*head, put(base, index, Field.VALUE, value)]


def cell_of(value: Expr) -> tuple[Kind, Expr]:
    """The kind of cell for a number or a pointer, and the value as the cell holds it."""
    if isinstance(value.ty, PointerType):
        return Kind.POINTER, value
    dtype = value.dtype
    if dtype.is_float:
        return Kind.FLOAT, Cast(PrimType("float64"), value)
    return (Kind.BOOL if dtype.is_bool else Kind.INT), Cast(PrimType("int64"), value)


def null() -> Call:
    """The null pointer."""
    return Call("tirx.reinterpret", (const(0, "uint64"),), HANDLE)


def descriptor_dtype(dtype: DType) -> Sequence[tuple[Field, Expr]]:
    """The fields of a descriptor that state the element type."""
    return (
        (Field.TENSOR_CODE, const(dtype.code, "uint8")),
        (Field.TENSOR_BITS, const(dtype.bits, "uint8")),
        (Field.TENSOR_LANES, const(dtype.lanes, "uint16")),
    )


def _type(ty: Type | str) -> Type:
    if isinstance(ty, Type):
        return ty
    return HANDLE if ty == "handle" else PrimType(ty)

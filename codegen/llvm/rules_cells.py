"""Rules for argument cells and tensor descriptors: fields by number, at the offsets of their layouts."""

from __future__ import annotations

from ...ir import Call, Expr, PointerType, StringImm
from . import arith
from .expr import Expressions
from .rules import rule
from .types import lane_bytes, memory_type

CELL, DESCRIPTOR = 16, 48
"""The sizes of an argument cell and of a tensor descriptor in bytes."""
ADDRESS = 0
OFFSETS = {1: 0, 2: 24, 3: 32, 4: 16, 5: 20, 6: 21, 7: 22, 8: 40, 9: 12, 10: 8, 13: 0, 14: 4, 15: 8}
"""Where each field lies; those from 13 on are fields of cells."""
_FIRST_OF_CELL = 13


def _place(m: Expressions, e: Call) -> str:
    """The address of the field that a call names."""
    field = arith.constant(e.args[2])
    if field is None or (field != ADDRESS and field not in OFFSETS):
        raise m.refuse("a field of a descriptor by an unknown number", e)
    size = CELL if field >= _FIRST_OF_CELL else DESCRIPTOR
    item = m.code.op(f"mul nsw i64 {m.index(e.args[1])}, {size}")
    offset = m.code.op(f"add nsw i64 {item}, {OFFSETS.get(field, 0)}")
    return m.code.op(f"getelementptr inbounds i8, ptr {m.visit(e.args[0])}, i64 {offset}")


@rule("tvm_struct_get")
def _struct_get(m: Expressions, e: Call) -> str:
    place = _place(m, e)
    if arith.constant(e.args[2]) == ADDRESS:
        return place
    if isinstance(e.ty, PointerType):
        return m.code.op(f"load ptr, ptr {place}, align 8")
    t = memory_type(e.dtype)
    return m.from_memory(e.dtype, m.code.op(f"load {t}, ptr {place}, align {lane_bytes(e.dtype)}"))


@rule("tvm_struct_set")
def _struct_set(m: Expressions, e: Call) -> str:
    value = e.args[3]
    place = _place(m, e)
    if _is_pointer(value):
        m.code.do(f"store ptr {m.visit(value)}, ptr {place}, align 8")
    else:
        t = memory_type(value.dtype)
        stored = m.to_memory(value.dtype, m.visit(value))
        m.code.do(f"store {t} {stored}, ptr {place}, align {lane_bytes(value.dtype)}")
    return "0"


def _is_pointer(e: Expr) -> bool:
    return isinstance(e.ty, PointerType)


@rule("tvm_stack_alloca")
def _stack_alloca(m: Expressions, e: Call) -> str:
    count, kind = arith.constant(e.args[1]), e.args[0]
    if count is None or not 0 <= count <= 4096:
        raise m.refuse("`tvm_stack_alloca` of a size that is not a small constant", e)
    size = DESCRIPTOR if isinstance(kind, StringImm) and kind.value == "array" else CELL
    return m.code.stack(f"[{max(count, 1) * size} x i8], align 16")

"""What the passes towards the virtual machine share: calls that they make and recognise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...dtype import DType
from ...ir import Call, Expr, ExternFunc, IntImm, Op, StringImm, Type
from ...ir.relax import ShapeExpr, get_op, op_of, prim_value
from ...ir.types import UNIT, AnyType
from ...node import NO_ATTRS


def called(value: Any) -> str:
    """The name of the operator or external function that a value calls, or nothing."""
    if isinstance(value, Call):
        if isinstance(value.op, Op):
            return value.op.name
        if isinstance(value.op, ExternFunc):
            return value.op.global_symbol
    return ""


def parts(call: Call) -> dict[str, Any]:
    """Operands and attributes of an operator's call by parameter name."""
    rec = op_of(call)
    assert rec is not None
    return rec.values(call)


def packed(name: str, *args: Expr, ty: Type = UNIT, span: Any = None) -> Call:
    """A call of an external function, with the type of its result."""
    return Call(ExternFunc(name), args, ty, NO_ATTRS, (ty,), span)


def with_machine(name: str, *args: Expr, ty: Type | None = None, span: Any = None) -> Call:
    """A call of a function that gets the machine as its first argument."""
    return get_op("relax.call_builtin_with_ctx")(name, args, ty_args=(ty or AnyType(),), span=span)


def number(value: int) -> Expr:
    """A number among the arguments of a built-in function."""
    return prim_value(value)


def text(value: Any) -> StringImm:
    """A text among them."""
    return value if isinstance(value, StringImm) else StringImm(value)


def constant_sizes(shape: Any) -> tuple[int, ...] | None:
    """The sizes of a shape, where all are constants."""
    if isinstance(shape, ShapeExpr) and all(isinstance(v, IntImm) for v in shape.values):
        return tuple([v.value for v in shape.values])  # type: ignore[attr-defined]
    return None


def byte_count(sizes: Sequence[Expr], dtype: DType) -> Expr:
    """The bytes of a compact tensor: a number, or a number times the symbolic sizes."""
    item = max(1, (dtype.bits * dtype.lanes + 7) // 8)
    known = [v.value for v in sizes if isinstance(v, IntImm)]
    total: Expr = prim_value(math.prod(known) * item)
    symbolic = [size for size in sizes if not isinstance(size, IntImm)]
    return total * math.prod(symbolic[1:], start=symbolic[0]) if symbolic else total


__all__ = ["byte_count", "called", "constant_sizes", "number", "packed", "parts", "text", "with_machine"]

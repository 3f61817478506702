"""`tvm.ir.expr`: expressions with the peer's signatures."""

from __future__ import annotations

from typing import Any

from .... import ir
from ....errors import Diagnostic, UnsupportedError
from ....ir import (
    BaseFunc,
    Expr,
    GenericConst,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    is_prim_expr,
)
from ...adapters import adapts, lacking


def is_prim_var(value: Any) -> bool:
    """Whether this is a variable of scalar or vector type."""
    return isinstance(value, Var) and is_prim_expr(value)


@adapts(ir.Range)
def Range(begin: Any, end: Any = None, span: Any = None) -> Any:
    """From `begin` up to `end`; with one argument from 0."""
    return ir.make_range(begin, end)


@adapts(ir.GlobalVar)
def GlobalVar(name_hint: str) -> Any:
    """The name of a function of a module."""
    return ir.GlobalVar(name_hint)


@adapts(ir.Call)
def Call(
    op: Any, args: Any, attrs: Any = None, ty_args: Any = None, span: Any = None, ret_ty: Any = None
) -> Any:
    """A call; without `ret_ty` the callee says its type. Raises UnsupportedError for `ty_args`."""
    if ty_args:
        raise UnsupportedError(Diagnostic("unsupported", "`ty_args` belongs to the graph dialect"))
    if ret_ty is None:
        callee = getattr(op, "ty", None)
        ret_ty = callee.ret_type if isinstance(callee, ir.FuncType) else "void"
    return ir.make_call(op, args, attrs, ret_ty)


TensorLoad = ir.BufferLoad
BufferLoad = ir.BufferLoad


@adapts(ir.BufferRegion)
def TensorRegion(source: Any, region: Any, ty: Any = None, span: Any = None) -> Any:
    """A rectangular part of a buffer."""
    return ir.BufferRegion(source, region)


BufferRegion = TensorRegion

__getattr__ = lacking("tvm.ir.expr")

__all__ = [
    "BaseFunc",
    "BufferLoad",
    "BufferRegion",
    "Call",
    "Expr",
    "GenericConst",
    "GlobalVar",
    "Range",
    "StringImm",
    "TensorLoad",
    "TensorRegion",
    "Tuple",
    "TupleGetItem",
    "Var",
    "is_prim_expr",
    "is_prim_var",
]

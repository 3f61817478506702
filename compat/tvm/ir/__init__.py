"""`tvm.ir`: nodes that every dialect shares, equality, JSON."""

from __future__ import annotations

from ....ir import (
    AnyType,
    BaseFunc,
    DummyGlobalInfo,
    ExternFunc,
    FuncType,
    GenericConst,
    GlobalInfo,
    Op,
    PointerType,
    StringImm,
    StringType,
    Tuple,
    TupleGetItem,
    TupleType,
    Var,
    VDevice,
    is_prim_expr,
)
from ....ir import PrimExpr as ExprOperand
from ....ir import PrimExpr as ExprWithOp
from ...adapters import lacking
from . import attrs, base, expr, function, module, op, prim, transform
from . import type as type  # the peer's name of the module
from .attrs import DictAttrs, make_node
from .base import (
    EnvFunc,
    Node,
    SequentialSpan,
    SourceName,
    Span,
    assert_structural_equal,
    load_json,
    save_json,
    structural_equal,
    structural_hash,
)
from .expr import (
    BufferLoad,
    BufferRegion,
    Call,
    Expr,
    GlobalVar,
    Range,
    TensorLoad,
    TensorRegion,
    is_prim_var,
)
from .function import CallingConv
from .module import IRModule
from .type import PrimType, Type

Attrs = DictAttrs

__getattr__ = lacking("tvm.ir")

__all__ = [
    "AnyType",
    "Attrs",
    "BaseFunc",
    "BufferLoad",
    "BufferRegion",
    "Call",
    "CallingConv",
    "DictAttrs",
    "DummyGlobalInfo",
    "EnvFunc",
    "Expr",
    "ExprOperand",
    "ExprWithOp",
    "ExternFunc",
    "FuncType",
    "GenericConst",
    "GlobalInfo",
    "GlobalVar",
    "IRModule",
    "Node",
    "Op",
    "PointerType",
    "PrimType",
    "Range",
    "SequentialSpan",
    "SourceName",
    "Span",
    "StringImm",
    "StringType",
    "TensorLoad",
    "TensorRegion",
    "Tuple",
    "TupleGetItem",
    "TupleType",
    "Type",
    "VDevice",
    "Var",
    "assert_structural_equal",
    "attrs",
    "base",
    "expr",
    "function",
    "is_prim_expr",
    "is_prim_var",
    "load_json",
    "make_node",
    "module",
    "op",
    "prim",
    "save_json",
    "structural_equal",
    "structural_hash",
    "transform",
    "type",
]

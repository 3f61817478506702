"""The graph dialect: tensors with symbolic shapes, functions of bindings, operators."""

from __future__ import annotations

from .constant import tensor_constant
from .expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    Function,
    If,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    VarBinding,
    as_seq,
)
from .op import OpPattern, RelaxOp, all_ops, find_op, get_op, null_value, op_of, prim_value, relax_op
from .relations import erase, same_size, same_sizes, type_lca
from .types import ShapeType, TensorType, shape_symbols

const = tensor_constant
"""The name by which graph programs know it: `relax.const(1.0)`."""

__all__ = [
    "Binding",
    "BindingBlock",
    "DataTypeImm",
    "DataflowBlock",
    "DataflowVar",
    "Function",
    "If",
    "MatchCast",
    "OpPattern",
    "RelaxOp",
    "SeqExpr",
    "ShapeExpr",
    "ShapeType",
    "TensorType",
    "VarBinding",
    "all_ops",
    "as_seq",
    "const",
    "erase",
    "find_op",
    "get_op",
    "null_value",
    "op_of",
    "prim_value",
    "relax_op",
    "same_size",
    "same_sizes",
    "shape_symbols",
    "tensor_constant",
    "type_lca",
]

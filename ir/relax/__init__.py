"""The graph dialect: tensors with symbolic shapes, functions of bindings, operators."""

from __future__ import annotations

from .binding_rewrite import DataflowBlockRewrite
from .block_builder import BlockBuilder
from .call_type import call_function, call_packed, call_type, retyped
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
from .functors import PyExprMutator, PyExprVisitor, mutator, visitor
from .op import (
    OpPattern,
    RelaxOp,
    all_ops,
    composed,
    find_composed,
    find_op,
    get_op,
    null_value,
    op_of,
    prim_value,
    relax_op,
)
from .relations import erase, same_size, same_sizes, type_lca
from .rewrite import GraphRewriter
from .subtype import BaseCheckResult, is_base_of, type_base_check
from .types import ShapeType, TensorType, shape_symbols

const = tensor_constant
"""The name by which graph programs know it: `relax.const(1.0)`."""

__all__ = [
    "BaseCheckResult",
    "Binding",
    "BindingBlock",
    "BlockBuilder",
    "DataTypeImm",
    "DataflowBlock",
    "DataflowBlockRewrite",
    "DataflowVar",
    "Function",
    "GraphRewriter",
    "If",
    "MatchCast",
    "OpPattern",
    "PyExprMutator",
    "PyExprVisitor",
    "RelaxOp",
    "SeqExpr",
    "ShapeExpr",
    "ShapeType",
    "TensorType",
    "VarBinding",
    "all_ops",
    "as_seq",
    "call_function",
    "call_packed",
    "call_type",
    "composed",
    "const",
    "erase",
    "find_composed",
    "find_op",
    "get_op",
    "is_base_of",
    "mutator",
    "null_value",
    "op_of",
    "prim_value",
    "relax_op",
    "retyped",
    "same_size",
    "same_sizes",
    "shape_symbols",
    "tensor_constant",
    "type_base_check",
    "type_lca",
    "visitor",
]

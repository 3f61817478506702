"""Normal form: which expressions may stand as arguments, and naming the others."""

from __future__ import annotations

from typing import Any

from ..expr import Call, Expr, GenericConst, GlobalVar, StringImm, Tuple, TupleGetItem, Var
from ..function import BaseFunc, ExternFunc
from ..op import Op
from ..types import PrimType
from .expr import DataTypeImm, If, SeqExpr, ShapeExpr

_LEAVES = (Var, GlobalVar, GenericConst, ShapeExpr, StringImm, DataTypeImm, ExternFunc, Op)


def is_graph_call(e: Any) -> bool:
    """Whether this is a call of the graph dialect: not of an operator on scalars, such as a maximum."""
    return isinstance(e, Call) and not (isinstance(e.op, Op) and not e.op.name.startswith("relax."))


def is_atom(e: Expr) -> bool:
    """Whether an expression may stand as an argument in normal form.

    Variables, constants, shapes, scalar arithmetic, the mark of an absent operand, tuples of those.
    """
    if isinstance(e, _LEAVES):
        return True
    if isinstance(e, Tuple):
        return all(map(is_atom, e.fields_))
    if is_graph_call(e):
        return isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == "relax.null_value"
    return type(e.ty) is PrimType and not isinstance(e, If | SeqExpr | TupleGetItem | BaseFunc)


__all__ = ["is_atom", "is_graph_call"]

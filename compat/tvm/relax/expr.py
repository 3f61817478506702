"""`tvm.relax.expr`: nodes of the graph dialect, with the peer's arguments."""

from __future__ import annotations

from typing import Any

from .... import ir
from ....ir import GenericConst, GlobalVar, StringImm, TupleGetItem, relax
from ....ir.relax import Binding, BindingBlock, DataflowBlock, DataTypeImm, If, ShapeExpr, prim_value
from ....ir.relax.call_type import call_type
from ....ir.relax.op import as_argument
from ...adapters import adapts, lacking

Constant = GenericConst
Expr = ir.Expr
const = relax.tensor_constant


def _type(ty: Any) -> Any:
    from ....script.relax_types import note_type

    return ir.AnyType() if ty is None else note_type(ty)


@adapts(ir.Var)
def Var(name: Any = None, ty: Any = None, span: Any = None, *, name_hint: Any = None) -> Any:
    """A variable of the graph."""
    return ir.Var(name_hint if name is None else name, _type(ty))


@adapts(relax.DataflowVar)
def DataflowVar(name: Any = None, ty: Any = None, span: Any = None, *, name_hint: Any = None) -> Any:
    """A variable of a dataflow block."""
    return relax.DataflowVar(name_hint if name is None else name, _type(ty))


@adapts(ir.Call)
def Call(
    op: Any, args: Any, attrs: Any = None, ty_args: Any = None, span: Any = None, ret_ty: Any = None
) -> Any:
    """A call; its type is derived, or is what `ret_ty` says."""
    if isinstance(op, str):
        op = ir.Op(op)
    given = [as_argument(a) for a in args]
    types = tuple([_type(t) for t in ty_args or ()])
    if ret_ty is not None:
        return ir.Call(op, given, _type(ret_ty), attrs, types)
    if isinstance(op, ir.Op):
        made = ir.Call(op, given, ir.AnyType(), attrs, types)
        rec = relax.find_op(op.name)
        return made if rec is None else rec.again(made, given)
    return ir.Call(op, given, call_type(op, given, types), attrs, types)


@adapts(ir.Tuple)
def Tuple(fields: Any, span: Any = None) -> Any:
    """Several values as one."""
    return ir.Tuple([as_argument(f) for f in fields])


@adapts(relax.Function, create_empty=staticmethod(lambda *args, **options: _empty(*args, **options)))
def Function(
    params: Any, body: Any, ret_ty: Any = None, is_pure: bool = True, attrs: Any = None, span: Any = None
) -> Any:
    """A function; the type of its result is derived unless it is given."""
    ret = None if ret_ty is None else _type(ret_ty)
    return relax.Function(params, body, ret, is_pure, attrs)


def _empty(params: Any, ret_ty: Any, is_pure: bool = True, attrs: Any = None, span: Any = None) -> Any:
    raise AttributeError("loopwright has no functions without bodies")


@adapts(relax.SeqExpr)
def SeqExpr(blocks: Any, body: Any, span: Any = None) -> Any:
    """Blocks of bindings, and the value of the whole."""
    return relax.SeqExpr(blocks, as_argument(body))


@adapts(relax.VarBinding)
def VarBinding(var: Any, value: Any, span: Any = None) -> Any:
    """`var = value`."""
    return relax.VarBinding(var, as_argument(value))


@adapts(relax.MatchCast)
def MatchCast(var: Any, value: Any, ty: Any, span: Any = None) -> Any:
    """`var = match_cast(value, ty)`."""
    return relax.MatchCast(var, as_argument(value), _type(ty))


@adapts(ir.ExternFunc)
def ExternFunc(global_symbol: str, ty: Any = None, span: Any = None) -> Any:
    """A function known by its symbol."""
    return ir.ExternFunc(global_symbol=global_symbol, ty=_type(ty))


def extern(name: str, ty: Any = None, span: Any = None) -> Any:
    """A function known by its symbol."""
    return ExternFunc(name, ty)


def get_shape_of(expr: Any) -> Any:
    """The shape of a tensor, as its type has it."""
    return expr.ty.shape


def make_shape(shape: Any) -> Any:
    """A shape of these sizes."""
    return ShapeExpr(shape)


__getattr__ = lacking("tvm.relax.expr")

__all__ = [
    "Binding",
    "BindingBlock",
    "Call",
    "Constant",
    "DataTypeImm",
    "DataflowBlock",
    "DataflowVar",
    "Expr",
    "ExternFunc",
    "Function",
    "GlobalVar",
    "If",
    "MatchCast",
    "SeqExpr",
    "ShapeExpr",
    "StringImm",
    "Tuple",
    "TupleGetItem",
    "Var",
    "VarBinding",
    "const",
    "extern",
    "get_shape_of",
    "make_shape",
    "prim_value",
]

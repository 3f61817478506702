"""Expressions of the graph dialect: constants, shapes, calls by the record of their operator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..dtype import DType
from ..errors import Diagnostic, UnsupportedError
from ..grammar.tree import (
    CallExpr,
    Constant,
    Keyword,
    ListExpr,
    Name,
    SExpr,
    Subscript,
    TupleExpr,
)
from ..ir import (
    AnyType,
    Call,
    Expr,
    ExternFunc,
    GenericConst,
    GlobalVar,
    IntImm,
    Op,
    StringImm,
    Tuple,
    VDevice,
)
from ..ir.relax import (
    DataflowVar,
    DataTypeImm,
    Function,
    If,
    RelaxOp,
    SeqExpr,
    ShapeExpr,
    TensorType,
    find_op,
)
from .calls import general_call, global_var
from .core import Printer, keyword, shows, string
from .literals import integer, real, special
from .metadata import key
from .names import legal_name
from .relax_types import R, scalar, sizes, type_list, vdevice
from .values import value

_LITERAL = frozenset({"bool", "int8", "int16", "int32", "int64", "float16", "float32", "float64"})
"""The dtypes of numbers that `R.const` spells; the others are kept in the metadata, as the peer does."""


def operand(p: Printer, e: Expr) -> SExpr:
    """A value in a graph: the argument of a call, what a variable is bound to, a result."""
    return as_operand(p, e) if type(e) is not IntImm else scalar(p, e)


def as_operand(p: Printer, e: Expr) -> SExpr:
    """A value where a bare number would not be read as a scalar: its constructor says that it is one."""
    if type(e) is StringImm:
        return _text(p, e.value)
    return p.expr(e)


def operands(p: Printer, values: Iterable[Expr]) -> tuple[SExpr, ...]:
    """Several values."""
    return tuple([operand(p, e) for e in values])


def _text(p: Printer, text: str) -> SExpr:
    return CallExpr(R(p, "str"), (string(text),))


@shows(DataflowVar)
def _show_dataflow_var(p: Printer, e: DataflowVar) -> SExpr:
    return p.var(e)


@shows(ShapeExpr)
def _show_shape(p: Printer, e: ShapeExpr) -> SExpr:
    return CallExpr(R(p, "shape"), (ListExpr(sizes(p, e.values)),))


@shows(DataTypeImm)
def _show_dtype(p: Printer, e: DataTypeImm) -> SExpr:
    return CallExpr(R(p, "dtype"), (string(str(e.value)),))


@shows(Tuple)
def _show_tuple(p: Printer, e: Tuple) -> SExpr:
    if p.graph is not None and not e.fields_:
        return CallExpr(R(p, "tuple"))
    return TupleExpr(operands(p, e.fields_) if p.graph is not None else p.exprs(e.fields_))


@shows(GenericConst)
def _show_constant(p: Printer, c: GenericConst) -> SExpr:
    """`R.const(1.0, "float32")` for one number of an ordinary dtype, else a place in the metadata."""
    ty = c.ty
    if isinstance(ty, TensorType) and ty.ndim == 0 and ty.dtype is not None and str(ty.dtype) in _LITERAL:
        return CallExpr(R(p, "const"), (_number(p, c.value.item()), string(str(ty.dtype))))
    number = p.constants.number(c.value)
    return Subscript(Subscript(Name("metadata"), string(key(p.options.header))), Constant(number))


def _number(p: Printer, item: Any) -> SExpr:
    if isinstance(item, bool):
        return Constant(item)
    if isinstance(item, int):
        return integer(item)
    return special(item) or real(item, p.options.header == "tvm")


# Calls


def graph_call(p: Printer, e: Call) -> SExpr:
    """A call in a graph: of an operator, a function of the module, an external function, a closure."""
    op = e.op
    if type(op) is Op:
        rec = find_op(op.name)
        if rec is None or not _is_of(rec, e):
            return general_call(p, e, string(op.name))
        return _by_record(p, rec, e)
    if isinstance(op, ExternFunc):
        words = [keyword(k, attribute(p, v)) for k, v in sorted(e.attrs.items())]
        if e.ty_args:
            words.append(keyword("ty_args", TupleExpr(p.exprs(e.ty_args))))
        return CallExpr(R(p, "call_packed"), (callee(p, op), *operands(p, e.args)), tuple(words))
    if e.attrs or e.ty_args or (isinstance(op, GlobalVar) and not legal_name(op.name)):
        return general_call(p, e, global_var(p, op) if isinstance(op, GlobalVar) else p.expr(op))
    return CallExpr(p.expr(op), operands(p, e.args))


def callee(p: Printer, func: Expr) -> SExpr:
    """A function that an operator calls; an external one of which only the symbol is known is a text."""
    if isinstance(func, ExternFunc) and not func.attrs and isinstance(func.ty, AnyType):
        return string(func.global_symbol)
    return p.expr(func)


def _is_of(rec: RelaxOp, e: Call) -> bool:
    """Whether the call has the form that the record makes."""
    own = [param for param in rec.params if param.is_operand]
    names = {param.name for param in rec.params if param.is_attr}
    stated = [param for param in rec.params if param.is_type]
    if any(k not in names for k in e.attrs) or (e.ty_args and not stated):
        return False
    if any(param.kind == "OutType" for param in stated) and len(e.ty_args) != 1:
        return False
    least = len([param for param in own if param.required])
    return least <= len(e.args) and (len(e.args) <= len(own) or any(param.variadic for param in own))


def _by_record(p: Printer, rec: RelaxOp, e: Call) -> SExpr:
    """Operands by position, attributes by name, all of them; the stated type of a kernel's result before."""
    values = rec.values(e)
    args: list[SExpr] = []
    stated: list[Keyword] = []
    words: list[Keyword] = []
    last: list[Keyword] = []
    for param in rec.params:
        item = values[param.name]
        if param.kind == "OutType":
            stated.append(keyword(param.name, type_list(p, item)))
        elif param.is_type:
            last += [keyword(param.name, TupleExpr(p.exprs(item)))] if item else []
        elif not param.is_operand:
            text = param.kind == "Format"
            words.append(keyword(param.name, _text(p, item) if text else attribute(p, item)))
        elif param.variadic:
            args += operands(p, item)
        else:
            args.append(_operand(p, param.kind, item))
    while args and isinstance(args[-1], Constant) and args[-1].value is None:
        args.pop()
    return CallExpr(R(p, rec.script), tuple(args), (*stated, *words, *last))


def _operand(p: Printer, kind: str, item: Expr | None) -> SExpr:
    if item is None:
        return Constant(None)
    return callee(p, item) if kind == "Callee" else operand(p, item)


def attribute(p: Printer, item: Any) -> SExpr:
    """The value of an operator's attribute."""
    if isinstance(item, DType):
        return string(str(item))
    if isinstance(item, VDevice):
        return vdevice(p, item)
    return value(p, item)


@shows(If, SeqExpr, Function)
def _no_spelling(p: Printer, e: Expr) -> SExpr:
    raise UnsupportedError(
        Diagnostic(
            "unsupported",
            f"script has no spelling for a {type(e).__name__} inside of an expression",
            help=('bind it to a variable, as the pass "relax.Normalize" does',),
        )
    )


__all__ = ["as_operand", "attribute", "callee", "graph_call", "operand", "operands"]

"""Calls: operators through their records, functions of the module, and the general form.

A record's spelling is used only where building it again gives this very call; anything else
prints as `T.Call(op, args, attrs=..., ret_ty=...)`, which says all that a call holds.
"""

from __future__ import annotations

from typing import Any

from ..dtype import DType
from ..grammar.tree import Attribute, CallExpr, Keyword, ListExpr, Name, SExpr
from ..ir import (
    BufferType,
    Call,
    Expr,
    GlobalVar,
    Op,
    PointerType,
    PrimFunc,
    PrimType,
    Type,
    Var,
    structural_equal,
)
from ..ir.op import spelling
from .core import Printer, keyword, shows, string
from .names import legal_name
from .types import type_argument
from .values import attrs_value, value


@shows(Call)
def _show_call(p: Printer, e: Call) -> SExpr:
    op = e.op
    if is_graph_call(p, e):
        from .relax_exprs import graph_call

        return graph_call(p, e)
    if type(op) is Op:
        if op.name == "tirx.buffer_data" and _is_data(e):
            return Attribute(p.expr(e.args[0]), "data")
        shown = by_record(p, e)
        return general_call(p, e, string(op.name)) if shown is None else shown
    if type(op) is GlobalVar:
        callee = p.module.get(op) if p.module is not None else None
        if isinstance(callee, PrimFunc) and not e.attrs and _same_type(callee.ret_type, e.ty):
            if legal_name(op.name):
                return CallExpr(p.expr(op), p.exprs(e.args))
        return general_call(p, e, global_var(p, op))
    return general_call(p, e, p.expr(op))


def is_graph_call(p: Printer, e: Call) -> bool:
    """Whether a call is spelled as the graph dialect does: by its operator, or because a graph holds it."""
    if type(e.op) is Op:
        return e.op.name.startswith("relax.")
    return p.graph is not None


@shows(GlobalVar)
def _show_global_var(p: Printer, g: GlobalVar) -> SExpr:
    """`Module.name` inside a module that has the function, else a constructor."""
    if p.module is not None and p.module_name is not None and g in p.module and legal_name(g.name):
        return p.member(g.name)
    if p.options.header == "tvm" and p.module is None and p.graph is not None:
        return Name(g.name)  # a piece of a graph, as the peer shows it
    return global_var(p, g)


@shows(Op)
def _show_op(p: Printer, op: Op) -> SExpr:
    return CallExpr(p.I("Op"), (string(op.name),))


def global_var(p: Printer, g: GlobalVar) -> SExpr:
    """`I.GlobalVar("name")`"""
    return CallExpr(p.I("GlobalVar"), (string(g.name),))


def general_call(p: Printer, e: Call, op: SExpr) -> SExpr:
    """`T.Call(op, args, attrs=..., ret_ty=...)`"""
    words: list[Keyword] = []
    if e.attrs:
        words.append(keyword("attrs", attrs_value(p, e.attrs)))
    words.append(keyword("ret_ty", type_argument(p, e.ty)))
    return p.call("Call", (op, ListExpr(p.exprs(e.args))), words)


def by_record(p: Printer, e: Call) -> SExpr | None:
    """The spelling of an operator's record, or None where there is none that is read as this call."""
    try:
        found = spelling(e)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None  # too few arguments, or of other kinds than the operator has
    if found is None:
        return None
    shown = tuple([argument(p, a) for a in found.args])
    return p.call(found.name, shown, [keyword(k, argument(p, v)) for k, v in found.keywords.items()])


def argument(p: Printer, item: Any) -> SExpr:
    """An argument of a spelling: an expression, a type or Python data."""
    if isinstance(item, Expr):
        return p.expr(item)
    if isinstance(item, Type):
        return type_argument(p, item)
    if isinstance(item, DType):
        return string(str(item))
    return value(p, item)


def _is_data(e: Call) -> bool:
    owner = e.args[0] if len(e.args) == 1 else None
    if not isinstance(owner, Var) or not isinstance(owner.ty, BufferType) or e.attrs:
        return False
    pointer = PointerType(PrimType(owner.ty.dtype), owner.ty.storage_scope)
    return _same_type(e.ty, pointer)


def _same_type(a: Type, b: Type) -> bool:
    if a is b:
        return True
    if type(a) is PointerType and type(b) is PointerType:
        return a.storage_scope == b.storage_scope and _same_type(a.element_type, b.element_type)
    return type(a) is type(b) and structural_equal(a, b)

"""Bindings of graph functions: expressions on a line of their own, and assignments."""

from __future__ import annotations

from typing import Any

from ..dtype import DType
from ..errors import Span
from ..grammar import tree as S
from ..ir import (
    UNIT,
    Expr,
    GlobalInfo,
    IterVar,
    Op,
    PrimType,
    Range,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
    const,
)
from ..ir.relax import BaseCheckResult, type_base_check
from ..ir.relax.constant import tensor_constant
from ..ir.relax.op import as_argument
from ..ir.text import text
from .arith import binary
from .expr import call_value, evaluate
from .faults import describe, fault, located
from .relax_builder import Casting, GraphBuilder, is_symbol
from .relax_types import note_type
from .sequence import target_names
from .values import Form, Meta, ModuleRef, Symbol

NAMELESS = "_"
"""What the variables are called that a call for its effect is bound to."""


def _value(b: GraphBuilder, node: S.SExpr) -> Any:
    return call_value(b, node) if type(node) is S.CallExpr else evaluate(b, node)


def not_ended(b: GraphBuilder, span: Span | None) -> None:
    """Raise a Fault where no statement may stand any more."""
    if b.result is not None:
        raise fault(
            "after-return",
            "nothing can stand behind `return`",
            span,
            help=("let `return` be the last statement of the function",),
        )


def expression(b: GraphBuilder, node: S.ExprStmt) -> None:
    """A value on a line of its own: an effect. Raises a Fault for one that is of use only under a name."""
    if type(node.value) is S.Constant and isinstance(node.value.value, str) or _is_ellipsis(node.value):
        return
    not_ended(b, node.span)
    value = _value(b, node.value)
    if isinstance(value, Casting) or isinstance(value, Expr) and value.ty != UNIT and not b.is_fresh(value):
        raise fault(
            "unbound-value",
            f"this value is not bound to a name: it has type `{text(value.ty)}`",
            node.span,
            help=("write `name = ...`, or `_ = ...` when only its effect counts",),
        )
    if isinstance(value, Expr):
        if not b.is_fresh(value):
            b.bind(NAMELESS, value, node.span)
    elif isinstance(value, Form):
        raise fault(
            "invalid-statement", f"`{value.script_name}` is not called", node.span, help=("add `(...)`",)
        )


def _is_ellipsis(node: S.SExpr) -> bool:
    return type(node) is S.Constant and node.value is ...


def assigned(b: GraphBuilder, node: S.Assign) -> None:
    """`target = value`."""
    not_ended(b, node.span)
    if len(node.targets) > 1:
        raise fault(
            "chained-assignment",
            "`a = b = c` is not part of the language",
            node.span,
            help=("write one assignment a line",),
        )
    assign(b, node.targets[0], _value(b, node.value), node)


def assign(b: GraphBuilder, target: S.SExpr, value: Any, node: Any) -> None:
    """Let a target mean a value: a name, or several names for the fields of a tuple."""
    if isinstance(target, S.Name):
        assign_name(b, target, value, node.span)
    elif isinstance(target, S.TupleExpr | S.ListExpr):
        names = target_names(target.elts)
        twice = next((n for n in names if names.count(n) > 1 and n != "_"), None)
        if twice is not None:
            raise fault("duplicate-target", f"`{twice}` stands twice on the left", target.span)
        for part, item in zip(target.elts, _fields(b, value, len(target.elts), target.span)):
            assign(b, part, item, node)
    else:
        raise fault(
            "invalid-target",
            "a graph binds names; nothing else can be assigned",
            target.span,
            help=("use `R.scatter_elements` or `R.index_put` to make a tensor with other elements",),
        )


def _fields(b: GraphBuilder, value: Any, count: int, span: Span | None) -> list[Any]:
    """The values for several targets: items of a Python sequence, or projections of a tuple."""
    if isinstance(value, Meta):
        values = list(value)
    elif isinstance(value, Tuple):
        values = list(value.fields_)
    elif isinstance(value, Expr) and isinstance(value.ty, TupleType):
        if len(value.ty.fields_) == count:
            value = b.argument(value)
        values = [TupleGetItem(value, i) for i in range(len(value.ty.fields_))]
    elif isinstance(value, Expr) or not hasattr(value, "__iter__"):
        raise fault("not-iterable", f"{describe(value)} is no tuple, so it has no fields", span)
    else:
        values = list(value)
    if len(values) != count:
        raise fault("unpacking", f"{count} names for {len(values)} values", span)
    return values


_NAMES_ONLY = (str, bytes, dict, type(None), Form, Type, DType, Op, ModuleRef, GlobalInfo, IterVar, Range)


def assign_name(b: GraphBuilder, target: S.Name, value: Any, span: Span | None) -> None:
    """`name = value`: a binding, unless the value is a symbol or something of Python."""
    name, where = target.id, target.span
    if isinstance(value, Casting):
        b.define(name, b.match_cast(name, value, span), where)
    elif b.is_new_symbol(value):
        _declare_symbol(b, name, value, where)
    elif isinstance(value, Symbol | Meta) or isinstance(value, _NAMES_ONLY) or not is_bindable(value):
        b.define(name, value, where)
    else:
        b.define(name, b.bind(name, as_value(value), span), where)


def is_bindable(value: Any) -> bool:
    """Whether a Python value can be bound: an expression, a number, or a tuple of such."""
    if isinstance(value, tuple | list):
        return all(isinstance(v, str) or is_bindable(v) for v in value)
    return isinstance(value, Expr | bool | int | float)


def as_value(value: Any, wanted: Type | None = None) -> Expr:
    """What a name is bound to: a number as a tensor constant, a sequence as a tuple.

    Where a scalar type is wanted a number has that type.
    """
    if isinstance(value, bool | int | float) and not isinstance(wanted, PrimType):
        return tensor_constant(value)
    return typed_argument(value, wanted)


def typed_argument(value: Any, wanted: Type | None) -> Expr:
    """The value as an argument; numbers have the scalar types that are wanted in their places."""
    if isinstance(value, bool | int | float) and isinstance(wanted, PrimType):
        return const(value, wanted)
    if isinstance(value, tuple | list):
        known = isinstance(wanted, TupleType) and len(wanted.fields_) == len(value)
        parts = wanted.fields_ if known else [None] * len(value)  # type: ignore[union-attr]
        return Tuple([typed_argument(v, t) for v, t in zip(value, parts)])
    return as_argument(value)


def _declare_symbol(b: GraphBuilder, name: str, value: Var, span: Span | None) -> None:
    """`n = T.int64()`: a symbol of the function; one that is known stays itself."""
    known = b.names.get(name, b.symbols.get(name))
    if known is not None and is_symbol(known):
        if known.ty is not value.ty:
            raise fault(
                "symbol-type",
                f"the symbol `{name}` has dtype `{known.dtype}`, not `{value.dtype}`",
                span,
            )
        b.fresh.pop(id(value), None)
        b.define(name, known, span)
        return
    b.name_value(value, name, span)
    b.symbols.setdefault(name, value)
    b.define(name, value, span)


def annotated(b: GraphBuilder, node: S.AnnAssign) -> None:
    """`name: type = value`. Raises a Fault where the value cannot have the type."""
    not_ended(b, node.span)
    target = node.target
    if not isinstance(target, S.Name):
        raise fault("invalid-target", "only a name can be annotated", target.span)
    if node.value is None:
        raise fault(
            "no-value",
            f"`{target.id}` has a type but no value",
            node.span,
            help=("graphs bind names to values",),
        )
    value = _value(b, node.value)
    try:
        wanted = note_type(evaluate(b, node.annotation))
    except Exception as err:
        raise located(err, node.annotation.span) from None
    if b.is_new_symbol(value):
        _check(b, wanted, value.ty, target, node)
        _declare_symbol(b, target.id, value, target.span)
        return
    if isinstance(value, Casting):
        _check(b, wanted, value.ty, target, node)
        var = b.match_cast(target.id, value, node.span)
    else:
        made = as_value(value, wanted)
        _check(b, wanted, made.ty, target, node)
        var = b.bind(target.id, made, node.span, wanted)
    b.define(target.id, var, target.span)


def _check(b: GraphBuilder, wanted: Type, found: Type, target: S.Name, node: S.AnnAssign) -> None:
    if b.checked and type_base_check(wanted, found) is BaseCheckResult.FAIL_L0:
        raise fault(
            "annotation-mismatch",
            f"`{target.id}` is annotated as `{text(wanted)}`, and its value is `{text(found)}`",
            node.annotation.span,
            help=("leave the annotation out, or write the type that the value has",),
        )


def augmented(b: GraphBuilder, node: S.AugAssign) -> None:
    """`name += value`: the name is bound again."""
    not_ended(b, node.span)
    if not isinstance(node.target, S.Name):
        raise fault("invalid-target", "a graph binds names; nothing else can be assigned", node.target.span)
    old, value = evaluate(b, node.target), evaluate(b, node.value)
    try:
        made = binary(node.op, old, value, node.span)
    except Exception as err:
        raise located(err, node.span) from None
    assign_name(b, node.target, made, node.span)


__all__ = [
    "NAMELESS",
    "annotated",
    "assigned",
    "augmented",
    "expression",
    "is_bindable",
    "not_ended",
    "typed_argument",
]

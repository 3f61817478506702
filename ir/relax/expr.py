"""Nodes of the graph dialect: functions made of bindings.

A function's body is a `SeqExpr`: blocks of bindings, then the result.  In normal form the arguments of
calls are variables, constants, shapes, scalar expressions, and tuples of those.
"""

from __future__ import annotations

from typing import Annotated, Any

from ...dtype import DType
from ...errors import Diagnostic, DTypeError, Span
from ...node import DERIVED, IGNORED, NO_ATTRS, Attrs, Defines, Node
from ..expr import Expr, PrimExpr, Var
from ..function import BaseFunc
from ..types import AnyType, FuncType, Type
from .types import ShapeType, as_dim


class DataflowVar(Var):
    """A variable that only its dataflow block sees."""


class ShapeExpr(Expr):
    """A shape, written by its sizes."""

    values: tuple[Expr, ...]
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(values: Any) -> tuple[Any]:
        return (tuple([as_dim(v) for v in values]),)

    def _derive(self) -> Type:
        return ShapeType(self.values)


class DataTypeImm(Expr):
    """A dtype as a value."""

    value: DType
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(value: Any) -> tuple[Any]:
        return (DType(value),)

    def _derive(self) -> Type:
        return AnyType()


class Binding(Node):
    """Base of what a block binds."""

    span: Annotated[Span | None, IGNORED] = None


class VarBinding(Binding):
    """`var = value`: the variable is visible in what follows."""

    var: Annotated[Var, Defines("rest")]
    value: Expr


class MatchCast(Binding):
    """`var = R.match_cast(value, ty)`: checks that the value has the type; new symbols get its sizes."""

    var: Annotated[Var, Defines("rest", symbols=True)]
    value: Expr
    ty: Type


class BindingBlock(Node):
    """Bindings in order."""

    bindings: tuple[Binding, ...]
    span: Annotated[Span | None, IGNORED] = None

    @staticmethod
    def _coerce(bindings: Any) -> tuple[Any]:
        return (tuple(bindings),)


class DataflowBlock(BindingBlock):
    """Bindings without effects or control flow; those of a `DataflowVar` are seen in the block only."""


class SeqExpr(Expr):
    """Blocks of bindings, and the value of the whole."""

    blocks: tuple[BindingBlock, ...]
    body: Expr
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(blocks: Any, body: Any) -> tuple[Any, Any]:
        return tuple(blocks), body

    def _derive(self) -> Type:
        return self.body.ty


class If(PrimExpr):
    """One of two values by a condition: a scalar bool, or a bool tensor of rank 0.

    Branches that are no SeqExpr become one without bindings.  The type is the least that both have.
    """

    cond: Expr
    true_branch: SeqExpr
    false_branch: SeqExpr
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(cond: Any, true_branch: Any, false_branch: Any) -> tuple[Any, Any, Any]:
        return cond, as_seq(true_branch), as_seq(false_branch)

    def _derive(self) -> Type:
        from .relations import erase_definitions, type_lca

        return type_lca(erase_definitions(self.true_branch), erase_definitions(self.false_branch))


class Function(BaseFunc):
    """A graph function: parameters, a body, the type of the result.

    Symbols that stand alone as sizes in the parameters' types are defined there.  A pure function has no
    effect besides its result.  Attributes of note: "global_symbol", "Primitive" (a fused group),
    "Composite", "Codegen".
    """

    params: Annotated[tuple[Var, ...], Defines("body", "ret_ty", symbols=True)]
    body: SeqExpr
    ret_ty: Type
    is_pure: bool = True
    attrs: Attrs = NO_ATTRS
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(params: Any, body: Any, ret_ty: Any, is_pure: Any, attrs: Any) -> tuple[Any, ...]:
        body = as_seq(body)
        if ret_ty is None:
            ret_ty = body.ty
        if not isinstance(ret_ty, Type):
            raise DTypeError(
                Diagnostic("type-mismatch", f"the type of a result is a type, not a {type(ret_ty).__name__}")
            )
        attrs = attrs if type(attrs) is Attrs else Attrs(attrs or {})
        return tuple(params), body, ret_ty, bool(is_pure), attrs

    def _derive(self) -> Type:
        return FuncType([p.ty for p in self.params], self.ret_ty, self.is_pure)


def as_seq(value: Expr) -> SeqExpr:
    """The expression as a body: itself, or a sequence without bindings that ends in it."""
    return value if isinstance(value, SeqExpr) else SeqExpr((), value)


__all__ = [
    "Binding",
    "BindingBlock",
    "DataTypeImm",
    "DataflowBlock",
    "DataflowVar",
    "Function",
    "If",
    "MatchCast",
    "SeqExpr",
    "ShapeExpr",
    "VarBinding",
    "as_seq",
]

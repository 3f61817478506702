"""Nodes of the graph dialect: functions made of bindings.

A function's body is a `SeqExpr`: blocks of bindings, then the result.  In normal form the arguments of
calls are variables, constants, shapes, scalar expressions, and tuples of those.
"""

from __future__ import annotations

from collections.abc import Mapping
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

    def __getitem__(self, axis: Any) -> Any:
        """The size of this axis."""
        return self.values[axis]


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
    """Base of what a block binds: a variable, visible in what follows, and the value that it stands for."""

    var: Annotated[Var, Defines("rest")]
    value: Expr
    span: Annotated[Span | None, IGNORED] = None


class VarBinding(Binding):
    """`var = value`"""


class MatchCast(Binding):
    """`var = R.match_cast(value, ty)`: checks that the value has the type; new symbols get its sizes."""

    var: Annotated[Var, Defines("rest", symbols=True)]
    value: Expr
    ty: Type


class BindingBlock(Node):
    """Bindings in order."""

    bindings: Annotated[tuple[Binding, ...], Defines("rest")]
    span: Annotated[Span | None, IGNORED] = None

    @staticmethod
    def _coerce(bindings: Any) -> tuple[Any]:
        return (tuple(bindings),)


class DataflowBlock(BindingBlock):
    """Bindings without effects or control flow; those of a `DataflowVar` are seen in the block only."""


class SeqExpr(Expr):
    """Blocks of bindings, and the value of the whole.

    Empty blocks are left out, and plain blocks side by side are one block: they mean the same.
    """

    blocks: Annotated[tuple[BindingBlock, ...], Defines("body")]
    body: Expr
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(blocks: Any, body: Any) -> tuple[Any, Any]:
        return _joined(tuple(blocks)), body

    def _derive(self) -> Type:
        return self.body.ty


def _joined(blocks: tuple[BindingBlock, ...]) -> tuple[BindingBlock, ...]:
    """The blocks without empty ones and without plain ones side by side."""
    plain = [type(block) is BindingBlock for block in blocks]
    if all(block.bindings for block in blocks) and not any(a and b for a, b in zip(plain, plain[1:])):
        return blocks
    made: list[BindingBlock] = []
    for block, is_plain in zip(blocks, plain):
        if is_plain and made and type(made[-1]) is BindingBlock:
            made[-1] = BindingBlock((*made[-1].bindings, *block.bindings), made[-1].span)
        elif block.bindings:
            made.append(block)
    return tuple(made)


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
        from .relations import erase

        ret_ty = erase(self.ret_ty, set(self.params).__contains__)
        return FuncType([p.ty for p in self.params], ret_ty, self.is_pure)

    def bind_params(self, params: Mapping[Any, Any]) -> Function:
        """The function without these parameters, for which values stand; see `relax.bind`."""
        from .bind import bind_params

        return bind_params(self, params)

    def bind_symbolic_vars(self, sizes: Mapping[Any, Any]) -> Function:
        """The function with these sizes fixed; see `relax.bind`."""
        from .bind import bind_symbolic_vars

        return bind_symbolic_vars(self, sizes)


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

"""Branches of graph functions: `if` as an expression whose value both branches bind last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import Span
from ..grammar import tree as S
from ..ir import UNIT, AnyType, Expr, PrimType, Type, Var, structural_equal
from ..ir.relax import If, SeqExpr, TensorType, VarBinding
from ..ir.relax.normal_form import is_atom
from ..ir.text import text
from ..ir.visitor import type_vars
from .expr import evaluate
from .faults import Poisoned, fault
from .relax_bindings import NAMELESS, not_ended
from .relax_builder import GraphBuilder
from .sequence import target_names


def choice(b: GraphBuilder, node: S.IfStmt) -> None:
    """`if c: ... else: ...`; one that Python can decide stands for the branch taken."""
    not_ended(b, node.span)
    try:
        _build(b, node)
    except Exception:
        for stmt in (*node.body, *node.orelse):
            if isinstance(stmt, S.Assign | S.AnnAssign):
                targets = stmt.targets if isinstance(stmt, S.Assign) else (stmt.target,)
                for name in target_names(targets):
                    b.poison(name)
        raise


def _build(b: GraphBuilder, node: S.IfStmt) -> None:
    test = evaluate(b, node.test)
    if not isinstance(test, Expr):
        b.build(node.body if test else node.orelse)
        return
    if b.dataflow is not None:
        raise fault(
            "dataflow-block",
            "a condition cannot stand in a dataflow block",
            node.span,
            help=("end the block before it",),
        )
    cond = _condition(b, test, node.test.span)
    if not node.orelse:
        raise fault(
            "missing-else",
            "an `if` of a graph gives a value, so it needs an `else`",
            node.span,
            help=("bind the same name in both branches",),
        )
    then = _branch(b, node.body, node.span, "the branch of `if`")
    orelse = _branch(b, node.orelse, node.span, "the branch of `else`")
    if then is None or orelse is None:
        raise Poisoned
    if then.name != orelse.name:
        raise fault(
            "branch-names",
            f"the branches bind `{then.name}` and `{orelse.name}` last",
            node.span,
            help=("let both branches end with a binding of the same name: it is the value of the `if`",),
        )
    value = If(cond, then.seq, orelse.seq, node.span)
    var = b.bind(then.name, value, node.span, _declared(b, then, orelse))
    if then.name != NAMELESS:
        b.define(then.name, var, node.span)


class Branch:
    """A branch that was read: the name that it binds last, the type that it gives that name, its value."""

    __slots__ = ("name", "seq", "ty")

    def __init__(self, name: str, ty: Type, seq: SeqExpr) -> None:
        self.name = name
        self.ty = ty
        self.seq = seq


def _declared(b: GraphBuilder, then: Branch, orelse: Branch) -> Type | None:
    """The type that both branches give the name, where it is seen outside of them."""
    visible = {v for v in (*b.names.values(), *b.symbols.values()) if isinstance(v, Var)}
    if all(v in visible for v in type_vars(then.ty)) and structural_equal(then.ty, orelse.ty):
        return then.ty
    return None


def _condition(b: GraphBuilder, value: Expr, span: Span | None) -> Expr:
    ty = value.ty
    if isinstance(ty, PrimType):
        fits = ty.dtype.is_bool
    else:
        fits = isinstance(ty, AnyType) or (
            isinstance(ty, TensorType) and ty.ndim in (0, -1) and (ty.dtype is None or ty.dtype.is_bool)
        )
    if not fits:
        raise fault(
            "condition-type",
            f"a condition is a bool or a bool tensor of rank 0, not a value of type `{text(ty)}`",
            span,
        )
    return b.argument(value)


def _branch(b: GraphBuilder, body: Sequence[S.SStmt], span: Span | None, what: str) -> Branch | None:
    """What a branch says; None where it is faulty."""
    known = len(b.diagnostics)
    b.open("branch")
    b.blocks.begin_scope()
    b.branches_open += 1
    try:
        b.build(body)
    finally:
        b.branches_open -= 1
        names = dict(b.names)
        b.close()
        blocks = b.blocks.end_scope()
    if any(d.severity == "error" for d in b.diagnostics[known:]):
        return None
    found: list[Any] = [x for x in blocks[-1].bindings if type(x.var) is Var] if blocks else []
    last = found[-1] if found else None
    name = next((n for n, v in names.items() if last is not None and v is last.var), None)
    if name is None and last is not None and last.var.ty == UNIT:
        name = NAMELESS  # a call for its effect
    if last is None or name is None:
        raise fault(
            "branch-names",
            f"{what} binds nothing at its end",
            span,
            help=("let both branches end with a binding of the same name: it is the value of the `if`",),
        )
    if isinstance(last, VarBinding) and is_atom(last.value) and last is blocks[-1].bindings[-1]:
        # `y = x` at the end of a branch only says that `x` is its value
        rest = blocks[-1].replace(bindings=blocks[-1].bindings[:-1])
        blocks = (*blocks[:-1], rest) if rest.bindings else blocks[:-1]
        return Branch(name, last.var.ty, SeqExpr(blocks, last.value))
    return Branch(name, last.var.ty, SeqExpr(blocks, last.var))


__all__ = ["choice"]

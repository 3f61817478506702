"""Conditions and names that a loop does not decide are computed once, outside of it."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any, Final

from ...ir import (
    And,
    AttrStmt,
    Bind,
    Call,
    Comparison,
    Evaluate,
    Expr,
    For,
    ForKind,
    IfThenElse,
    IterVar,
    Let,
    Not,
    Op,
    Or,
    PrimFunc,
    SBlock,
    SeqStmt,
    Stmt,
    Var,
    seq,
)
from ...ir.arith.keys import Keys
from ...ir.visitor import Rewriter, Visitor, definitions, renew_definitions, walk
from ..common import is_nothing
from ..context import PassContext
from ..loops import size_of
from ..registry import prim_func_pass
from ..speculation import never_fails
from .conditions import Resolve

MAX_NODES: Final = 20_000
"""A loop larger than this is not written twice for a condition."""


class HoistedConditionals(enum.IntFlag):
    """Which conditions leave loops."""

    Never = 0
    IfElseStmt = 1
    IfElseExpr = 2
    BooleanExpression = 4
    UsingBlockVar = 8
    All = 15


class HoistedLetBindings(enum.IntFlag):
    """Which names leave loops."""

    Never = 0
    RequiredByConditional = 1
    Bind = 2
    LetExpr = 4
    All = 7


@prim_func_pass("s_tir.HoistExpression")
def hoist_expression(func: PrimFunc) -> PrimFunc:
    """A loop with a condition that it does not decide becomes two loops, one for each case.

    Names for values that the loop does not change are bound in front of it.  The options
    `hoisted_conditionals` and `hoisted_let_bindings` of the setting `s_tir.HoistExpression` say, as
    sums of the flags of HoistedConditionals and HoistedLetBindings, what may leave a loop: everything
    unless they are given.  What reads memory or may fail stays.

    before:
        @T.prim_func
        def f(A: T.Buffer((4, 4), "int32"), n: T.int32):
            for i, j in T.grid(4, 4):
                A[i, j] = 1
                if i < n:
                    A[i, j] = 2

    after:
        @T.prim_func
        def f(A: T.Buffer((4, 4), "int32"), n: T.int32):
            for i in range(4):
                if i < n:
                    for j in range(4):
                        A[i, j] = 1
                        A[i, j] = 2
                else:
                    for j in range(4):
                        A[i, j] = 1
    """
    context = PassContext.current()
    conditions = HoistedConditionals(context.option("s_tir.HoistExpression", "hoisted_conditionals"))
    bindings = HoistedLetBindings(context.option("s_tir.HoistExpression", "hoisted_let_bindings"))
    return _Hoist(conditions, bindings)(func)


class _Hoist(Rewriter):
    def __init__(self, conditions: HoistedConditionals, bindings: HoistedLetBindings) -> None:
        super().__init__()
        self.conditions, self.bindings = conditions, bindings
        self.threads: set[Var] = set()

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        if not isinstance(stmt.node, IterVar):
            return self.visit_fields(stmt)
        self.threads.add(stmt.node.var)
        across = self.conditions & HoistedConditionals.UsingBlockVar
        return self._cases(stmt) if across else self.visit_fields(stmt)

    def visit_For(self, loop: For) -> Any:
        if loop.kind is ForKind.THREAD_BINDING:
            self.threads.add(loop.loop_var)
        before, loop = self._names(loop)
        return seq([*before, self._cases(loop)])

    def _names(self, loop: For) -> tuple[list[Stmt], For]:
        """Bindings of values that do not depend on the loop, and the loop without them."""
        inside = _defined_in(loop)
        finder = _Names(self.bindings, inside)
        body = finder(loop.body)
        return finder.found, loop if body is loop.body else loop.replace(body=body)

    def _cases(self, loop: For | AttrStmt) -> Stmt:
        """The loop or launch, or the choice between two forms of it."""
        inside = _defined_in(loop)
        keys = Keys()
        for test in _Conditions(self.conditions).of(loop.body):
            used = {n for n in walk(test) if isinstance(n, Var)}
            if not used or used & inside or not never_fails(test):
                continue
            if used & self.threads and not self.conditions & HoistedConditionals.UsingBlockVar:
                continue
            if size_of(loop.body) > MAX_NODES:
                break
            alike = {id(e) for e in walk(loop.body) if isinstance(e, Expr) and _same(keys, e, test)}
            then, other = [
                loop.replace(body=Resolve(dict.fromkeys(alike, t))(loop.body)) for t in (True, False)
            ]
            then_case: Stmt = self._cases(then)
            if is_nothing(other.body):
                return IfThenElse(test, then_case)
            return IfThenElse(test, then_case, renew_definitions(self._cases(other)))
        new: Stmt = self.visit_fields(loop)
        return new


class _Names(Rewriter):
    """Takes out the names that may be bound in front of a loop in which `inside` is defined."""

    def __init__(self, wanted: HoistedLetBindings, inside: set[Any]) -> None:
        super().__init__()
        self.wanted, self.inside = wanted, inside
        self.found: list[Stmt] = []

    def _takes(self, var: Var, value: Expr) -> bool:
        if not never_fails(value) or self.inside & set(walk(value)):
            return False
        self.inside.discard(var)
        self.found.append(Bind(var, value))
        return True

    def visit_SeqStmt(self, stmt: SeqStmt) -> Any:
        made = self.visit_tuple(stmt.seq)
        return stmt if made is stmt.seq else seq([s for s in made if not is_nothing(s)])

    def visit_Bind(self, stmt: Bind) -> Any:
        new = self.visit_fields(stmt)
        return (
            Evaluate(0) if self.wanted & HoistedLetBindings.Bind and self._takes(new.var, new.value) else new
        )

    def visit_Let(self, e: Let) -> Any:
        new = self.visit_fields(e)
        return (
            new.body if self.wanted & HoistedLetBindings.LetExpr and self._takes(new.var, new.value) else new
        )


def _same(keys: Keys, a: Expr, b: Expr) -> bool:
    return type(a) is type(b) and keys.same(a, b)


def _defined_in(loop: For | AttrStmt) -> set[Any]:
    """The variables defined by the loop and in it."""
    found: set[Any] = set()
    for node in walk(loop):
        found.update(definitions(node))
        if isinstance(node, AttrStmt) and isinstance(node.node, IterVar):
            found.add(node.node.var)
        elif isinstance(node, SBlock):
            found.update(axis.var for axis in node.iter_vars)
    return found


class _Conditions(Visitor):
    """The conditions in a statement, in order."""

    def __init__(self, wanted: HoistedConditionals) -> None:
        self.wanted = wanted
        self.found: list[Expr] = []

    def of(self, stmt: Stmt) -> list[Expr]:
        """What may be hoisted out of the statement's loops."""
        self.visit(stmt)
        return self.found

    def visit_IfThenElse(self, stmt: IfThenElse) -> None:
        if self.wanted & HoistedConditionals.IfElseStmt:
            self.found += self._parts(stmt.condition)
        self.visit_fields(stmt)

    def visit_Call(self, e: Call) -> None:
        name = e.op.name if isinstance(e.op, Op) else ""
        if name == "prim.if_then_else" and self.wanted & HoistedConditionals.IfElseExpr:
            self.found += self._parts(e.args[0])
        self.visit_fields(e)

    def _parts(self, e: Expr) -> Iterator[Expr]:
        """The comparisons that make up a condition; one that is compound only where that is wanted."""
        if isinstance(e, Comparison) or (isinstance(e, Var) and e.dtype.is_bool):
            yield e
        elif isinstance(e, And | Or) and not self.wanted & HoistedConditionals.BooleanExpression:
            yield e
        elif isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == "prim.likely":
            yield from self._parts(e.args[0])
        elif isinstance(e, And | Or):
            yield from self._parts(e.a)
            yield from self._parts(e.b)
        elif isinstance(e, Not):
            yield from self._parts(e.a)

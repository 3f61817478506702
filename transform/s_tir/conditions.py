"""Conditions that depend on a loop: finding them, and putting their truth in their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...ir import (
    LE,
    And,
    Bind,
    Call,
    Comparison,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    IntImm,
    IterVar,
    Let,
    Min,
    Not,
    Op,
    Or,
    Select,
    SeqStmt,
    Stmt,
    Var,
    While,
    const,
    seq,
)
from ...ir.visitor import Rewriter, Visitor, walk
from ..common import is_nothing
from ..speculation import never_fails

LIKELY, IGNORED = "prim.likely", "tirx.ignore_loop_partition"


@dataclass(frozen=True)
class Condition:
    """A comparison on a loop's variable, and the loops inside that one which stand around it."""

    test: Comparison
    loops: tuple[For, ...]


def conditions_on(loop: For, *, only_likely: bool) -> list[Condition]:
    """The comparisons in a loop's body on its variable whose other variables are from outside, or
    count loops inside; also those that tell which of two ends a loop inside has.

    With `only_likely`, those within `T.likely`; those within `T.ignore_loop_partition` never.
    """
    finder = _Finder(loop.loop_var, only_likely)
    finder.visit(loop.body)
    return finder.found


class _Finder(Visitor):
    def __init__(self, var: Var, only_likely: bool) -> None:
        self.var, self.only_likely = var, only_likely
        self.loops: tuple[For, ...] = ()
        self.local: set[Var] = set()
        self.found: list[Condition] = []

    def visit_For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        ends = [n for e in (loop.min, loop.extent) for n in walk(e)]
        if self.local.intersection(n for n in ends if isinstance(n, Var)):
            self.local.add(loop.loop_var)
        for n in ends:
            if isinstance(n, Min) and not self.only_likely:
                # where it changes sides, the loop inside gets a constant number of iterations
                self._note(LE(n.a, n.b))
        kept, self.loops = self.loops, (*self.loops, loop)
        self.visit(loop.body)
        self.loops = kept

    def visit_While(self, stmt: While) -> None:
        self.visit(stmt.body)

    def visit_IterVar(self, axis: IterVar) -> None:
        self.local.add(axis.var)

    def visit_Bind(self, stmt: Bind) -> None:
        self.local.add(stmt.var)
        self.visit(stmt.value)

    def visit_Let(self, e: Let) -> None:
        self.local.add(e.var)
        self.visit(e.value)
        self.visit(e.body)

    def visit_IfThenElse(self, stmt: IfThenElse) -> None:
        self._condition(stmt.condition)
        self.visit(stmt.then_case)
        if stmt.else_case is not None:
            self.visit(stmt.else_case)

    def visit_Select(self, e: Select) -> None:
        self._condition(e.condition)
        self.visit(e.true_value)
        self.visit(e.false_value)

    def visit_Call(self, e: Call) -> None:
        name = e.op.name if isinstance(e.op, Op) else ""
        if name == "prim.if_then_else":
            self._condition(e.args[0])
            self.visit(e.args[1])
            self.visit(e.args[2])
            return
        for arg in e.args:
            self.visit(arg)

    def _condition(self, e: Expr) -> None:
        for test in _comparisons(e, not self.only_likely):
            self._note(test)

    def _note(self, test: Comparison) -> None:
        used = {n for n in walk(test) if isinstance(n, Var)}
        if self.var in used and not used & self.local and never_fails(test):
            self.found.append(Condition(test, self.loops))


def _comparisons(e: Expr, wanted: bool) -> Iterator[Comparison]:
    """The comparisons that a condition is made of; before `wanted`, only what is likely."""
    if isinstance(e, Comparison):
        if wanted and e.a.dtype.is_int and e.a.dtype.is_scalar:
            yield e
    elif isinstance(e, And | Or):
        yield from _comparisons(e.a, wanted)
        yield from _comparisons(e.b, wanted)
    elif isinstance(e, Not):
        yield from _comparisons(e.a, wanted)
    elif isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == LIKELY:
        yield from _comparisons(e.args[0], True)


class Resolve(Rewriter):
    """Puts the known truth of conditions, given by identity, in their places, and follows it up."""

    def __init__(self, known: Mapping[int, bool]) -> None:
        super().__init__()
        self.known = known

    def visit(self, node: Any) -> Any:
        truth = self.known.get(id(node))
        return super().visit(node) if truth is None else const(truth, "bool")

    def visit_And(self, e: And) -> Any:
        return self._joint(e, True)

    def visit_Or(self, e: Or) -> Any:
        return self._joint(e, False)

    def _joint(self, e: And | Or, neutral: bool) -> Expr:
        new = self.visit_fields(e)
        for one, other in ((new.a, new.b), (new.b, new.a)):
            if isinstance(one, IntImm):
                return other if bool(one.value) is neutral else one
        return new

    def visit_Not(self, e: Not) -> Any:
        new = self.visit_fields(e)
        return const(not new.a.value, "bool") if isinstance(new.a, IntImm) else new

    def visit_Call(self, e: Call) -> Any:
        new = self.visit_fields(e)
        name = new.op.name if isinstance(new.op, Op) else ""
        if name == LIKELY and isinstance(new.args[0], IntImm):
            return new.args[0]
        if name == "prim.if_then_else" and isinstance(new.args[0], IntImm):
            return new.args[1] if new.args[0].value else new.args[2]
        return new

    def visit_Select(self, e: Select) -> Any:
        new = self.visit_fields(e)
        if not isinstance(new.condition, IntImm):
            return new
        return new.true_value if new.condition.value else new.false_value

    def visit_IfThenElse(self, stmt: IfThenElse) -> Any:
        condition = self.visit(stmt.condition)
        if isinstance(condition, IntImm):
            taken: Stmt | None = stmt.then_case if condition.value else stmt.else_case
            return Evaluate(0) if taken is None else self.visit(taken)
        new = self.visit_fields(stmt)
        empty = new is not stmt and is_nothing(new.then_case) and is_nothing(new.else_case)
        return Evaluate(0) if empty and never_fails(new.condition) else new

    def visit_For(self, loop: For) -> Any:
        new = self.visit_fields(loop)
        return Evaluate(0) if new is not loop and is_nothing(new.body) else new

    def visit_SeqStmt(self, stmt: SeqStmt) -> Any:
        made = self.visit_tuple(stmt.seq)
        return stmt if made is stmt.seq else seq([s for s in made if not is_nothing(s)])

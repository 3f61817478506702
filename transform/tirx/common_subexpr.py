"""Repeated expressions get a name."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...ir import (
    AttrStmt,
    BinaryOp,
    Bind,
    BitwiseNot,
    BufferRegion,
    BufferStore,
    BufferType,
    Cast,
    Comparison,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    Let,
    PrimFunc,
    PrimType,
    SBlock,
    SBlockRealize,
    Select,
    SeqStmt,
    Stmt,
    Var,
    While,
    seq,
)
from ...ir.arith.keys import Keys
from ...ir.visitor import Rewriter, children
from ...node import Node
from ..context import PassContext
from ..registry import prim_func_pass
from ..scopes import statements
from ..speculation import never_fails


@prim_func_pass("tirx.CommonSubexprElim")
def common_subexpr_elim(func: PrimFunc) -> PrimFunc:
    """An arithmetic expression that occurs several times is bound to a name before its first use.

    The binding stands in the innermost scope that holds all occurrences; larger expressions come
    first.  Expressions that read memory, call something, could fail where they did not run before,
    or are bool stay where they are.

    before:
        @T.prim_func
        def f(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32"), n: T.int32):
            for i in range(8):
                A[i * 4 + n] = B[i * 4 + n]

    after:
        @T.prim_func
        def f(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32"), n: T.int32):
            for i in range(8):
                cse_v1: T.let = i * 4 + n
                A[cse_v1] = B[cse_v1]
    """
    if PassContext.current().get("tirx.disable_cse_tir"):
        return func
    found = _Occurrences()
    found.scope(func.body, None)
    names = _chosen(found)
    return _Name(found, names)(func) if names else func


class _Place(NamedTuple):
    """A statement: the number of its scope, and its position there."""

    scope: int
    at: int


def _bodies(stmt: Stmt) -> list[Stmt]:
    """The parts of a statement that are scopes of their own."""
    if isinstance(stmt, For | While | AttrStmt):
        return [stmt.body]
    if isinstance(stmt, IfThenElse):
        return [s for s in (stmt.then_case, stmt.else_case) if s is not None]
    if isinstance(stmt, SBlockRealize):
        return _bodies(stmt.block)
    if isinstance(stmt, SBlock):
        return [s for s in (stmt.init, stmt.body) if s is not None]
    return []


def _expressions(stmt: Stmt) -> list[Expr]:
    """The expressions that a statement evaluates itself, once or before its bodies."""
    if isinstance(stmt, BufferStore):
        return [stmt.value, *stmt.indices]
    if isinstance(stmt, Bind | Evaluate):
        return [stmt.value]
    if isinstance(stmt, For):
        return [stmt.min, stmt.extent]
    if isinstance(stmt, IfThenElse | While):
        return [stmt.condition]
    if isinstance(stmt, SBlockRealize):
        return [*stmt.iter_values, stmt.predicate]
    return []


class _Entry:
    """One expression: its parts, how large it is, and where it is used."""

    __slots__ = ("expr", "local", "parts", "size", "uses")

    def __init__(self, expr: Expr, parts: list[int], size: int, local: bool) -> None:
        self.expr, self.parts, self.size, self.local = expr, parts, size, local
        self.uses: list[_Place] = []


class _Occurrences:
    """All expressions of a function by number, and the scopes, numbered in order of visiting."""

    def __init__(self) -> None:
        self.keys = Keys()
        self.entries: dict[int, _Entry] = {}
        self.parents: list[_Place | None] = []
        self.depths: list[int] = []
        self.inner: set[Var] = set()

    def scope(self, body: Stmt, parent: _Place | None) -> None:
        number = len(self.parents)
        self.parents.append(parent)
        self.depths.append(0 if parent is None else self.depths[parent.scope] + 1)
        for index, stmt in enumerate(statements(body)):
            place = _Place(number, index)
            for e in _expressions(stmt):
                self.entries[self.enter(e)].uses.append(place)
            for inner in _bodies(stmt):
                self.scope(inner, place)

    def enter(self, e: Expr) -> int:
        """The number of the expression, its entry being made."""
        if isinstance(e, Let):
            self.inner.add(e.var)
        key = self.keys.key(e)
        if key not in self.entries:
            parts = [self.enter(c) for c in _parts(e)]
            below = [self.entries[p] for p in parts]
            local = e in self.inner if isinstance(e, Var) else any(b.local for b in below)
            self.entries[key] = _Entry(e, parts, 1 + sum([b.size for b in below]), local)
        return key

    def common(self, a: _Place, b: _Place) -> _Place:
        """The earlier of the two statements that hold the places in their innermost common scope."""
        while a.scope != b.scope:
            deeper = self.depths[a.scope] >= self.depths[b.scope]
            outer = self.parents[a.scope if deeper else b.scope]
            assert outer is not None
            a, b = (outer, b) if deeper else (a, outer)
        return a if a.at <= b.at else b


def _parts(e: Expr) -> list[Expr]:
    """The scalar or vector operands of an expression; names of buffers and the like are none."""
    if isinstance(e, Var | BufferRegion):
        return []
    return [c for c in children(e) if isinstance(c, Expr) and not isinstance(c.ty, BufferType)]


def _may_name(entry: _Entry) -> bool:
    e = entry.expr
    if not isinstance(e, BinaryOp | Cast | Select | BitwiseNot) or isinstance(e, Comparison) or entry.local:
        return False
    if not isinstance(e.ty, PrimType) or e.dtype.is_bool or e.dtype.is_vector:
        return False
    return never_fails(e)


def _chosen(found: _Occurrences) -> dict[int, _Place]:
    """The expressions that get a name, and the statement before which each is bound, in order.

    An expression that has a name counts as one use of its parts, where it is bound.
    """
    names: dict[int, _Place] = {}
    for key, entry in sorted(found.entries.items(), key=lambda item: -item[1].size):
        uses = entry.uses
        if len(uses) > 1 and _may_name(entry):
            place = uses[0]
            for other in uses[1:]:
                place = found.common(place, other)
            names[key] = place
            uses = [place]
        for part in entry.parts:
            found.entries[part].uses += uses
    return names


class _Name(Rewriter):
    """Puts the names in, going through scopes in the order in which they were numbered."""

    def __init__(self, found: _Occurrences, names: dict[int, _Place]) -> None:
        super().__init__()
        self.found = found
        self.names = {key: Var(f"cse_v{n + 1}", found.entries[key].expr.ty) for n, key in enumerate(names)}
        self.binds: dict[_Place, list[int]] = {}
        for key, place in reversed(names.items()):
            self.binds.setdefault(place, []).append(key)
        self.scopes = 0
        self.inside: int | None = None

    def visit_PrimFunc(self, func: PrimFunc) -> Any:
        return func.replace(body=self.scope(func.body))

    def scope(self, body: Stmt) -> Stmt:
        number, self.scopes = self.scopes, self.scopes + 1
        made: list[Stmt] = []
        for index, stmt in enumerate(statements(body)):
            for key in self.binds.get(_Place(number, index), ()):
                self.inside = key
                made.append(Bind(self.names[key], self.visit(self.found.entries[key].expr)))
            made.append(self.statement(stmt))
        same = made == [body] if not isinstance(body, SeqStmt) else made == list(body.seq)
        return body if same else seq(made)

    def statement(self, stmt: Stmt) -> Stmt:
        changes: dict[str, Any] = {}
        if isinstance(stmt, SBlockRealize):
            new = super().visit_tuple(stmt.iter_values), self.visit(stmt.predicate)
            block = self.statement(stmt.block)
            changes = {"iter_values": new[0], "predicate": new[1], "block": block}
        elif isinstance(stmt, BufferStore):
            changes = {"value": self.visit(stmt.value), "indices": self.visit_tuple(stmt.indices)}
        elif isinstance(stmt, Bind | Evaluate):
            changes = {"value": self.visit(stmt.value)}
        elif isinstance(stmt, For):
            changes = {"min": self.visit(stmt.min), "extent": self.visit(stmt.extent)}
        elif isinstance(stmt, IfThenElse | While):
            changes = {"condition": self.visit(stmt.condition)}
        if isinstance(stmt, For | While | AttrStmt):
            changes["body"] = self.scope(stmt.body)
        elif isinstance(stmt, IfThenElse):
            changes["then_case"] = self.scope(stmt.then_case)
            changes["else_case"] = None if stmt.else_case is None else self.scope(stmt.else_case)
        elif isinstance(stmt, SBlock):
            changes["init"] = None if stmt.init is None else self.scope(stmt.init)
            changes["body"] = self.scope(stmt.body)
        if all(getattr(stmt, name) is new for name, new in changes.items()):
            return stmt
        return stmt.replace(**changes)

    def visit(self, node: Node) -> Any:
        if isinstance(node, BinaryOp | Cast | Select | BitwiseNot):
            key = self.found.keys.key(node)
            name = self.names.get(key)
            if name is not None and key != self.inside:
                return name
            self.inside = None
        return super().visit(node)

"""One loop's iterations as the lanes of vectors: statements and expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...dtype import DType
from ...ir import (
    Add,
    AllocBuffer,
    And,
    AttrStmt,
    BinaryOp,
    Bind,
    BitwiseAnd,
    BitwiseNot,
    BitwiseOr,
    Broadcast,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Comparison,
    DeclBuffer,
    Div,
    Effect,
    Evaluate,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    Let,
    LShift,
    Mod,
    Mul,
    Not,
    Op,
    Or,
    PrimType,
    Ramp,
    RShift,
    Select,
    SeqStmt,
    Stmt,
    Sub,
    Var,
    While,
    const,
    find_record,
    seq,
)
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, renew_definitions, walk
from ..common import buffer_type, plus, times
from ..loops import jumps_out
from ..vectors import combine, convert
from .guards import bounds_guard


class NotVectorError(Exception):
    """This statement or expression has no vector form; it is run lane by lane."""


_DEFINERS = (Bind, AllocBuffer, DeclBuffer)
"""Statements that the rest of their sequence needs: they run lane by lane together with it only."""
_PARTIAL = (Div, Mod, FloorDiv, FloorMod, LShift, RShift)
"""Operators that fail for some operands."""
_ELEMENTWISE_EXTRA = ("tirx.reinterpret",)
_NOT_ELEMENTWISE = ("tirx.vectorlow", "tirx.vectorhigh", "tirx.vectorcombine", "tirx.dp4a")


class Lanes:
    """Turns the body of `for var in vectorized(low, low + count)` into statements on vectors."""

    def __init__(self, var: Var, low: Expr, count: int, ana: Analyzer) -> None:
        self.var, self.low, self.count, self.ana = var, low, count, ana
        self.lanes = const(count, "int32")
        self.values: dict[Var, Expr] = {var: Ramp(low, const(1, var.dtype), self.lanes)}
        self.wide: dict[Var, Var] = {}
        self.indexing = False
        self.mask: Expr | None = None
        self._varies: dict[int, tuple[Any, bool]] = {}

    # what depends on the lane

    def varies(self, e: Expr) -> bool:
        """Whether the expression differs from lane to lane."""
        found = self._varies.get(id(e))
        if found is None:
            answer = False
            for node in walk(e):
                if isinstance(node, Var) and (node in self.values or node in self.wide):
                    answer = True
            found = self._varies[id(e)] = (e, answer)
        return found[1]

    def same(self, e: Expr) -> bool:
        """Whether one value does for all lanes: they agree, and it can be computed where none asks for it."""
        return not self.varies(e) and (self.mask is None or harmless(e))

    # statements

    def statement(self, s: Stmt) -> Stmt:
        """The statement for all lanes: in vector form where it has one, else in a loop over the lanes.

        Below a condition that differs between lanes there is only the vector form.
        """
        try:
            return self.attempt(self.vector, s)
        except NotVectorError:
            if self.mask is not None or isinstance(s, _DEFINERS) or self._needs_outer(s):
                raise
            return self.serial([s])

    def attempt(self, make: Callable[[Any], Stmt], s: Stmt) -> Stmt:
        """What `make` gives for the statement; where it gives up, nothing that it noted is left."""
        before = dict(self.values), dict(self.wide)
        try:
            return make(s)
        except NotVectorError:
            self.values, self.wide = before
            self._varies.clear()
            raise

    def vector(self, s: Stmt) -> Stmt:
        """The vector form. Raises NotVectorError where there is none."""
        rule = _STATEMENTS.get(type(s))
        if rule is None:
            raise NotVectorError
        return rule(self, s)

    def _needs_outer(self, s: Stmt) -> bool:
        """Whether the statement uses a value bound per lane, which one lane alone cannot get."""
        for node in walk(s):
            if isinstance(node, Var) and node is not self.var and node in self.values:
                return True
        return False

    def serial(self, stmts: Sequence[Stmt]) -> Stmt:
        """A loop over the lanes with the statements as they were."""
        body = _OneLane(self)(seq(stmts))
        return For(self.var, self.low, const(self.count, self.var.dtype), ForKind.SERIAL, body)

    def sequence(self, s: SeqStmt) -> Stmt:
        made: list[Stmt] = []
        for k, stmt in enumerate(s.seq):
            try:
                made.append(self.statement(stmt))
            except NotVectorError:
                first = None if self.mask is not None else self._first_bound(s.seq, k, stmt)
                if first is None:
                    raise
                self._forget(s.seq[first:k])
                return seq([*made[:first], self.serial(s.seq[first:])])
        return seq(made)

    def _first_bound(self, stmts: Sequence[Stmt], end: int, user: Stmt) -> int | None:
        """Where the first of the per-lane values that `user` needs is bound; None if not all are here."""
        here = {s.var: k for k, s in enumerate(stmts[:end]) if isinstance(s, Bind)}
        needed = {n for n in walk(user) if isinstance(n, Var) and n is not self.var and n in self.values}
        first = end
        while needed:
            var = needed.pop()
            if var not in here:
                return None
            if here[var] < first:
                first = here[var]
            for s in stmts[here[var] : end]:
                more = {n for n in walk(s) if isinstance(n, Var) and n is not self.var and n in self.values}
                for one in more:
                    if one not in here:
                        return None
                    first = min(first, here[one])
        return first

    def _forget(self, stmts: Sequence[Stmt]) -> None:
        self._varies.clear()
        for s in stmts:
            for node in walk(s):
                if isinstance(node, Bind):
                    self.values.pop(node.var, None)
                elif isinstance(node, AllocBuffer):
                    self.wide.pop(node.buffer, None)

    def store(self, s: BufferStore) -> Stmt:
        index, buffer = self.position(s.buffer, s.indices)
        if not index.dtype.is_vector:
            raise NotVectorError
        value = self.spread(self.expr(s.value))
        if self.mask is not None:
            args = (buffer, value, index, self.mask)
            return Evaluate(Call("tirx.masked_store", args, "void", span=s.span), s.span)
        return BufferStore(buffer, value, [index], s.span)

    def position(self, buffer: Var, indices: tuple[Expr, ...]) -> tuple[Expr, Var]:
        """The index, a vector where it varies, and the buffer that holds all lanes."""
        if len(indices) != 1 or buffer.dtype.is_vector:
            raise NotVectorError
        before, self.indexing = self.indexing, True
        index = self.expr(indices[0])
        self.indexing = before
        wide = self.wide.get(buffer)
        if wide is None:
            return index, buffer
        lane = Ramp(const(0, index.dtype.element), const(1, index.dtype.element), self.lanes)
        scaled = times(index, const(self.count, index.dtype.element))
        return plus(scaled, lane), wide

    def bind(self, s: Bind) -> Stmt:
        if self.same(s.value):
            return s
        value = self.expr(s.value)
        if not isinstance(value.ty, PrimType) or value.dtype.is_scalar:
            raise NotVectorError
        new = Var(s.var.name, value.ty, s.var.span)
        self.values[s.var] = new
        self._varies.clear()
        return Bind(new, value, s.span)

    def allocate(self, s: AllocBuffer) -> Stmt:
        ty = buffer_type(s.buffer)
        if ty.dtype.is_vector or len(ty.shape) != 1 or self.varies(ty.shape[0]):
            raise NotVectorError
        size = times(ty.shape[0], const(self.count, ty.shape[0].dtype))
        new = self.wide[s.buffer] = Var(s.buffer.name, ty.replace(shape=(size,)), s.buffer.span)
        self._varies.clear()
        return AllocBuffer(new, s.annotations, s.span)

    def unvarying(self, s: Stmt) -> Stmt:
        """A statement that must be the same in every lane."""
        for node in walk(s):
            if isinstance(node, Var) and (node in self.values or node in self.wide):
                raise NotVectorError
        return s

    def evaluate(self, s: Evaluate) -> Stmt:
        if isinstance(s.value, IntImm):
            return s
        return Evaluate(self.expr(s.value), s.span)

    def attribute(self, s: AttrStmt) -> Stmt:
        return s.replace(body=self.statement(s.body))

    def loop(self, s: For) -> Stmt:
        bounds = [e for e in (s.min, s.extent, s.step) if e is not None]
        for e in bounds:
            if not self.same(e):
                raise NotVectorError
        if jumps_out(s.body):
            raise NotVectorError
        return s.replace(body=self.statement(s.body))

    def repeat(self, s: While) -> Stmt:
        if self.mask is not None or self.varies(s.condition) or jumps_out(s.body):
            raise NotVectorError
        return s.replace(body=self.statement(s.body))

    def choice(self, s: IfThenElse) -> Stmt:
        if self.same(s.condition):
            then = self.statement(s.then_case)
            other = None if s.else_case is None else self.statement(s.else_case)
            return s.replace(then_case=then, else_case=other)
        guard = None if s.else_case is not None else bounds_guard(self, s.condition)
        if guard is None:
            return self.masked(s)
        # where the condition holds in all lanes, plain vectors; elsewhere masked ones, or lane by lane
        fast = self.vector(s.then_case)
        try:
            slow = self.attempt(self.masked, s)
        except NotVectorError:
            if self.mask is not None or self._needs_outer(s):
                raise
            slow = self.serial([s])
        return IfThenElse(guard, fast, renew_definitions(slow), s.span)

    def masked(self, s: IfThenElse) -> Stmt:
        """Both branches for all lanes, with loads and stores only in the lanes that take them."""
        mask = self._mask_var()
        made: list[Stmt] = [Bind(mask, self.spread(self.expr(s.condition)), s.span)]
        with self.under(mask):
            made.append(self.vector(s.then_case))
        if s.else_case is not None:
            with self.under(Not(mask)):
                made.append(self.vector(s.else_case))
        return seq(made)

    def _mask_var(self) -> Var:
        return Var("mask", PrimType(DType("bool").with_lanes(self.count)))

    @contextmanager
    def under(self, condition: Expr) -> Iterator[None]:
        """What is made inside happens only in the lanes where the condition holds."""
        before = self.mask
        self.mask = condition if before is None else BitwiseAnd(before, condition)
        try:
            yield
        finally:
            self.mask = before

    # expressions

    def expr(self, e: Expr) -> Expr:
        """The value for all lanes; the scalar itself where the lanes agree."""
        if self.same(e):
            return e
        rule = _EXPRESSIONS.get(type(e))
        if rule is None or not isinstance(e.ty, PrimType) or e.dtype.is_vector:
            raise NotVectorError
        return rule(self, e)

    def spread(self, e: Expr) -> Expr:
        """The value as a vector."""
        if e.dtype.is_scalar:
            return Broadcast(e, self.lanes)
        if e.dtype.lanes != self.count:
            raise NotVectorError
        return e

    def variable(self, e: Var) -> Expr:
        return self.values[e]

    def sum(self, e: BinaryOp) -> Expr:
        a, b = self.expr(e.a), self.expr(e.b)
        if e.dtype.is_integral:
            return combine(type(e), a, b)
        return type(e)(self.spread(a), self.spread(b))

    def binary(self, e: BinaryOp) -> Expr:
        a, b = self.spread(self.expr(e.a)), self.spread(self.expr(e.b))
        if self.mask is not None and isinstance(e, _PARTIAL) and not isinstance(e.b, IntImm):
            # Lanes that do not count must not fail.
            if e.dtype.is_integral:
                b = Select(self.mask, b, Broadcast(const(1, e.b.dtype), self.lanes))
        return type(e)(a, b)

    def logic(self, e: And | Or) -> Expr:
        kind = BitwiseAnd if isinstance(e, And) else BitwiseOr
        left = self.spread(self.expr(e.a))
        if harmless(e.b):
            return kind(left, self.spread(self.expr(e.b)))
        # The right side is evaluated in the lanes where the left one leaves it open.
        mask = self._mask_var()
        with self.under(mask if isinstance(e, And) else Not(mask)):
            right = self.spread(self.expr(e.b))
        return Let(mask, left, kind(mask, right))

    def unary(self, e: Not | BitwiseNot) -> Expr:
        return type(e)(self.spread(self.expr(e.a)))

    def cast(self, e: Cast) -> Expr:
        value = self.spread(self.expr(e.value))
        return convert(value, e.dtype.element, exact=self.indexing)

    def select(self, e: Select) -> Expr:
        parts = [self.spread(self.expr(p)) for p in (e.condition, e.true_value, e.false_value)]
        return Select(*parts)

    def load(self, e: BufferLoad) -> Expr:
        index, buffer = self.position(e.buffer, e.indices)
        if self.mask is None:
            return BufferLoad(buffer, [index], e.span)
        args = (buffer, self.spread(index), self.mask)
        return Call("tirx.masked_load", args, PrimType(buffer.dtype.with_lanes(self.count)), span=e.span)

    def let(self, e: Let) -> Expr:
        value = self.expr(e.value)
        if value.dtype.is_scalar:
            return Let(e.var, value, self.expr(e.body))
        new = Var(e.var.name, value.ty, e.var.span)
        self.values[e.var] = new
        self._varies.clear()
        return Let(new, value, self.expr(e.body))

    def call(self, e: Call) -> Expr:
        name = e.op.name if isinstance(e.op, Op) else ""
        if name == "prim.if_then_else":
            return self.lazy(e)
        if name == "prim.likely":
            return self.expr(e.args[0])
        if not elementwise(name):
            raise NotVectorError
        args = [self.spread(self.expr(a)) for a in e.args]
        ty = PrimType(e.dtype.with_lanes(self.count))
        return e.replace(args=tuple(args), ty=ty)

    def lazy(self, e: Call) -> Expr:
        cond, then, other = e.args
        if not self.same(cond):
            choice = self.spread(self.expr(cond))
            if harmless(then) and harmless(other):
                return Select(choice, self.spread(self.expr(then)), self.spread(self.expr(other)))
            mask = self._mask_var()
            with self.under(mask):
                yes = self.spread(self.expr(then))
            with self.under(Not(mask)):
                no = self.spread(self.expr(other))
            return Let(mask, choice, Select(mask, yes, no))
        args = (cond, self.spread(self.expr(then)), self.spread(self.expr(other)))
        return e.replace(args=args, ty=args[1].ty)


def elementwise(name: str) -> bool:
    """Whether the operator works on each lane alone and has no effect."""
    rec = find_record(name)
    if rec is None or name in _NOT_ELEMENTWISE:
        return False
    return rec.effect is Effect.PURE and (rec.numpy is not None or name in _ELEMENTWISE_EXTRA)


def harmless(e: Expr) -> bool:
    """Whether the expression may be evaluated where it was not meant to be: no reads, no division."""
    for node in walk(e):
        if isinstance(node, BufferLoad):
            return False
        if isinstance(node, Div | Mod | FloorDiv | FloorMod) and node.dtype.is_integral:
            if not (isinstance(node.b, IntImm) and node.b.value not in (0, -1)):
                return False
        if isinstance(node, Call) and isinstance(node.op, Op):
            if node.op.name not in ("prim.if_then_else", "prim.likely") and not elementwise(node.op.name):
                return False
    return True


class _OneLane(Rewriter):
    """Statements of one lane inside the loop over the lanes: buffers of all lanes get the lane's index."""

    def __init__(self, lanes: Lanes) -> None:
        super().__init__()
        self.lanes = lanes

    def _index(self, indices: tuple[Expr, ...]) -> Expr:
        index = self.visit(indices[0])
        lane = combine(Sub, self.lanes.var, self.lanes.low)
        return plus(times(index, const(self.lanes.count, index.dtype)), lane)

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        wide = self.lanes.wide.get(e.buffer)
        if wide is None:
            return self.visit_fields(e)
        return BufferLoad(wide, [self._index(e.indices)], e.span)

    def visit_BufferStore(self, s: BufferStore) -> Any:
        wide = self.lanes.wide.get(s.buffer)
        if wide is None:
            return self.visit_fields(s)
        return BufferStore(wide, self.visit(s.value), [self._index(s.indices)], s.span)


_STATEMENTS: dict[type, Callable[[Lanes, Any], Stmt]] = {
    SeqStmt: Lanes.sequence,
    BufferStore: Lanes.store,
    Bind: Lanes.bind,
    AllocBuffer: Lanes.allocate,
    DeclBuffer: Lanes.unvarying,
    Evaluate: Lanes.evaluate,
    AttrStmt: Lanes.attribute,
    For: Lanes.loop,
    While: Lanes.repeat,
    IfThenElse: Lanes.choice,
}

_EXPRESSIONS: dict[type, Callable[[Lanes, Any], Expr]] = {
    Var: Lanes.variable,
    Add: Lanes.sum,
    Sub: Lanes.sum,
    Mul: Lanes.sum,
    And: Lanes.logic,
    Or: Lanes.logic,
    Not: Lanes.unary,
    BitwiseNot: Lanes.unary,
    Cast: Lanes.cast,
    Select: Lanes.select,
    BufferLoad: Lanes.load,
    Let: Lanes.let,
    Call: Lanes.call,
}
for _kind in (*BinaryOp.__subclasses__(), *Comparison.__subclasses__()):
    if _kind is not Comparison:
        _EXPRESSIONS.setdefault(_kind, Lanes.binary)

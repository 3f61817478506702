"""Integer expressions in a narrower type: the rewriting, and which variables take part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...dtype import DType
from ...ir import (
    AllocBuffer,
    AttrStmt,
    BinaryOp,
    Bind,
    BitwiseNot,
    Broadcast,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Cast,
    Comparison,
    Expr,
    For,
    IntImm,
    IterVar,
    Let,
    LShift,
    Op,
    PrimType,
    Ramp,
    Range,
    RShift,
    SBlock,
    SBlockRealize,
    Select,
    Stmt,
    Var,
)
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, Visitor
from ...node import Node
from ..vectors import convert


class Uses(Visitor):
    """Which integer variables take part in an expression whose value may not fit the narrow type."""

    def __init__(self, narrow: DType, ana: Analyzer) -> None:
        self.narrow, self.ana = narrow, ana
        self.wide: set[Var] = set()
        self.inside: set[Var] = set()

    @contextmanager
    def indexing(self, yes: bool = True) -> Iterator[None]:
        """Within, expressions are index arithmetic (or not)."""
        before, self.inside = self.inside, set()
        with self.ana.mode(data=not yes):
            yield
        self.inside = before

    def index(self, e: Expr | None) -> None:
        """An expression that is index arithmetic."""
        if e is not None:
            with self.indexing():
                self.visit(e)

    def visit_Stmt(self, stmt: Stmt) -> None:
        with self.indexing(False):
            self.visit_fields(stmt)

    def visit_Expr(self, e: Expr) -> None:
        before, self.inside = self.inside, set()
        self.visit_fields(e)
        if is_wider(e, self.narrow) and self.inside and not fits(self.ana, e, self.narrow):
            self.wide |= self.inside
        self.inside |= before

    def visit_Var(self, var: Var) -> None:
        if is_wider(var, self.narrow):
            self.inside.add(var)

    def visit_For(self, loop: For) -> None:
        self.index(loop.min)
        self.index(loop.extent)
        self._range(loop.loop_var, Range(loop.min, loop.extent))
        if loop.step is not None:
            self.wide.add(loop.loop_var)  # the last value that is tested lies beyond the range
        self.visit(loop.body)

    def _range(self, var: Var, dom: Range | None) -> None:
        """The variable lies in this range; it is wide where that is not narrow."""
        if not is_wider(var, self.narrow):
            return
        if dom is None:
            self.wide.add(var)
            return
        self.ana.bind(var, dom)
        with self.ana.mode(data=False):
            if not all(fits(self.ana, e, self.narrow) for e in (dom.min, dom.extent, var)):
                self.wide.add(var)

    def visit_AttrStmt(self, stmt: AttrStmt) -> None:
        if stmt.attr_key == "thread_extent" and isinstance(stmt.node, IterVar):
            self._range(stmt.node.var, Range(0, stmt.value))
            self.visit(stmt.body)
        else:
            self.visit_Stmt(stmt)

    def visit_Bind(self, stmt: Bind) -> None:
        with self.indexing(False):
            self.visit(stmt.value)
            if isinstance(stmt.value.ty, PrimType):
                self.ana.bind(stmt.var, stmt.value)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        for i in stmt.indices:
            self.index(i)
        with self.indexing(False):
            self.visit(stmt.value)

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        for i in e.indices:
            self.index(i)

    def visit_SBlockRealize(self, stmt: SBlockRealize) -> None:
        for value in (*stmt.iter_values, stmt.predicate):
            self.index(value)
        for axis in stmt.block.iter_vars:
            self._range(axis.var, axis.dom)
        self.visit(stmt.block)

    def visit_SBlock(self, block: SBlock) -> None:
        with self.indexing():
            for region in (*block.reads, *block.writes, *[m.source for m in block.match_buffers]):
                self.visit(region)
        for part in (block.init, block.body):
            if part is not None:
                self.visit(part)


def is_wider(e: Expr, narrow: DType) -> bool:
    """Whether this is a signed integer of more bits than the narrow type."""
    return isinstance(e.ty, PrimType) and e.ty.dtype.is_int and e.ty.dtype.bits > narrow.bits


def fits(ana: Analyzer, e: Expr, narrow: DType) -> bool:
    """Whether the value of the integer expression provably lies in the range of the narrow type."""
    bound = ana.bound(e)
    return bool(narrow.min_value <= bound.min and bound.max <= narrow.max_value)


_EXACT_ONLY = (LShift, RShift)


class Narrowing(Rewriter):
    """Computes integers in the narrow type where `may_narrow` allows it and an operand is narrow already.

    An expression may come back with a narrower type, of the same value.  Where a type is fixed (what
    is stored, arguments of calls) it is converted back.
    """

    def __init__(self, narrow: DType) -> None:
        super().__init__()
        self.narrow = narrow
        self.scalar = PrimType(narrow)

    def may_narrow(self, e: Expr) -> bool:
        """Whether the value of this expression, as it was, fits the narrow type."""
        raise NotImplementedError

    def narrows_var(self, var: Var) -> bool:
        """Whether this loop variable or axis gets the narrow type."""
        raise NotImplementedError

    @contextmanager
    def indexing(self, yes: bool = True) -> Iterator[None]:
        """Within, expressions are index arithmetic (or not)."""
        yield

    def index(self, e: Expr) -> Expr:
        """An index, of whatever type it gets."""
        with self.indexing():
            new: Expr = self.visit(e)
        return new

    def kept(self, e: Expr) -> Expr:
        """The expression with the type that it had."""
        new: Expr = self.visit(e)
        return new if new.ty is e.ty or not isinstance(new.ty, PrimType) else convert(new, e.dtype.element)

    def narrowed(self, e: Expr) -> Expr | None:
        """A rewritten operand in the narrow type; None where more than constants and casts must change."""
        if not isinstance(e.ty, PrimType):
            return None
        if e.dtype.element is self.narrow:
            return e
        if isinstance(e, IntImm):
            inside = self.narrow.min_value <= e.value <= self.narrow.max_value
            return IntImm(self.scalar, e.value) if e.dtype.is_int and inside else None
        if isinstance(e, Broadcast):
            value = self.narrowed(e.value)
            return None if value is None else Broadcast(value, e.lanes)
        if isinstance(e, Cast) and is_wider(e, self.narrow) and e.value.dtype.element is self.narrow:
            return e.value
        return None

    def _pair(self, old: Expr | None, a: Expr, b: Expr) -> tuple[Expr, Expr] | None:
        """The operands in the narrow type; None where that, or the value they give, may not fit."""
        if old is not None and not self.may_narrow(old):
            return None
        x, y = self.narrowed(a), self.narrowed(b)
        return None if x is None or y is None else (x, y)

    def visit_BinaryOp(self, e: BinaryOp) -> Any:
        a, b = self.visit(e.a), self.visit(e.b)
        if a is e.a and b is e.b:
            return e
        compares = isinstance(e, Comparison)
        if is_wider(e.a, self.narrow) and not isinstance(e, _EXACT_ONLY):
            both = self._pair(None if compares else e, a, b)
            if both is not None:
                return type(e)(*both, e.span)
        return type(e)(self._back(a, e.a), self._back(b, e.b), e.span)

    def _back(self, new: Expr, old: Expr) -> Expr:
        same = new.ty is old.ty or not isinstance(new.ty, PrimType)
        return new if same else convert(new, old.dtype.element)

    def visit_BitwiseNot(self, e: BitwiseNot) -> Any:
        a = self.visit(e.a)
        return e if a is e.a else BitwiseNot(a, e.span)

    def visit_Cast(self, e: Cast) -> Any:
        value = self.visit(e.value)
        if value is e.value:
            return e
        if is_wider(e, self.narrow) and value.dtype.is_int:
            if value.dtype.element is self.narrow:
                return value
            if value.dtype.element is e.dtype.element:
                return value
        return value if value.ty is e.ty else e.replace(value=value)

    def visit_Select(self, e: Select) -> Any:
        cond = self.visit(e.condition)
        a, b = self._alternatives(e, e.true_value, e.false_value)
        if cond is e.condition and a is e.true_value and b is e.false_value:
            return e
        return Select(cond, a, b, e.span)

    def _alternatives(self, e: Expr, a: Expr, b: Expr) -> tuple[Expr, Expr]:
        x, y = self.visit(a), self.visit(b)
        if (x is not a or y is not b) and is_wider(e, self.narrow):
            both = self._pair(e, x, y)
            if both is not None:
                return both
        return self._back(x, a), self._back(y, b)

    def visit_Call(self, e: Call) -> Any:
        if isinstance(e.op, Op) and e.op.name == "prim.if_then_else":
            cond = self.visit(e.args[0])
            a, b = self._alternatives(e, e.args[1], e.args[2])
            if cond is e.args[0] and a is e.args[1] and b is e.args[2]:
                return e
            return e.replace(args=(cond, a, b), ty=a.ty)
        args = tuple([self.kept(a) if isinstance(a.ty, PrimType) else self.visit(a) for a in e.args])
        return e if all(new is old for new, old in zip(args, e.args)) else e.replace(args=args)

    def visit_Let(self, e: Let) -> Any:
        value, body = self.kept(e.value), self.visit(e.body)
        return e if value is e.value and body is e.body else Let(e.var, value, body, e.span)

    def visit_Ramp(self, e: Ramp) -> Any:
        base, stride = self.visit(e.base), self.visit(e.stride)
        if base is e.base and stride is e.stride:
            return e
        both = self._pair(e, base, stride) if is_wider(e.base, self.narrow) else None
        base, stride = both if both is not None else (self._back(base, e.base), self._back(stride, e.stride))
        return Ramp(base, stride, e.lanes, e.span)

    def visit_Broadcast(self, e: Broadcast) -> Any:
        value = self.visit(e.value)
        return e if value is e.value else Broadcast(value, e.lanes, e.span)

    def visit_Expr(self, e: Expr) -> Any:
        """Any other expression: the types of its parts stay."""
        return _Keeping(self).visit_fields(e)

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        indices = self.indices(e.indices)
        buffer = super().visit_Var(e.buffer)
        same = buffer is e.buffer and all(new is old for new, old in zip(indices, e.indices))
        return e if same else BufferLoad(buffer, indices, e.span)

    def indices(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The indices of an access, of whatever types they get."""
        return tuple([self.index(i) for i in indices])

    def visit_BufferRegion(self, region: BufferRegion) -> Any:
        ranges = tuple([self.range(r) for r in region.region])
        buffer = super().visit_Var(region.buffer)
        if buffer is region.buffer and all(new is old for new, old in zip(ranges, region.region)):
            return region
        return BufferRegion(buffer, ranges, region.span)

    def range(self, dom: Range) -> Range:
        """Both ends of one type."""
        low, extent = self.index(dom.min), self.index(dom.extent)
        if low is dom.min and extent is dom.extent:
            return dom
        a, b = self.narrowed(low), self.narrowed(extent)
        if a is None or b is None:
            a, b = self._back(low, dom.min), self._back(extent, dom.extent)
        return Range(a, b, dom.span)

    # statements

    def variable(self, var: Var) -> Var:
        """The loop variable or axis as it is from here on."""
        if not is_wider(var, self.narrow) or not self.narrows_var(var):
            return var
        new = self.vars[var] = Var(var.name, self.scalar, var.span)
        return new

    def as_type_of(self, var: Var, e: Expr) -> Expr:
        """A rewritten bound of the variable, in its type."""
        if e.ty is var.ty:
            return e
        exact = self.narrowed(e) if var.dtype is self.narrow else None
        return exact if exact is not None else convert(e, var.dtype)

    def visit_For(self, loop: For) -> Any:
        low, extent = self.index(loop.min), self.index(loop.extent)
        var = self.variable(loop.loop_var)
        low, extent = self.as_type_of(var, low), self.as_type_of(var, extent)
        step = None if loop.step is None else self.as_type_of(var, self.index(loop.step))
        binding = loop.thread_binding
        if binding is not None and var is not loop.loop_var:
            binding = binding.replace(var=Var(binding.var.name, self.scalar, binding.var.span))
        body = self.visit(loop.body)
        same = var is loop.loop_var and body is loop.body and step is loop.step
        if same and low is loop.min and extent is loop.extent:
            return loop
        return loop.replace(
            loop_var=var, min=low, extent=extent, step=step, body=body, thread_binding=binding
        )

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        if not isinstance(stmt.node, IterVar) or stmt.attr_key != "thread_extent":
            body = self.visit(stmt.body)
            return stmt if body is stmt.body else stmt.replace(body=body)
        axis = self.axis(stmt.node)
        value = self.as_type_of(axis.var, self.index(stmt.value))
        body = self.visit(stmt.body)
        if axis is stmt.node and value is stmt.value and body is stmt.body:
            return stmt
        return stmt.replace(node=axis, value=value, body=body)

    def axis(self, axis: IterVar) -> IterVar:
        """The axis with its variable as it is from here on."""
        known = self.vars.get(axis.var)
        var = known if isinstance(known, Var) else self.variable(axis.var)
        dom = axis.dom
        if dom is not None:
            low, extent = self.index(dom.min), self.index(dom.extent)
            low, extent = self.as_type_of(var, low), self.as_type_of(var, extent)
            dom = dom if low is dom.min and extent is dom.extent else Range(low, extent, dom.span)
        return axis if var is axis.var and dom is axis.dom else axis.replace(var=var, dom=dom)

    def visit_Bind(self, stmt: Bind) -> Any:
        value = self.visit(stmt.value)
        if value is stmt.value:
            return stmt
        var = stmt.var
        if value.ty is not stmt.value.ty:
            var = self.vars[stmt.var] = Var(stmt.var.name, value.ty, stmt.var.span)
        return Bind(var, value, stmt.span)

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        indices = self.indices(stmt.indices)
        value, buffer = self.kept(stmt.value), super().visit_Var(stmt.buffer)
        same = value is stmt.value and buffer is stmt.buffer
        if same and all(new is old for new, old in zip(indices, stmt.indices)):
            return stmt
        return stmt.replace(buffer=buffer, value=value, indices=indices)

    def visit_Stmt(self, stmt: Stmt) -> Any:
        """Any other statement: the types of expressions in it stay."""
        return _Keeping(self).visit_fields(stmt)

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> Any:
        return _Keeping(self).visit_fields(stmt)

    def visit_SBlockRealize(self, realize: SBlockRealize) -> Any:
        axes = tuple([self.axis(a) for a in realize.block.iter_vars])
        values = tuple([self.as_type_of(a.var, self.index(v)) for a, v in zip(axes, realize.iter_values)])
        predicate, block = self.index(realize.predicate), realize.block
        if any(new is not old for new, old in zip(axes, block.iter_vars)):
            block = block.replace(iter_vars=axes)
        block = self.visit(block)
        same = predicate is realize.predicate and block is realize.block
        if same and all(new is old for new, old in zip(values, realize.iter_values)):
            return realize
        return realize.replace(iter_values=values, predicate=predicate, block=block)


class _Keeping(Rewriter):
    """Goes through the fields of one node; expressions in them keep their types."""

    def __init__(self, narrowing: Narrowing) -> None:
        self.outer = narrowing
        self.vars = narrowing.vars

    def visit(self, node: Node) -> Any:
        if isinstance(node, Expr) and isinstance(node.ty, PrimType):
            return self.outer.kept(node)
        return self.outer.visit(node)

    def define(self, var: Var) -> Var:
        return self.outer.define(var)

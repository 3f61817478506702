"""Accesses outside of their buffers: those that surely happen, and those that cannot be excluded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...errors import Diagnostic
from ...node import Node, runs_deep
from ..arith import Analyzer
from ..arith.linear import Linear
from ..expr import GE, LT, And, BufferLoad, Call, Expr, IntImm, Let, Or, Ramp, Range, Select, Var, const
from ..function import IRModule, PrimFunc
from ..op import Effect, Op, find_record
from ..stmt import (
    AllocBuffer,
    AssertStmt,
    AttrStmt,
    Bind,
    Break,
    BufferStore,
    Continue,
    DeclBuffer,
    For,
    ForKind,
    IfThenElse,
    MatchBufferRegion,
    Return,
    SBlock,
    SBlockRealize,
    While,
)
from ..types import BufferType
from ..visitor import Visitor, walk

_SKIPPING = (Return, Break, Continue, AssertStmt, While)


@runs_deep
def find_out_of_bounds(program: PrimFunc | IRModule, *, possible: bool = False) -> list[Diagnostic]:
    """The accesses outside of their buffers, in program order.

    An error is one that happens whenever the function runs.  With `possible`, warnings name the
    accesses that cannot be proved to stay inside; every access that a run makes outside of its
    buffer is among errors and warnings.  What calls do through pointers is not looked at.
    """
    if isinstance(program, IRModule):
        found: list[Diagnostic] = []
        for func in program.functions.values():
            if isinstance(func, PrimFunc):
                found += find_out_of_bounds(func, possible=possible)
        return found
    finder = _Finder(possible, not any(_may_skip(n) for n in walk(program.body)))
    finder.visit(program)
    return finder.found


def _may_skip(node: Node) -> bool:
    """Whether what follows this may not be reached."""
    if isinstance(node, Call):
        record = find_record(node.op.name) if isinstance(node.op, Op) else None
        return record is not None and record.effect is Effect.CONTROL
    return isinstance(node, _SKIPPING)


class _Finder(Visitor):
    """`certain` says that the place is reached in every iteration of the loops around it."""

    def __init__(self, possible: bool, certain: bool) -> None:
        self.ana = Analyzer()
        self.possible = possible
        self.certain = certain
        self.loops: dict[Var, tuple[int, int]] = {}
        self.values: dict[Var, Linear] = {}
        self.stored = True
        self.found: list[Diagnostic] = []

    # accesses

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        self.access(e, e.buffer, e.indices, "reads")
        for index in e.indices:
            self.visit(index)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        self.access(stmt, stmt.buffer, stmt.indices, "writes")
        self.visit(stmt.value)
        for index in stmt.indices:
            self.visit(index)

    def access(self, node: Node, buffer: Var, indices: Sequence[Expr], verb: str) -> None:
        ty = buffer.ty
        assert isinstance(ty, BufferType)
        for axis, (index, extent) in enumerate(zip(indices, ty.shape, strict=True)):
            for end in _ends(index):
                self.check(node, buffer, axis, end, extent, verb)

    def check(self, node: Node, buffer: Var, axis: int, index: Expr, extent: Expr, verb: str) -> None:
        reach = self.reach(index)
        size = extent.value if isinstance(extent, IntImm) else None
        if reach is not None and self.certain:
            low, high = reach
            if low < 0 or (size is not None and high >= size):
                at = low if low < 0 else high
                self.report("error", node, buffer, axis, f"at index {at}", size, verb)
                return
        if self.possible and not self.inside(index, extent):
            self.report("warning", node, buffer, axis, "perhaps outside of it", size, verb)

    def report(
        self, severity: Any, node: Node, buffer: Var, axis: int, where: str, size: int | None, verb: str
    ) -> None:
        extent = "" if size is None else f" of extent {size}"
        text = f"the program {verb} buffer {buffer.name} {where}, in dimension {axis}{extent}"
        self.found.append(Diagnostic("out-of-bounds", text, getattr(node, "span", None), severity))

    def inside(self, index: Expr, extent: Expr) -> bool:
        """Whether the index surely lies in the dimension."""
        if any(isinstance(n, BufferLoad) for n in walk(index)):
            return False
        zero = const(0, index.dtype)
        low = self.ana.can_prove(GE(index, zero))
        return low and index.ty is extent.ty and self.ana.can_prove(LT(index, extent))

    def reach(self, index: Expr) -> tuple[int, int] | None:
        """The smallest and largest value that the index takes, both taken; None where that is not known."""
        total = self.over_loops(index)
        if total is None:
            return None
        low = high = total.const
        for coeff, term in total.terms.values():
            first, last = self.loops[term]  # type: ignore[index]
            low += coeff * (first if coeff > 0 else last)
            high += coeff * (last if coeff > 0 else first)
        return low, high

    def over_loops(self, e: Expr) -> Linear | None:
        """The expression as a sum of loop variables, each of which takes all values of its range."""
        total = Linear()
        own = self.ana.linear(e)
        total.const = own.const
        for key, (coeff, term) in own.terms.items():
            if not isinstance(term, Var):
                return None
            if term in self.loops:
                total.add_term(key, coeff, term)
            elif term in self.values:
                total.add(self.values[term], coeff)
            else:
                return None
        return total

    # what surrounds them

    @contextmanager
    def where(self, condition: Expr, truth: bool = True) -> Iterator[None]:
        """Within, the condition holds; the place may not be reached."""
        before, self.certain = self.certain, False
        with self.ana.assume(condition, truth):
            yield
        self.certain = before

    def visit_For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        before = self.certain
        low, extent = loop.min, loop.extent
        if isinstance(low, IntImm) and isinstance(extent, IntImm) and loop.step is None:
            if extent.value <= 0:
                return
            self.loops[loop.loop_var] = low.value, low.value + extent.value - 1
        else:
            self.certain = False
        if loop.kind is ForKind.THREAD_BINDING:
            self.certain = False
        if loop.step is None:
            self.ana.bind(loop.loop_var, Range(low, extent))
        self.visit(loop.body)
        self.certain = before

    def visit_SBlockRealize(self, stmt: SBlockRealize) -> None:
        for value in stmt.iter_values:
            self.visit(value)
        self.visit(stmt.predicate)
        for axis, value in zip(stmt.block.iter_vars, stmt.iter_values, strict=True):
            total = self.over_loops(value)
            if total is not None:
                self.values[axis.var] = total
            self.ana.bind(axis.var, value)
        if isinstance(stmt.predicate, IntImm) and stmt.predicate.value:
            self.visit(stmt.block)
        else:
            with self.where(stmt.predicate):
                self.visit(stmt.block)

    def visit_SBlock(self, block: SBlock) -> None:
        for match in block.match_buffers:
            self.visit(match)
        if block.init is not None:
            before, self.certain = self.certain, False
            self.visit(block.init)
            self.certain = before
        self.visit(block.body)

    def visit_MatchBufferRegion(self, match: MatchBufferRegion) -> None:
        source = match.source
        ty = source.buffer.ty
        assert isinstance(ty, BufferType)
        for axis, (dim, extent) in enumerate(zip(source.region, ty.shape, strict=True)):
            last = self.ana.simplify(dim.min + dim.extent - 1)
            for end in (dim.min, last):
                self.check(match, source.buffer, axis, end, extent, "names")

    def visit_IfThenElse(self, stmt: IfThenElse) -> None:
        self.visit(stmt.condition)
        with self.where(stmt.condition):
            self.visit(stmt.then_case)
        if stmt.else_case is not None:
            with self.where(stmt.condition, False):
                self.visit(stmt.else_case)

    def visit_Select(self, e: Select) -> None:
        self.visit(e.condition)
        self.visit(e.true_value)
        self.visit(e.false_value)

    def visit_Call(self, e: Call) -> None:
        if isinstance(e.op, Op) and e.op.name == "prim.if_then_else":
            condition, first, second = e.args
            self.visit(condition)
            with self.where(condition):
                self.visit(first)
            with self.where(condition, False):
                self.visit(second)
            return
        before = self.certain
        if isinstance(e.op, Op) and e.op.name == "tirx.address_of":
            # only the address is taken
            for arg in e.args:
                for index in arg.indices if isinstance(arg, BufferLoad) else (arg,):
                    self.visit(index)
            return
        for arg in e.args:
            self.visit(arg)
        self.certain = before

    def visit_And(self, e: And) -> None:
        self.visit(e.a)
        with self.where(e.a):
            self.visit(e.b)

    def visit_Or(self, e: Or) -> None:
        self.visit(e.a)
        with self.where(e.a, False):
            self.visit(e.b)

    def visit_Let(self, e: Let) -> None:
        self.visit(e.value)
        self.bind(e.var, e.value)
        self.visit(e.body)

    def visit_Bind(self, stmt: Bind) -> None:
        self.visit(stmt.value)
        self.bind(stmt.var, stmt.value)

    def bind(self, var: Var, value: Expr) -> None:
        total = self.over_loops(value) if getattr(value.ty, "dtype", None) and value.dtype.is_int else None
        if total is not None:
            self.values[var] = total
        self.ana.bind(var, value)

    def visit_AttrStmt(self, stmt: AttrStmt) -> None:
        before = self.certain
        if stmt.attr_key in ("thread_extent", "virtual_thread"):
            self.certain = False
            var = getattr(stmt.node, "var", None)
            if isinstance(var, Var) and isinstance(stmt.value, Expr) and stmt.value.dtype.is_integral:
                self.ana.bind(var, Range(const(0, var.dtype), stmt.value))
        self.visit_value(stmt.value)
        self.visit(stmt.body)
        self.certain = before

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> None:
        """The shape is no access."""

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> None:
        self.visit(stmt.data)


def _ends(index: Expr) -> tuple[Expr, ...]:
    """The scalar indices that bound an index: the first and last lane of a vector."""
    if isinstance(index, Ramp):
        if not isinstance(index.lanes, IntImm):
            return (index.base,)
        return index.base, index.base + index.stride * (index.lanes.value - 1)
    return (index,)


__all__ = ["find_out_of_bounds"]

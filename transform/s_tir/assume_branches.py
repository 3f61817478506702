"""Branches for padding that assumptions make superfluous."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...ir import (
    EQ,
    GE,
    LT,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    FloatImm,
    For,
    IntImm,
    Not,
    Op,
    Or,
    PrimFunc,
    Range,
    SBlockRealize,
    Var,
    const,
    structural_equal,
)
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, Visitor, substitute, walk
from ..common import buffer_type, is_const, widened
from ..registry import prim_func_pass
from ..speculation import never_fails


@prim_func_pass("s_tir.UseAssumeToReduceBranches")
def use_assume_to_reduce_branches(func: PrimFunc) -> PrimFunc:
    """A choice between a value and what it is in the padding anyway, by assumption, is no choice.

    An assumption says `T.assume(where or A[i, j] == value)` for all elements of a buffer that the
    function does not write: outside of `where` the elements have the value.  A `T.if_then_else` goes
    where, with this value put in for the elements, both its branches are the same.

    before:
        @T.prim_func
        def f(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
            for i in range(16):
                T.assume(i < 14 or A[i] == 0)
            for j in range(16):
                C[j] = T.if_then_else(j < 14, A[j] * 2, 0)

    after:
        @T.prim_func
        def f(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
            for i in range(16):
                T.assume(i < 14 or A[i] == 0)
            for j in range(16):
                C[j] = A[j] * 2
    """
    finder = _Assumptions()
    finder.visit(func.body)
    written = {n.buffer for n in walk(func.body) if isinstance(n, BufferStore)}
    facts = [fact for fact in finder.found if fact.buffer not in written]
    return _Reduce(facts)(func) if facts else func


@dataclass(frozen=True)
class _Fact:
    """Outside of `where`, `buffer[indices]` is `value`, for all values of the variables in `indices`."""

    buffer: Var
    indices: tuple[Expr, ...]
    where: Expr
    value: Expr


class _Ranges:
    """What is known of loop variables and axes."""

    def __init__(self) -> None:
        self.ana = Analyzer(data=True)
        self.ranges: dict[Var, Range] = {}
        self.loops: dict[Var, Var] = {}

    def loop(self, loop: For) -> None:
        """The loop's variable runs over its range."""
        self.ranges[loop.loop_var] = Range(loop.min, loop.extent)
        self.ana.bind(loop.loop_var, self.ranges[loop.loop_var])

    def axes(self, realize: SBlockRealize) -> None:
        """The block's axes run over their domains, as far as loops run them all."""
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            if axis.dom is None:
                continue
            self.ana.bind(axis.var, axis.dom)
            dom = self.ranges.get(value) if isinstance(value, Var) else None
            one = isinstance(value, IntImm) and is_const(axis.dom.extent, 1)
            if one or (dom is not None and structural_equal(dom, axis.dom)):
                self.ranges[axis.var] = axis.dom
                if isinstance(value, Var):
                    self.loops[axis.var] = value


class _Assumptions(Visitor):
    def __init__(self) -> None:
        self.known = _Ranges()
        self.found: list[_Fact] = []
        self.perhaps: set[Var] = set()

    def visit_For(self, loop: For) -> None:
        self.known.loop(loop)
        sure = self.known.ana.can_prove(GE(loop.extent, const(1, loop.extent.dtype)))
        kept, self.perhaps = self.perhaps, self.perhaps if sure else self.perhaps | {loop.loop_var}
        self.visit(loop.body)
        self.perhaps = kept

    def visit_IfThenElse(self, stmt: Any) -> None:
        """What is assumed in a branch need not hold elsewhere."""

    def visit_While(self, stmt: Any) -> None:
        """What is assumed in a loop of unknown length need not hold at all."""

    def visit_SBlockRealize(self, realize: SBlockRealize) -> None:
        self.known.axes(realize)
        if is_const(realize.predicate, 1):
            self.visit(realize.block.body)

    def visit_Evaluate(self, stmt: Evaluate) -> None:
        call = stmt.value
        if isinstance(call, Call) and isinstance(call.op, Op) and call.op.name == "tirx.assume":
            self._note(call.args[0])

    def _note(self, said: Expr) -> None:
        if not isinstance(said, Or):
            return
        for where, equal in ((said.a, said.b), (said.b, said.a)):
            if not isinstance(equal, EQ) or not never_fails(where):
                continue
            for load, value in ((equal.a, equal.b), (equal.b, equal.a)):
                plain = isinstance(value, IntImm | FloatImm)
                if plain and isinstance(load, BufferLoad) and self._covers(load):
                    self.found.append(_Fact(load.buffer, load.indices, where, value))

    def _covers(self, load: BufferLoad) -> bool:
        """Whether the loops around go over all elements of the buffer, and no other loop may not run."""
        indices = load.indices
        variables = [i for i in indices if isinstance(i, Var)]
        if len(set(variables)) < len(indices):
            return False
        if not self.perhaps <= {self.known.loops.get(v, v) for v in variables}:
            return False
        for var, size in zip(variables, buffer_type(load.buffer).shape):
            dom = self.known.ranges.get(var)
            if dom is None or not is_const(dom.min, 0):
                return False
            if not self.known.ana.can_prove_equal(*widened(dom.extent, size)):
                return False
        return True


class _Reduce(Rewriter):
    def __init__(self, facts: list[_Fact]) -> None:
        super().__init__()
        self.facts = facts
        self.known = _Ranges()

    def visit_For(self, loop: For) -> Any:
        self.known.loop(loop)
        return self.visit_fields(loop)

    def visit_SBlockRealize(self, realize: SBlockRealize) -> Any:
        self.known.axes(realize)
        return self.visit_fields(realize)

    def visit_Call(self, e: Call) -> Any:
        new = self.visit_fields(e)
        if not isinstance(new.op, Op) or new.op.name != "prim.if_then_else":
            return new
        condition, first, second = new.args
        if self._same_in(condition, second, first):
            return second
        return first if self._same_in(Not(condition), first, second) else new

    def _same_in(self, region: Expr, main: Expr, pad: Expr) -> bool:
        """Whether the main value may be computed in the region, and is there what the padding is."""
        put = _Values(self, region)
        value = put(main)
        if not put.complete or not never_fails(value):
            return False
        ana = self.known.ana
        return structural_equal(ana.simplify(value), ana.simplify(pad))

    def value_in(self, region: Expr, load: BufferLoad) -> Expr | None:
        """What the element is in the region by an assumption; None where none says it."""
        for fact in self.facts:
            if fact.buffer is load.buffer and self._inside(load):
                pairs = {v: i for v, i in zip(fact.indices, load.indices) if isinstance(v, Var)}
                if self._excludes(region, substitute(fact.where, pairs)):
                    return fact.value
        return None

    def _inside(self, load: BufferLoad) -> bool:
        ana = self.known.ana
        for index, size in zip(load.indices, buffer_type(load.buffer).shape):
            low, high = GE(index, const(0, index.dtype)), LT(*widened(index, size))
            if not index.dtype.is_scalar or not ana.can_prove(low) or not ana.can_prove(high):
                return False
        return True

    def _excludes(self, region: Expr, where: Expr) -> bool:
        """Whether `where` holds nowhere in the region."""
        ana = self.known.ana
        if ana.keys.same(_plain(region), _plain(Not(where))):
            return True
        for case in _cases(_plain(region)):
            with ana.assume(case):
                if not is_const(ana.simplify(where), 0):
                    return False
        return True


def _plain(e: Expr) -> Expr:
    """Without double negation."""
    return _plain(e.a.a) if isinstance(e, Not) and isinstance(e.a, Not) else e


def _cases(e: Expr) -> list[Expr]:
    return [*_cases(e.a), *_cases(e.b)] if isinstance(e, Or) else [e]


class _Values(Rewriter):
    """Puts in what elements are in a region; `complete` where that is known of all."""

    def __init__(self, reduce: _Reduce, region: Expr) -> None:
        super().__init__()
        self.reduce, self.region = reduce, region
        self.complete = True

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        value = self.reduce.value_in(self.region, e)
        if value is None:
            self.complete = False
            return e
        return value

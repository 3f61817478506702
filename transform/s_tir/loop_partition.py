"""Loops are parted where conditions in them change, so that the parts need no condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...ir import (
    GE,
    GT,
    INT64,
    LE,
    LT,
    AttrStmt,
    Call,
    Cast,
    Expr,
    For,
    ForKind,
    IntImm,
    Max,
    Min,
    Not,
    Op,
    PrimFunc,
    Range,
    Stmt,
    Var,
    const,
    seq,
)
from ...ir.arith import Analyzer, IntervalSet, deduce_bound, eval_set
from ...ir.visitor import Rewriter, renew_definitions, substitute, walk
from ..common import cast_to, is_const, is_nothing, is_steady, minus, plus
from ..context import PassContext
from ..loops import jumps_out, size_of
from ..registry import prim_func_pass
from .conditions import IGNORED, LIKELY, Condition, Resolve, conditions_on

HINT: Final = "pragma_loop_partition_hint"
MAX_NODES: Final = 50_000
"""The most nodes that the parts of one loop may have together."""


@prim_func_pass("s_tir.LoopPartition")
def loop_partition(func: PrimFunc) -> PrimFunc:
    """A loop becomes several where conditions on its variable change from true to false.

    Which loops: those with the annotation or attribute `pragma_loop_partition_hint`, for all their
    conditions; and those with conditions in `T.likely`, for these, where the extent is not constant,
    or with the option `partition_const_loop` of the setting `s_tir.LoopPartition`.  A part of one
    iteration is written out, unless `no_unroll_loop_with_extent_one` is set.  With
    `unroll_loop_with_partition_hint_no_interval`, parts of hinted loops that keep a condition are
    unrolled.  Conditions in `T.ignore_loop_partition` part no loop; the mark goes.  Where ends are not
    constant, the conditions count as index arithmetic, which does not overflow.

    before:
        @T.prim_func
        def f(A: T.Buffer((10,), "int32"), B: T.Buffer((20,), "int32")):
            for i in T.serial(20, annotations={"pragma_loop_partition_hint": 1}):
                if i < 10:
                    B[i] = A[i]
                else:
                    B[i] = 0

    after:
        @T.prim_func
        def f(A: T.Buffer((10,), "int32"), B: T.Buffer((20,), "int32")):
            for i in range(10):
                B[i] = A[i]
            for i in range(10):
                B[i + 10] = 0
    """
    return _Partition()(func) if _concerns(func) else func


def _concerns(func: PrimFunc) -> bool:
    """Whether anything in the function asks for parting."""
    for node in walk(func.body):
        if isinstance(node, Call):
            if isinstance(node.op, Op) and node.op.name in (LIKELY, IGNORED):
                return True
        elif isinstance(node, AttrStmt):
            if node.attr_key == HINT:
                return True
        elif isinstance(node, For) and HINT in node.annotations:
            return True
    return False


class _Partition(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        context = PassContext.current()
        self.const_loops, self.keep_single, self.unroll = [
            bool(context.option("s_tir.LoopPartition", name))
            for name in (
                "partition_const_loop",
                "no_unroll_loop_with_extent_one",
                "unroll_loop_with_partition_hint_no_interval",
            )
        ]
        self.ana = Analyzer(data=True)
        self.single: dict[Var, IntervalSet] = {}

    def visit_Call(self, e: Call) -> Any:
        if isinstance(e.op, Op) and e.op.name == IGNORED:
            return self.visit(e.args[0])
        return self.visit_fields(e)

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        if stmt.attr_key == HINT and isinstance(stmt.body, For):
            return self._loop(stmt.body, True) if stmt.value != 0 else self.visit(stmt.body)
        return self.visit_fields(stmt)

    def visit_For(self, loop: For) -> Any:
        hint = loop.annotations.get(HINT)
        if hint is not None:
            loop = loop.replace(annotations={k: v for k, v in loop.annotations.items() if k != HINT})
        return self._loop(loop, hint is not None and hint != 0)

    def _loop(self, loop: For, hinted: bool) -> Stmt:
        wanted = hinted or self.const_loops or not isinstance(loop.extent, IntImm)
        found = conditions_on(loop, only_likely=not hinted) if wanted and _divides(loop) else []
        if found:
            parts = self._constant_parts(loop, found, hinted) or self._symbolic_parts(loop, found)
            if parts is not None:
                return seq(parts)
            if hinted and self.unroll and loop.kind is ForKind.SERIAL:
                loop = loop.replace(kind=ForKind.UNROLLED)
        return self._inside(loop)

    def _inside(self, loop: For) -> Stmt:
        """The loop as it is, with the loops in it parted."""
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        if is_const(loop.extent, 1) and isinstance(loop.min, IntImm):
            self.single[loop.loop_var] = IntervalSet.point(loop.min)
            self.vars[loop.loop_var] = loop.min
        new: Stmt = self.visit_fields(loop)
        return new

    # all ends known

    def _constant_parts(self, loop: For, found: Sequence[Condition], hinted: bool) -> list[Stmt] | None:
        """The parts of a loop with constant ends; None where its conditions do not change in it."""
        if not isinstance(loop.min, IntImm) or not isinstance(loop.extent, IntImm) or loop.extent.value < 1:
            return None
        low, high = loop.min.value, loop.min.value + loop.extent.value
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        ends = {p for c in found for p in self._changes(loop.loop_var, c) if low < p < high}
        points = [low, *sorted(ends), high]
        parts: list[tuple[int, int, dict[int, bool]]] = []
        for start, end in zip(points, points[1:]):
            known = self._known(loop, start, end, found)
            if parts and parts[-1][2] == known:
                parts[-1] = (parts[-1][0], end, known)
            else:
                parts.append((start, end, known))
        useless = not any(known for _, _, known in parts)
        if useless or len(parts) > 1 and len(parts) * size_of(loop.body) > MAX_NODES:
            return None
        made = []
        for start, end, known in parts:
            open_left = any(id(c.test) not in known for c in found)
            body = Resolve(known)(loop.body)
            if not is_nothing(body):
                unrolled = hinted and self.unroll and open_left and loop.kind is ForKind.SERIAL
                made.append(self._part(loop, start, end, body, unrolled))
        return made

    def _changes(self, var: Var, c: Condition) -> list[int]:
        """Constant values of the variable where the comparison may begin to hold or to fail, for
        whatever values the loops inside take."""
        relax = {**self.single, **_inner_sets(c.loops)}
        for inner in c.loops:
            self.ana.bind(inner.loop_var, Range(inner.min, inner.extent))
            if _mention(relax[inner.loop_var], var):
                bound = self.ana.var_bound(inner.loop_var)
                low, high = (const(n, inner.loop_var.dtype) for n in bound)
                relax[inner.loop_var] = IntervalSet(low, high)
        points = []
        for kind in (LT, LE, GT, GE):
            found = deduce_bound(var, kind(c.test.a, c.test.b), {}, relax)
            if found is not None:
                points += [found.min.value] if isinstance(found.min, IntImm) else []
                points += [found.max.value + 1] if isinstance(found.max, IntImm) else []
        return points

    def _known(self, loop: For, start: int, end: int, found: Sequence[Condition]) -> dict[int, bool]:
        """The truth of those conditions that do not change from `start` to before `end`."""
        like = loop.loop_var.dtype
        self.ana.bind(loop.loop_var, Range(const(start, like), const(end - start, like)))
        known = {}
        for c in found:
            for inner in c.loops:
                self.ana.bind(inner.loop_var, Range(inner.min, inner.extent))
            if self.ana.can_prove(c.test):
                known[id(c.test)] = True
            elif self.ana.can_prove(Not(c.test)):
                known[id(c.test)] = False
        return known

    def _part(self, loop: For, start: int, end: int, body: Stmt, unrolled: bool) -> Stmt:
        var = loop.loop_var
        if end - start == 1 and not self.keep_single:
            one: Stmt = renew_definitions(substitute(body, {var: const(start, var.dtype)}))
            return self.visit(one)
        zero = const(0, var.dtype)
        if start != 0:
            body = substitute(body, {var: plus(var, const(start, var.dtype))})
        kind = ForKind.UNROLLED if unrolled else loop.kind
        part = loop.replace(min=zero, extent=const(end - start, var.dtype), kind=kind, body=body)
        return self._inside(renew_definitions(part))

    # ends known at run time

    def _symbolic_parts(self, loop: For, found: Sequence[Condition]) -> list[Stmt] | None:
        """What comes before, in and after the iterations in which all solvable conditions hold."""
        if loop.kind not in (ForKind.SERIAL, ForKind.PARALLEL):
            return None
        if not is_steady(loop.min) or not is_steady(loop.extent):
            return None
        first, last, known = _holding(loop, found)
        if not known:
            return None
        start, stop = _wide(loop.min), _wide(plus(loop.min, loop.extent))
        begin, end = start, stop
        for e in first:
            begin = Max(begin, _wide(e))
        for e in last:
            end = Min(end, plus(_wide(e), const(1, "int64")))
        begin = Min(begin, stop) if first else begin
        end = Max(end, begin)
        parts = [self._between(loop, begin, end, Resolve(known)(loop.body))]
        if first:
            parts.insert(0, self._between(loop, start, begin, loop.body))
        if last:
            parts.append(self._between(loop, end, stop, loop.body))
        return [p for p in parts if not is_nothing(p)]

    def _between(self, loop: For, start: Expr, stop: Expr, body: Stmt) -> Stmt:
        ty = loop.loop_var.ty
        with self.ana.mode(data=False):
            low, extent = self.ana.simplify(start), self.ana.simplify(minus(stop, start))
        part = loop.replace(min=cast_to(low, ty), extent=cast_to(extent, ty), body=body)
        return self._inside(renew_definitions(part))


def _divides(loop: For) -> bool:
    plain = loop.kind is not ForKind.THREAD_BINDING and loop.step is None
    return plain and not jumps_out(loop.body)


def _inner_sets(loops: Sequence[For]) -> dict[Var, IntervalSet]:
    """Where the variables of loops inside run."""
    sets: dict[Var, IntervalSet] = {}
    ana = Analyzer()
    for loop in loops:
        first = eval_set(loop.min, sets, ana)
        end = IntervalSet.of_range(Range(loop.min, cast_to(loop.extent, loop.min.ty)), ana).max
        last = IntervalSet(None, None) if end is None else eval_set(end, sets, ana)
        sets[loop.loop_var] = IntervalSet(first.min, last.max)
    return sets


def _mention(values: IntervalSet, var: Var) -> bool:
    """Whether the ends of the set hold the variable."""
    return any(n is var for e in (values.min, values.max) if e is not None for n in walk(e))


def _holding(loop: For, found: Sequence[Condition]) -> tuple[list[Expr], list[Expr], dict[int, bool]]:
    """First and last iterations in which conditions hold, and those conditions."""
    first: list[Expr] = []
    last: list[Expr] = []
    known: dict[int, bool] = {}
    for c in found:
        relax = _inner_sets(c.loops)
        if any(_mention(s, loop.loop_var) for s in relax.values()):
            continue
        values = deduce_bound(loop.loop_var, c.test, {}, relax)
        ends = [] if values is None else [e for e in (values.min, values.max) if e is not None]
        inner = {one.loop_var for one in c.loops} | {loop.loop_var}
        if values is None or not ends or any(n in inner for e in ends for n in walk(e)):
            continue
        first += [] if values.min is None else [values.min]
        last += [] if values.max is None else [values.max]
        known[id(c.test)] = True
    return first, last, known


class _Widen(Rewriter):
    """Integer arithmetic in 64 bits."""

    def visit_Var(self, var: Var) -> Any:
        return cast_to(var, INT64)

    def visit_IntImm(self, e: IntImm) -> Any:
        return const(e.value, "int64") if e.dtype.is_int else e

    def visit_Cast(self, e: Cast) -> Any:
        return self.visit(e.value) if e.value.dtype.is_int else cast_to(e, INT64)


def _wide(e: Expr) -> Expr:
    """The expression computed in 64 bits, so that it cannot overflow where its parts did not."""
    wide: Expr = _Widen()(e)
    return wide


__all__ = ["HINT", "loop_partition"]

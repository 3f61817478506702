"""Loops end where the predicates below them do, instead of asking in each iteration."""

from __future__ import annotations

from operator import is_
from typing import Any

from ...ir import (
    GE,
    GT,
    LE,
    LT,
    Expr,
    For,
    ForKind,
    IfThenElse,
    Max,
    Min,
    PrimFunc,
    Range,
    SBlockRealize,
    Stmt,
    Var,
    const,
)
from ...ir.arith import Analyzer
from ...ir.arith.linear import Linear, rebuild
from ...ir.visitor import Rewriter, walk
from ..common import both, cast_to, conjuncts, is_steady
from ..registry import prim_func_pass

_ENDS_EARLY = (ForKind.SERIAL, ForKind.PARALLEL)


@prim_func_pass("s_tir.TightenLoops")
def tighten_loops(func: PrimFunc) -> PrimFunc:
    """Predicates that bound a loop's variable from above become part of the loop's extent.

    A predicate is asked at the outermost loop that it depends on.  What bounds the variable of a
    vectorised, unrolled or thread loop stays a condition.

    before:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((30,), "float32")):
            for i, j in T.grid(4, 8):
                with T.sblock("b"):
                    T.where(i * 8 + j < 30)
                    T.reads()
                    T.writes(A[i * 8 + j])
                    A[i * 8 + j] = T.float32(1)

    after:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((30,), "float32")):
            for i in range(4):
                for j in range(T.min(8, 30 - i * 8)):
                    with T.sblock("b"):
                        T.reads()
                        T.writes(A[i * 8 + j])
                        A[i * 8 + j] = T.float32(1)
    """
    return _Tighten()(func)


class _Tighten(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.ana = Analyzer(strict=True)

    def visit_For(self, loop: For) -> Any:
        opened, asked = self._open(loop)
        return _guarded(opened, asked, loop)

    def _open(self, stmt: Stmt) -> tuple[Stmt, list[Expr]]:
        """The statement without the conditions below it that can be asked around it, and these."""
        if isinstance(stmt, SBlockRealize):
            changed = self.visit_fields(stmt)
            parts = conjuncts(changed.predicate)
            if not parts or not is_steady(changed.predicate):
                return changed, []
            return changed.replace(predicate=const(True, "bool")), parts
        if not isinstance(stmt, For):
            return self.visit(stmt), []
        self.ana.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
        body, asked = self._open(stmt.body)
        if stmt.kind is ForKind.THREAD_BINDING or stmt.step is not None:
            return _with_body(stmt, _guarded(body, asked, stmt.body)), []
        own = [c for c in asked if any(n is stmt.loop_var for n in walk(c))]
        asked = [c for c in asked if all(c is not o for o in own)]
        extent, kept = stmt.extent, own
        if stmt.kind in _ENDS_EARLY:
            kept = []
            for cond in own:
                count = self._count(cond, stmt.loop_var)
                if count is None:
                    kept.append(cond)
                else:
                    extent = self._shorter(stmt, extent, count)
        body = _guarded(body, kept, stmt.body)
        if extent is stmt.extent and body is stmt.body:
            return stmt, asked
        return stmt.replace(extent=extent, body=body), asked

    def _count(self, cond: Expr, var: Var) -> Expr | None:
        """The value below which the variable must stay for `cond` to hold; None where it is no such bound."""
        if not isinstance(cond, LT | LE | GT | GE) or cond.a.dtype.is_vector or not cond.a.dtype.is_int:
            return None
        low, high = (cond.a, cond.b) if isinstance(cond, LT | LE) else (cond.b, cond.a)
        total = self.ana.linear(high).minus(self.ana.linear(low))
        own = [(key, coeff) for key, (coeff, term) in total.terms.items() if term is var]
        mentions = [t for _, t in total.terms.values() if any(n is var for n in walk(t))]
        if len(own) != 1 or len(mentions) != 1 or own[0][1] >= 0:
            return None
        key, scale = own[0][0], -own[0][1]
        rest = total.copy()
        rest.add_term(key, scale, var)
        # scale * var < rest (or <= rest): var < ceil(rest / scale) (or floor(rest / scale) + 1)
        strict = isinstance(cond, LT | GT)
        rest.add(Linear(const=scale - 1 if strict else scale))
        value = rebuild(rest, cond.a.dtype, False)
        if value is None:
            return None
        return cast_to(value if scale == 1 else value // const(scale, value.dtype), var.ty)

    def _shorter(self, loop: For, extent: Expr, count: Expr) -> Expr:
        """The extent of the loop that ends before `count`, and not before its start."""
        zero = const(0, extent.dtype)
        count = self.ana.simplify(cast_to(count - loop.min, extent.ty))
        if not self.ana.can_prove(count >= zero):
            count = self.ana.simplify(Max(count, zero))
        if self.ana.can_prove(extent <= count):
            return extent
        return self.ana.simplify(Min(extent, count))


def _guarded(stmt: Stmt, conditions: list[Expr], before: Stmt) -> Stmt:
    """The statement under these conditions, a block carrying them itself; `before` where that is the same."""
    total: Expr | None = None
    for cond in conditions:
        total = both(total, cond)
    if total is None:
        return stmt
    if not isinstance(stmt, SBlockRealize):
        return IfThenElse(total, stmt)
    assert isinstance(before, SBlockRealize)
    kept = conjuncts(before.predicate)
    if stmt.block is before.block and len(kept) == len(conditions) and all(map(is_, kept, conditions)):
        return before
    return stmt.replace(predicate=total)


def _with_body(loop: For, body: Stmt) -> For:
    return loop if body is loop.body else loop.replace(body=body)

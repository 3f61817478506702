"""Quotients of remainders as split loops give them, with small terms apart."""

from __future__ import annotations

from typing import Any

from ...ir import (
    LE,
    LT,
    Add,
    AttrStmt,
    BufferLoad,
    BufferStore,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    IntImm,
    IterVar,
    Mul,
    PrimFunc,
    Range,
    const,
)
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter
from ..common import plus, times
from ..registry import prim_func_pass


@prim_func_pass("s_tir.RenormalizeSplitPattern")
def renormalize_split_pattern(func: PrimFunc) -> PrimFunc:
    """`x % c // s` becomes `x // s % (c // s)` where s divides c, and so on through sums.

    `(x * a + y) // b` becomes `(x + y // a) // (b // a)` where a divides b; a sum is compared with a
    constant by its quotient.  Data arithmetic changes only where it surely does not wrap.

    before:
        @T.prim_func
        def f(A: T.Buffer((64,), "int32")):
            for i in range(64):
                A[i % 16 // 4] = 1

    after:
        @T.prim_func
        def f(A: T.Buffer((64,), "int32")):
            for i in range(64):
                A[i // 4 % 4] = 1
    """
    return _Renormalize()(func)


def _number(e: Expr) -> int:
    """The positive constant that this is; 0 for anything else."""
    return e.value if isinstance(e, IntImm) and e.value > 0 else 0


class _Renormalize(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.ana = Analyzer(data=True)

    def visit_For(self, loop: For) -> Any:
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        return self.visit_fields(loop)

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        if isinstance(stmt.node, IterVar) and stmt.node.dom is not None:
            self.ana.bind(stmt.node.var, stmt.node.dom)
        return self.visit_fields(stmt)

    def _index(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        with self.ana.mode(data=False):
            return self.visit_tuple(indices)

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        indices = self._index(e.indices)
        return e if indices is e.indices else e.replace(indices=indices)

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        indices, value = self._index(stmt.indices), self.visit(stmt.value)
        same = indices is stmt.indices and value is stmt.value
        return stmt if same else stmt.replace(indices=indices, value=value)

    def visit_FloorDiv(self, e: FloorDiv) -> Any:
        new = self.visit_fields(e)
        by = _number(new.b)
        if not by or not e.dtype.is_int or e.dtype.is_vector:
            return new
        quotient = self._quotient(new.a, by)
        return new if quotient is None else quotient

    def _quotient(self, a: Expr, by: int) -> Expr | None:
        """`a // by` in another form, if there is a better one."""
        if isinstance(a, FloorMod) and _number(a.b) and _number(a.b) % by == 0:
            inner = self._quotient(a.a, by)
            inner = FloorDiv(a.a, const(by, a.dtype)) if inner is None else inner
            return FloorMod(inner, const(_number(a.b) // by, a.dtype))
        parts = self._parts(a, by)
        if parts is None:
            return None
        x, unit, y = parts
        small = plus(x, FloorDiv(y, const(unit, a.dtype)))
        return small if by == unit else FloorDiv(small, const(by // unit, a.dtype))

    def _parts(self, a: Expr, by: int) -> tuple[Expr, int, Expr] | None:
        """x, unit, y with `a == x * unit + y`, where unit divides `by` or `by` the factor."""
        if not isinstance(a, Add) or not self.ana.is_exact(a):
            return None
        for term, rest in ((a.a, a.b), (a.b, a.a)):
            factor = _number(term.b) if isinstance(term, Mul) else 0
            if factor > 1 and isinstance(term, Mul) and not isinstance(rest, IntImm):
                if by % factor == 0:
                    return term.a, factor, rest
                if factor % by == 0:
                    return times(term.a, const(factor // by, a.dtype)), by, rest
        return None

    def visit_LE(self, e: LE) -> Any:
        new = self.visit_fields(e)
        quotient = self._compared(new.b, _number(new.a))
        return new if quotient is None else LE(const(1, new.a.dtype), quotient)

    def visit_LT(self, e: LT) -> Any:
        new = self.visit_fields(e)
        quotient = self._compared(new.a, _number(new.b))
        return new if quotient is None else LT(quotient, const(1, new.b.dtype))

    def _compared(self, e: Expr, limit: int) -> Expr | None:
        """The quotient of a sum, or of what has a simpler one, by what it is compared with."""
        if limit < 2 or not e.dtype.is_int or e.dtype.is_vector:
            return None
        found = self._quotient(e, limit)
        return FloorDiv(e, const(limit, e.dtype)) if found is None and isinstance(e, Add) else found

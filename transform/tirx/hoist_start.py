"""What a loop does in its first iteration only, and first of all, moves in front of it."""

from __future__ import annotations

from typing import Any

from ...ir import EQ, GT, Expr, For, ForKind, IfThenElse, IntImm, PrimFunc, SeqStmt, Stmt, const, seq
from ...ir.visitor import Rewriter, substitute
from ..common import both, conjuncts, is_steady
from ..registry import prim_func_pass


@prim_func_pass("tirx.HoistLoopStart")
def hoist_loop_start(func: PrimFunc) -> PrimFunc:
    """An `if` on the loop variable being at its start, first in the body, moves in front of the loop.

    This is where the initialisers of reductions end up, so the loop itself has no branch.

    before:
        @T.prim_func
        def f(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
            for k in range(8):
                if k == 0:
                    B[0] = T.float32(0)
                B[0] = B[0] + A[k]

    after:
        @T.prim_func
        def f(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
            B[0] = T.float32(0)
            for k in range(8):
                B[0] = B[0] + A[k]
    """
    return _Hoist()(func)


class _Hoist(Rewriter):
    def visit_For(self, loop: For) -> Any:
        loop = self.visit_fields(loop)
        if loop.kind not in (ForKind.SERIAL, ForKind.UNROLLED) or loop.step is not None:
            return loop
        stmts = loop.body.seq if isinstance(loop.body, SeqStmt) else (loop.body,)
        first = stmts[0]
        if not isinstance(first, IfThenElse) or first.else_case is not None:
            return loop
        others = _without_start(first.condition, loop)
        if others is None or not (is_steady(loop.min) and is_steady(loop.extent)):
            return loop
        start: Stmt = (
            first.then_case if not others else IfThenElse(_all(others), first.then_case, None, first.span)
        )
        start = substitute(start, {loop.loop_var: loop.min})
        if not isinstance(loop.extent, IntImm):
            start = IfThenElse(GT(loop.extent, const(0, loop.extent.dtype)), start)
        elif loop.extent.value < 1:
            return loop
        return seq([start, loop.replace(body=seq(stmts[1:]))])


def _without_start(cond: Expr, loop: For) -> list[Expr] | None:
    """The conjunction's other parts; None if being at the start is not one of them."""
    parts = conjuncts(cond)
    rest = [p for p in parts if not _is_start(p, loop)]
    return rest if len(rest) < len(parts) else None


def _all(parts: list[Expr]) -> Expr:
    total: Expr | None = None
    for part in parts:
        total = both(total, part)
    assert total is not None
    return total


def _is_start(part: Expr, loop: For) -> bool:
    if not isinstance(part, EQ):
        return False
    for var, value in ((part.a, part.b), (part.b, part.a)):
        if var is loop.loop_var:
            if value is loop.min:
                return True
            if isinstance(value, IntImm) and isinstance(loop.min, IntImm) and value.value == loop.min.value:
                return True
    return False

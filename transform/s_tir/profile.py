"""Loops that report to a profiler where they start and end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import Call, Evaluate, For, ForKind, IRModule, PrimFunc, SeqStmt, Stmt, seq
from ...ir.visitor import Rewriter
from ..context import PassContext
from ..registry import register_pass


@register_pass("s_tir.InstrumentProfileIntrinsics")
def instrument_profile_intrinsics(mod: IRModule) -> IRModule:
    """Functions, and loops that stand side by side in a loop, report their start and end by number.

    Each function and then each of its loops, from the outside in, takes the next number of the module.
    Settings: `s_tir.lwp_disable_func_prof` leaves out functions; without `s_tir.instr_siblings` loops
    are chosen by `s_tir.lwp_max_depth` (0: outermost loops only) and `s_tir.lwp_min_height` (1: no
    innermost ones); loops inside a parallel one never report.

    before:
        @T.prim_func
        def f(A: T.Buffer((4, 4), "int32")):
            for i in range(4):
                for j in range(4):
                    A[i, j] = 1
                for j in range(4):
                    A[i, j] = 2

    after:
        @T.prim_func
        def f(A: T.Buffer((4, 4), "int32")):
            T.start_profile_intrinsic(0)
            for i in range(4):
                T.start_profile_intrinsic(2)
                for j in range(4):
                    A[i, j] = 1
                T.end_profile_intrinsic(2)
                T.start_profile_intrinsic(3)
                for j in range(4):
                    A[i, j] = 2
                T.end_profile_intrinsic(3)
            T.end_profile_intrinsic(0)
    """
    marks = _Marks()
    return mod.map_prim_funcs(marks)


def _reporting(number: int, body: Stmt) -> Stmt:
    start, end = [
        Evaluate(Call(f"tirx.{word}_profile_intrinsic", (number,), "void")) for word in ("start", "end")
    ]
    return seq([start, body, end])


class _Marks(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        context = PassContext.current()
        self.siblings = bool(context.get("s_tir.instr_siblings"))
        self.functions = not context.get("s_tir.lwp_disable_func_prof")
        self.max_depth = int(context.get("s_tir.lwp_max_depth"))
        self.min_height = int(context.get("s_tir.lwp_min_height"))
        self.count = 0
        self.depth = 0
        self.parallel = False
        self.height = 0
        self.chosen: set[int] = set()

    def visit_PrimFunc(self, func: PrimFunc) -> Any:
        number = self._next()
        body = self.visit(func.body)
        return func.replace(body=_reporting(number, body) if self.functions else body)

    def _next(self) -> int:
        self.count += 1
        return self.count - 1

    def visit_For(self, loop: For) -> Any:
        number, inside = self._next(), self.parallel
        beside = number in self.chosen
        stmts = loop.body.seq if isinstance(loop.body, SeqStmt) else ()
        self.depth += 1
        self.parallel = inside or loop.kind is ForKind.PARALLEL
        height, self.height = self.height, 0
        new = loop.replace(body=seq(self._children(stmts))) if stmts else self.visit_fields(loop)
        own = self.height
        self.height = max(height, own + 1)
        self.parallel = inside
        self.depth -= 1
        if self.siblings:
            wanted = beside
        else:
            wanted = self.depth <= self.max_depth and own >= self.min_height
        return _reporting(number, new) if wanted and not inside else new

    def _children(self, stmts: Sequence[Stmt]) -> list[Stmt]:
        """The statements of a loop's body, rewritten; loops that stand side by side are chosen."""
        several = sum([isinstance(s, For) for s in stmts]) > 1
        made = []
        for s in stmts:
            if several and isinstance(s, For):
                self.chosen.add(self.count)
            made.append(self.visit(s))
        return made

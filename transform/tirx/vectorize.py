"""Vectorized loops become vectors."""

from __future__ import annotations

from typing import Any

from ...ir import Bind, For, ForKind, IfThenElse, IntImm, PrimFunc, PrimType, Range, Stmt, Var, const, seq
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, renew_definitions, substitute
from ..common import is_steady, plus, refuse, times
from ..context import PassContext
from ..loops import jumps_out, returns
from ..registry import prim_func_pass
from .independence import independent
from .lanes import Lanes, NotVectorError
from .vector_reduce import gathered, reduced


@prim_func_pass("tirx.VectorizeLoop")
def vectorize_loop(func: PrimFunc, enable_vectorize: bool = True) -> PrimFunc:
    """Vectorized loops of constant extent become statements on vectors; loops longer than a limit are split.

    Run after FlattenBuffer.  A choice by lane becomes loads and stores under a mask; a condition
    that is linear in the lane, such as the guard of a tail, is first tested for the first and last
    lane: where both hold, no mask is needed.  A statement without a vector form (a call with
    effects) runs in a serial loop over the lanes, and so does a loop whose iterations depend on
    each other; only sums and the like in one cell, of integers or of floats of 32 bits and more,
    are taken a vector at a time, which adds floats in another order.  A buffer allocated inside
    gets a cell a lane.  An extent that is not constant, or a break, is refused by name.

    before:
        @T.prim_func
        def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
            for i in range(4):
                for j in T.vectorized(4):
                    B[i * 4 + j] = A[i * 4 + j] + T.float32(1)

    after:
        @T.prim_func
        def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
            for i in range(4):
                B[i * 4:i * 4 + 4] = A[T.Ramp(i * 4, 1, 4)] + T.Broadcast(T.float32(1), 4)
    """
    return _Vectorize(enable_vectorize)(func)


class _Vectorize(Rewriter):
    def __init__(self, enable: bool) -> None:
        super().__init__()
        context = PassContext.current()
        self.enable = enable and not context.get("tirx.disable_vectorize")
        self.max_lanes = int(context.get("tirx.vectorize_max_lanes"))
        self.ana = Analyzer()

    def visit_For(self, loop: For) -> Any:
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        new = self.visit_fields(loop)
        return new if new.kind is not ForKind.VECTORIZED else self.vectors(new)

    def visit_Bind(self, stmt: Bind) -> Any:
        if isinstance(stmt.value.ty, PrimType):
            with self.ana.mode(data=True):
                self.ana.bind(stmt.var, stmt.value)
        return stmt

    def visit_IfThenElse(self, stmt: IfThenElse) -> Any:
        with self.ana.mode(data=True), self.ana.assume(stmt.condition):
            then = self.visit(stmt.then_case)
        other = None if stmt.else_case is None else self.visit(stmt.else_case)
        if then is stmt.then_case and other is stmt.else_case:
            return stmt
        return stmt.replace(then_case=then, else_case=other)

    def vectors(self, loop: For) -> Stmt:
        """The loop in vector form, or as a serial loop where that means something else."""
        name = loop.loop_var.name
        if not isinstance(loop.extent, IntImm) or loop.step is not None:
            raise refuse(
                "vector-extent",
                f"the vectorized loop over `{name}` needs a constant extent",
                loop,
                "split it by a constant, or use range",
            )
        if jumps_out(loop.body):
            raise refuse(
                "vector-break",
                f"the vectorized loop over `{name}` is left or continued early",
                loop,
                "use range",
            )
        serial = loop.replace(kind=ForKind.SERIAL)
        count = loop.extent.value
        if not self.enable or count < 2 or returns(loop.body) or not is_steady(loop.min):
            return serial
        if not loop.loop_var.dtype.is_int:
            return serial
        reduces = gathered(loop.body, loop.loop_var) is not None
        if not reduces and not independent(loop.body, loop.loop_var, self.ana):
            return serial
        width = _width(count, self.max_lanes)
        if width < 2:
            return serial
        if width == count:
            return self.lanes(loop.loop_var, loop.min, count, loop.body) or serial
        main = self.split(loop, count, width)
        if main is None or count % width == 0:
            return main or serial
        return seq([main, self.tail(loop, count - count % width, count % width)])

    def tail(self, loop: For, start: int, count: int) -> Stmt:
        """The iterations from `start` on, which a loop over whole vectors leaves."""
        var = Var(loop.loop_var.name, loop.loop_var.ty, loop.loop_var.span)
        first = plus(loop.min, const(start, var.dtype))
        body = renew_definitions(substitute(loop.body, {loop.loop_var: var}))
        self.ana.bind(var, Range(first, const(count, var.dtype)))
        vectors = self.lanes(var, first, count, body) if count > 1 else None
        return vectors or For(var, first, const(count, var.dtype), ForKind.SERIAL, body)

    def split(self, loop: For, count: int, width: int) -> Stmt | None:
        """An outer serial loop around vectors of this width; what does not fill one is left."""
        var = loop.loop_var
        outer, lane = Var(var.name, var.ty, var.span), Var(var.name, var.ty, var.span)
        groups = const(count // width, var.dtype)
        self.ana.bind(outer, Range(const(0, var.dtype), groups))
        self.ana.bind(lane, Range(const(0, var.dtype), const(width, var.dtype)))
        first = plus(loop.min, times(outer, const(width, var.dtype)))
        body = substitute(loop.body, {var: plus(first, lane)})
        inner = self.lanes(lane, const(0, var.dtype), width, body)
        if inner is None:
            return None
        return loop.replace(
            loop_var=outer, min=const(0, var.dtype), extent=groups, kind=ForKind.SERIAL, body=inner
        )

    def lanes(self, var: Var, low: Any, count: int, body: Stmt) -> Stmt | None:
        lanes = Lanes(var, low, count, self.ana)
        try:
            if gathered(body, var) is not None:
                return reduced(lanes, body)
            return lanes.statement(body)
        except NotVectorError:
            return None


def _width(count: int, limit: int) -> int:
    """The number of lanes for an extent: all of it, a large divisor within the limit, or the limit."""
    if count <= limit:
        return count
    return next((w for w in range(limit, limit // 2, -1) if count % w == 0), limit)

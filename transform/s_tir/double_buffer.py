"""Buffers that are filled for the next iteration while this one uses them."""

from __future__ import annotations

from typing import Any, Final

from ...ir import (
    GT,
    AllocBuffer,
    AttrStmt,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    FloorMod,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    const,
    seq,
)
from ...ir.analysis.regions import WRITE, touched_buffers
from ...ir.arith import Analyzer
from ...ir.arith.keys import is_pure_call
from ...ir.visitor import Rewriter, renew_definitions, substitute, walk
from ..common import buffer_type, is_const, is_nothing, minus, plus, times
from ..context import PassContext
from ..loops import jumps_out, returns
from ..registry import prim_func_pass

SCOPE: Final = "double_buffer_scope"
WRITTEN: Final = "double_buffer_write"


@prim_func_pass("s_tir.InjectDoubleBuffer")
def inject_double_buffer(func: PrimFunc) -> PrimFunc:
    """A buffer filled under the attribute `double_buffer_scope` is filled one iteration ahead.

    It gets twice the memory, outside of the loop.  The option `split_loop` of the setting
    `s_tir.InjectDoubleBuffer` writes out as many iterations at a time.  A loop in which filling
    the buffer early could change what is computed stays as it is.

    before:
        @T.prim_func
        def f(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
            for i in range(4):
                B = T.alloc_buffer((8,), "int32")
                with T.attr(B.data, "double_buffer_scope", 1):
                    for j in range(8):
                        B[j] = A[i, j]
                for j in range(8):
                    C[i, j] = B[j]

    after:
        @T.prim_func
        def f(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
            B = T.alloc_buffer((16,), "int32")
            for j in range(8):
                B[j] = A[0, j]
            for i in range(3):
                with T.attr(B.data, "double_buffer_write", 1):
                    for j in range(8):
                        B[(i + 1) % 2 * 8 + j] = A[i + 1, j]
                for j in range(8):
                    C[i, j] = B[i % 2 * 8 + j]
            for j in range(8):
                C[3, j] = B[8 + j]
    """
    factor = PassContext.current().option("s_tir.InjectDoubleBuffer", "split_loop")
    return _Inject(max(int(factor), 1))(func)


class _Inject(Rewriter):
    def __init__(self, factor: int) -> None:
        super().__init__()
        self.factor = factor

    def visit_For(self, loop: For) -> Any:
        new = self.visit_fields(loop)
        parts = _parts(new)
        return new if parts is None else self._ahead(new, *parts)

    def _ahead(self, loop: For, alloc: AllocBuffer, fill: AttrStmt, use: Stmt) -> Stmt:
        old = alloc.buffer
        ty = buffer_type(old)
        two = const(2, ty.shape[0].dtype)
        buffer = Var(old.name, ty.replace(shape=(times(ty.shape[0], two), *ty.shape[1:])), old.span)

        def at(stmt: Stmt, step: Expr) -> Stmt:
            """The statement of the iteration, with the half of the buffer that belongs to it."""
            half = times(FloorMod(minus(step, loop.min), const(2, step.dtype)), ty.shape[0])
            moved = _Half(old, buffer, Analyzer().simplify(half))(stmt)
            return renew_definitions(substitute(moved, {loop.loop_var: step}))

        def both(step: Expr) -> Stmt:
            ahead = at(fill.body, plus(step, one))
            data = Call("tirx.buffer_data", (buffer,), fill.node.ty)
            marked = AttrStmt(data, WRITTEN, const(1, "int32"), ahead)
            return marked if is_nothing(use) else seq([marked, at(use, step)])

        one = const(1, loop.loop_var.dtype)
        first = at(fill.body, loop.min)
        count = minus(loop.extent, one)
        middle = self._split(loop, count, both)
        last = [] if is_nothing(use) else [at(use, plus(loop.min, count))]
        steps: Stmt = seq([first, *middle, *last])
        if not isinstance(loop.extent, IntImm):
            steps = IfThenElse(GT(loop.extent, const(0, loop.extent.dtype)), steps)
        return seq([alloc.replace(buffer=buffer), steps])

    def _split(self, loop: For, count: Expr, body: Any) -> list[Stmt]:
        """Loops over the first `count` iterations; the first one writes out several at a time."""
        if self.factor == 1 or not isinstance(count, IntImm) or count.value < self.factor:
            var = Var(loop.loop_var.name, loop.loop_var.ty, loop.loop_var.span)
            return [loop.replace(loop_var=var, extent=count, body=body(var))]
        f = const(self.factor, count.dtype)
        var = Var(f"{loop.loop_var.name}_outer", loop.loop_var.ty, loop.loop_var.span)
        base = plus(times(var, f), loop.min)
        several = seq([body(plus(base, const(k, base.dtype))) for k in range(self.factor)])
        rounds = count.value // self.factor
        whole, zero = const(rounds, count.dtype), const(0, var.dtype)
        loops: list[Stmt] = [loop.replace(loop_var=var, min=zero, extent=whole, body=several)]
        for k in range(rounds * self.factor, count.value):
            loops.append(body(plus(loop.min, const(k, loop.min.dtype))))
        return loops


def _parts(loop: For) -> tuple[AllocBuffer, AttrStmt, Stmt] | None:
    """The allocation, what fills the buffer and what uses it, where the loop can fill it ahead."""
    if loop.kind is not ForKind.SERIAL or loop.step is not None or not isinstance(loop.body, SeqStmt):
        return None
    if is_const(loop.extent, 1) or is_const(loop.extent, 0):
        return None
    alloc, fill, *rest = loop.body.seq
    if not isinstance(alloc, AllocBuffer) or not isinstance(fill, AttrStmt) or fill.attr_key != SCOPE:
        return None
    if not isinstance(fill.node, Call) or fill.node.args[:1] != (alloc.buffer,):
        return None
    ty = buffer_type(alloc.buffer)
    if not ty.shape or ty.strides or ty.elem_offset is not None or jumps_out(loop.body) or returns(loop.body):
        return None
    use = seq(rest)
    free = _only_accessed(loop.body, alloc.buffer) and _may_go_ahead(fill.body, use, alloc.buffer)
    return (alloc, fill, use) if free else None


def _only_accessed(body: Stmt, buffer: Var) -> bool:
    """Whether the buffer's pointer is used by nothing but the attribute."""
    calls = [n for n in walk(body) if isinstance(n, Call) and buffer in n.args]
    addresses = [n for n in walk(body) if isinstance(n, Call) and n.op.name == "tirx.address_of"]  # type: ignore[union-attr]
    return len(calls) <= 1 and not any(
        isinstance(n.args[0], BufferLoad) and n.args[0].buffer is buffer for n in addresses
    )


def _may_go_ahead(fill: Stmt, use: Stmt, buffer: Var) -> bool:
    """Whether filling for the next iteration before using this one's data changes nothing."""
    if is_nothing(use):
        return True
    if any(isinstance(n, Call) and not is_pure_call(n) for part in (fill, use) for n in walk(part)):
        return False
    first, second = touched_buffers(fill), touched_buffers(use)
    return all(
        b is buffer or not ((mode | second.get(b, 0)) & WRITE and b in second) for b, mode in first.items()
    )


class _Half(Rewriter):
    """Accesses of the buffer go to one half of the new one."""

    def __init__(self, old: Var, new: Var, offset: Expr) -> None:
        super().__init__()
        self.old, self.new, self.offset = old, new, offset

    def _indices(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        first, *rest = self.visit_tuple(indices)
        return (plus(self.offset, first), *rest)

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        if e.buffer is not self.old:
            return self.visit_fields(e)
        return BufferLoad(self.new, self._indices(e.indices), e.span)

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        if stmt.buffer is not self.old:
            return self.visit_fields(stmt)
        return BufferStore(self.new, self.visit(stmt.value), self._indices(stmt.indices), stmt.span)

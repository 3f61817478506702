"""Copies from global to shared memory that run in the background."""

from __future__ import annotations

import re
from typing import Any, Final

from ...ir import (
    AttrStmt,
    Bind,
    Broadcast,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    FloatImm,
    For,
    ForKind,
    IntImm,
    IterVar,
    PrimFunc,
    PrimType,
    Ramp,
    Range,
    Stmt,
    const,
    seq,
)
from ...ir.arith import Analyzer
from ...ir.buffer import pointer_to
from ...ir.types import VOID
from ...ir.visitor import Rewriter, walk
from ...target import Target
from ..common import buffer_type, is_const, plus
from ..context import PassContext
from ..loops import copy_body
from ..registry import prim_func_pass
from .async_stages import COMMIT, COUNT, SCOPE, WAIT

_SIZES: Final = (4, 8, 16)
"""How many bytes one such copy can move."""


@prim_func_pass("s_tir.InjectPTXAsyncCopy")
def inject_ptx_async_copy(func: PrimFunc) -> PrimFunc:
    """Copies from global to shared memory under the attribute `async_scope` become `cp_async_raw`.

    What `async_commit_queue_scope` marks is followed by the end of a group of copies; what
    `async_wait_queue_scope` marks starts with waiting for them.  Copies that are not of 4, 8 or 16
    bytes in a row, or may not be aligned to that, run at once.  For targets without such copies, and with
    the setting `tirx.use_async_copy` off, all of them do, and the attributes go.

    before:
        @T.prim_func
        def f(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
            for tx in T.thread_binding(16, thread="threadIdx.x"):
                B = T.alloc_buffer((64,), "float32", scope="shared")
                with T.attr({"async_commit_queue_scope": 0, "async_scope": 1}):
                    B[T.Ramp(tx * 4, 1, 4)] = A[T.Ramp(tx * 4, 1, 4)]
                with T.attr({"async_wait_queue_scope": 0, "async_wait_inflight_count": 0}):
                    C[T.Ramp(tx * 4, 1, 4)] = B[T.Ramp(tx * 4, 1, 4)]

    after:
        @T.prim_func
        def f(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
            for tx in T.thread_binding(16, thread="threadIdx.x"):
                B = T.alloc_buffer((64,), "float32", scope="shared")
                T.s_tir.cp_async_raw("float32", B.data, tx * 4, A.data, tx * 4, 16)
                T.ptx.cp.async_.commit_group()
                T.ptx.cp.async_.wait_group(0)
                C[T.Ramp(tx * 4, 1, 4)] = B[T.Ramp(tx * 4, 1, 4)]
    """
    wanted = PassContext.current().get("tirx.use_async_copy")
    return _Inject(wanted and _has_copies(func.attrs.get("target")))(func)


def _has_copies(target: Any) -> bool:
    """Whether the target, CUDA where there is none, copies in the background."""
    if not isinstance(target, Target):
        return True
    arch = re.fullmatch(r"sm_(\d+)[a-z]?", str(target.get("arch", "sm_80")))
    return target.kind in ("cuda", "cuda-sim") and arch is not None and int(arch[1]) >= 80


class _Inject(Rewriter):
    def __init__(self, possible: bool) -> None:
        super().__init__()
        self.possible = possible
        self.within = False
        self.ana = Analyzer()

    def visit_For(self, loop: For) -> Any:
        if loop.kind is ForKind.UNROLLED and isinstance(loop.extent, IntImm) and _waits(loop):
            count = loop.extent.value
            steps = [plus(loop.min, const(k, loop.loop_var.dtype)) for k in range(count)]
            return seq([self.visit(copy_body(loop.body, loop.loop_var, k, fresh=True)) for k in steps])
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        return self.visit_fields(loop)

    def visit_Bind(self, stmt: Bind) -> Any:
        self.ana.bind(stmt.var, stmt.value)
        return self.visit_fields(stmt)

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        if stmt.attr_key == SCOPE:
            before, self.within = self.within, self.possible
            body = self.visit(stmt.body)
            self.within = before
            return body
        if stmt.attr_key == COMMIT:
            body = self.visit(stmt.body)
            return seq([body, _evaluated("tirx.ptx.cp_async_commit_group")]) if self.possible else body
        if stmt.attr_key == WAIT:
            inner = stmt.body
            counted = isinstance(inner, AttrStmt) and inner.attr_key == COUNT
            body = self.visit(inner.body if isinstance(inner, AttrStmt) and counted else inner)
            count = self._surely(inner.value) if isinstance(inner, AttrStmt) and counted else 0
            wait = _evaluated("tirx.ptx.cp_async_wait_group", const(count, "int32"))
            return seq([wait, body]) if self.possible else body
        if isinstance(stmt.node, IterVar) and stmt.node.dom is not None:
            self.ana.bind(stmt.node.var, stmt.node.dom)
        return self.visit_fields(stmt)

    def _surely(self, count: Expr) -> int:
        """The number, or what it is at least: waiting for more is never wrong."""
        return max(self.ana.bound(self.ana.simplify(count)).min, 0)

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        made = self._copy(stmt) if self.within else None
        return stmt if made is None else made

    def _copy(self, stmt: BufferStore) -> Stmt | None:
        """The store as a copy in the background, if it can be one."""
        predicate, load = _guarded(stmt.value)
        if not isinstance(load, BufferLoad) or len(stmt.indices) != 1 or len(load.indices) != 1:
            return None
        to, source = buffer_type(stmt.buffer), buffer_type(load.buffer)
        element = PrimType(to.dtype)
        if to.dtype != source.dtype or source.storage_scope not in ("", "global"):
            return None
        if to.storage_scope not in ("shared", "shared.dyn") or to.dtype.is_vector:
            return None
        lanes = stmt.value.dtype.lanes
        size = to.dtype.bits * lanes // 8
        at, start = _start(stmt.indices[0]), _start(load.indices[0])
        if size not in _SIZES or to.dtype.bits % 8 or at is None or start is None:
            return None
        if not (self._is_multiple(at, lanes) and self._is_multiple(start, lanes)):
            return None
        data, source_data = [
            Call("tirx.buffer_data", (b,), pointer_to(b)) for b in (stmt.buffer, load.buffer)
        ]
        args = [data, at, source_data, start, const(size, "int32")]
        args += [] if predicate is None else [predicate]
        return Evaluate(Call("tirx.s_tir.cp_async_raw", tuple(args), element), stmt.span)

    def _is_multiple(self, e: Expr, unit: int) -> bool:
        """Whether the integer is surely a multiple of the unit."""
        known = self.ana.modular(e)
        return known.coeff % unit == 0 and known.base % unit == 0


def _waits(loop: For) -> bool:
    """Whether something in the loop waits for copies."""
    return any(isinstance(n, AttrStmt) and n.attr_key == WAIT for n in walk(loop.body))


def _guarded(value: Expr) -> tuple[Expr | None, Expr]:
    """The condition under which a value is loaded, else being zero, and the load."""
    if isinstance(value, Call) and getattr(value.op, "name", "") == "prim.if_then_else":
        condition, load, other = value.args
        zero = other.value if isinstance(other, Broadcast) else other
        if isinstance(zero, IntImm | FloatImm) and _is_zero(zero) and not condition.dtype.is_vector:
            return condition, load
    return None, value


def _is_zero(e: IntImm | FloatImm) -> bool:
    return e.value == 0 and not str(e.value).startswith("-")


def _start(index: Expr) -> Expr | None:
    """Where an access of elements in a row starts, or None."""
    if isinstance(index, Ramp):
        return index.base if is_const(index.stride, 1) and isinstance(index.lanes, IntImm) else None
    return None if index.dtype.is_vector else index


def _evaluated(name: str, *args: Expr) -> Stmt:
    return Evaluate(Call(name, args, VOID))

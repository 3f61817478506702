"""Loads under a condition as one instruction."""

from __future__ import annotations

from typing import Any

from ...ir import (
    AllocBuffer,
    AttrStmt,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Evaluate,
    PrimFunc,
    Stmt,
    Var,
    const,
    seq,
)
from ...ir.arith.analyzer import reads_memory
from ...ir.buffer import pointer_to
from ...ir.visitor import Rewriter, walk
from ...target import Target
from ..common import buffer_type
from ..context import PassContext
from ..registry import prim_func_pass
from ..speculation import never_fails


@prim_func_pass("s_tir.InjectPTXLDG32")
def inject_ptx_ldg32(func: PrimFunc, enable: bool | None = True) -> PrimFunc:
    """On CUDA, stores of `a[i] if c else x` become a store of x and the guarded load `ldg32` of a[i].

    Done for 32-bit elements of global memory, where x reads no memory; condition and indices
    are held in registers.  With `enable` None the setting `tirx.s_tir.ldg32` decides.

    before:
        @T.prim_func
        def f(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32"), n: T.int32):
            T.func_attr({"target": T.target("cuda")})
            for i in range(4):
                C[i] = T.if_then_else(i < n, A[i], T.float32(0))

    after:
        @T.prim_func
        def f(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32"), n: T.int32):
            T.func_attr({"target": T.target("cuda")})
            predicate = T.alloc_buffer((1,), "bool", scope="local")
            addr = T.alloc_buffer((2,), "int32", scope="local")
            for i in range(4):
                addr[0] = i
                addr[1] = i
                predicate[0] = i < n
                C[addr[1]] = T.float32(0)
                T.s_tir.ldg32(C.data, predicate[0], A[addr[0]], addr[1])
    """
    if enable is None:
        enable = PassContext.current().get("tirx.s_tir.ldg32")
    target = func.attrs.get("target")
    if not enable or not isinstance(target, Target) or target.kind not in ("cuda", "cuda-sim"):
        return func
    return _Inject()(func)


class _Inject(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._renew()

    def _renew(self) -> None:
        """Registers for the kernel, or the function, that comes."""
        self.guard = Var("predicate", BufferType("bool", (1,), storage_scope="local"))
        self.addresses = Var("addr", BufferType("int32", (2,), storage_scope="local"))
        self.used = self.in_kernel = False

    def _with_registers(self, body: Stmt) -> Stmt:
        return seq([AllocBuffer(self.guard), AllocBuffer(self.addresses), body]) if self.used else body

    def visit_PrimFunc(self, func: PrimFunc) -> Any:
        new = self.visit_fields(func)
        return new.replace(body=self._with_registers(new.body)) if self.used else new

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        if stmt.attr_key != "thread_extent" or self.in_kernel:
            return self.visit_fields(stmt)
        around = self.guard, self.addresses, self.used
        self._renew()
        self.in_kernel = True
        new = self.visit_fields(stmt)
        if self.used:
            new = new.replace(body=self._with_registers(new.body))
        self.guard, self.addresses, self.used = around
        self.in_kernel = False
        return new

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        value = stmt.value
        if not isinstance(value, Call) or getattr(value.op, "name", "") != "prim.if_then_else":
            return stmt
        condition, load, other = value.args
        if not isinstance(load, BufferLoad) or not _fits(stmt, load) or condition.dtype.is_vector:
            return stmt
        if reads_memory(other) or not never_fails(other):
            return stmt
        self.used = True
        zero, one = const(0, "int32"), const(1, "int32")
        at = BufferLoad(self.addresses, (one,))
        guarded = load.replace(indices=(BufferLoad(self.addresses, (zero,)),))
        data = Call("tirx.buffer_data", (stmt.buffer,), pointer_to(stmt.buffer))
        args = (data, BufferLoad(self.guard, (zero,)), guarded, at)
        return seq(
            [
                BufferStore(self.addresses, load.indices[0], (zero,)),
                BufferStore(self.addresses, stmt.indices[0], (one,)),
                BufferStore(self.guard, condition, (zero,)),
                stmt.replace(indices=(at,), value=other),
                Evaluate(Call("tirx.s_tir.ldg32", args, load.ty)),
            ]
        )


def _fits(stmt: BufferStore, load: BufferLoad) -> bool:
    """Whether store and load are of one 32-bit element of memory of different buffers, at 32-bit indices."""
    to, source = buffer_type(stmt.buffer), buffer_type(load.buffer)
    same = to.dtype == source.dtype and to.dtype.bits == 32 and not to.dtype.is_vector
    indices = (*stmt.indices, *load.indices)
    flat = len(indices) == 2 and all(i.dtype == "int32" for i in indices)
    return (
        same
        and flat
        and source.storage_scope in ("", "global")
        and stmt.buffer is not load.buffer
        and not any(n is stmt.buffer for i in load.indices for n in walk(i))
    )

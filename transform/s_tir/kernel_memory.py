"""Global memory that is allocated in kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ...ir import (
    AllocBuffer,
    AttrStmt,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Expr,
    For,
    IntImm,
    Op,
    PointerType,
    PrimFunc,
    PrimType,
    Range,
    SBlock,
    SeqStmt,
    Stmt,
    Var,
    const,
    seq,
)
from ...ir.visitor import Rewriter, definitions, type_vars, walk
from ..common import buffer_type, is_const, refuse
from ..registry import prim_func_pass
from ..strides import element_count
from ..vectors import convert
from .on_chip import is_for_threads, is_on_chip, launches

_SMALL: Final = 4096
"""The bytes that a thread may hold in memory of its own."""


@prim_func_pass("s_tir.HoistKernelMemory")
def hoist_kernel_memory(func: PrimFunc) -> PrimFunc:
    """A buffer in global memory that a kernel allocates is allocated before it, with a part for each thread.

    What belongs to one thread only and is small becomes local.  Elsewhere the axes around the allocation
    become dimensions.  Raises PassError where the size is known only inside of the kernel.

    before:
        @T.prim_func
        def f(A: T.Buffer((8, 4), "float32")):
            for b in T.thread_binding(8, thread="blockIdx.x"):
                B = T.alloc_buffer((4,))
                for t in T.thread_binding(4, thread="threadIdx.x"):
                    B[t] = A[b, t]
                for t in T.thread_binding(4, thread="threadIdx.x"):
                    A[b, t] = B[3 - t]

    after:
        @T.prim_func
        def f(A: T.Buffer((8, 4), "float32")):
            B = T.alloc_buffer((8, 4))
            for b in T.thread_binding(8, thread="blockIdx.x"):
                for t in T.thread_binding(4, thread="threadIdx.x"):
                    B[b, t] = A[b, t]
                for t in T.thread_binding(4, thread="threadIdx.x"):
                    A[b, t] = B[b, 3 - t]
    """
    return _Hoist(is_for_threads(func))(func)


class _Part(NamedTuple):
    """The buffer that takes the place of one, and where the part of the thread is in it."""

    whole: Var
    place: tuple[Expr, ...]


class _Hoist(Rewriter):
    def __init__(self, alone: bool) -> None:
        super().__init__()
        self.alone = alone
        """Whether the function has no kernels and runs in a thread of one."""
        self.axes: list[tuple[Var, Expr]] = []
        self.inside: set[Var] = set()
        self.parts: dict[Var, _Part] = {}
        self.local: dict[Var, Var] = {}
        self.hoisted: list[Stmt] = []

    def _axis(self, stmt: Any) -> Any:
        self.inside |= set(definitions(stmt)) if self.axes else set()
        if not launches(stmt):
            return self.visit_fields(stmt)
        var, extent = _axis_of(stmt)
        self.axes.append((var, extent))
        self.inside.add(var)
        new = self.visit_fields(stmt)
        self.axes.pop()
        if self.axes or not self.hoisted:
            return new
        hoisted, self.hoisted, self.inside = self.hoisted, [], set()
        return seq([*hoisted, new])

    visit_For = visit_AttrStmt = _axis

    def define(self, var: Var) -> Var:
        if self.axes:
            self.inside.add(var)
        if var in self.local:
            new = self.vars[var] = self.local[var]
            return new
        return super().define(var)

    def visit_SBlock(self, block: SBlock) -> Any:
        kept = [b for b in block.alloc_buffers if not self._takes(b, block.body, block)]
        if len(kept) < len(block.alloc_buffers):
            block = block.replace(alloc_buffers=kept)
        return self.visit_fields(block)

    def visit_SeqStmt(self, stmt: SeqStmt) -> Any:
        made: list[Stmt] = []
        for place, one in enumerate(stmt.seq):
            if isinstance(one, AllocBuffer) and self._takes(one.buffer, seq(stmt.seq[place + 1 :]), one):
                continue
            made.append(self.visit(one))
        same = len(made) == len(stmt.seq) and all(a is b for a, b in zip(made, stmt.seq))
        return stmt if same else seq(made)

    def _takes(self, buffer: Var, scope: Stmt, stmt: Stmt) -> bool:
        """Whether the buffer is allocated before the kernel; a small one of a thread's own becomes local."""
        if not (self.axes or self.alone) or is_on_chip(buffer):
            return False
        ty = buffer_type(buffer)
        bits = ty.dtype.bits * ty.dtype.lanes
        count = element_count(ty)
        alone = not any(launches(n) for n in walk(scope))
        if alone and isinstance(count, IntImm) and count.value * bits <= 8 * _SMALL:
            self.local[buffer] = Var(buffer.name, ty.replace(storage_scope="local"), buffer.span)
            return False
        if self.alone:
            raise refuse(
                "kernel-memory",
                f"a function that kernels call allocates `{buffer.name}` in global memory, "
                f"and it is not known to be {_SMALL} bytes at most",
                stmt,
                "allocate it outside of the kernel, and pass it to the function",
            )
        unknown = [v for v in type_vars(ty) if v in self.inside]
        if unknown:
            raise refuse(
                "kernel-memory",
                f"the kernel allocates `{buffer.name}` in global memory, and its size depends on "
                f"`{unknown[0].name}`, which is known only inside of the kernel",
                stmt,
                "allocate it outside of the loops over threads, as large as it may become",
            )
        axes = [(var, extent) for var, extent in self.axes if not is_const(extent, 1)]
        wide = ty.shape[0].dtype if ty.shape else const(0, "int32").dtype
        extents = [convert(extent, wide) for _, extent in axes]
        whole = Var(
            buffer.name, ty.replace(shape=(*extents, *ty.shape), strides=(), elem_offset=None), buffer.span
        )
        self.hoisted.append(AllocBuffer(whole, {}, stmt.span))
        self.parts[buffer] = _Part(whole, tuple([var for var, _ in axes]))
        return True

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        part = self.parts.get(e.buffer)
        if part is None:
            return self.visit_fields(e)
        return BufferLoad(part.whole, [*part.place, *self.visit_tuple(e.indices)], e.span)

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        part = self.parts.get(stmt.buffer)
        if part is None:
            return self.visit_fields(stmt)
        indices = [*part.place, *self.visit_tuple(stmt.indices)]
        return BufferStore(part.whole, self.visit(stmt.value), indices, stmt.span)

    def visit_BufferRegion(self, e: BufferRegion) -> Any:
        part = self.parts.get(e.buffer)
        if part is None:
            return self.visit_fields(e)
        ranges = [Range(p, const(1, p.dtype)) for p in part.place]
        return BufferRegion(part.whole, [*ranges, *self.visit_tuple(e.region)], e.span)

    def visit_Call(self, call: Call) -> Any:
        buffer = call.args[0] if call.args else None
        part = self.parts.get(buffer) if isinstance(buffer, Var) else None
        if part is None or not isinstance(call.op, Op) or call.op.name != "tirx.buffer_data":
            return self.visit_fields(call)
        assert isinstance(buffer, Var)
        ty = buffer_type(buffer)
        zeros: Sequence[Expr] = [const(0, e.dtype) for e in ty.shape]
        pointer = PointerType(PrimType(ty.dtype), "global")
        return Call("tirx.address_of", (BufferLoad(part.whole, [*part.place, *zeros]),), pointer)


def _axis_of(stmt: Any) -> tuple[Var, Expr]:
    if isinstance(stmt, For):
        return stmt.loop_var, stmt.extent
    assert isinstance(stmt, AttrStmt)
    return stmt.node.var, stmt.value

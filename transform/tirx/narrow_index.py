"""Indices in 32 bits, where that the access is inside of its buffer proves them to fit."""

from __future__ import annotations

from typing import Any

from ...dtype import DType
from ...ir import (
    Add,
    AttrStmt,
    Bind,
    BufferLoad,
    BufferStore,
    Cast,
    Expr,
    For,
    IntImm,
    IterVar,
    Mul,
    PrimFunc,
    PrimType,
    Ramp,
    Range,
    Var,
    const,
)
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, walk
from ..common import buffer_type
from ..registry import prim_func_pass

_INT32 = DType("int32")


@prim_func_pass("tirx.NarrowIndex")
def narrow_index(func: PrimFunc) -> PrimFunc:
    """An index that is computed in 64 bits from values of 32 bits is computed in 32 where it fits.

    It does where it is a sum of terms that are not negative, and the buffer has fewer than 2**31
    elements: then no partial sum is larger than an index inside of the buffer.

    before:
        @T.prim_func
        def f(a: T.handle, n: T.int32):
            A = T.match_buffer(a, (n,))
            for i, j in T.grid(n // 4, 4):
                A[T.Cast("int64", i) * T.int64(4) + T.Cast("int64", j)] = T.float32(0)

    after:
        @T.prim_func
        def f(a: T.handle, n: T.int32):
            A = T.match_buffer(a, (n,))
            for i, j in T.grid(n // 4, 4):
                A[i * 4 + j] = T.float32(0)
    """
    return _Narrow()(func)


class _Narrow(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.ana = Analyzer()

    def visit_For(self, loop: For) -> Any:
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        return self.visit_fields(loop)

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        if stmt.attr_key == "thread_extent" and isinstance(stmt.node, IterVar):
            self.ana.bind(stmt.node.var, Range(const(0, stmt.value.dtype), stmt.value))
        return self.visit_fields(stmt)

    def visit_Bind(self, stmt: Bind) -> Any:
        if isinstance(stmt.value.ty, PrimType):
            self.ana.bind(stmt.var, stmt.value)
        return self.visit_fields(stmt)

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        new = self.visit_fields(e)
        index = self.index(new.buffer, new.indices)
        return new if index is None else BufferLoad(new.buffer, [index], e.span)

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        new = self.visit_fields(stmt)
        index = self.index(new.buffer, new.indices)
        return new if index is None else BufferStore(new.buffer, new.value, [index], stmt.span)

    def index(self, buffer: Var, indices: tuple[Expr, ...]) -> Expr | None:
        """The index in 32 bits; None where it is so already, or has to stay."""
        ty = buffer_type(buffer)
        if len(indices) != 1 or len(ty.shape) != 1 or ty.strides:
            return None
        size, index = ty.shape[0], indices[0]
        if not _is_small(size) or index.dtype.element is _INT32:
            return None
        if not isinstance(index, Ramp):
            return self.narrow(index)
        base, stride = self.narrow(index.base), self.narrow(index.stride)
        return None if base is None or stride is None else Ramp(base, stride, index.lanes, index.span)

    def narrow(self, e: Expr) -> Expr | None:
        """The value in 32 bits; None where its parts may not fit."""
        if isinstance(e, IntImm):
            return const(e.value, _INT32) if 0 <= e.value <= _INT32.max_value else None
        if isinstance(e, Cast) and e.value.dtype is _INT32:
            return e.value if self.ana.bound(e.value).min >= 0 else None
        if isinstance(e, Mul) and isinstance(e.b, IntImm) and e.b.value < 1:
            return None
        if isinstance(e, Add) or (isinstance(e, Mul) and isinstance(e.b, IntImm)):
            a, b = self.narrow(e.a), self.narrow(e.b)
            return None if a is None or b is None else type(e)(a, b, e.span)
        return None


def _is_small(size: Expr) -> bool:
    """Whether the number of elements is known to be below 2**31: a product of extents may be larger."""
    if isinstance(size, IntImm):
        return size.value <= _INT32.max_value
    return size.dtype is _INT32 and not any(isinstance(n, Mul) for n in walk(size))

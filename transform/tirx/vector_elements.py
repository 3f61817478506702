"""Local buffers hold vectors where they are accessed by vectors."""

from __future__ import annotations

from typing import Any

from ...ir import (
    AllocBuffer,
    BufferLoad,
    BufferStore,
    BufferType,
    Expr,
    For,
    IntImm,
    PrimFunc,
    Ramp,
    Range,
    Shuffle,
    Var,
    const,
)
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, Visitor
from ..common import buffer_type
from ..registry import prim_func_pass


@prim_func_pass("tirx.PointerValueTypeRewrite")
def pointer_value_type_rewrite(func: PrimFunc) -> PrimFunc:
    """An allocation whose stores are all aligned vectors of one length gets elements of that vector type.

    Loads are such vectors too, or single lanes at a known place in one.  Parameters keep their
    types, since a caller knows them.

    before:
        @T.prim_func
        def f(A: T.Buffer((16,), "float32"), B: T.Buffer((4,), "float32")):
            C = T.alloc_buffer((16,), scope="local")
            for i in range(4):
                C[i * 4:i * 4 + 4] = A[T.Ramp(i * 4, 1, 4)]
            for i in range(4):
                B[i] = C[i * 4 + 1]

    after:
        @T.prim_func
        def f(A: T.Buffer((16,), "float32"), B: T.Buffer((4,), "float32")):
            C = T.alloc_buffer((4,), "float32x4", scope="local")
            for i in range(4):
                C[i] = A[T.Ramp(i * 4, 1, 4)]
            for i in range(4):
                B[i] = T.Shuffle([C[i]], [1])
    """
    uses = _Uses()
    uses(func)
    widths = uses.widths()
    return _Vectors(widths)(func) if widths else func


class _Uses(Visitor):
    """How each allocation is accessed: the lanes of its stores, and whether its loads fit."""

    def __init__(self) -> None:
        self.ana = Analyzer()
        self.local: set[Var] = set()
        self.lanes: dict[Var, int] = {}
        self.single: dict[Var, list[int]] = {}
        self.bad: set[Var] = set()

    def widths(self) -> dict[Var, int]:
        """The allocations that can hold vectors, with the number of lanes."""
        found = {}
        for buffer, lanes in self.lanes.items():
            size = buffer_type(buffer).shape[0]
            whole = isinstance(size, IntImm) and size.value % lanes == 0
            if buffer not in self.bad and lanes > 1 and whole:
                if all(coeff % lanes == 0 for coeff in self.single.get(buffer, ())):
                    found[buffer] = lanes
        return found

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> None:
        ty = buffer_type(stmt.buffer)
        if len(ty.shape) == 1 and not ty.strides and ty.elem_offset is None and ty.dtype.is_scalar:
            self.local.add(stmt.buffer)

    def visit_For(self, loop: For) -> None:
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        self.visit_fields(loop)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        self._access(stmt.buffer, stmt.indices)
        self.visit(stmt.value)

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        if e.buffer in self.local and e.dtype.is_scalar:
            self.single.setdefault(e.buffer, []).append(self.ana.modular(e.indices[0]).coeff)
            self.visit(e.indices[0])
        else:
            self._access(e.buffer, e.indices)

    def _access(self, buffer: Var, indices: tuple[Expr, ...]) -> None:
        for i in indices:
            self.visit(i)
        if buffer not in self.local:
            return
        index = indices[0]
        lanes = index.dtype.lanes
        ramp = isinstance(index, Ramp) and isinstance(index.stride, IntImm) and index.stride.value == 1
        fits = ramp and not index.dtype.scalable and self.lanes.setdefault(buffer, lanes) == lanes
        if not fits or _remainder(self.ana, index.base, lanes) != 0:  # type: ignore[attr-defined]
            self.bad.add(buffer)

    def visit_Var(self, var: Var) -> None:
        if isinstance(var.ty, BufferType):
            self.bad.add(var)


def _remainder(ana: Analyzer, e: Expr, divisor: int) -> int | None:
    """The remainder of the index, where it is always the same."""
    known = ana.modular(e)
    return known.base % divisor if known.coeff % divisor == 0 else None


class _Vectors(Rewriter):
    def __init__(self, widths: dict[Var, int]) -> None:
        super().__init__()
        self.widths = widths
        self.ana = Analyzer()

    def visit_For(self, loop: For) -> Any:
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        return self.visit_fields(loop)

    def define(self, var: Var) -> Var:
        lanes = self.widths.get(var)
        if lanes is None:
            return super().define(var)
        ty = buffer_type(var)
        (size,) = ty.shape
        assert isinstance(size, IntImm)
        shape = [const(size.value // lanes, size.dtype)]
        new = self.vars[var] = Var(
            var.name, ty.replace(dtype=ty.dtype.with_lanes(lanes), shape=shape), var.span
        )
        return new

    def _place(self, index: Expr, lanes: int) -> Expr:
        whole = index // const(lanes, index.dtype)
        return self.ana.simplify(whole)

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        lanes = self.widths.get(stmt.buffer)
        if lanes is None:
            return self.visit_fields(stmt)
        (index,) = stmt.indices
        assert isinstance(index, Ramp)
        buffer, value = self.vars[stmt.buffer], self.visit(stmt.value)
        return stmt.replace(buffer=buffer, value=value, indices=[self._place(self.visit(index.base), lanes)])

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        lanes = self.widths.get(e.buffer)
        if lanes is None:
            return self.visit_fields(e)
        (index,) = e.indices
        buffer = self.vars[e.buffer]
        assert isinstance(buffer, Var)
        if isinstance(index, Ramp):
            return BufferLoad(buffer, [self._place(self.visit(index.base), lanes)], e.span)
        lane = _remainder(self.ana, index, lanes)
        assert lane is not None
        vector = BufferLoad(buffer, [self._place(self.visit(index), lanes)], e.span)
        return Shuffle([vector], [const(lane, "int32")])

"""Memory of a warp becomes registers of its lanes."""

from __future__ import annotations

from typing import Any

from ...ir import (
    AllocBuffer,
    AttrStmt,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    IntImm,
    IterVar,
    Op,
    PointerType,
    PrimFunc,
    PrimType,
    Ramp,
    Range,
    Var,
    const,
)
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, Visitor, walk
from ..common import buffer_type, cast_to, minus, plus, refuse, times
from ..registry import prim_func_pass
from ..warps import Axes, warp_mask, warp_size


@prim_func_pass("tirx.LowerWarpMemory")
def lower_warp_memory(func: PrimFunc) -> PrimFunc:
    """A buffer of scope `warp` becomes a part of it in each lane; what another lane holds comes by a shuffle.

    Stores say how the elements are spread: lane `t` holds `m` elements from `m * t` on, again and again.
    Raises PassError where a lane stores into the part of another one, or lanes are not spread so.

    before:
        @T.prim_func
        def f(A: T.Buffer((32,), "float32")):
            T.func_attr({"target": T.target("cuda")})
            t = T.launch_thread("threadIdx.x", 32)
            W = T.alloc_buffer((32,), scope="warp")
            W[t] = A[t]
            A[t] = W[(t + 1) % 32]

    after:
        @T.prim_func
        def f(A: T.Buffer((32,), "float32")):
            T.func_attr({"target": T.target("cuda")})
            t = T.launch_thread("threadIdx.x", 32)
            W = T.alloc_buffer((1,), scope="local")
            W[0] = A[t]
            A[t] = T.tvm_warp_shuffle(T.uint32(4294967295), W[0], (t + 1) % 32, 32, 32)
    """
    if not any(isinstance(n, AllocBuffer) and _is_warp(n.buffer) for n in walk(func.body)):
        return func
    return _Lower(func)(func)


def _is_warp(buffer: Var) -> bool:
    return buffer_type(buffer).storage_scope == "warp"


class _Lower(Rewriter):
    def __init__(self, func: PrimFunc) -> None:
        super().__init__()
        self.target = func.attrs.get("target")
        self.size = warp_size(self.target)
        self.ana = Analyzer()
        self.lane: Expr | None = None
        self.width = self.size
        self.axes: Axes = {}
        self.parts: dict[Var, int] = {}
        self.renewed: dict[Var, Var] = {}

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        axis = stmt.node
        if stmt.attr_key == "thread_extent" and isinstance(axis, IterVar):
            self.ana.bind(axis.var, Range(const(0, stmt.value.dtype), stmt.value))
            self.axes[axis.thread_tag] = (axis.var, stmt.value)
            if axis.thread_tag == "threadIdx.x" and isinstance(stmt.value, IntImm):
                self.lane, self.width = axis.var, stmt.value.value
                if self.width > self.size:
                    self.lane, self.width = FloorMod(axis.var, const(self.size, axis.var.dtype)), self.size
        return self.visit_fields(stmt)

    def visit_For(self, loop: For) -> Any:
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        return self.visit_fields(loop)

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> Any:
        if not _is_warp(stmt.buffer):
            return self.visit_fields(stmt)
        if self.lane is None or self.size < 2:
            raise refuse(
                "warp-memory",
                f"`{stmt.buffer.name}` is memory of a warp, and there is no warp: the target has none, "
                "or threadIdx.x has no constant extent",
                stmt,
            )
        ty = buffer_type(stmt.buffer)
        count = ty.shape[0] if len(ty.shape) == 1 else None
        if not isinstance(count, IntImm) or count.value % self.width:
            raise refuse(
                "warp-memory",
                f"the elements of `{stmt.buffer.name}` cannot be dealt to {self.width} lanes",
                stmt,
            )
        part = const(count.value // self.width, "int32")
        new = Var(stmt.buffer.name, ty.replace(shape=(part,), storage_scope="local"), stmt.buffer.span)
        self.renewed[stmt.buffer] = new
        return stmt.replace(buffer=new)

    def visit_SeqStmt(self, stmt: Any) -> Any:
        for one in stmt.seq:
            if isinstance(one, AllocBuffer) and _is_warp(one.buffer):
                self.parts[one.buffer] = _Spread(self, one.buffer).found(stmt)
        return super().visit_SeqStmt(stmt)

    def split(self, buffer: Var, index: Expr) -> tuple[Expr, Expr]:
        """The lane that holds an element, or elements in a row, and the place there."""
        if isinstance(index, Ramp):
            last = plus(index.base, times(index.stride, minus(index.lanes, const(1, index.lanes.dtype))))
            (lane, place), (other, _) = self.split(buffer, index.base), self.split(buffer, last)
            if not self.ana.can_prove_equal(lane, other):
                raise refuse(
                    "warp-memory",
                    f"elements of `{buffer.name}` accessed together belong to several lanes",
                    buffer,
                )
            return lane, Ramp(place, index.stride, index.lanes)
        part = const(self.parts[buffer], index.dtype)
        row = const(self.parts[buffer] * self.width, index.dtype)
        lane = self.ana.simplify(FloorDiv(FloorMod(index, row), part))
        place = plus(times(FloorDiv(index, row), part), FloorMod(index, part))
        return lane, self.ana.simplify(place)

    def _is_own(self, lane: Expr) -> bool:
        assert self.lane is not None
        return self.ana.can_prove_equal(lane, cast_to(self.lane, PrimType(lane.dtype)))

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        if stmt.buffer not in self.renewed:
            return self.visit_fields(stmt)
        lane, place = self.split(stmt.buffer, self.visit(stmt.indices[0]))
        if not self._is_own(lane):
            raise refuse(
                "warp-memory", f"a lane stores into the part of `{stmt.buffer.name}` of another one", stmt
            )
        return BufferStore(self.renewed[stmt.buffer], self.visit(stmt.value), [place], stmt.span)

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        if e.buffer not in self.renewed:
            return self.visit_fields(e)
        lane, place = self.split(e.buffer, self.visit(e.indices[0]))
        load = BufferLoad(self.renewed[e.buffer], [place], e.span)
        if self._is_own(lane):
            return load
        mask = warp_mask(self.target, self.axes)
        width, size = const(self.width, "int32"), const(self.size, "int32")
        return Call("tirx.tvm_warp_shuffle", (mask, load, lane, width, size), e.ty, {}, span=e.span)

    def visit_Call(self, call: Call) -> Any:
        args = list(call.args)
        changed = False
        for at, arg in enumerate(call.args[:-1]):
            buffer = _pointed(arg)
            if buffer in self.renewed:
                _, args[at + 1] = self.split(buffer, self.visit(call.args[at + 1]))
                args[at], changed = _data(self.renewed[buffer]), True
        for arg in call.args:
            if arg in self.renewed:
                raise refuse("warp-memory", f"`{arg.name}` is handed out as a whole", call)  # type: ignore[attr-defined]
        if changed:
            return call.replace(args=tuple(args))
        return self.visit_fields(call)


def _pointed(arg: Any) -> Any:
    """The buffer whose pointer this is."""
    if isinstance(arg, Call) and isinstance(arg.op, Op) and arg.op.name == "tirx.buffer_data":
        return arg.args[0]
    return None


def _data(buffer: Var) -> Call:
    ty = buffer_type(buffer)
    return Call("tirx.buffer_data", (buffer,), PointerType(PrimType(ty.dtype), ty.storage_scope))


class _Spread(Visitor):
    """How many elements in a row a lane holds, by the indices of stores and of calls that fill the buffer."""

    def __init__(self, lower: _Lower, buffer: Var) -> None:
        self.lower, self.buffer = lower, buffer
        self.indices: list[Expr] = []

    def found(self, scope: Any) -> int:
        """The number. Raises PassError where the uses in the scope do not agree."""
        self.visit(scope)
        counts = {self.count(i) for i in self.indices}
        if len(counts) != 1 or 0 in counts:
            raise refuse(
                "warp-memory",
                f"it cannot be told how the elements of `{self.buffer.name}` are spread over the lanes",
                self.buffer,
                "store to `buffer[m * t + k]`, where t is threadIdx.x and k is less than m",
            )
        return counts.pop()

    def count(self, index: Expr) -> int:
        """The factor of the lane in an index."""
        base = getattr(index, "base", index)
        for coeff, term in self.lower.ana.linear(base).terms.values():
            while hasattr(term, "value") and not isinstance(term, IntImm):
                term = term.value
            lane = self.lower.lane
            if term is lane or (
                isinstance(lane, FloorMod) and isinstance(term, FloorMod) and term.a is lane.a
            ):
                return coeff
        return 0

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        if stmt.buffer is self.buffer:
            self.indices.append(stmt.indices[0])
        self.visit_fields(stmt)

    def visit_Call(self, call: Call) -> None:
        for at, arg in enumerate(call.args[:-1]):
            if _pointed(arg) is self.buffer:
                self.indices.append(call.args[at + 1])
        self.visit_fields(call)

"""Shared memory of a kernel in one allocation, parts of which serve one buffer after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...dtype import DType
from ...ir import (
    Add,
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    DeclBuffer,
    Expr,
    FloorDiv,
    For,
    IntImm,
    Op,
    PointerType,
    PrimFunc,
    PrimType,
    Stmt,
    Var,
    While,
    const,
    seq,
)
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, Visitor, substitute
from ..common import buffer_type, cast_to, is_const, plus, refuse, times
from ..context import PassContext
from ..registry import prim_func_pass
from ..strides import element_count
from .sync import DISJOINT

_ALIGNED: Final = 128
"""The bytes that parts begin at multiples of: what vectors and matrix fragments ask for at most."""
_MASKED: Final = {"tirx.masked_load": 1, "tirx.masked_store": 2}
"""Calls whose first argument is a buffer, and which argument is the index."""
_WORTHWHILE: Final = 4096
"""The bytes of static memory that must be saved: sharing costs a barrier."""
_OFFSETS: Final = {
    "tirx.tvm_access_ptr": {1: 2},
    "tirx.s_tir.cp_async_raw": {0: 1},
    "tirx.ptx_legacy.ldmatrix": {5: 6},
}
"""Calls in which an argument is a pointer and another one the offset from it, in elements."""


@prim_func_pass("s_tir.MergeSharedMemoryAllocations")
def merge_shared_memory(func: PrimFunc, static: bool = False) -> PrimFunc:
    """Each kernel has one allocation of dynamic shared memory; buffers that do not live together share parts.

    The buffers become typed views of it, and their accesses are shifted.  With `static`, or the setting
    `tirx.merge_static_smem`, static shared memory is merged too where that saves much.  What stays of it
    stands at the start of the kernel.

    before:
        @T.prim_func
        def f(A: T.Buffer((64,), "float32")):
            t = T.launch_thread("threadIdx.x", 64)
            S = T.alloc_buffer((64,), scope="shared.dyn")
            R = T.alloc_buffer((128,), "float16", scope="shared.dyn")
            S[t] = A[t]
            R[t] = T.Cast("float16", S[t])
            A[t] = T.Cast("float32", R[t])

    after:
        @T.prim_func
        def f(A: T.Buffer((64,), "float32")):
            t = T.launch_thread("threadIdx.x", 64)
            buf_dyn_shmem = T.alloc_buffer((512,), "uint8", scope="shared.dyn")
            S = T.decl_buffer((128,), data=buf_dyn_shmem.data, scope="shared.dyn")
            R = T.decl_buffer((256,), "float16", data=buf_dyn_shmem.data, scope="shared.dyn")
            S[t] = A[t]
            R[t + 128] = T.Cast("float16", S[t])
            A[t] = T.Cast("float32", R[t + 128])
    """
    return _Kernels(static or bool(PassContext.current().get("tirx.merge_static_smem")))(func)


class _Kernels(Rewriter):
    def __init__(self, static: bool) -> None:
        super().__init__()
        self.static = static

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        if stmt.attr_key != "thread_extent":
            return self.visit_fields(stmt)
        found = _Lives()
        found(stmt)
        new: Stmt = stmt
        dynamic = [a for a in found.allocations if a.scope == "shared.dyn"]
        if dynamic and not (len(dynamic) == 1 and dynamic[0].is_bytes):
            new = _Merge(dynamic, _planned(dynamic), "buf_dyn_shmem", found.names)(new)
        fixed = [a for a in found.allocations if a.scope == "shared"]
        if self.static and fixed and all(isinstance(a.size, int) for a in fixed):
            plan = _planned(fixed)
            if _apart(fixed) - plan.total >= _WORTHWHILE:
                return _Merge(fixed, plan, "buf_shmem", found.names)(new)
        return _first(new, {a.buffer for a in fixed})


class _Allocation:
    """A buffer in shared memory, and from when to when it is used."""

    def __init__(self, stmt: AllocBuffer, loops: Sequence[Any], values: dict[Var, Expr]) -> None:
        self.buffer, self.loops = stmt.buffer, tuple(loops)
        ty = buffer_type(self.buffer)
        if len(ty.shape) != 1 or ty.strides:
            raise refuse(
                "flat-buffers",
                f"the shared buffer `{self.buffer.name}` has {len(ty.shape)} dimensions",
                stmt,
                "run tirx.FlattenBuffer first",
            )
        self.scope = ty.storage_scope
        self.bits = ty.dtype.bits * ty.dtype.lanes
        self.first = self.last = -1
        count = Analyzer().simplify(substitute(element_count(ty), values))
        self.size: int | Expr = (
            -(-count.value * self.bits // 8) if isinstance(count, IntImm) else _bytes(count, self.bits)
        )

    @property
    def is_bytes(self) -> bool:
        """Whether it is memory of no type, as this pass makes it."""
        return buffer_type(self.buffer).dtype is DType("uint8")

    def use(self, first: int, last: int) -> None:
        """It is used in this time."""
        self.first = first if self.first < 0 else min(self.first, first)
        self.last = max(self.last, last)

    def meets(self, other: _Allocation) -> bool:
        """Whether both are in use at a time."""
        return self.first <= other.last and other.first <= self.last


def _bytes(count: Expr, bits: int) -> Expr:
    wide = cast_to(count, PrimType(const(0, "int32").dtype))
    return (
        times(wide, const(bits // 8, "int32"))
        if bits % 8 == 0
        else FloorDiv(times(wide, const(bits, "int32")) + const(7, "int32"), const(8, "int32"))
    )


class _Lives(Visitor):
    """The shared allocations of a kernel with the times of their uses."""

    def __init__(self) -> None:
        self.allocations: list[_Allocation] = []
        self.names: dict[Var, Var] = {}
        """Declared buffers and pointers, and what they are other names of."""
        self.known: dict[Var, _Allocation] = {}
        self.loops: list[Any] = []
        self.open: list[tuple[Any, set[_Allocation]]] = []
        self.values: dict[Var, Expr] = {}
        self.flying: set[_Allocation] = set()
        self.now = 0

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> None:
        if buffer_type(stmt.buffer).storage_scope in ("shared", "shared.dyn"):
            made = _Allocation(stmt, self.loops, self.values)
            self.allocations.append(made)
            self.known[stmt.buffer] = made

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> None:
        source = _pointed(stmt.data)
        if source is not None:
            self.names[stmt.buffer] = source
        else:
            self.visit(stmt.data)

    def visit_Bind(self, stmt: Bind) -> None:
        if not isinstance(stmt.value.ty, PrimType):
            source = _pointed(stmt.value)
            if source is not None:
                self.names[stmt.var] = source
                return
        else:
            self.values[stmt.var] = substitute(stmt.value, self.values)
        self.visit_Stmt(stmt)

    def visit_Stmt(self, stmt: Stmt) -> None:
        """Each statement has its time."""
        self.now += 1
        self.visit_fields(stmt)

    def _repeated(self, loop: Any) -> None:
        self.now += 1
        start, used = self.now, set[_Allocation]()
        self.loops.append(loop)
        self.open.append((loop, used))
        self.visit_fields(loop)
        self.open.pop()
        self.loops.pop()
        self.now += 1
        for one in used:
            one.use(start, self.now)

    def visit_For(self, loop: For) -> None:
        self._repeated(loop)

    def visit_While(self, loop: While) -> None:
        self._repeated(loop)

    def visit_Var(self, var: Var) -> None:
        while var in self.names:
            var = self.names[var]
        one = self.known.get(var)
        if one is not None:
            one.use(self.now, self.now)
            for loop, used in self.open:
                if loop not in one.loops:
                    used.add(one)

    def visit_Call(self, call: Call) -> None:
        name = call.op.name if isinstance(call.op, Op) else ""
        if name == "tirx.s_tir.cp_async_raw":
            target = _pointed(call.args[0])
            while target in self.names:
                target = self.names[target]
            if target in self.known:
                self.flying.add(self.known[target])
        elif name == "tirx.ptx.cp_async_wait_group":
            for one in self.flying:
                one.use(self.now, self.now)  # copies in flight land until here
        self.visit_fields(call)


def _pointed(data: Expr) -> Var | None:
    if isinstance(data, Var):
        return data
    if isinstance(data, Call) and isinstance(data.op, Op) and data.op.name == "tirx.buffer_data":
        found = data.args[0]
        return found if isinstance(found, Var) else None
    return None


class _Plan:
    """Where each allocation begins, in bytes, and the bytes of all; `shares`: whether any overlap."""

    def __init__(self) -> None:
        self.offsets: dict[Var, int | Expr] = {}
        self.total: int | Expr = 0
        self.shares = False


def _planned(allocations: Sequence[_Allocation]) -> _Plan:
    """The large ones first, each at the lowest place that is free while it lives; unknown sizes come last."""
    plan = _Plan()
    placed: list[tuple[int, int, _Allocation]] = []
    known = [a for a in allocations if isinstance(a.size, int)]
    end = 0
    for one in sorted(known, key=lambda a: -a.size):
        assert isinstance(one.size, int)
        start = 0
        for low, high, other in sorted(placed, key=lambda p: p[0]):
            if one.meets(other) and start + one.size > low and start < high:
                start = -(-high // _ALIGNED) * _ALIGNED
        plan.shares = plan.shares or any(start + one.size > low and start < high for low, high, _ in placed)
        placed.append((start, start + one.size, one))
        plan.offsets[one.buffer] = start
        end = max(end, start + one.size)
    total: int | Expr = end
    for one in allocations:
        if isinstance(one.size, int):
            continue
        begin = -(-total // _ALIGNED) * _ALIGNED if isinstance(total, int) else _aligned(total)
        plan.offsets[one.buffer] = begin
        total = Analyzer().simplify(plus(_expr(begin), one.size))
    plan.total = total
    return plan


def _expr(n: int | Expr) -> Expr:
    return const(n, "int32") if isinstance(n, int) else n


def _aligned(e: Expr) -> Expr:
    step = const(_ALIGNED, "int32")
    return times(FloorDiv(plus(e, const(_ALIGNED - 1, "int32")), step), step)


def _apart(allocations: Sequence[_Allocation]) -> int:
    """The bytes of all of them one after another."""
    return sum([a.size for a in allocations if isinstance(a.size, int)])


class _Merge(Rewriter):
    """Makes the buffers views of one allocation at the start of the kernel."""

    def __init__(self, merged: Sequence[_Allocation], plan: _Plan, name: str, names: dict[Var, Var]) -> None:
        super().__init__()
        self.plan, self.names = plan, names
        self.merged = {a.buffer for a in merged}
        scope = merged[0].scope
        ty = BufferType(PrimType("uint8").dtype, (_expr(plan.total),), storage_scope=scope)
        self.whole = Var(name, ty)
        self.started = False
        self.renewed: dict[Var, Var] = {}

    def origin(self, var: Any) -> Var | None:
        """The merged buffer whose memory a name stands for."""
        while var in self.names:
            var = self.names[var]
        return var if var in self.merged else None

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        inner = stmt.body
        more = isinstance(inner, AttrStmt) and inner.attr_key == "thread_extent"
        if self.started or more or stmt.attr_key != "thread_extent":
            return self.visit_fields(stmt)
        self.started = True
        told = isinstance(self.plan.total, int) or self.plan.shares  # numbers tell what overlaps
        apart = {} if told else {DISJOINT: True}
        return stmt.replace(body=seq([AllocBuffer(self.whole, apart), self.visit(inner)]))

    def view(self, buffer: Var) -> Var:
        """The buffer as a view of the whole."""
        if buffer not in self.renewed:
            ty = buffer_type(buffer)
            bits = ty.dtype.bits * ty.dtype.lanes
            total = self.plan.total
            size: Expr
            if isinstance(total, int):
                size = const(total * 8 // bits, "int32")
            else:
                size = Analyzer().simplify(FloorDiv(times(total, const(8, "int32")), const(bits, "int32")))
            self.renewed[buffer] = Var(buffer.name, ty.replace(shape=(size,)), buffer.span)
        return self.renewed[buffer]

    def offset(self, buffer: Var) -> Expr:
        """Where the buffer begins, in its own elements."""
        origin = self.origin(buffer)
        assert origin is not None
        ty = buffer_type(buffer)
        bits = ty.dtype.bits * ty.dtype.lanes
        start = self.plan.offsets[origin]
        if isinstance(start, int):
            return const(start * 8 // bits, "int32")
        return Analyzer().simplify(FloorDiv(times(start, const(8, "int32")), const(bits, "int32")))

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> Any:
        if stmt.buffer not in self.merged:
            return self.visit_fields(stmt)
        return DeclBuffer(self.view(stmt.buffer), _data(self.whole), stmt.span)

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> Any:
        if self.origin(stmt.buffer) is None:
            return self.visit_fields(stmt)
        source = _pointed(stmt.data)
        assert source is not None
        data = _data(self.view(source)) if isinstance(source.ty, BufferType) else stmt.data
        return DeclBuffer(self.view(stmt.buffer), data, stmt.span)

    def _moved(self, buffer: Var, indices: tuple[Expr, ...]) -> list[Expr]:
        new: tuple[Expr, ...] = self.visit_tuple(indices)
        return [plus(new[0], self.offset(buffer))]

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        if self.origin(e.buffer) is None:
            return self.visit_fields(e)
        return BufferLoad(self.view(e.buffer), self._moved(e.buffer, e.indices), e.span)

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        if self.origin(stmt.buffer) is None:
            return self.visit_fields(stmt)
        indices = self._moved(stmt.buffer, stmt.indices)
        return BufferStore(self.view(stmt.buffer), self.visit(stmt.value), indices, stmt.span)

    def visit_Call(self, call: Call) -> Any:
        name = call.op.name if isinstance(call.op, Op) else ""
        if name == "tirx.buffer_data" and self.origin(call.args[0]) is not None:
            return self._pointer(call.args[0])  # type: ignore[arg-type]
        if name in _MASKED and self.origin(call.args[0]) is not None:
            return self._masked(call, _MASKED[name])
        shifted = _OFFSETS.get(name, {})
        args = list(call.args)
        done: set[int] = set()
        for at, offset in shifted.items():
            buffer = _pointed(call.args[at])
            if buffer is not None and self.origin(buffer) is not None and isinstance(buffer.ty, BufferType):
                args[at] = _data(self.view(buffer))
                args[offset] = _sum(self.visit(call.args[offset]), self.offset(buffer))
                done |= {at, offset}
        new = [a if k in done else self.visit(a) for k, a in enumerate(args)]
        return call if all(a is b for a, b in zip(new, call.args)) else call.replace(args=tuple(new))

    def _masked(self, call: Call, at: int) -> Call:
        """A masked access, whose first argument is the buffer."""
        buffer = call.args[0]
        assert isinstance(buffer, Var)
        args = [self.visit(a) for a in call.args[1:]]
        args[at - 1] = plus(args[at - 1], self.offset(buffer))
        return call.replace(args=(self.view(buffer), *args))

    def visit_Var(self, var: Var) -> Any:
        if self.origin(var) is not None and isinstance(var.ty, BufferType):
            return self.view(var)
        return super().visit_Var(var)

    def _pointer(self, buffer: Var) -> Expr:
        """A pointer to the first element."""
        view, offset = self.view(buffer), self.offset(buffer)
        if is_const(offset, 0):
            return _data(view)
        ty = buffer_type(view)
        pointer = PointerType(PrimType(ty.dtype), ty.storage_scope)
        return Call("tirx.address_of", (BufferLoad(view, [offset]),), pointer)


def _sum(a: Expr, b: Expr) -> Expr:
    if is_const(b, 0):
        return a
    return plus(a, b) if a.dtype is not b.dtype else b if is_const(a, 0) else Add(a, b)


def _data(buffer: Var) -> Call:
    ty = buffer_type(buffer)
    return Call("tirx.buffer_data", (buffer,), PointerType(PrimType(ty.dtype), ty.storage_scope))


def _first(kernel: Stmt, buffers: set[Var]) -> Stmt:
    """The kernel with these allocations at its start."""
    return _Hoist(buffers)(kernel) if buffers else kernel


class _Hoist(Rewriter):
    def __init__(self, buffers: set[Var]) -> None:
        super().__init__()
        self.buffers = buffers
        self.moved: list[Stmt] = []
        self.started = False

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        inner = stmt.body
        more = isinstance(inner, AttrStmt) and inner.attr_key == "thread_extent"
        if self.started or more or stmt.attr_key != "thread_extent":
            return self.visit_fields(stmt)
        self.started = True
        body = self.visit(inner)
        new = seq([*self.moved, body])
        from ...ir import structural_equal

        return stmt if structural_equal(new, inner, map_free_vars=False) else stmt.replace(body=new)

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> Any:
        if stmt.buffer not in self.buffers:
            return stmt
        self.moved.append(stmt)
        return seq([])

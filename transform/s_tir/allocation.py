"""Where the buffers of blocks are allocated, and how large."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ...ir import (
    AllocBuffer,
    Bind,
    BufferLoad,
    BufferRegion,
    BufferStore,
    BufferType,
    Call,
    Expr,
    For,
    ForKind,
    IntImm,
    Op,
    PrimFunc,
    PrimType,
    Range,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Var,
    seq,
)
from ...ir.analysis.regions import access_boxes
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, children, free_vars, walk
from ...node import Node
from ..common import buffer_type, is_const, minus
from ..registry import prim_func_pass
from .coverage import reads_own_writes


@prim_func_pass("s_tir.PlanAndUpdateBufferAllocationLocation")
def plan_allocation(func: PrimFunc) -> PrimFunc:
    """A block's buffer that one loop's iterations use each for themselves is allocated in that loop.

    That is the innermost loop around all accesses in whose every iteration each cell read was
    written before, by analysis; a buffer that carries values from one iteration to the next stays.

    before:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
            B = T.sblock_alloc_buffer((4, 4))
            for i in range(4):
                for j in range(4):
                    with T.sblock("B"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        B[vi, vj] = A[vi, vj] + T.float32(1)
                for j in range(4):
                    with T.sblock("C"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        C[vi, vj] = B[vi, vj] * T.float32(2)

    after:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
            for i in range(4):
                B = T.alloc_buffer((4, 4))
                for j in range(4):
                    with T.sblock("B"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        B[vi, vj] = A[vi, vj] + T.float32(1)
                for j in range(4):
                    with T.sblock("C"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        C[vi, vj] = B[vi, vj] * T.float32(2)
    """
    return _Plan()(func)


class _Plan(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.ana = Analyzer()
        self.inside: dict[For, list[Var]] = {}
        self.used: dict[int, frozenset[Var]] = {}

    def buffers(self, node: Node) -> frozenset[Var]:
        """The buffers that occur below a node."""
        found = self.used.get(id(node))
        if found is None:
            if isinstance(node, Var):
                own = [node] if isinstance(node.ty, BufferType) else []
                found = frozenset(own)
            else:
                below = [self.buffers(c) for c in children(node)]
                found = frozenset().union(*below) if below else frozenset()
            self.used[id(node)] = found
        return found

    def visit_SBlockRealize(self, realize: SBlockRealize) -> Any:
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            self.ana.bind(axis.var, value)
        return self.visit_fields(realize)

    def visit_SBlock(self, block: SBlock) -> Any:
        moved = set()
        for buffer in block.alloc_buffers:
            home = self._home(block, buffer)
            if home is not None:
                self.inside.setdefault(home, []).append(buffer)
                moved.add(buffer)
        if moved:
            block = block.replace(alloc_buffers=[b for b in block.alloc_buffers if b not in moved])
        return self.visit_fields(block)

    def visit_For(self, loop: For) -> Any:
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        new = self.visit_fields(loop)
        buffers = self.inside.get(loop)
        if not buffers:
            return new
        return new.replace(body=seq([*[AllocBuffer(b) for b in buffers], new.body]))

    def _home(self, block: SBlock, buffer: Var) -> For | None:
        """The loop to allocate the buffer in, if not the block."""
        if block.init is not None and buffer in self.buffers(block.init):
            return None
        chain: list[For] = []
        node: Node | None = block.body
        while node is not None:
            users = [c for c in children(node) if buffer in self.buffers(c)]
            if len(users) == 1 and not isinstance(users[0], Stmt):
                break
            if isinstance(node, For) and len(users) == 1:
                chain.append(node)
            elif not isinstance(node, SeqStmt):
                break
            node = users[0] if len(users) == 1 else None
        bounds = [Range(loop.min, loop.extent) for loop in chain]
        for loop, dom in zip(chain, bounds):
            self.ana.bind(loop.loop_var, dom)
        for loop in reversed(chain):
            if loop.kind not in (ForKind.SERIAL, ForKind.PARALLEL):
                continue
            if reads_own_writes(loop.body, buffer, self.ana) and _small_part(loop.body, buffer):
                return loop
        return None


def _small_part(body: Stmt, buffer: Var) -> bool:
    """Whether the accesses in the statement stay in a box of constant size."""
    box = access_boxes(body, (buffer,)).get(buffer)
    return box is not None and all(isinstance(r.extent, IntImm) for r in box)


@prim_func_pass("s_tir.CompactBufferAllocation")
def compact_buffer_allocation(func: PrimFunc) -> PrimFunc:
    """Buffers shrink to the box of constant size that is really accessed.

    Buffers with strides of their own, and those whose pointer is handed out, stay as they are.

    before:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((4, 8), "float32")):
            for i in range(4):
                B = T.alloc_buffer((4, 8))
                for j in range(8):
                    B[i, j] = A[i, j]
                for j in range(8):
                    A[i, j] = B[i, j] * B[i, j]

    after:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((4, 8), "float32")):
            for i in range(4):
                B = T.alloc_buffer((1, 8))
                for j in range(8):
                    B[0, j] = A[i, j]
                for j in range(8):
                    A[i, j] = B[0, j] * B[0, j]
    """
    return _Compact(func)(func)


class _Compact(Rewriter):
    def __init__(self, func: PrimFunc) -> None:
        super().__init__()
        self.ana = Analyzer()
        self.moved: dict[Var, list[Expr]] = {}
        self.fixed = _seen_otherwise(func)

    def visit_SeqStmt(self, stmt: SeqStmt) -> Any:
        self._shrink([s.buffer for s in stmt.seq if isinstance(s, AllocBuffer)], stmt)
        return super().visit_SeqStmt(stmt)

    def visit_SBlock(self, block: SBlock) -> Any:
        body = block.body if block.init is None else seq([block.init, block.body])
        self._shrink(block.alloc_buffers, body)
        return self.visit_fields(block)

    def visit_For(self, loop: For) -> Any:
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        return self.visit_fields(loop)

    def visit_Bind(self, stmt: Bind) -> Any:
        if isinstance(stmt.value.ty, PrimType):
            self.ana.bind(stmt.var, stmt.value)
        return self.visit_fields(stmt)

    def _shrink(self, buffers: Sequence[Var], scope: Stmt) -> None:
        """Decide the new shapes of buffers that are allocated in this scope."""
        wanted = [b for b in buffers if b not in self.fixed and _is_plain(buffer_type(b))]
        if not wanted:
            return
        boxes = access_boxes(scope, wanted)
        outside: set[Var] | None = None
        for buffer, box in boxes.items():
            ty = buffer_type(buffer)
            shape = [_smaller(size, r) for size, r in zip(ty.shape, box)]
            if all(new is old for new, old in zip(shape, ty.shape)) or not _is_fixed(box):
                continue
            outside = set(free_vars(scope)) if outside is None else outside
            if not {n for r in box for n in walk(r.min) if isinstance(n, Var)} <= outside:
                continue
            self.moved[buffer] = [
                IntImm(r.min.ty, 0) if new is old else r.min for r, new, old in zip(box, shape, ty.shape)
            ]
            self.vars[buffer] = Var(buffer.name, ty.replace(shape=tuple(shape)), buffer.span)

    def define(self, var: Var) -> Var:
        new = self.vars.get(var)
        return new if var in self.moved and isinstance(new, Var) else super().define(var)

    def _indices(self, buffer: Var, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        low = self.moved[buffer]
        return tuple([self._less(i, m) for i, m in zip(indices, low)])

    def _less(self, index: Expr, low: Expr) -> Expr:
        return index if is_const(low, 0) else self.ana.simplify(minus(index, self.visit(low)))

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        new = self.visit_fields(e) if e.buffer not in self.moved else None
        if new is not None:
            return new
        return BufferLoad(self.vars[e.buffer], self._indices(e.buffer, self.visit_tuple(e.indices)), e.span)

    def visit_BufferStore(self, s: BufferStore) -> Any:
        if s.buffer not in self.moved:
            return self.visit_fields(s)
        indices = self._indices(s.buffer, self.visit_tuple(s.indices))
        return BufferStore(self.vars[s.buffer], self.visit(s.value), indices, s.span)

    def visit_BufferRegion(self, e: BufferRegion) -> Any:
        if e.buffer not in self.moved:
            return self.visit_fields(e)
        mins = self._indices(e.buffer, tuple([self.visit(r.min) for r in e.region]))
        ranges = [Range(m, self.visit(r.extent)) for m, r in zip(mins, e.region)]
        return BufferRegion(self.vars[e.buffer], ranges, e.span)


def _is_plain(ty: BufferType) -> bool:
    return not ty.strides and ty.elem_offset is None and ty.layout is None


def _smaller(size: Expr, part: Range) -> Expr:
    """The extent of the part where it is known to be the smaller one."""
    if not isinstance(part.extent, IntImm):
        return size
    return size if isinstance(size, IntImm) and part.extent.value >= size.value else part.extent


def _is_fixed(box: tuple[Range, ...]) -> bool:
    """Whether the ends are plain arithmetic, so that they mean the same wherever they are computed."""
    for r in box:
        for n in walk(r.min):
            if isinstance(n, BufferLoad | Call):
                return False
    return True


def _seen_otherwise(func: PrimFunc) -> set[Var]:
    """Buffers that are used in another way than by loads, stores and declared regions."""
    total: Counter[Var] = Counter()
    for node in walk(func):
        if isinstance(node, Call):
            for arg in node.args:
                if isinstance(arg, Var):
                    total[arg] += 1
            if (
                isinstance(node.op, Op)
                and node.op.name == "tirx.address_of"
                and isinstance(node.args[0], BufferLoad)
            ):
                total[node.args[0].buffer] += 1
            for arg in node.args:
                if isinstance(arg, BufferRegion):
                    total[arg.buffer] += 1
    return {v for v, n in total.items() if n}

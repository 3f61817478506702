"""Buffers become as large as what is accessed of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ...ir import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferLoad,
    BufferRegion,
    BufferStore,
    BufferType,
    Call,
    Expr,
    FloorMod,
    For,
    ForKind,
    IntImm,
    IterVar,
    Op,
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
from ...ir.analysis.regions import access_boxes
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, free_vars, walk
from ..common import buffer_type, is_const, minus, plus, times
from ..registry import prim_func_pass

ALIGN: Final = "buffer_dim_align"


@prim_func_pass("s_tir.CompactBufferAllocation")
def compact_buffer_allocation(func: PrimFunc, is_strict: bool = True) -> PrimFunc:
    """Buffers shrink to the box of constant size that is really accessed.

    Buffers with strides of their own, and those whose pointer is handed out, stay as they are.
    Without `is_strict` a buffer that is accessed beyond its end grows.  What the annotation
    `buffer_dim_align` of a block asks for, `[[buffer, dimension, factor, offset], ...]`, becomes
    strides of the buffer, of those that the block writes.

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
    return _Compact(func, is_strict)(func)


class _Compact(Rewriter):
    def __init__(self, func: PrimFunc, strict: bool) -> None:
        super().__init__()
        self.ana = Analyzer()
        self.strict = strict
        self.moved: dict[Var, list[Expr]] = {}
        self.fixed = _seen_otherwise(func)
        self.aligned = _alignments(func)
        self.threads: dict[Var, tuple[str, Range]] = {}

    def visit_SeqStmt(self, stmt: SeqStmt) -> Any:
        self._shrink([s.buffer for s in stmt.seq if isinstance(s, AllocBuffer)], stmt)
        return super().visit_SeqStmt(stmt)

    def visit_SBlock(self, block: SBlock) -> Any:
        body = block.body if block.init is None else seq([block.init, block.body])
        self._shrink(block.alloc_buffers, body)
        return self.visit_fields(block)

    def visit_For(self, loop: For) -> Any:
        dom = Range(loop.min, loop.extent)
        self.ana.bind(loop.loop_var, dom)
        if loop.thread_binding is not None:
            self.threads[loop.loop_var] = (loop.thread_binding.thread_tag, dom)
        return self.visit_fields(loop)

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        if isinstance(stmt.node, IterVar) and stmt.node.dom is not None:
            self.ana.bind(stmt.node.var, stmt.node.dom)
            self.threads[stmt.node.var] = (stmt.node.thread_tag, stmt.node.dom)
        return self.visit_fields(stmt)

    def visit_Bind(self, stmt: Bind) -> Any:
        if isinstance(stmt.value.ty, PrimType):
            self.ana.bind(stmt.var, stmt.value)
        return self.visit_fields(stmt)

    def _shrink(self, buffers: Sequence[Var], scope: Stmt) -> None:
        """Decide the new shapes of buffers that are allocated in this scope."""
        wanted = [b for b in buffers if b not in self.fixed and _is_plain(buffer_type(b))]
        if not wanted:
            return
        outside: set[Var] | None = None
        for buffer, box in zip(wanted, self._boxes(wanted, scope)):
            ty = buffer_type(buffer)
            low: list[Expr] | None = None
            if box is not None and _is_fixed(box):
                outside = set(free_vars(scope)) if outside is None else outside
                low, shape = self._part(ty, box, outside)
            if low is not None:
                ty = ty.replace(shape=tuple(shape))
            rules = self.aligned.get(buffer)
            if rules:
                ty = ty.replace(strides=_padded(ty.shape, rules))
            if low is not None or rules:
                zeros: list[Expr] = [IntImm(e.ty, 0) for e in ty.shape]
                self.moved[buffer] = zeros if low is None else low
                self.vars[buffer] = Var(buffer.name, ty, buffer.span)

    def _part(
        self, ty: BufferType, box: Sequence[Range], outside: set[Var]
    ) -> tuple[list[Expr] | None, list[Expr]]:
        """Where the part that is used begins, and its shape; None where the buffer stays whole."""
        shape = [_smaller(size, r, self.strict) for size, r in zip(ty.shape, box)]
        if all(new is old for new, old in zip(shape, ty.shape)):
            return None, shape
        if not {n for r in box for n in walk(r.min) if isinstance(n, Var)} <= outside:
            return None, shape
        ends = zip(box, shape, ty.shape)
        return [IntImm(r.min.ty, 0) if new is old else r.min for r, new, old in ends], shape

    def _boxes(self, buffers: Sequence[Var], scope: Stmt) -> Iterator[tuple[Range, ...] | None]:
        """What is accessed of each buffer in the scope, by all threads together that see one copy of it."""
        found: dict[tuple[Var, ...], dict[Var, tuple[Range, ...]]] = {}
        for buffer in buffers:
            kind = buffer_type(buffer).storage_scope
            shared = [v for v, (tag, _) in self.threads.items() if _sees_together(kind, tag)]
            key = tuple(shared)
            if key not in found:
                body = scope
                for var in reversed(shared):
                    dom = self.threads[var][1]
                    body = For(var, dom.min, dom.extent, ForKind.SERIAL, body)
                found[key] = access_boxes(body, buffers, self.ana)
            yield found[key].get(buffer)

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


def _smaller(size: Expr, part: Range, strict: bool) -> Expr:
    """The extent of the part where it is known to be the smaller one, or need not be."""
    if not isinstance(part.extent, IntImm):
        return size
    if isinstance(size, IntImm) and part.extent.value >= size.value:
        return size if strict or part.extent.value == size.value else part.extent
    return part.extent


def _sees_together(scope: str, tag: str) -> bool:
    """Whether the threads of an axis share a buffer of this scope that is allocated inside it."""
    if scope.startswith("shared"):
        return tag.startswith(("threadIdx", "vthread")) or tag == "cthread"
    return scope == "warp" and tag == "threadIdx.x"


Rule = tuple[int, int, int]
"""Dimension, factor, offset."""


def _alignments(func: PrimFunc) -> dict[Var, list[Rule]]:
    """What blocks ask of the strides of the buffers that they write."""
    found: dict[Var, list[Rule]] = {}
    for block in walk(func.body):
        for index, *rule in block.annotations.get(ALIGN, ()) if isinstance(block, SBlock) else ():
            rules = found.setdefault(block.writes[int(index)].buffer, [])  # type: ignore[attr-defined]
            rules.append((int(rule[0]), int(rule[1]), int(rule[2])))
    return found


def _padded(shape: Sequence[Expr], rules: Sequence[Rule]) -> tuple[Expr, ...]:
    """Strides of a row-major buffer, each enlarged until it is as its dimension's rule asks."""
    wanted = {axis: (factor, offset) for axis, factor, offset in rules}
    strides: list[Expr] = [const(1, shape[-1].dtype)]
    for axis in range(len(shape) - 2, -1, -1):
        stride = times(shape[axis + 1], strides[0])
        if axis in wanted:
            factor, offset = (const(n, stride.dtype) for n in wanted[axis])
            missing = FloorMod(minus(plus(factor, offset), FloorMod(stride, factor)), factor)
            stride = Analyzer().simplify(plus(stride, missing))
        strides.insert(0, stride)
    return tuple(strides)


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

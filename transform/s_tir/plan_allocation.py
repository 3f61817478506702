"""Where the buffers of blocks are allocated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import (
    For,
    ForKind,
    IntImm,
    PrimFunc,
    Range,
    SBlock,
    SBlockRealize,
    Stmt,
    Var,
    const,
)
from ...ir.analysis.lca import detect_buffer_access_lca
from ...ir.analysis.regions import access_boxes, block_access_regions
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, Visitor
from ..common import buffer_type
from ..registry import prim_func_pass
from .alike import begins_with_write, iterations_alike
from .coverage import reads_own_writes

Home = For | SBlock


@prim_func_pass("s_tir.PlanAndUpdateBufferAllocationLocation")
def plan_allocation(func: PrimFunc) -> PrimFunc:
    """A block's buffer that one loop's iterations use each for themselves is allocated in that loop.

    That is the innermost loop or block around all accesses in whose every iteration each cell read was
    written before, by analysis; a buffer that carries values from one iteration to the next stays
    outside, but in the loops over blocks of threads where it is in memory on the chip.  A loop gets a
    block without axes for the buffers that it allocates.

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
                with T.sblock(""):
                    T.reads(A[i, 0:4])
                    T.writes(C[i, 0:4])
                    B = T.sblock_alloc_buffer((4, 4))
                    for j in range(4):
                        with T.sblock("B"):
                            vi, vj = T.axis.remap("SS", [i, j])
                            B[vi, vj] = A[vi, vj] + T.float32(1)
                    for j in range(4):
                        with T.sblock("C"):
                            vi, vj = T.axis.remap("SS", [i, j])
                            C[vi, vj] = B[vi, vj] * T.float32(2)
    """
    finder = _Places()
    finder.visit(func.body)
    if not finder.allocating:
        return func
    meeting = detect_buffer_access_lca(func)
    return _Plan(finder.parents, {b: at for b, at in meeting.items() if at is not None})(func)


class _Places(Visitor):
    """Which loop or block stands around each, and whether any block allocates."""

    def __init__(self) -> None:
        self.parents: dict[int, Home | None] = {}
        self.around: Home | None = None
        self.allocating = False

    def visit_For(self, loop: For) -> None:
        self._enter(loop)

    def visit_SBlock(self, block: SBlock) -> None:
        self.allocating = self.allocating or bool(block.alloc_buffers)
        self._enter(block)

    def _enter(self, node: Home) -> None:
        self.parents[id(node)] = self.around
        kept, self.around = self.around, node
        self.visit_fields(node)
        self.around = kept

    def visit_Expr(self, e: Any) -> None:
        """Expressions hold no loops."""


class _Plan(Rewriter):
    def __init__(self, parents: dict[int, Home | None], meeting: dict[Var, Any]) -> None:
        super().__init__()
        self.parents, self.meeting = parents, meeting
        self.ana = Analyzer()
        self.inside: dict[int, list[Var]] = {}
        self.hidden: set[Var] = set()

    def visit_SBlockRealize(self, realize: SBlockRealize) -> Any:
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            self.ana.bind(axis.var, value)
        return self.visit_fields(realize)

    def visit_SBlock(self, block: SBlock) -> Any:
        kept = [b for b in block.alloc_buffers if not self._moved(block, b)]
        new = self.inside.get(id(block), [])
        changed: dict[str, Any] = {}
        if new or len(kept) < len(block.alloc_buffers):
            kept += new
            changed["alloc_buffers"] = kept
        for part in ("reads", "writes"):
            regions = getattr(block, part)
            seen = [r for r in regions if r.buffer not in self.hidden]
            if len(seen) != len(regions):
                changed[part] = seen
        self.hidden -= set(new)
        made = self.visit_fields(block.replace(**changed) if changed else block)
        self.hidden |= set(new)
        return made

    def visit_For(self, loop: For) -> Any:
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        buffers = self.inside.get(id(loop))
        if not buffers:
            return self.visit_fields(loop)
        self.hidden -= set(buffers)
        new = self.visit_fields(loop)
        self.hidden |= set(buffers)
        block = SBlock((), (), (), "", new.body, None, buffers)
        reads, writes = block_access_regions(block)
        block = block.replace(reads=reads, writes=writes)
        return new.replace(body=SBlockRealize((), const(1, "bool"), block))

    def _moved(self, block: SBlock, buffer: Var) -> bool:
        """Find the buffer's home; whether it is another one than the block."""
        chain = self._between(block, buffer)
        for node in chain:
            if isinstance(node, For):
                self.ana.bind(node.loop_var, Range(node.min, node.extent))
        home = next((n for k, n in enumerate(chain) if self._may_move(chain[k:], buffer)), None)
        if home is None and _is_on_chip(buffer):
            around = [n for n in chain if _launches(n)]
            home = next((n for n in around if _launches(n, "blockIdx")), around[-1] if around else None)
        if home is None:
            return False
        self.inside.setdefault(id(home), []).append(buffer)
        self.hidden.add(buffer)
        return True

    def _between(self, block: SBlock, buffer: Var) -> list[Home]:
        """The loops and blocks around all accesses of the buffer, inside the block, from inside out."""
        chain: list[Home] = []
        node = self.meeting.get(buffer)
        while node is not None and node is not block:
            chain.append(node)
            node = self.parents[id(node)]
        return chain if node is block else []

    def _may_move(self, chain: Sequence[Home], buffer: Var) -> bool:
        """Whether the first of these, which the others are around, may allocate the buffer."""
        node = chain[0]
        if _may_allocate(node) and self._serves(node, buffer):
            return True
        if not _is_on_chip(buffer) or (isinstance(node, For) and node.kind is ForKind.VECTORIZED):
            return False
        loops = [n for n in chain if isinstance(n, For) and n.kind is not ForKind.THREAD_BINDING]
        return begins_with_write(node.body, buffer) and iterations_alike(node.body, buffer, loops, self.ana)

    def _serves(self, node: Home, buffer: Var) -> bool:
        inside = node.body if isinstance(node, For) else node
        return _small_part(inside, buffer, self.ana) and reads_own_writes(inside, buffer, self.ana)


def _may_allocate(node: Home) -> bool:
    return isinstance(node, SBlock) or node.kind in (ForKind.SERIAL, ForKind.PARALLEL, ForKind.THREAD_BINDING)


def _is_on_chip(buffer: Var) -> bool:
    return buffer_type(buffer).storage_scope not in ("", "global")


def _launches(node: Home, axis: str = "") -> bool:
    """Whether this is a loop over threads, or over blocks of them; memory on the chip does not outlive it."""
    if isinstance(node, SBlock) or node.thread_binding is None:
        return False
    return node.thread_binding.thread_tag.startswith(axis)


def _small_part(body: Stmt, buffer: Var, ana: Analyzer) -> bool:
    """Whether the accesses in the statement stay in a box of constant size."""
    if all(isinstance(e, IntImm) for e in buffer_type(buffer).shape):
        return True
    box = access_boxes(body, (buffer,), ana).get(buffer)
    return box is not None and all(isinstance(r.extent, IntImm) for r in box)

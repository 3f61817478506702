"""Loops whose parts work on several iterations at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir import (
    GE,
    LT,
    AllocBuffer,
    Bind,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    DeclBuffer,
    Expr,
    FloorMod,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    PrimFunc,
    Range,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Var,
    const,
    seq,
)
from ...ir.analysis.regions import WRITE, block_access_regions, touched_buffers
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, renew_definitions, substitute, walk
from ...node import Node
from ..common import both, buffer_type, is_const, is_steady, minus, plus, refuse
from ..loops import jumps_out, returns
from ..registry import prim_func_pass

STAGE, ORDER, ASYNC = [f"software_pipeline_{word}" for word in ("stage", "order", "async_stages")]


@prim_func_pass("s_tir.InjectSoftwarePipeline")
def inject_software_pipeline(func: PrimFunc) -> PrimFunc:
    """The statements of an annotated loop run for different iterations at the same time.

    `software_pipeline_stage` says by how many iterations each statement lags behind,
    `software_pipeline_order` in which order they run.  Buffers of the loop's block get as many
    versions as iterations are under way.  Raises PassError where that would change what is computed.

    before:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
            for i in T.serial(
                8, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}
            ):
                with T.sblock(""):
                    T.reads(A[i])
                    T.writes(C[i])
                    B = T.sblock_alloc_buffer((1,), "int32")
                    with T.sblock("load"):
                        T.reads(A[i])
                        T.writes(B[0])
                        B[0] = A[i]
                    with T.sblock("use"):
                        T.reads(B[0])
                        T.writes(C[i])
                        C[i] = B[0] + 1

    after:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
            with T.sblock("root"):
                T.reads()
                T.writes()
                with T.sblock(""):
                    T.reads(A[0:8])
                    T.writes(C[0:8])
                    B = T.sblock_alloc_buffer((2, 1), "int32")
                    with T.sblock("load"):
                        T.reads(A[0])
                        T.writes(B[0, 0])
                        B[0, 0] = A[0]
                    for i in range(1, 8):
                        with T.sblock("load"):
                            T.reads(A[i])
                            T.writes(B[i % 2, 0])
                            B[i % 2, 0] = A[i]
                        with T.sblock("use"):
                            T.reads(B[(i + 1) % 2, 0])
                            T.writes(C[i - 1])
                            C[i - 1] = B[(i + 1) % 2, 0] + 1
                    with T.sblock("use"):
                        T.reads(B[1, 0])
                        T.writes(C[7])
                        C[7] = B[1, 0] + 1
    """
    return _Inject()(func)


@dataclass(frozen=True)
class _Part:
    """A statement of the loop, how many iterations it lags behind, and its place among the others."""

    body: Stmt
    stage: int
    order: int


class _Inject(Rewriter):
    def visit_For(self, loop: For) -> Any:
        new = self.visit_fields(loop)
        return _Pipeline(new).built() if STAGE in new.annotations else new


class _Pipeline:
    def __init__(self, loop: For) -> None:
        self.loop = loop
        if ASYNC in loop.annotations:
            raise self.fault("asynchronous stages come with the targets that need them")
        plain = loop.kind is ForKind.SERIAL and loop.step is None and is_steady(loop.min)
        if not plain or not is_steady(loop.extent) or jumps_out(loop.body) or returns(loop.body):
            raise self.fault("only serial loops that run to their end can be pipelined")
        self.block = _own_block(loop.body)
        body = loop.body if self.block is None else self.block.body
        children = body.seq if isinstance(body, SeqStmt) else (body,)
        stages = [int(n) for n in loop.annotations[STAGE]]
        orders = [int(n) for n in loop.annotations.get(ORDER, range(len(stages)))]
        if len(stages) != len(children) or len(orders) != len(children) or len(set(orders)) < len(orders):
            raise self.fault(
                f"there must be a stage, and a place in the order, for each of {len(children)} statements"
            )
        if min(stages) < 0:
            raise self.fault("stages start at 0")
        if any(isinstance(child, Bind | AllocBuffer | DeclBuffer) for child in children):
            raise self.fault("a statement defines a name for the others")
        self.parts = [_Part(*row) for row in zip(children, stages, orders)]
        self.last = max(stages)
        self.own = () if self.block is None else self.block.alloc_buffers
        self.ana = Analyzer()

    def fault(self, text: str) -> Exception:
        """The error for a loop that cannot be pipelined."""
        return refuse("software-pipeline", f"the loop over `{self.loop.loop_var.name}`: {text}", self.loop)

    def built(self) -> Stmt:
        """The pipelined loop, with what starts and ends it."""
        used = [touched_buffers(p.body) for p in self.parts]
        self._check_order(used)
        versions = self._versions(used)
        self.new = {b: Var(b.name, _versioned(b, n), b.span) for b, n in versions.items()}
        steps = [self._at(const(t, self.loop.loop_var.dtype), guard=True) for t in range(self.last)]
        steps.append(self._steady())
        for t in range(self.last):
            late = self._at(plus(self.loop.extent, const(t, self.loop.extent.dtype)), guard=True, ending=True)
            steps.append(late)
        body = seq([s for s in steps if not _empty(s)])
        if self.block is None:
            return body
        buffers = [self.new.get(b, b) for b in self.block.alloc_buffers]
        block = self.block.replace(body=body, alloc_buffers=buffers)
        reads, writes = block_access_regions(block)
        return SBlockRealize((), const(1, "bool"), block.replace(reads=reads, writes=writes))

    def _steady(self) -> Stmt:
        """The loop over the iterations in which every part has something to do."""
        start = const(self.last, self.loop.loop_var.dtype)
        var = Var(self.loop.loop_var.name, self.loop.loop_var.ty, self.loop.loop_var.span)
        kept = {k: v for k, v in self.loop.annotations.items() if k not in (STAGE, ORDER)}
        extent = minus(self.loop.extent, start)
        body = self._at(minus(var, self.loop.min), guard=False)
        low = plus(self.loop.min, start)
        return self.loop.replace(loop_var=var, min=low, extent=extent, body=body, annotations=kept)

    def _at(self, time: Expr, *, guard: bool, ending: bool = False) -> Stmt:
        """What happens at a time, counted from the loop's start."""
        made = []
        for part in sorted(self.parts, key=lambda p: p.order):
            step = self.ana.simplify(minus(time, const(part.stage, time.dtype)))
            inside: Expr | None = None
            if guard:
                inside = both(GE(step, const(0, step.dtype)), LT(step, self.loop.extent))
                if ending:
                    inside = both(inside, GE(time, const(self.last, time.dtype)))
                inside = self.ana.simplify(inside)
            if is_const(inside, 0):
                continue
            value = self.ana.simplify(plus(self.loop.min, step))
            moved = _Versions(self.new, step, self.ana)(part.body)
            body = renew_definitions(substitute(moved, {self.loop.loop_var: value}))
            made.append(body if inside is None or is_const(inside, 1) else IfThenElse(inside, body))
        return seq(made)

    def _check_order(self, used: Sequence[Mapping[Var, int]]) -> None:
        """Check that no part overtakes another one that it must wait for."""
        for k, first in enumerate(self.parts):
            for m in range(k + 1, len(self.parts)):
                second = self.parts[m]
                for buffer in _conflicts(used[k], used[m]):
                    if buffer in self.own:
                        ahead = (second.stage, second.order) < (first.stage, first.order)
                    else:
                        ahead = second.stage != first.stage or second.order < first.order
                    if ahead:
                        both_use = f"statements {k} and {m} both use `{buffer.name}`"
                        raise self.fault(f"{both_use}, so one cannot overtake the other")

    def _versions(self, used: Sequence[Mapping[Var, int]]) -> dict[Var, int]:
        """How many copies each buffer of the loop's block needs, of those that need several."""
        found = {}
        for buffer in self.own:
            stages = [p.stage for p, table in zip(self.parts, used) if buffer in table]
            if stages and max(stages) > min(stages):
                if _handed_out(self.loop.body, buffer):
                    raise self.fault(f"`{buffer.name}` needs copies, but its pointer is used")
                found[buffer] = max(stages) - min(stages) + 1
        return found


def _own_block(body: Stmt) -> SBlock | None:
    """The block that is all of the loop's body, if it is one that only allocates."""
    if not isinstance(body, SBlockRealize) or not is_const(body.predicate, 1):
        return None
    block = body.block
    plain = not block.iter_vars and block.init is None and not block.match_buffers
    return block if plain and isinstance(block.body, SeqStmt) else None


def _conflicts(a: Mapping[Var, int], b: Mapping[Var, int]) -> list[Var]:
    return [buffer for buffer, mode in a.items() if buffer in b and (mode | b[buffer]) & WRITE]


def _versioned(buffer: Var, count: int) -> Any:
    ty = buffer_type(buffer)
    like = ty.shape[0].dtype if ty.shape else "int32"
    return ty.replace(shape=(const(count, like), *ty.shape), strides=())


def _handed_out(body: Stmt, buffer: Var) -> bool:
    for node in walk(body):
        if isinstance(node, Call) and buffer in node.args:
            return True
        if isinstance(node, SBlock) and any(m.source.buffer is buffer for m in node.match_buffers):
            return True
    return False


def _empty(stmt: Stmt) -> bool:
    nothing = isinstance(stmt, For) and isinstance(stmt.extent, IntImm) and stmt.extent.value < 1
    return nothing or (not isinstance(stmt, SeqStmt) and not any(True for _ in _statements(stmt)))


def _statements(stmt: Node) -> Any:
    return (n for n in walk(stmt) if isinstance(n, BufferStore | Call | SBlock))


class _Versions(Rewriter):
    """Accesses of buffers with several versions go to that of an iteration."""

    def __init__(self, new: Mapping[Var, Var], step: Expr, ana: Analyzer) -> None:
        super().__init__()
        self.new, self.step, self.ana = new, step, ana

    def _version(self, buffer: Var) -> Expr:
        size = buffer_type(self.new[buffer]).shape[0]
        assert isinstance(size, IntImm)
        return self.ana.simplify(FloorMod(self.step, const(size.value, self.step.dtype)))

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        if e.buffer not in self.new:
            return self.visit_fields(e)
        indices = (self._version(e.buffer), *self.visit_tuple(e.indices))
        return BufferLoad(self.new[e.buffer], indices, e.span)

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        if stmt.buffer not in self.new:
            return self.visit_fields(stmt)
        indices = (self._version(stmt.buffer), *self.visit_tuple(stmt.indices))
        return BufferStore(self.new[stmt.buffer], self.visit(stmt.value), indices, stmt.span)

    def visit_BufferRegion(self, region: BufferRegion) -> Any:
        if region.buffer not in self.new:
            return self.visit_fields(region)
        low = self._version(region.buffer)
        ranges = [Range(low, const(1, low.dtype)), *self.visit_tuple(region.region)]
        return BufferRegion(self.new[region.buffer], ranges, region.span)

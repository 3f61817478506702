"""Loops whose parts work on several iterations at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...ir import (
    EQ,
    LE,
    LT,
    AllocBuffer,
    And,
    Bind,
    BufferRegion,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    ForKind,
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
from ..common import is_const, is_steady, minus, plus, refuse, times
from ..loops import jumps_out, returns
from ..registry import prim_func_pass
from ..scopes import statements
from .async_stages import Group, Moment, Part, conflicts, in_background, joined, needed_groups, waiting
from .versions import Versions, versioned

STAGE, ORDER, ASYNC = [f"software_pipeline_{word}" for word in ("stage", "order", "async_stages")]
DOUBLE: Final = "double_buffer_scope"


@prim_func_pass("s_tir.InjectSoftwarePipeline")
def inject_software_pipeline(func: PrimFunc) -> PrimFunc:
    """The statements of an annotated loop run for different iterations at the same time.

    `software_pipeline_stage` says by how many iterations each statement lags behind,
    `software_pipeline_order` in which order they run.  Buffers of the loop's block get as many
    versions as iterations are under way.  The statements of a pipeline inside count one by one: what
    starts it, its loop, and what ends it.  Copies in the stages of `software_pipeline_async_stages` are
    marked to run in the background, and what uses them to wait (see `s_tir.InjectPTXAsyncCopy`).
    Raises PassError where that would change what is computed, or where stages and order do not fit.

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
                        T.writes(B[T.FloorMod(0, 2), 0])
                        B[T.FloorMod(0, 2), 0] = A[0]
                    with T.sblock(""):
                        T.reads(A[1:8], B[0:2, 0])
                        T.writes(B[0:2, 0], C[0:7])
                        for i in range(7):
                            with T.sblock("load"):
                                T.where(i + 1 < 8)
                                T.reads(A[i + 1])
                                T.writes(B[(i + 1) % 2, 0])
                                B[(i + 1) % 2, 0] = A[i + 1]
                            with T.sblock("use"):
                                T.where(i + 1 - 1 < 8)
                                T.reads(B[(i - 1 + 1) % 2, 0])
                                T.writes(C[i - 1 + 1])
                                C[i - 1 + 1] = B[(i - 1 + 1) % 2, 0] + 1
                    with T.sblock("use"):
                        T.reads(B[T.FloorMod(7, 2), 0])
                        T.writes(C[7])
                        C[7] = B[T.FloorMod(7, 2), 0] + 1
    """
    return _Inject()(func)


class _Inject(Rewriter):
    def visit_For(self, loop: For) -> Any:
        new = self.visit_fields(loop)
        marks = [key for key in (STAGE, ORDER, ASYNC) if key in new.annotations]
        return _Pipeline(new).built() if marks else new


class _Pipeline:
    def __init__(self, loop: For) -> None:
        self.loop = loop
        for key in (STAGE, ORDER):
            if key not in loop.annotations:
                raise self.fault(f"it has no annotation `{key}`")
        plain = loop.kind is ForKind.SERIAL and loop.step is None and is_steady(loop.min)
        if not plain or not is_steady(loop.extent) or jumps_out(loop.body) or returns(loop.body):
            raise self.fault("only serial loops that run to their end can be pipelined")
        block = _own_block(loop.body)
        body = loop.body if block is None else block.body
        own = [] if block is None else [*block.alloc_buffers]
        stages = [int(n) for n in loop.annotations[STAGE]]
        children = _children(statements(body), len(stages), own)
        self.annotations = {} if block is None else block.annotations
        self.own = tuple(own)
        self.parts = self._parts(children, stages)
        self.last = max(stages)
        self.groups = _groups(self.parts)
        used = {b for p in self.parts for b in p.used if b not in self.own}
        self.private = {*self.own, *[b for b in used if self._is_parted(b)]}
        self.needs = needed_groups(self.parts, self.groups, self.private)

    def fault(self, text: str) -> Exception:
        """The error for a loop that cannot be pipelined."""
        return refuse("software-pipeline", f"the loop over `{self.loop.loop_var.name}`: {text}", self.loop)

    def _parts(self, children: Sequence[Stmt], stages: list[int]) -> list[Part]:
        """The statements with their stages, in the order in which the script has them."""
        orders = [int(n) for n in self.loop.annotations[ORDER]]
        if len(stages) != len(children) or len(orders) != len(children):
            raise self.fault(
                f"there must be a stage, and a place in the order, for each of {len(children)} statements"
            )
        if len(set(orders)) < len(orders):
            raise self.fault("two statements have the same place in the order")
        if min(stages) < 0:
            raise self.fault("stages start at 0")
        if any(isinstance(child, Bind | AllocBuffer | DeclBuffer) for child in children):
            raise self.fault("a statement defines a name for the others")
        background = {int(n) for n in self.loop.annotations.get(ASYNC, ())}
        if not background <= set(stages):
            raise self.fault("an asynchronous stage has no statement")
        rows = zip(children, stages, orders, strict=True)
        return [Part(_realized(c), s, o, s in background, touched_buffers(c)) for c, s, o in rows]

    def built(self) -> Stmt:
        """The pipelined loop, with what starts and ends it."""
        self._check_order()
        counts = self._versions()
        self.new = {b: versioned(b, n) for b, n in counts.items()}
        extent = self.loop.extent
        first = const(self.last, extent.dtype)
        count = minus(extent, first)
        zero = const(0, extent.dtype)
        end = extent
        if isinstance(extent, IntImm) and extent.value < self.last:
            end = first
        left = const(self.last, extent.dtype) if end is extent else minus(plus(extent, first), end)
        body = self._section(first, count, ForKind.SERIAL)
        if self.last:
            ahead = self._section(zero, first, ForKind.UNROLLED)
            rest = self._section(end, left, ForKind.UNROLLED, ending=True)
            body = seq([ahead, body, rest])
        buffers = [self.new.get(b, b) for b in self.own]
        block = SBlock((), (), (), "", body, None, buffers, (), self.annotations)
        reads, writes = block_access_regions(block)
        return SBlockRealize((), const(1, "bool"), block.replace(reads=reads, writes=writes))

    def _section(self, start: Expr, count: Expr, kind: ForKind, *, ending: bool = False) -> Stmt:
        """What happens at the times from `start` on, counted from the loop's start, in a block."""
        var = Var(self.loop.loop_var.name, self.loop.loop_var.ty, self.loop.loop_var.span)
        if isinstance(count, IntImm) and count.value < 1:
            return _wrapped([])
        once = is_const(count, 1)
        ana = Analyzer()
        if not once:
            ana.bind(var, Range(const(0, count.dtype), count))
        steps = []
        for group in self.groups:
            made = [self._at(part, None if once else var, start, ana, ending) for part in group.parts]
            there = [realize for realize in made if realize is not None]
            if there:
                steps.append(joined(group, there))
        if once or not steps:
            return _wrapped(steps)
        kept = {}
        if kind is ForKind.SERIAL:
            kept = {k: v for k, v in self.loop.annotations.items() if k not in (STAGE, ORDER, ASYNC)}
        zero = const(0, count.dtype)
        loop = For(var, zero, count, kind, seq(steps), None, None, kept, self.loop.span)
        return _wrapped([loop])

    def _at(
        self, part: Part, var: Var | None, start: Expr, ana: Analyzer, ending: bool
    ) -> SBlockRealize | None:
        """The statement at a time, `start` or that plus the variable; None where it never runs."""
        late = const(part.stage, start.dtype)
        time = start if var is None else plus(var, start)
        step = minus(start, late) if var is None else plus(minus(var, late), start)
        limit = LT(minus(time, late), self.loop.extent)
        lower, upper = ana.simplify(LE(late, time)), ana.simplify(limit)
        if is_const(lower, 0) or is_const(upper, 0):
            return None
        bounds = [] if is_const(lower, 1) else [lower]
        if bounds and ana.can_prove(LE(time, late)):
            bounds = [EQ(time, late)]
        if var is not None or not is_const(upper, 1):
            bounds.append(limit)
        if var is not None and ending and not isinstance(start, IntImm):
            bounds.append(LE(const(self.last, time.dtype), time))
        whole = self.last > 1 and not part.background
        moved = Versions(self.new, step, whole, self.fault)(part.realize)
        value = plus(self.loop.min, step)
        realize = renew_definitions(substitute(moved, {self.loop.loop_var: value}))
        block = realize.block
        if part.background:
            block, realize = in_background(realize), realize.replace(predicate=const(1, "bool"))
        moment = Moment(time, self.loop.extent, ana)
        waits = [(g.stage, moment.left(part, g, back, self.groups)) for g, back in self.needs[part.order]]
        predicate = realize.predicate
        for bound in bounds:
            predicate = bound if is_const(predicate, 1) else And(predicate, bound)
        return realize.replace(predicate=predicate, block=waiting(block, waits))

    def _is_parted(self, buffer: Var) -> bool:
        """Whether each iteration uses a part of the buffer of its own."""
        boxes = [r.region for p in self.parts for r in _regions(p) if r.buffer is buffer]
        return bool(boxes) and any(
            _moves_on([box[d] for box in boxes], self.loop.loop_var) for d in range(len(boxes[0]))
        )

    def _check_order(self) -> None:
        """Check that no part overtakes another one that it must wait for."""
        for k, first in enumerate(self.parts):
            for m in range(k + 1, len(self.parts)):
                second = self.parts[m]
                for buffer in conflicts(first.used, second.used):
                    if buffer in self.private:
                        ahead = (second.stage, second.order) < (first.stage, first.order)
                    else:
                        ahead = second.stage != first.stage or second.order < first.order
                    if ahead:
                        both_use = f"statements {k} and {m} both use `{buffer.name}`"
                        raise self.fault(f"{both_use}, so one cannot overtake the other")

    def _versions(self) -> dict[Var, int]:
        """How many copies each buffer of the loop's block needs, of those that need several."""
        asked = _double_buffers(self.loop.body)
        found = {}
        for buffer in self.own:
            users = [p for p in self.parts if buffer in p.used]
            stages = [p.stage for p in users]
            count = max(stages, default=0) - min(stages, default=0) + 1
            if count == 2 and not any(self._overlap(a, b, buffer) for a in users for b in users):
                count = 1
            if buffer in asked:
                count = max(count, 2)
            if count > 1:
                found[buffer] = count
        return found

    def _overlap(self, late: Part, early: Part, buffer: Var) -> bool:
        """Whether `early` comes to the next iteration's data while `late` still has to do with this one's."""
        if late.stage != early.stage + 1 or late.order < early.order:
            return False
        if not (late.used[buffer] | early.used[buffer]) & WRITE:
            return False
        var = self.loop.loop_var
        ahead = {var: Var(var.name, var.ty)}
        mine, others = [[r for r in _regions(p) if r.buffer is buffer] for p in (late, early)]
        return not all(_apart(a.region, substitute(b, ahead).region) for a in mine for b in others)


def _double_buffers(body: Stmt) -> set[Var]:
    """The buffers that a block asks to have two copies of."""
    found = set()
    for node in walk(body):
        if isinstance(node, SBlock) and DOUBLE in node.annotations:
            found.add(node.writes[int(node.annotations[DOUBLE])].buffer)
    return found


def _own_block(body: Stmt) -> SBlock | None:
    """The block that is all of the loop's body, if it is one that only allocates."""
    if not isinstance(body, SBlockRealize) or not is_const(body.predicate, 1):
        return None
    block = body.block
    plain = not block.iter_vars and block.init is None and not block.match_buffers
    return block if plain and isinstance(block.body, SeqStmt) else None


def _children(found: list[Stmt], wanted: int, own: list[Var]) -> list[Stmt]:
    """The statements to pipeline; blocks of several count by what is in them where that fits better."""
    if len(found) == wanted:
        return found
    opened: list[Stmt] = []
    for child in found:
        inner = _own_block(child)
        if inner is None:
            opened.append(child)
        else:
            own += inner.alloc_buffers
            opened += statements(inner.body)
    return opened


def _groups(parts: Sequence[Part]) -> list[Group]:
    """The statements in the order they run in; neighbours that copy together are one group."""
    groups: list[Group] = []
    for part in sorted(parts, key=lambda p: p.order):
        last = groups[-1] if groups else None
        if last is not None and part.background and last.background and last.stage == part.stage:
            if not any(conflicts(part.used, other.used) for other in last.parts):
                groups[-1] = Group((*last.parts, part))
                continue
        groups.append(Group((part,)))
    return groups


def _realized(stmt: Stmt) -> SBlockRealize:
    if isinstance(stmt, SBlockRealize) and not stmt.block.iter_vars:
        return stmt
    return _block(stmt)


def _block(body: Stmt) -> SBlockRealize:
    """The statement in a block that says what it may access, whatever the conditions of blocks inside."""
    reads, writes = block_access_regions(_Unconditional()(body))
    return SBlockRealize((), const(1, "bool"), SBlock((), reads, writes, "", body))


def _regions(part: Part) -> tuple[BufferRegion, ...]:
    return (*part.realize.block.reads, *part.realize.block.writes)


def _apart(a: Sequence[Range], b: Sequence[Range]) -> bool:
    """Whether two regions of a buffer surely have nothing in common."""
    ana = Analyzer()
    pairs = [*zip(a, b, strict=True), *zip(b, a, strict=True)]
    return any(ana.can_prove(LE(plus(x.min, x.extent), y.min)) for x, y in pairs)


def _moves_on(ranges: Sequence[Range], var: Var) -> bool:
    """Whether the ranges of different values of the variable have nothing in common."""
    ana = Analyzer()
    first, second = const(0, var.dtype), const(1, var.dtype)
    starts = [substitute(r.min, {var: first}) for r in ranges]
    steps = [
        ana.simplify(minus(substitute(r.min, {var: second}), s)) for r, s in zip(ranges, starts, strict=True)
    ]
    step = steps[0]
    if not isinstance(step, IntImm) or step.value < 1:
        return False
    low, high = 0, 0
    for r, start in zip(ranges, starts, strict=True):
        offset, extent = ana.simplify(minus(start, starts[0])), ana.simplify(r.extent)
        line = plus(start, times(var, step))
        if not isinstance(offset, IntImm) or not isinstance(extent, IntImm):
            return False
        if not ana.can_prove_equal(r.min, line):
            return False
        low, high = min(low, offset.value), max(high, offset.value + extent.value)
    return high - low <= step.value


class _Unconditional(Rewriter):
    def visit_SBlockRealize(self, realize: SBlockRealize) -> Any:
        return realize.replace(predicate=const(1, "bool"))


def _wrapped(steps: Sequence[Stmt]) -> SBlockRealize:
    """The statements in one block; a block that always runs stays as it is."""
    if len(steps) == 1:
        only = steps[0]
        if isinstance(only, SBlockRealize) and is_const(only.predicate, 1):
            return only
    return _block(seq(steps) if steps else Evaluate(const(0, "int32")))

"""Blocks in their scope: who produces for whom, and what kind of block each one is.

A scope is the part of a program between a block and the blocks directly below it, loops
between them included.  Checks return None where the property holds and else a sentence that says
what is in the way.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

from ...node import runs_deep
from ..arith import Analyzer
from ..arith.intset import EVERYTHING, IntervalSet, eval_set, union
from ..expr import GE, LE, BufferRegion, Expr, IntImm, IterVar, Range, Var
from ..stmt import (
    AttrStmt,
    BlockRef,
    BufferStore,
    For,
    IfThenElse,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    While,
)
from ..visitor import walk
from .affine import affine_reason


class DepKind(enum.IntEnum):
    """What makes one block wait for another (the peer's numbers)."""

    RAW = 0
    WAW = 1
    WAR = 2
    OPAQUE = 3


class Dependency(NamedTuple):
    """`dst` must run after `src`."""

    src: BlockRef
    dst: BlockRef
    kind: DepKind


class ChildBlock(NamedTuple):
    """A block in a scope: the realization, the loops between it and the scope, outer ones first."""

    realize: SBlockRealize
    loops: tuple[For, ...]

    @property
    def block(self) -> SBlock:
        """The block itself."""
        return self.realize.block

    @property
    def ref(self) -> BlockRef:
        """The block's identity."""
        assert self.realize.block.ref is not None
        return self.realize.block.ref


class BlockScope:
    """The blocks directly below a block, in program order, and their dependences."""

    __slots__ = ("_dst", "_src", "children", "only_blocks", "order", "readers", "writers")
    children: dict[BlockRef, ChildBlock]
    order: dict[BlockRef, int]
    writers: dict[Var, list[BlockRef]]
    readers: dict[Var, list[BlockRef]]
    only_blocks: bool

    def __init__(self, children: Sequence[ChildBlock], only_blocks: bool) -> None:
        self.children = {c.ref: c for c in children}
        self.order = {c.ref: i for i, c in enumerate(children)}
        self.only_blocks = only_blocks
        self.writers, self.readers = {}, {}
        for child in children:
            for table, regions in ((self.readers, child.block.reads), (self.writers, child.block.writes)):
                for buffer in dict.fromkeys([r.buffer for r in regions]):
                    table.setdefault(buffer, []).append(child.ref)
        self._src: dict[BlockRef, tuple[Dependency, ...]] = {}
        self._dst: dict[BlockRef, tuple[Dependency, ...]] = {}

    def deps_by_src(self, ref: BlockRef) -> tuple[Dependency, ...]:
        """What waits for this block, in program order."""
        found = self._src.get(ref)
        if found is None:
            found = self._src[ref] = self._deps(ref, before=False)
        return found

    def deps_by_dst(self, ref: BlockRef) -> tuple[Dependency, ...]:
        """What this block waits for, in program order."""
        found = self._dst.get(ref)
        if found is None:
            found = self._dst[ref] = self._deps(ref, before=True)
        return found

    def _deps(self, ref: BlockRef, before: bool) -> tuple[Dependency, ...]:
        block, at = self.children[ref].block, self.order[ref]
        found: dict[tuple[BlockRef, DepKind], None] = {}
        first_reads = DepKind.RAW if before else DepKind.WAR
        first_writes = DepKind.WAR if before else DepKind.RAW
        for regions, table, kind in (
            (block.reads, self.writers, first_reads),
            (block.writes, self.writers, DepKind.WAW),
            (block.writes, self.readers, first_writes),
        ):
            for region in regions:
                for other in table.get(region.buffer, ()):
                    if self.order[other] < at if before else self.order[other] > at:
                        found[other, kind] = None
        rows = sorted(found, key=self._rank)
        return tuple([Dependency(o, ref, k) if before else Dependency(ref, o, k) for o, k in rows])

    def _rank(self, row: tuple[BlockRef, DepKind]) -> tuple[int, int]:
        return self.order[row[0]], row[1]

    def producers(self, ref: BlockRef) -> list[BlockRef]:
        """The blocks before that write what this block reads or writes."""
        kinds = (DepKind.RAW, DepKind.WAW)
        return list(dict.fromkeys([d.src for d in self.deps_by_dst(ref) if d.kind in kinds]))

    def consumers(self, ref: BlockRef) -> list[BlockRef]:
        """The blocks after that read or overwrite what this block writes."""
        kinds = (DepKind.RAW, DepKind.WAW)
        return list(dict.fromkeys([d.dst for d in self.deps_by_src(ref) if d.kind in kinds]))

    def below(self, stmt: Stmt) -> list[ChildBlock]:
        """The blocks of this scope that stand in a statement of it, in program order."""
        return child_blocks(stmt)[0]


@runs_deep
def block_scope(block: SBlock) -> BlockScope:
    """The scope of a block: those directly below, in its initialiser and its body."""
    children: list[ChildBlock] = []
    clean = True
    for body in (block.init, block.body):
        if body is not None:
            found, only_blocks = child_blocks(body)
            children += found
            clean = clean and only_blocks
    return BlockScope(children, clean)


def child_blocks(stmt: Stmt, outer: tuple[For, ...] = ()) -> tuple[list[ChildBlock], bool]:
    """The blocks below a statement with the loops between, and whether there is nothing but loops and blocks."""
    found: list[ChildBlock] = []
    clean = True
    stack: list[tuple[Stmt, tuple[For, ...]]] = [(stmt, outer)]
    while stack:
        top, loops = stack.pop()
        if isinstance(top, SBlockRealize):
            found.append(ChildBlock(top, loops))
        elif isinstance(top, For):
            stack.append((top.body, (*loops, top)))
        elif isinstance(top, SeqStmt):
            stack.extend([(s, loops) for s in reversed(top.seq)])
        else:
            clean = False
            if isinstance(top, IfThenElse):
                if top.else_case is not None:
                    stack.append((top.else_case, loops))
                stack.append((top.then_case, loops))
            elif isinstance(top, AttrStmt | While):
                stack.append((top.body, loops))
    return found, clean


# kinds of blocks


def dominant_reason(scope: BlockScope, ref: BlockRef) -> str | None:
    """Why a block does not dominate: it must alone write its outputs, before anyone reads them."""
    child = scope.children[ref]
    for region in child.block.writes:
        writers = scope.writers[region.buffer]
        if len(writers) > 1:
            names = ", ".join([f"`{scope.children[w].block.name_hint}`" for w in writers])
            return f"`{region.buffer.name}` is written by several blocks: {names}"
        for reader in scope.readers.get(region.buffer, ()):
            if scope.order[reader] < scope.order[ref]:
                other = scope.children[reader].block.name_hint
                return f"block `{other}` reads `{region.buffer.name}` before it is written"
    return None


def complete_reason(scope: BlockScope, ref: BlockRef) -> str | None:
    """Why a block is not complete: data-parallel axes, dominant, no buffer both read and written."""
    block = scope.children[ref].block
    for axis in block.iter_vars:
        if not is_spatial(axis):
            return f"axis `{axis.var.name}` of block `{block.name_hint}` is not data-parallel"
    why = dominant_reason(scope, ref)
    if why is not None:
        return why
    written = {r.buffer for r in block.writes}
    for region in block.reads:
        if region.buffer in written:
            return f"block `{block.name_hint}` reads and writes `{region.buffer.name}`"
    return None


def reduction_reason(scope: BlockScope, ref: BlockRef) -> str | None:
    """Why a block is not a reduction block.

    It has an initialiser, affine bindings, only data-parallel and reduction axes, dominates, and no
    reduction axis indexes an output.
    """
    child = scope.children[ref]
    block = child.block
    name = block.name_hint
    if block.init is None:
        return f"block `{name}` has no initialiser"
    for axis in block.iter_vars:
        if not is_spatial(axis) and not is_reduction(axis):
            return f"axis `{axis.var.name}` of block `{name}` is neither data-parallel nor a reduction"
    why = affine_binding_reason(child.realize, child.loops) or dominant_reason(scope, ref)
    if why is not None:
        return why
    reduced = {a.var for a in block.iter_vars if is_reduction(a)}
    written = {r.buffer for r in block.writes}
    for node in walk(block.body):
        if isinstance(node, BufferStore) and node.buffer in written:
            for index in node.indices:
                for var in walk(index):
                    if var in reduced:
                        assert isinstance(var, Var)
                        return f"reduction axis `{var.name}` indexes the output `{node.buffer.name}`"
    return None


def is_complete(scope: BlockScope, ref: BlockRef) -> bool:
    """Whether the block is complete."""
    return complete_reason(scope, ref) is None


def is_reduction_block(scope: BlockScope, ref: BlockRef) -> bool:
    """Whether the block is a reduction block."""
    return reduction_reason(scope, ref) is None


def complete_or_reduction_reason(scope: BlockScope, ref: BlockRef) -> str | None:
    """Why a block is neither complete nor a reduction block."""
    if scope.children[ref].block.init is None:
        return complete_reason(scope, ref)
    return reduction_reason(scope, ref)


def local_scope(stmt: Stmt) -> BlockScope:
    """The scope of the blocks below one statement only; dominance in it is local."""
    found, clean = child_blocks(stmt)
    return BlockScope(found, clean)


def compact_dataflow_reason(stmt: Stmt, outer: tuple[For, ...] = ()) -> str | None:
    """Why some block below a statement is neither complete nor a reduction, judged within it.

    `outer` are the loops around the statement up to the scope.
    """
    found, clean = child_blocks(stmt, outer)
    scope = BlockScope(found, clean)
    for child in found:
        why = complete_or_reduction_reason(scope, child.ref)
        if why is not None:
            return why
    return None


def is_spatial(axis: IterVar) -> bool:
    """Whether an axis is data-parallel."""
    return axis.iter_type == 0


def is_reduction(axis: IterVar) -> bool:
    """Whether an axis is a commutative reduction."""
    return axis.iter_type == 2


# bindings


def affine_binding_reason(realize: SBlockRealize, loops: Sequence[For]) -> str | None:
    """Why the bindings of a block are no affine map of the loops around; None when they are."""
    domains = {lp.loop_var: Range(lp.min, lp.extent) for lp in loops}
    if trivial_binding(realize) and len({id(v) for v in realize.iter_values}) == len(realize.iter_values):
        return None
    ana = Analyzer()
    for var, dom in domains.items():
        ana.bind(var, dom)
    why = affine_reason(realize.iter_values, domains, ana)
    return None if why is None else f"in block `{realize.block.name_hint}` {why}"


def trivial_binding(realize: SBlockRealize) -> bool:
    """Whether each axis is bound to a plain variable."""
    for value in realize.iter_values:
        if not isinstance(value, Var):
            return False
    return True


# stage pipelines


def stage_pipeline_reason(scope: BlockScope) -> str | None:
    """Why a scope is no stage pipeline.

    In one there are only loops and blocks, later blocks never write what earlier ones read, and what
    a block reads of buffers written in the scope has been written before, in the loops that both
    share.
    """
    if not scope.only_blocks:
        return "there are statements other than loops and blocks"
    for ref, child in scope.children.items():
        for dep in scope.deps_by_dst(ref):
            if dep.kind is DepKind.WAR:
                before = scope.children[dep.src].block.name_hint
                return f"block `{child.block.name_hint}` writes what block `{before}` has read before"
        why = region_cover_reason(scope, ref)
        if why is not None:
            return why
    return None


def region_cover_reason(scope: BlockScope, ref: BlockRef) -> str | None:
    """Why what a block reads is not all written by blocks before it, in the loops that they share."""
    child = scope.children[ref]
    at = scope.order[ref]
    for region in child.block.reads:
        writers = [w for w in scope.writers.get(region.buffer, ()) if w is not ref]
        if not writers:
            continue
        before = [scope.children[w] for w in writers if scope.order[w] < at]
        if not before or not _covered(child, region, before):
            return f"block `{child.block.name_hint}` may read parts of `{region.buffer.name}` not yet written"
    return None


def _covered(child: ChildBlock, region: BufferRegion, before: list[ChildBlock]) -> bool:
    """Whether one of the producers (or their common hull) covers the region read."""
    common = min([_shared(child.loops, p.loops) for p in before])
    ana = Analyzer()
    for lp in child.loops[:common]:
        ana.bind(lp.loop_var, Range(lp.min, lp.extent))
    read = relaxed_region(child, region, common, ana)
    hull: list[IntervalSet] | None = None
    for producer in before:
        for written in producer.block.writes:
            if written.buffer is region.buffer:
                box = relaxed_region(producer, written, common, ana)
                hull = box if hull is None else [union(ana, a, b) for a, b in zip(hull, box)]
    assert hull is not None
    shape = getattr(region.buffer.ty, "shape", ())
    for axis, (r, w) in enumerate(zip(read, hull)):
        if not (_reaches(ana, w.min, r.min, False) or _is_zero(w.min)):
            return False
        whole = w.max is not None and axis < len(shape) and _is_end(ana, w.max, shape[axis])
        if not (whole or _reaches(ana, w.max, r.max, True)):
            return False
    return True


def _reaches(ana: Analyzer, written: Expr | None, read: Expr | None, upper: bool) -> bool:
    if written is None or read is None:
        return False
    if written.ty is not read.ty:
        return False
    return ana.can_prove(GE(written, read) if upper else LE(written, read))


def _is_zero(e: Expr | None) -> bool:
    return isinstance(e, IntImm) and e.value == 0


def _is_end(ana: Analyzer, last: Expr, size: Expr) -> bool:
    return last.ty is size.ty and ana.can_prove(GE(last, size - 1))


def _shared(a: Sequence[For], b: Sequence[For]) -> int:
    count = 0
    for x, y in zip(a, b):
        if x is not y:
            break
        count += 1
    return count


def relaxed_region(
    child: ChildBlock, region: BufferRegion, outer: int, ana: Analyzer | None = None
) -> list[IntervalSet]:
    """What a block accesses by this region in all iterations of its loops but the `outer` outermost.

    The ends mention variables from outside those loops only; the block's predicate is not used.
    """
    ana = ana or Analyzer()
    domain: dict[Var, IntervalSet] = {}
    for lp in child.loops[outer:]:
        low = eval_set(lp.min, domain, ana)
        high = eval_set(lp.min + lp.extent - 1, domain, ana)
        domain[lp.loop_var] = IntervalSet(low.min, high.max)
    for axis, value in zip(child.block.iter_vars, child.realize.iter_values):
        domain[axis.var] = _within(eval_set(value, domain, ana), axis, ana)
    box: list[IntervalSet] = []
    for r in region.region:
        first = eval_set(r.min, domain, ana)
        last = first if _is_one(r.extent) else eval_set(r.min + r.extent - 1, domain, ana)
        box.append(IntervalSet(first.min, last.max))
    return box


def _within(values: IntervalSet, axis: IterVar, ana: Analyzer) -> IntervalSet:
    """The values of an axis, cut to its domain: a guarded block runs only there."""
    if axis.dom is None or values is EVERYTHING or values.max is None:
        return values
    end = ana.simplify(axis.dom.min + axis.dom.extent - 1)
    if values.max.ty is end.ty and isinstance(end, IntImm) and isinstance(values.max, IntImm):
        if values.max.value > end.value:
            return IntervalSet(values.min, end)
    return values


def _is_one(e: Expr) -> bool:
    return isinstance(e, IntImm) and e.value == 1


__all__ = [
    "BlockScope",
    "ChildBlock",
    "DepKind",
    "Dependency",
    "affine_binding_reason",
    "block_scope",
    "child_blocks",
    "compact_dataflow_reason",
    "complete_or_reduction_reason",
    "complete_reason",
    "dominant_reason",
    "is_complete",
    "is_reduction",
    "is_reduction_block",
    "is_spatial",
    "local_scope",
    "reduction_reason",
    "region_cover_reason",
    "relaxed_region",
    "stage_pipeline_reason",
    "trivial_binding",
]

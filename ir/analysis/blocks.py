"""Blocks in their scope: who produces for whom, and what kind of block each one is.

A scope is the part of a program between a block and the blocks directly below it, loops
between them included.  Checks return None where the property holds and else a sentence that says
what is in the way.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import chain
from typing import NamedTuple

from ...node import runs_deep
from ..arith.iter_map import detect_iter_map
from ..expr import And, BufferRegion, Expr, IntImm, IterVar, Range, Var
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
from ..types import BufferType
from ..visitor import walk
from .uses import uses_below


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

    __slots__ = (
        "_changed",
        "_dst",
        "_mentions",
        "_src",
        "buffers",
        "children",
        "only_blocks",
        "order",
        "parts",
        "readers",
        "writers",
    )
    children: dict[BlockRef, ChildBlock]
    order: dict[BlockRef, int]
    writers: dict[Var, list[BlockRef]]
    readers: dict[Var, list[BlockRef]]
    only_blocks: bool
    buffers: frozenset[Var]
    parts: dict[int, _Part]

    def __init__(
        self, parts: Sequence[_Part], buffers: Sequence[Var] = (), before: BlockScope | None = None
    ) -> None:
        self.buffers = frozenset(buffers)
        self.parts = {id(p.stmt): p for p in parts}
        self.only_blocks = all(p.only_blocks for p in parts)
        refs = list(chain.from_iterable([p.refs for p in parts]))
        self.children = dict(zip(refs, chain.from_iterable([p.children for p in parts])))
        self.order = dict(zip(refs, range(len(refs))))
        self._src: dict[BlockRef, tuple[Dependency, ...]] = {}
        self._dst: dict[BlockRef, tuple[Dependency, ...]] = {}
        self._mentions: dict[Var, list[BlockRef]] | None = None
        old = {} if before is None else before.parts
        gone = [old[key] for key in old.keys() - self.parts.keys()]
        new = [p for key, p in self.parts.items() if key not in old]
        self._changed = ({} if before is None else before._mentions, gone, new)
        readers = {} if before is None else before.readers
        writers = {} if before is None else before.writers
        self.readers = self._users(readers, [p.reads for p in gone], [p.reads for p in new])
        self.writers = self._users(writers, [p.writes for p in gone], [p.writes for p in new])

    def _users(
        self, before: dict[Var, list[BlockRef]], gone: list[_Accesses], new: list[_Accesses]
    ) -> dict[Var, list[BlockRef]]:
        """Which blocks access which buffers, in program order, after these accesses went and came."""
        table = dict(before)
        changed: set[Var] = set()
        for rows in gone:
            for buffer, ref in rows:
                if buffer not in changed:
                    changed.add(buffer)
                    table[buffer] = list(table[buffer])
                table[buffer].remove(ref)
        for rows in new:
            for buffer, ref in rows:
                if buffer not in changed:
                    changed.add(buffer)
                    table[buffer] = list(table.get(buffer, ()))
                table[buffer].append(ref)
        for buffer in changed:
            if table[buffer]:
                table[buffer].sort(key=self.order.__getitem__)
            else:
                del table[buffer]
        return table

    def mentioning(self, buffer: Var) -> list[BlockRef]:
        """The blocks that use a buffer anywhere, in a loop's range around them too, declared or not."""
        if self._mentions is None:
            known, gone, new = self._changed
            if known is None:
                known, gone, new = {}, [], list(self.parts.values())
            self._mentions = self._users(known, [p.mentions() for p in gone], [p.mentions() for p in new])
        return list(self._mentions.get(buffer, ()))

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

    def allocates(self, buffer: Var) -> bool:
        """Whether the block of the scope allocates this buffer."""
        return buffer in self.buffers

    def below(self, stmt: Stmt) -> list[ChildBlock]:
        """The blocks of this scope that stand in a statement of it, in program order."""
        return child_blocks(stmt)[0]


_Accesses = list[tuple[Var, BlockRef]]


class _Part:
    """What one statement contributes to a scope; kept while the statement stays."""

    __slots__ = ("_mentioned", "children", "only_blocks", "reads", "refs", "stmt", "writes")

    def __init__(self, stmt: Stmt, outer: tuple[For, ...] = ()) -> None:
        self.stmt = stmt
        self.children, self.only_blocks = child_blocks(stmt, outer)
        self.refs = [c.ref for c in self.children]
        self.reads = [(b, c.ref) for c in self.children for b in _buffers(c.block.reads)]
        self.writes = [(b, c.ref) for c in self.children for b in _buffers(c.block.writes)]
        self._mentioned: _Accesses | None = None

    def mentions(self) -> _Accesses:
        """The buffers that each block uses anywhere, the ranges of loops around it included."""
        if self._mentioned is None:
            rows: _Accesses = []
            for child in self.children:
                used: dict[Var, None] = {}
                realize = child.realize
                around = [e for lp in child.loops for e in (lp.min, lp.extent)]
                for node in (*around, *realize.iter_values, realize.predicate, realize.block):
                    for n in uses_below(node):
                        if isinstance(n, Var) and isinstance(n.ty, BufferType):
                            used[n] = None
                rows += [(b, child.ref) for b in used]
            self._mentioned = rows
        return self._mentioned


def _buffers(regions: Sequence[BufferRegion]) -> list[Var]:
    return list(dict.fromkeys([r.buffer for r in regions]))


@runs_deep
def block_scope(block: SBlock, before: BlockScope | None = None) -> BlockScope:
    """The scope of a block: those directly below, in its initialiser and its body.

    `before` may be the scope of an earlier form of the block: what stayed is taken from it.
    """
    known = {} if before is None else before.parts
    parts: list[_Part] = []
    for body in (block.init, block.body):
        if body is not None:
            stmts = body.seq if isinstance(body, SeqStmt) else (body,)
            parts += [known.get(id(stmt)) or _Part(stmt) for stmt in stmts]
    return BlockScope(parts, block.alloc_buffers, before)


def child_blocks(stmt: Stmt, outer: tuple[For, ...] = ()) -> tuple[list[ChildBlock], bool]:
    """The blocks below a statement with the loops between, and whether nothing else stands there."""
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


def local_scope(stmt: Stmt, outer: tuple[For, ...] = ()) -> BlockScope:
    """The scope of the blocks below one statement only; dominance in it is local.

    `outer` are the loops around the statement.
    """
    return BlockScope([_Part(stmt, outer)])


def compact_dataflow_reason(stmt: Stmt, outer: tuple[For, ...] = ()) -> str | None:
    """Why some block below a statement is neither complete nor a reduction, judged within it.

    `outer` are the loops around the statement up to the scope.
    """
    scope = local_scope(stmt, outer)
    for child in scope.children.values():
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
    """Why the bindings of a block are no affine map of the loops around; None when they are.

    Axes that are plain loop variables are fine in themselves, whatever part of them a predicate leaves out.
    """
    domains = {lp.loop_var: Range(lp.min, lp.extent) for lp in loops}
    conditions = _conjuncts(realize.predicate)
    mentioned = [_variables(c) & domains.keys() for c in conditions]
    free = _free_axes(realize.iter_values, domains, [m for m in mentioned if m])
    values = [v for k, v in enumerate(realize.iter_values) if k not in free]
    if not values:
        return None
    own: set[Expr] = {n for k in free for n in _variables(realize.iter_values[k])}
    left = {v: dom for v, dom in domains.items() if v not in own}
    rest = [c for c, used in zip(conditions, mentioned) if own.isdisjoint(used)]
    found = detect_iter_map(values, left, reduce(And, rest) if rest else True)
    if any(not _is_one(part.scale) for total in found.indices for part in total.args):
        return f"a binding of block `{realize.block.name_hint}` leaves out values of its axis"
    if found.indices:
        return None
    return (
        f"the bindings of block `{realize.block.name_hint}` are no affine map of the loops: {found.errors[0]}"
    )


def _free_axes(
    values: Sequence[Expr], domains: Mapping[Var, Range], mentioned: Sequence[set[Var]]
) -> set[int]:
    """The axes with loops of their own, which only conditions on loops of such axes mention, if any do.

    Such an axis is a loop variable, or counts through several loops without gaps.
    """
    used = [_variables(v) & domains.keys() for v in values]
    uses = Counter([v for vs in used for v in vs])
    apart = [k for k, vs in enumerate(used) if vs and all(uses[n] == 1 for n in vs)]
    free = {k for k in apart if isinstance(values[k], Var) or (mentioned and _counts(values[k], domains))}
    while True:
        own = {n for k in free for n in used[k]}
        mixed = [m for m in mentioned if m & own and not m <= own]
        if not mixed:
            return free
        free = {k for k in free if all(used[k].isdisjoint(m) for m in mixed)}


def _counts(value: Expr, domains: Mapping[Var, Range]) -> bool:
    """Whether the value goes once through consecutive numbers while the loops that it mentions run."""
    own = {v: dom for v, dom in domains.items() if v in _variables(value)}
    found = detect_iter_map([value], own, check_level="bijective").indices
    return bool(found) and all(_is_one(part.scale) for part in found[0].args)


def _variables(e: Expr) -> set[Var]:
    return {n for n in walk(e) if isinstance(n, Var)}


def _conjuncts(e: Expr) -> list[Expr]:
    return [*_conjuncts(e.a), *_conjuncts(e.b)] if isinstance(e, And) else [e]


def _is_one(e: Expr) -> bool:
    return isinstance(e, IntImm) and e.value == 1


# stage pipelines


def stage_pipeline_reason(scope: BlockScope) -> str | None:
    """Why a scope is no stage pipeline.

    In one there are only loops and blocks, later blocks never write what earlier ones read, and what
    a block reads of buffers written in the scope has been written before, in the loops that both
    share.
    """
    from . import cover

    if not scope.only_blocks:
        return "there are statements other than loops and blocks"
    for ref, child in scope.children.items():
        for dep in scope.deps_by_dst(ref):
            if dep.kind is DepKind.WAR:
                before = scope.children[dep.src].block.name_hint
                return f"block `{child.block.name_hint}` writes what block `{before}` has read before"
        why = cover.region_cover_reason(scope, ref)
        if why is not None:
            return why
    return None


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
    "stage_pipeline_reason",
]

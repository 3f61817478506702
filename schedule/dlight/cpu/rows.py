"""Programs that work row by row: softmax, the normalisations, sums and arg-maxima of rows."""

from __future__ import annotations

from typing import NamedTuple

from ....ir import BufferLoad, Expr, SBlock, structural_equal
from ....ir.types import BufferType
from ...handles import LoopRV, SBlockRV
from ...schedule import Schedule
from ..machine import Machine
from ..program import Facts, extent, facts, is_plain, is_untouched, uses
from ..rule import Taken, root_blocks, root_scope
from .stream import stream

SUMS = 2
"""Vectors of partial results: one waits for memory while the other adds."""


def rows(sch: Schedule, block: SBlockRV, machine: Machine) -> Taken | None:
    """All blocks that share rows run row by row, so that a row stays in the cache; rows run in parallel.

    A reduction of a row keeps a partial result for each lane of its vectors and combines these at the
    end; what computes its terms does so in the same loop.  Large results go past the caches.

    before:
        for i, k in T.grid(64, 256):
            with T.sblock("S"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = 0.0
                S[vi] = S[vi] + A[vi, vk]
    """
    made = by_rows(sch, block, machine)
    if made is None:
        return None
    for rv, loop in made.starts:
        sch.decompose_reduction(rv, loop)
    stream(sch, made.blocks[-1], machine)
    count = len(made.blocks)
    why = f"{count} blocks share their rows" if count > 1 else "it sums up rows"
    return Taken(made.blocks, why)


class Rows(NamedTuple):
    """Blocks below one loop over rows: the reductions among them, with the loops before which they start."""

    blocks: tuple[SBlockRV, ...]
    row: LoopRV
    starts: tuple[tuple[SBlockRV, LoopRV], ...]


def by_rows(sch: Schedule, block: SBlockRV, machine: Machine) -> Rows | None:
    """Bring the blocks that share rows below one loop over these; None where they do not."""
    group = connected(sch, block)
    last = group[-1]
    reductions = [f for f in group if f.is_reduction]
    if not reductions or not all(is_plain(sch, f) for f in group) or not all(map(along_rows, reductions)):
        return None
    depth = min(len(f.spatial) for f in reductions)
    if depth == 0 or not all(_same_rows(f, last, depth) for f in group):
        return None
    partial = [made for f in reductions if (made := by_lanes(sch, f, machine)) is not None]
    row = _row(sch, last, depth, machine)
    ours = {*[f.rv for f in group], *partial} - {last.rv}
    for rv in reversed(root_blocks(sch)):
        if rv in ours:
            sch.compute_at(rv, row)
    starts = []
    for rv in partial:
        loop = _with_its_terms(sch, rv, row, ours) or vectorize_lanes(sch, rv, row)
        if loop is not None:
            starts.append((rv, loop))
            count = extent(sch.get(loop).extent)
            if rv is partial[-1] and count is not None and sch.get_loops(rv)[-2] == loop:
                sch.annotate(loop, "prefetch", count)
    return Rows(tuple(f.rv for f in group), row, tuple(starts))


def connected(sch: Schedule, block: SBlockRV) -> list[Facts]:
    """The block with all that it reads from or writes to, directly or not, in program order.

    Blocks that another rule took are left out.
    """
    scope = root_scope(sch)
    found, todo = {block.target}, [block.target]
    while todo:
        ref = todo.pop()
        for other in (*scope.producers(ref), *scope.consumers(ref)):
            if other not in found and is_untouched(facts(sch, SBlockRV(other))):
                found.add(other)
                todo.append(other)
    return [facts(sch, SBlockRV(ref)) for ref in scope.children if ref in found]


def along_rows(found: Facts) -> bool:
    """Whether the innermost reduced axis runs along the last dimension of what is read, and only there."""
    inner = found.reduced[-1].var
    reads = [load for load in found.loads() if any(uses(i, inner) for i in load.indices)]
    return bool(reads) and all(_last_only(load, inner) for load in reads)


def _last_only(load: BufferLoad, axis: Expr) -> bool:
    return load.indices[-1] is axis and not any(uses(i, axis) for i in load.indices[:-1])  # type: ignore[arg-type]


def _same_rows(found: Facts, last: Facts, depth: int) -> bool:
    """Whether the first loops are spatial and have the extents of the last block's."""
    if len(found.loops) < depth or len(last.loops) < depth:
        return False
    spatial = {v.var for v in found.spatial}
    for own, other in zip(found.loops[:depth], last.loops[:depth]):
        if found.axis_of(own.loop_var) not in spatial or not structural_equal(own.extent, other.extent):
            return False
    return True


def by_lanes(sch: Schedule, found: Facts, machine: Machine) -> SBlockRV | None:
    """Split the reduction of a row into lanes; gives the block of partial results, None for short rows."""
    inner = found.loop_of(found.reduced[-1].var)
    assert inner is not None
    bits = max(_bits(w.buffer.ty) for w in found.block.writes)
    lanes = machine.lanes(bits) * SUMS
    length = extent(inner.extent)
    if length is not None and length < 2 * lanes:
        return None
    loops = sch.get_loops(found.rv)
    at = [n.loop_var for n in found.loops].index(inner.loop_var)
    _, lane = sch.split(loops[at], [None, lanes])
    partial: SBlockRV = sch.rfactor(lane, 0)
    return partial


def _bits(ty: object) -> int:
    assert isinstance(ty, BufferType)
    return ty.dtype.bits


def _row(sch: Schedule, last: Facts, depth: int, machine: Machine) -> LoopRV:
    """The loop over rows of the last block, in parallel where there is more than one row to do."""
    outer = sch.get_loops(last.rv)[:depth]
    if machine.cores < 2:
        return outer[-1]
    row: LoopRV = sch.fuse(*outer) if depth > 1 else outer[0]
    sch.parallel(row)
    return row


def _with_its_terms(sch: Schedule, partial: SBlockRV, row: LoopRV, ours: set[SBlockRV]) -> LoopRV | None:
    """Partial results that add up the terms of another block as soon as it computes them, so that the terms
    are gone through once.  Gives the loop before which they start; None where there is no such block.
    """
    producers = [SBlockRV(ref) for ref in sch.state.scope_around(partial).producers(partial.target)]
    terms = [rv for rv in producers if rv in ours and not facts(sch, rv).reduced]
    if len(terms) != 1:
        return None
    loops = sch.get_loops(terms[0])
    loops = loops[loops.index(row) + 1 :]
    lanes = extent(sch.get(partial).iter_vars[0].dom.extent)
    length = extent(sch.get(loops[0]).extent) if len(loops) == 1 else None
    if lanes is None or length is None or length % lanes:
        return None
    outer, lane = sch.split(loops[0], [None, lanes])
    sch.reverse_compute_at(partial, outer)
    sch.vectorize(lane)
    own = sch.get_loops(partial)
    own = own[own.index(outer) + 1 :]
    sch.vectorize(own[-1])
    found: LoopRV = outer
    return found


def vectorize_lanes(sch: Schedule, partial: SBlockRV, row: LoopRV) -> LoopRV | None:
    """The lanes of partial results as one vector; gives the loop over the row before which it starts."""
    block: SBlock = sch.get(partial)
    lane = facts(sch, partial).loop_of(block.iter_vars[0].var)
    assert lane is not None
    loops = sch.get_loops(partial)
    loops = loops[loops.index(row) + 1 :]
    own = next(rv for rv in loops if rv.target is lane.loop_var)
    rest = [rv for rv in loops if rv is not own]
    sch.reorder(*rest, own)
    sch.vectorize(own)
    return rest[0] if rest else None

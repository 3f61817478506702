"""Small windows over arrays: pooling, depthwise convolutions, filters."""

from __future__ import annotations

from typing import Final

from ....ir import Var
from ...handles import LoopRV, SBlockRV
from ...schedule import Schedule
from ..machine import Machine
from ..program import Facts, facts, is_plain, uses
from ..rule import Taken, root_scope

TERMS: Final = 64
"""The most terms of a result that are written out one by one."""
VECTORS: Final = 4
"""Vectors of neighbouring results at once."""


def stencil(sch: Schedule, block: SBlockRV, machine: Machine) -> Taken | None:
    """Neighbouring results are the lanes of vectors, which stay in registers for all terms of the window.

    What only this block reads, such as a padded input, is computed for one plane at a time.

    before:
        for i, p in T.grid(64, 3):
            with T.sblock("B"):
                vi, vp = T.axis.remap("SR", [i, p])
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + A[vi + vp]
    """
    found = facts(sch, block)
    store = found.store
    if store is None or not found.is_reduction or not is_plain(sch, found) or not _is_window(found):
        return None
    last, of = store.indices[-1], dict(zip([n.loop_var for n in found.loops], sch.get_loops(block)))
    along = found.loop_of(last) if isinstance(last, Var) else None
    if along is None or len(of) != len(found.block.iter_vars):
        return None
    spatial = [n for n in found.loops if n is not along and found.axis_of(n.loop_var) not in _vars(found)]
    terms = [of[n.loop_var] for n in found.loops if found.axis_of(n.loop_var) in _vars(found)]
    outer, lane = [of[n.loop_var] for n in spatial], of[along.loop_var]
    size, lanes = found.size(last), machine.lanes(found.block.writes[0].buffer.dtype.bits)  # type: ignore[arg-type]
    if size is None or size > VECTORS * lanes or not outer:
        part, lane = sch.split(lane, [None, VECTORS // 2 * lanes])
        outer.append(part)
    sch.reorder(*outer, *terms, lane)
    copy: SBlockRV = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(copy, outer[-1])
    sch.vectorize(sch.get_loops(copy)[-1])
    sch.vectorize(lane)
    planes = [rv for n, rv in zip(spatial, outer) if _is_plain_index(found, n.loop_var)]
    taken = [
        block,
        copy,
        *_inputs(sch, block, outer[: len(planes)] if outer[: len(planes)] == planes else []),
    ]
    if machine.cores > 1:
        many = planes if planes and outer[: len(planes)] == planes else outer[:1]
        sch.parallel(sch.fuse(*many) if len(many) > 1 else many[0])
    for rv in terms:
        sch.unroll(rv)
    sch.decompose_reduction(block, terms[0])
    return Taken(tuple(taken), "results of small windows, side by side in vectors")


def _vars(found: Facts) -> set[Var]:
    return {v.var for v in found.reduced}


def _is_window(found: Facts) -> bool:
    """Whether the terms are few, and an index adds an axis of the result and one of the sum."""
    total = 1
    for v in found.reduced:
        size = found.size(v.var)
        if size is None:
            return False
        total *= size
    both = [
        any(uses(i, s.var) for s in found.spatial) and any(uses(i, r.var) for r in found.reduced)
        for load in found.loads()
        for i in load.indices
    ]
    return 1 < total <= TERMS and any(both)


def _is_plain_index(found: Facts, loop_var: Var) -> bool:
    """Whether the axis of the loop indexes what is read by itself only."""
    axis = found.axis_of(loop_var)
    return all(i is axis or axis is None or not uses(i, axis) for x in found.loads() for i in x.indices)


def _inputs(sch: Schedule, block: SBlockRV, planes: list[LoopRV]) -> list[SBlockRV]:
    """Bring what only this block reads below the loops over planes."""
    moved: list[SBlockRV] = []
    scope = root_scope(sch)
    for ref in scope.producers(block.target) if planes else ():
        own = facts(sch, SBlockRV(ref))
        if scope.consumers(ref) == [block.target] and not own.reduced and own.loops:
            sch.compute_at(own.rv, planes[-1])
            moved.append(own.rv)
    return moved

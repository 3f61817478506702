"""Small windows over arrays: pooling, depthwise convolutions, filters."""

from __future__ import annotations

from typing import Final

from ....ir import BlockRef, Expr, IntImm, Var, const
from ....ir.arith import Analyzer
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
    if not _has_plain_loops(found, store.indices[-1]):
        return None
    _gather_steps(sch, found, store.indices[-1])  # type: ignore[arg-type]
    found = facts(sch, block)
    last, of = found.store.indices[-1], dict(zip([n.loop_var for n in found.loops], sch.get_loops(block)))  # type: ignore[union-attr]
    along = found.loop_of(last)  # type: ignore[arg-type]
    assert along is not None
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


def _has_plain_loops(found: Facts, last: Expr) -> bool:
    """Whether each axis has a loop of its own, that along the results too."""
    if not isinstance(last, Var) or found.loop_of(last) is None:
        return False
    return len(found.loops) == len(found.block.iter_vars)


def _gather_steps(sch: Schedule, found: Facts, last: Var) -> None:
    """Where neighbouring results read elements some steps apart, lay these out side by side.

    A dimension of n elements becomes two: for each place within a step all elements there.  An input of
    the whole program is copied for it.
    """
    for buffer, step in _steps(found, last).items():
        scope = root_scope(sch)
        writers = [ref for ref in scope.producers(found.rv.target) if _writes(sch, ref, buffer)]
        own = scope.allocates(buffer) and [scope.consumers(ref) for ref in writers] == [[found.rv.target]]
        reads = [r.buffer for r in found.block.reads]
        source = SBlockRV(writers[0]) if own else sch.cache_read(found.rv, reads.index(buffer), "global")
        size = buffer.shape[-1].value  # type: ignore[attr-defined]
        sch.transform_layout(
            source,
            ("write", 0),
            lambda *i, step=step: (*i[:-1], i[-1] % step, i[-1] // step),
            pad_value=const(0, buffer.ty.dtype) if size % step else None,  # type: ignore[attr-defined]
        )


def _writes(sch: Schedule, ref: BlockRef, buffer: Var) -> bool:
    return any(w.buffer is buffer for w in facts(sch, SBlockRV(ref)).block.writes)


def _steps(found: Facts, last: Var) -> dict[Var, int]:
    """The arrays whose elements for neighbouring results are more than 1 apart, with how far."""
    steps: dict[Var, set[int]] = {}
    for load in found.loads():
        if isinstance(load.buffer.shape[-1], IntImm) and any(uses(i, last) for i in load.indices):
            form = Analyzer().linear(load.indices[-1])
            known = [coeff for coeff, term in form.terms.values() if term is last]
            inner = len(known) == 1 and not any(uses(i, last) for i in load.indices[:-1])
            steps.setdefault(load.buffer, set()).add(known[0] if inner else 0)
    return {b: one for b, found_ in steps.items() if len(found_) == 1 and (one := next(iter(found_))) > 1}


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

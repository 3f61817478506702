"""Reductions that leave out what holds the neutral value need not do so."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import BufferLoad, Expr, SBlock, SBlockRealize, Var, const, structural_equal, substitute
from ..ir.analysis.blocks import BlockScope, ChildBlock
from ..ir.arith import Analyzer
from .reducers import Reduction, reduction_of
from .refusal import Refused
from .rewrite import both, conjuncts
from .state import State


def combine_all(state: State, scope: BlockScope, writer: ChildBlock, left_out: Sequence[Expr]) -> State:
    """Let reductions of what a reduction block writes take in its neutral values.

    `left_out` are conditions, over the loops around the writer, without which its results hold the neutral
    value: conditions alike are taken from blocks that combine those results with the same reducer.
    """
    if not left_out:
        return state
    own = _reduction(writer.block)
    for ref in scope.readers.get(own.buffers[0], ()) if own is not None else ():
        reader = scope.children[ref]
        theirs = _reduction(reader.block) if reader.block.init is not None else None
        places = None if own is None or theirs is None else _same_places(writer, own, reader, theirs)
        if places is None:
            continue
        known = [_plain(c) for c in left_out]
        kept: Expr = const(1, "bool")
        for c in conjuncts(reader.realize.predicate):
            if not any(structural_equal(_plain(substitute(c, places)), k) for k in known):
                kept = both(kept, c)
        realize = state.realize(ref)
        state = state.replace(realize, realize.replace(predicate=kept))
    return state


def _reduction(block: SBlock) -> Reduction | None:
    try:
        return reduction_of(block)
    except Refused:
        return None


def _plain(e: Expr) -> Expr:
    return Analyzer().simplify(e)


def _same_places(
    writer: ChildBlock, own: Reduction, reader: ChildBlock, theirs: Reduction
) -> dict[Var, Expr] | None:
    """The loops of the reader as those of the writer, where it combines the writer's results alike."""
    loads = theirs.terms
    if len(loads) != len(own.buffers) or not _same_reducer(own, theirs):
        return None
    bound = [_bindings(child.realize) for child in (writer, reader)]
    found: dict[Var, Expr] = {}
    for buffer, load in zip(own.buffers, loads):
        if not isinstance(load, BufferLoad) or load.buffer is not buffer:
            return None
        for a, b in zip(own.indices, load.indices):
            here, there = [table.get(e) for table, e in zip(bound, (a, b))]
            if isinstance(there, Var) and here is not None:
                found[there] = here
    return found


def _bindings(realize: SBlockRealize) -> dict[Expr, Expr]:
    return {axis.var: value for axis, value in zip(realize.block.iter_vars, realize.iter_values)}


def _same_reducer(a: Reduction, b: Reduction) -> bool:
    results = b.combined(a.left, a.right)
    pairs = [*zip(a.starts, b.starts), *zip(a.results, results)]
    return len(a.starts) == len(b.starts) and all(structural_equal(x, y) for x, y in pairs)

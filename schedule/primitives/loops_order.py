"""Changing the order of loops and axes."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import For, Var
from ...ir.analysis.blocks import child_blocks
from ..handles import LoopRV, SBlockRV
from ..legality import (
    chain_reason,
    first_iteration_reason,
    independent_iterations_reason,
    reorder_block_reason,
    uses_vars,
)
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import loops_around
from ..state import State


@primitive()
def reorder(state: State, *ordered_loops: LoopRV) -> State:
    """Let loops of one chain stand in this order; others between them keep their places.

    Every handle is kept.

    before:
        for i, j in T.grid(8, 16):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1.0
    steps:
        i, j = sch.get_loops("B")
        sch.reorder(j, i)
    after:
        for j, i in T.grid(16, 8):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1.0
    """
    if not ordered_loops:
        raise refuse("no-loops", "there is nothing to reorder")
    nodes = [state.loop(lp) for lp in ordered_loops]
    if len({id(n) for n in nodes}) != len(nodes):
        raise refuse("duplicate-loop", "a loop is given twice", nodes[0])
    chain = _chain(state, nodes)
    wanted = iter(nodes)
    named = {id(n) for n in nodes}
    order = [next(wanted) if id(lp) in named else lp for lp in chain]
    _check_domains(order)
    if state.check:
        outer = state.loops(chain[0].loop_var)
        scope = state.scope_around(chain[0].loop_var)
        for child in child_blocks(chain[0], tuple(outer))[0]:
            demand(reorder_block_reason(scope, child, chain[0]))
            demand(first_iteration_reason(child, chain, order))
        demand(independent_iterations_reason(chain[-1]))
    return state.replace(chain[0], loops_around(order, chain[-1].body))


def _chain(state: State, nodes: Sequence[For]) -> list[For]:
    """The loops from the outermost to the innermost of those given, each directly in the one before."""
    wanted = {n.loop_var for n in nodes}
    depth = {n.loop_var: len(state.loops(n.loop_var)) for n in nodes}
    inner = max(nodes, key=lambda n: depth[n.loop_var])
    chain = [inner]
    found = {inner.loop_var}
    for above in state.ancestors(inner.loop_var):
        if found >= wanted or not isinstance(above.node, For):
            break
        chain.append(above.node)
        found.add(above.node.loop_var)
    missing = [n for n in nodes if n.loop_var not in found]
    if missing:
        raise refuse("loops-not-nested", "the loops do not stand in one chain", missing[0])
    chain.reverse()
    demand(chain_reason(chain))
    return chain


def _check_domains(order: Sequence[For]) -> None:
    inside: list[Var] = []
    for lp in reversed(order):
        inside.append(lp.loop_var)
        if uses_vars(lp.min, inside) or uses_vars(lp.extent, inside):
            text = f"the range of loop `{lp.loop_var.name}` depends on a loop that would move inside it"
            raise refuse("dependent-extent", text, lp)


@primitive(inputs=("block", "new_order"))
def reorder_block_iter_var(state: State, block: SBlockRV, new_order: Sequence[int]) -> State:
    """Let the axes of a block stand in this order (positions of the old axes).

    Every handle is kept.

    before:
        for i, j in T.grid(8, 16):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1.0
    steps:
        sch.reorder_block_iter_var(sch.get_sblock("B"), [1, 0])
    after:
        for i, j in T.grid(8, 16):
            with T.sblock("B"):
                vj, vi = T.axis.remap("SS", [j, i])
                B[vi, vj] = A[vi, vj] + 1.0
    """
    realize = state.realize(block)
    axes = realize.block.iter_vars
    order = [int(k) for k in new_order]
    if sorted(order) != list(range(len(axes))):
        text = f"{order} is no order of the {len(axes)} axes of block `{realize.block.name_hint}`"
        raise refuse("axis-order", text, realize.block)
    made = realize.block.replace(iter_vars=[axes[k] for k in order])
    values = [realize.iter_values[k] for k in order]
    return state.replace(realize, realize.replace(iter_values=values, block=made))

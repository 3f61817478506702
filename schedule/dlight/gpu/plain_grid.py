"""A grid of threads for each block, as it stands."""

from __future__ import annotations

from ....ir import ForKind, IterVar, Range, SBlock, SBlockRealize, Var, const
from ...handles import SBlockRV
from ...schedule import Schedule
from ..blocks import has_root
from ..program import facts
from ..rule import Taken, root_blocks
from .common import BLOCKS, THREADS, attempt_all, bind_alone, function_of, product
from .machine import GpuMachine

MOST_BLOCKS = 256
"""Blocks of threads in a grid; what more there is they do one after another."""


def plain_grid(sch: Schedule, machine: GpuMachine) -> Taken | None:
    """Each block runs in a grid of threads over its independent loops, all others inside.

    Nothing is inlined; initialisers stay where they are.  Functions without blocks are left alone.

    before:
        for i, j in T.grid(6000, 500):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1.0
    """
    if not has_root(sch):
        return None
    if not root_blocks(sch):
        _stand_in_root(sch)
    blocks = [rv for top in root_blocks(sch) for rv in _innermost(sch, top)]
    for rv in blocks:
        if any(n.kind is ForKind.THREAD_BINDING for n in sch.state.loops(rv)):
            continue
        if not attempt_all(sch, _spread, sch, rv, machine):
            loops = sch.get_loops(rv)
            bind_alone(sch, loops[0] if loops else rv)
    return Taken(tuple(blocks), "each block is a grid over its independent loops")


def _innermost(sch: Schedule, rv: SBlockRV) -> list[SBlockRV]:
    below = sch.get_child_blocks(rv)
    return [leaf for child in below for leaf in _innermost(sch, child)] if below else [rv]


def _spread(sch: Schedule, rv: SBlockRV, machine: GpuMachine) -> None:
    found = facts(sch, rv)
    spatial = {v.var for v in found.spatial}
    loops = dict(zip(found.loops, sch.get_loops(rv)))
    outer = [h for n, h in loops.items() if found.axis_of(n.loop_var) in spatial]
    rest = [h for h in loops.values() if h not in outer]
    if not outer:
        outer = [sch.add_unit_loop(rest[0] if rest else rv)]
    else:
        sch.reorder(*outer, *rest)
    count = product(sch, outer)
    whole = sch.fuse(*outer)
    threads = machine.threads
    if count is None or count > MOST_BLOCKS * threads:
        steps, grid, thread = sch.split(whole, [None, MOST_BLOCKS, threads])
        sch.reorder(grid, thread, steps)
    else:
        grid, thread = sch.split(whole, [None, max(1, min(count, threads))])
    sch.bind(grid, BLOCKS)
    sch.bind(thread, THREADS)


def _stand_in_root(sch: Schedule) -> None:
    """Give a function that is one block without axes an axis of one value, and a root block around it."""
    func = function_of(sch)
    body = func.body
    assert isinstance(body, SBlockRealize) and sch.func_working_on is not None
    axis = IterVar(Range(const(0), const(1)), Var("vu", "int32"), IterVar.DATA_PAR)
    inner = body.replace(iter_values=[const(0)], block=body.block.replace(iter_vars=[axis]))
    root = SBlock((), (), (), "root", inner)
    made = func.replace(body=SBlockRealize((), const(1, "bool"), root))
    sch.state = sch.state.replace_func(sch.func_working_on.name, made)

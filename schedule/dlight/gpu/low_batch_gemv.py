"""Products of a matrix and a few vectors: each element of the matrix is used for all vectors of a bucket."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple, TypeAlias

from ....ir import BufferRegion, BufferStore, FloorDiv, IntImm, SBlock, Var, walk
from ...handles import LoopRV, SBlockRV
from ...schedule import Schedule
from ..blocks import (
    Axis,
    BlockInfo,
    axes_in,
    block_info,
    inline_all,
    is_broadcast_epilogue,
    normalize,
    normalize_block,
)
from ..rule import Taken
from .gemv import Plan, divisor, is_android, unroll_inside, within
from .machine import GpuMachine
from .rule import GpuRule

Broadcasts: TypeAlias = Callable[[Schedule, SBlockRV, SBlockRV], bool]
"""Whether the second block, which goes on with the results of the first, uses a result several times."""

OWN = 2
"""Results of a vector that each thread works on."""
FEW = 16
"""The most vectors that count as few, where their number is known."""


def low_batch_gemv(
    bucket: int = 4, broadcasts: Broadcasts = is_broadcast_epilogue, *, unknown: bool = True
) -> GpuRule:
    """The rule for products of a matrix with a few vectors; if `unknown`, also with as many as comes.

    So many vectors, `bucket`, are taken at once; zeros stand for those that are missing in the last bucket.
    """

    def low_batch_gemv(sch: Schedule, machine: GpuMachine) -> Taken | None:
        found = _find(sch)
        if found is None or not (found.known or unknown):
            return None
        return _schedule(sch, found, bucket, broadcasts, machine)

    return low_batch_gemv


class _Product(NamedTuple):
    """The block of the sum and the numbers of its axes; the number of terms; the blocks around.

    `known` says whether the number of vectors is known.  `decode` makes the matrix, `epilogue` goes on with
    the results, where there are such.
    """

    block: SBlockRV
    batch: int
    rows: tuple[int, ...]
    terms: tuple[int, ...]
    size: int
    known: bool
    decode: SBlockRV | None
    epilogue: SBlockRV | None


def _find(sch: Schedule) -> _Product | None:
    infos = normalize(sch)
    sums = [k for k, b in enumerate(infos or ()) if b.is_reduction]
    if infos is None or len(sums) != 1:
        return None
    at = sums[0]
    before = _joined(sch, infos[:at])
    after = inline_all(sch, infos[at + 1 :])
    info = block_info(sch, infos[at].rv)
    if len(before) > 1 or len(after) > 1 or not all(b.is_injective for b in (*before, *after)):
        return None
    groups = _groups(sch.get(info.rv), info)
    if groups is None:
        return None
    return _Product(info.rv, *groups, before[0].rv if before else None, after[0].rv if after else None)


def _joined(sch: Schedule, infos: list[BlockInfo]) -> list[BlockInfo]:
    """Blocks in front of the sum, brought together into the one that it reads."""
    if len(infos) < 2 or not all(b.is_injective for b in infos):
        return infos
    *first, last = infos
    return [*inline_all(sch, first), block_info(sch, last.rv)]


_Groups: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...], int, bool]


def _groups(node: SBlock, info: BlockInfo) -> _Groups | None:
    """The numbers of the axis of the vectors, of those of the rows and of the sum.

    After them how many terms there are, and whether the number of vectors is known.
    None where the block is no product of vectors with a matrix in which the terms of a row lie side by side,
    or where there are too many vectors.
    """
    if not isinstance(node.body, BufferStore) or len(node.writes) != 1:
        return None
    if not all(_plain(r) for r in (*node.reads, *node.writes)):
        return None
    axes = {a.var: a for a in info.axes}
    terms = {v for v, a in axes.items() if a.kind == "R"}
    operands = [r for r in node.reads if axes_in(node, r) >= terms]
    if len(operands) != 2 or any(axes[v].size is None for v in terms):
        return None
    found = [_roles(node, axes, terms, *pair) for pair in (operands, operands[::-1])]
    return min([f for f in found if f is not None], key=lambda f: f[0], default=(None, None))[1]


def _roles(
    node: SBlock, axes: dict[Var, Axis], terms: set[Var], vector: BufferRegion, matrix: BufferRegion
) -> tuple[int, _Groups] | None:
    """The numbers of the axes if the operands have these roles, behind the number of vectors (0: unknown)."""
    batch, rows = axes_in(node, vector) - terms, axes_in(node, matrix) - terms
    if len(batch) != 1 or not rows or batch & rows or batch | rows != axes_in(node, node.writes[0]):
        return None
    order = [v for r in matrix.region for v in walk(r.min) if isinstance(v, Var) and v in axes]
    at = {v: k for k, v in enumerate(axes)}
    (many,) = batch
    count = axes[many].size or 0
    if count > FEW or order[-1] not in terms or at[many] > min([at[v] for v in rows]):
        return None  # the steps below take the loop over vectors for the first one
    size = prod([axes[v].size or 1 for v in terms])
    return count, (
        at[many],
        tuple([at[v] for v in order if v in rows]),
        tuple([at[v] for v in order if v in terms]),
        size,
        count > 0,
    )


def _plain(region: BufferRegion) -> bool:
    """Whether each index is an axis, a part of one, or a number."""
    for r in region.region:
        index = r.min.a if isinstance(r.min, FloorDiv) and isinstance(r.min.b, IntImm) else r.min
        if not isinstance(index, Var | IntImm) or not (isinstance(r.extent, IntImm) and r.extent.value == 1):
            return False
    return True


def _schedule(
    sch: Schedule, found: _Product, bucket: int, broadcasts: Broadcasts, machine: GpuMachine
) -> Taken:
    block = found.block
    spread = found.epilogue is not None and broadcasts(sch, block, found.epilogue)
    plan = _plan(found, machine)
    finish = _padded(sch, found, bucket)
    partial, sums = _parts(sch, found, bucket, plan)
    grid, step = _bind_partial(sch, partial, plan)
    if found.decode is not None:
        sch.set_scope(found.decode, 0, "local")
        sch.compute_at(found.decode, step, preserve_unit_loops=True)
    _bind_sums(sch, sums, grid, plan)
    _bind_total(sch, block, grid, plan)
    sch.decompose_reduction(partial, step)
    sch.decompose_reduction(sums, sch.get_loops(sums)[-1])
    for rv in (partial, sums):
        sch.set_scope(rv, 0, "local")
    if finish is not None:
        _bind_finish(sch, finish, grid, plan, spread)
        sch.set_scope(block, 0, "shared" if spread else "local")
    done = [rv for rv in (block, partial, sums, found.decode, finish) if rv is not None]
    return Taken(tuple(done), f"a product with {bucket} vectors at once: {plan.threads} threads for a result")


def _plan(found: _Product, machine: GpuMachine) -> Plan:
    """The sizes for a product and a device."""
    x, y = "threadIdx.x", "threadIdx.y"
    if machine.is_cuda or machine.kind == "rocm":
        plan = Plan(y, x, 16, 32, lanes=4)
    elif machine.kind == "metal":
        plan = Plan(x, y, 8, 32, lanes=4, unroll=8)
    elif is_android(machine):
        plan = Plan(x, y, 4, 32, lanes=8, unroll=8)
    else:
        plan = Plan(y, x, 2, 32, lanes=4, unroll=64)
    while plan.rows * plan.threads > machine.threads:
        plan = plan._replace(rows=plan.rows // 2)
    while plan.threads > found.size:
        plan = plan._replace(threads=plan.threads // 2)
    together = divisor(found.size, plan.threads)
    lanes = min(together, plan.lanes)
    return plan._replace(groups=together // lanes, lanes=lanes)


def _padded(sch: Schedule, found: _Product, bucket: int) -> SBlockRV | None:
    """The vectors become a multiple of the bucket; gives the block that goes on with the results, if any."""
    axes = block_info(sch, found.block).axes
    padding = [bucket if k == found.batch else 1 for k in range(len(axes))]
    sch.pad_einsum(found.block, padding)
    for copy in sch.get_producers(found.block):
        if copy != found.decode:
            sch.compute_inline(copy)
    finish = next(iter(sch.get_consumers(found.block)), None)
    if finish is not None and found.epilogue is None:
        normalize_block(sch, finish)
    elif finish is not None and finish != found.epilogue:
        sch.compute_inline(finish)
        return found.epilogue
    return finish


def _parts(sch: Schedule, found: _Product, bucket: int, plan: Plan) -> tuple[SBlockRV, SBlockRV]:
    """The blocks of the sums of each thread and lane, and of the sums of each thread."""
    block = found.block
    loops = [a.loop for a in block_info(sch, block).axes]
    rows, terms = [loops[k] for k in found.rows], [loops[k] for k in found.terms]
    sch.reorder(loops[found.batch], *rows, *terms)
    many, one = sch.split(loops[found.batch], [None, bucket])
    grid, row, own = sch.split(sch.fuse(*rows), [None, plan.rows, OWN])
    step, thread, group, lane = sch.split(sch.fuse(*terms), [None, plan.threads, plan.groups, plan.lanes])
    sch.reorder(many, grid, row, one, own, step, group, thread, lane)
    partial = sch.rfactor(sch.fuse(thread, lane), 0)
    thread, _ = sch.split(sch.get_loops(block)[-1], [plan.threads, None])
    return partial, sch.rfactor(thread, 0)


def _bind_partial(sch: Schedule, partial: SBlockRV, plan: Plan) -> tuple[LoopRV, LoopRV]:
    """The loops of blocks of threads and of steps."""
    many, grid, row, one, own, step, group, last = sch.get_loops(partial)
    thread, lane = sch.split(last, [plan.threads, None])
    sch.reorder(many, grid, row, thread, step, one, own, group, lane)
    sch.bind(many, "blockIdx.y")
    sch.bind(grid, "blockIdx.x")
    sch.bind(row, plan.row_axis)
    sch.bind(thread, plan.term_axis)
    sch.vectorize(lane)
    unroll_inside(sch, step, plan)
    return grid, step


def _bind_sums(sch: Schedule, sums: SBlockRV, grid: LoopRV, plan: Plan) -> None:
    """Each thread adds up its sums as soon as it has them."""
    sch.reverse_compute_at(sums, grid, preserve_unit_loops=True)
    thread, lane, one, *rows = within(sch, sums, grid)
    row, own, side = sch.split(sch.fuse(*rows), [plan.rows, 1, OWN])
    sch.reorder(row, thread, own, one, side, lane)
    sch.bind(row, plan.row_axis)
    sch.bind(thread, plan.term_axis)
    sch.vectorize(side)
    unroll_inside(sch, own, plan)


def _bind_total(sch: Schedule, block: SBlockRV, grid: LoopRV, plan: Plan) -> None:
    """The threads of a row add up what each of them has."""
    sch.reverse_compute_at(block, grid, preserve_unit_loops=True)
    thread, one, *rows = within(sch, block, grid)
    row, own = sch.split(sch.fuse(*rows), [plan.rows, OWN])
    sch.reorder(own, one, row, thread)
    sch.bind(row, plan.row_axis)
    sch.bind(thread, plan.term_axis)


def _bind_finish(sch: Schedule, finish: SBlockRV, grid: LoopRV, plan: Plan, spread: bool) -> None:
    """What is done with the results follows in the same block of threads.

    Where each result is used once its row's threads go on with it; otherwise all threads share the work.
    """
    sch.reverse_compute_at(finish, grid, preserve_unit_loops=True)
    one, *rows = within(sch, finish, grid)
    if spread:
        _, row, thread = sch.split(sch.fuse(one, *rows), [None, plan.rows, plan.threads])
        sch.bind(thread, plan.term_axis)
    else:
        row, _ = sch.split(sch.fuse(*rows), [plan.rows, OWN])
    sch.bind(row, plan.row_axis)

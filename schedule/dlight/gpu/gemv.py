"""Products of a matrix and a vector: several threads sum up each result."""

from __future__ import annotations

from typing import Final, NamedTuple

from ....ir import IntImm, Var
from ...handles import LoopRV, SBlockRV
from ...schedule import Schedule
from ..blocks import extent_of, is_broadcast_epilogue
from ..rule import Taken
from ..vector_product import Arranged, VectorProduct, arrange, vector_product
from .machine import GpuMachine

UNROLL_STEPS: Final = "pragma_auto_unroll_max_step"
UNROLL_EXPLICIT: Final = "pragma_unroll_explicit"


class Plan(NamedTuple):
    """How a block of threads computes `rows` results, each of them by `threads` threads.

    At each step a thread adds `groups` times `lanes` terms that lie side by side.  The matrix is read by
    vectors of `load` bytes; the vector is kept in shared memory, and copied there by vectors of up to
    `shared` elements; 0 where it stays in global memory.
    """

    row_axis: str
    term_axis: str
    rows: int
    threads: int
    groups: int = 1
    lanes: int = 1
    load: int = 1
    shared: int = 0
    unroll: int = 256
    few: bool = False
    """Whether there are fewer terms than a device would like to give threads."""


def gemv(sch: Schedule, machine: GpuMachine) -> Taken | None:
    """A product of a matrix and a vector, whose operands may be decoded, and whose results may be worked on.

    before:
        for i, k in T.grid(1024, 4096):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + A[vi, vk] * B[vk]
    """
    found = vector_product(sch)
    loops = None if found is None else arrange(sch, found.info)
    if found is None or loops is None:
        return None
    if loops.inner:
        return _along_terms(sch, found, loops, machine)
    return None


def _along_terms(sch: Schedule, found: VectorProduct, loops: Arranged, machine: GpuMachine) -> Taken | None:
    """The terms of a result lie side by side: neighbouring threads take them.

    Each thread has some sums; these are added up in the thread, then those of the threads of a row.
    """
    plan = _plan(sch, loops, machine)
    block = found.block
    partial, sums = _parts(sch, block, loops, plan)
    grid, thread, step = _bind_partial(sch, partial, plan)
    load(sch, partial, found.matrix, step, plan.load)
    _load_vectors(sch, found, partial, (thread, step), plan, machine.shared)
    _bind_sums(sch, sums, grid, plan)
    _bind_total(sch, block, grid, plan)
    sch.decompose_reduction(partial, step)
    sch.decompose_reduction(sums, sch.get_loops(sums)[-1])
    for rv in (partial, sums):
        sch.set_scope(rv, 0, "local")
    if found.epilogue is not None:
        _bind_epilogue(sch, block, found.epilogue, grid, plan)
    done = (block, partial, sums) if found.epilogue is None else (block, partial, sums, found.epilogue)
    return Taken(done, f"a product with a vector: {plan.threads} threads for each of {plan.rows} rows")


def _plan(sch: Schedule, loops: Arranged, machine: GpuMachine) -> Plan:
    """The sizes for a product and a device."""
    batch, rows = extent_of(sch, loops.batch), extent_of(sch, loops.rows)
    terms, group = extent_of(sch, loops.terms), extent_of(sch, loops.group) or 1
    results = None if batch is None or rows is None else batch * rows
    plan = settings(machine, results, None if terms is None else terms * group)
    while plan.rows * plan.threads > machine.threads:
        if plan.rows > 1:
            plan = plan._replace(rows=plan.rows // 2)
        else:
            plan = plan._replace(threads=plan.threads // 2)
    while plan.rows > 1 and batch != 1 and (rows is None or rows % plan.rows):
        plan = plan._replace(rows=plan.rows // 2)  # a block of threads stays in one product of a batch
    if terms is None:
        return plan._replace(groups=group, lanes=1)
    while plan.threads > terms:
        plan = plan._replace(threads=plan.threads // 2, few=True)
    together = group if group > 1 else divisor(terms, plan.threads)
    lanes = min(divisor(together), plan.lanes)
    return plan._replace(groups=together // lanes, lanes=lanes)


def settings(machine: GpuMachine, results: int | None, terms: int | None) -> Plan:
    """What is best on a kind of device, measured on such devices by the makers of TVM."""
    known = results is not None
    many = results is not None and terms is not None and results > terms
    y, x = "threadIdx.y", "threadIdx.x"
    if machine.is_cuda:
        return Plan(y, x, *((16, 32) if known else (1, 64)), lanes=4, load=4, shared=8)
    if machine.kind == "metal":
        return Plan(x, y, *((4, 16) if many else (2, 64) if known else (1, 64)))
    if machine.kind == "rocm":
        return Plan(y, x, *((1, 128) if many else (8, 64) if known else (1, 64)), lanes=4)
    if machine.kind == "vulkan":
        return Plan(y, x, *((4, 32) if many else (16, 32) if known else (1, 64)), lanes=4, shared=4)
    if is_android(machine):
        return Plan(x, y, 2, 32, lanes=8, unroll=8)
    return Plan(y, x, 1, 64, unroll=64)


def is_android(machine: GpuMachine) -> bool:
    """Whether the device is that of a telephone."""
    host = machine.target.host
    return machine.kind == "opencl" and host is not None and "android" in str(host.get("mtriple", ""))


def divisor(n: int, times: int = 1) -> int:
    """The largest of 8, 4, 2 that so many times divides a number; 1 where none does."""
    return next((k for k in (8, 4, 2) if n % (times * k) == 0), 1)


def _parts(sch: Schedule, block: SBlockRV, loops: Arranged, plan: Plan) -> tuple[SBlockRV, SBlockRV]:
    """The blocks of the sums of each thread and lane, and of the sums of each thread."""
    rows = sch.fuse(loops.batch, loops.rows)
    terms = sch.fuse(loops.terms, loops.group)
    sch.split(rows, [None, plan.rows, 1])
    step, thread, group, lane = sch.split(terms, [None, plan.threads, plan.groups, plan.lanes])
    sch.reorder(step, group, thread, lane)
    partial = sch.rfactor(sch.fuse(thread, lane), 0)
    thread, _ = sch.split(sch.get_loops(block)[-1], [plan.threads, None])
    return partial, sch.rfactor(thread, 0)


def _bind_partial(sch: Schedule, partial: SBlockRV, plan: Plan) -> tuple[LoopRV, LoopRV, LoopRV]:
    """The loops of blocks of threads, of the threads of a row, and of steps."""
    grid, row, own, step, group, last = sch.get_loops(partial)
    thread, lane = sch.split(last, [plan.threads, None])
    sch.reorder(grid, row, thread, step, own, group, lane)
    sch.bind(grid, "blockIdx.x")
    sch.bind(row, plan.row_axis)
    sch.bind(thread, plan.term_axis)
    sch.vectorize(lane)
    unroll_inside(sch, step, plan)
    return grid, thread, step


def unroll_inside(sch: Schedule, loop: LoopRV, plan: Plan) -> None:
    """The compiler may write out what is in the loop, up to so many steps."""
    sch.annotate(loop, UNROLL_STEPS, plan.unroll)
    sch.annotate(loop, UNROLL_EXPLICIT, 1)


def load(sch: Schedule, block: SBlockRV, buffer: Var, at: LoopRV, width: int) -> None:
    """The block reads the buffer from registers, which vectors of so many bytes fill in a loop."""
    copy = copied(sch, block, buffer, "local")
    loop = sch.fuse(*computed_at(sch, copy, at)[-2:])
    lanes = max(1, width * 8 // buffer.dtype.bits)
    _, lane = sch.split(loop, [None, min(lanes, extent_of(sch, loop) or lanes)])
    sch.vectorize(lane)


def copied(sch: Schedule, block: SBlockRV, buffer: Var, scope: str) -> SBlockRV:
    """The block that copies what a block reads of the buffer to memory of this scope."""
    at = [r.buffer for r in sch.get(block).reads].index(buffer)
    copy: SBlockRV = sch.cache_read(block, at, scope)
    return copy


def computed_at(sch: Schedule, block: SBlockRV, at: LoopRV) -> list[LoopRV]:
    """The loops of a block within a loop, where it is computed now."""
    sch.compute_at(block, at, preserve_unit_loops=True)
    return within(sch, block, at)


def within(sch: Schedule, block: SBlockRV, at: LoopRV) -> list[LoopRV]:
    """The loops of a block inside one of its loops."""
    loops = sch.get_loops(block)
    return loops[loops.index(at) + 1 :]


def _load_vectors(
    sch: Schedule, found: VectorProduct, partial: SBlockRV, at: tuple[LoopRV, LoopRV], plan: Plan, room: int
) -> None:
    """Vectors go through shared memory where there is room; those of few terms are read directly."""
    thread, step = at
    size = sum(_bytes(v) or room + 1 for v in found.vectors)
    for vector in found.vectors:
        if plan.few:
            load(sch, partial, vector, step, 1)
        elif plan.shared and size <= room:
            _share(sch, partial, vector, thread, plan)


def _bytes(buffer: Var) -> int | None:
    total = buffer.dtype.bits
    for n in buffer.shape:
        if not isinstance(n, IntImm):
            return None
        total *= n.value
    return -(-total // 8)


def _share(sch: Schedule, block: SBlockRV, buffer: Var, at: LoopRV, plan: Plan) -> None:
    """All threads of a block of threads copy the buffer to shared memory."""
    *outer, last = computed_at(sch, copied(sch, block, buffer, "shared"), at)
    n = extent_of(sch, last)
    width = plan.shared if n is None else min(divisor(n, plan.rows * plan.threads), plan.shared)
    sizes = {plan.row_axis: plan.rows, plan.term_axis: plan.threads}
    axes = sorted(sizes, reverse=True)
    step, high, low, lane = sch.split(last, [None, *[sizes[a] for a in axes], width])
    for loop, axis in zip((high, low), axes):
        sch.bind(loop, axis)
    sch.vectorize(lane)
    sch.annotate(step, UNROLL_EXPLICIT, plan.unroll)
    sch.annotate(step, "pragma_vectorize", 1)


def _bind_sums(sch: Schedule, sums: SBlockRV, grid: LoopRV, plan: Plan) -> None:
    """Each thread adds up its sums as soon as it has them."""
    sch.reverse_compute_at(sums, grid, preserve_unit_loops=True)
    thread, lane, *rows = within(sch, sums, grid)
    row, own = sch.split(sch.fuse(*rows), [plan.rows, None])
    own, side = sch.split(own, [None, 1])
    sch.reorder(row, thread, own, side, lane)
    sch.bind(row, plan.row_axis)
    sch.bind(thread, plan.term_axis)
    sch.vectorize(side)
    unroll_inside(sch, own, plan)


def _bind_total(sch: Schedule, block: SBlockRV, grid: LoopRV, plan: Plan) -> None:
    """The threads of a row add up what each of them has."""
    sch.reverse_compute_at(block, grid, preserve_unit_loops=True)
    thread, *rows = within(sch, block, grid)
    row, own = sch.split(sch.fuse(*rows), [plan.rows, None])
    sch.reorder(own, row, thread)
    sch.bind(row, plan.row_axis)
    sch.bind(thread, plan.term_axis)


def _bind_epilogue(sch: Schedule, block: SBlockRV, epilogue: SBlockRV, grid: LoopRV, plan: Plan) -> None:
    """What is done with the results follows in the same block of threads.

    Where each result is used once its row's threads go on with it; otherwise all threads share the work.
    """
    spread = is_broadcast_epilogue(sch, block, epilogue)
    sch.reverse_compute_at(epilogue, grid, preserve_unit_loops=True)
    loop = sch.fuse(*within(sch, epilogue, grid))
    if spread:
        _, row, thread = sch.split(loop, [None, plan.rows, plan.threads])
        sch.bind(thread, plan.term_axis)
    else:
        row, _ = sch.split(loop, [plan.rows, None])
    sch.bind(row, plan.row_axis)
    sch.set_scope(block, 0, "shared" if spread else "local")

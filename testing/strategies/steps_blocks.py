"""Random steps of the primitives that move, merge and divide blocks."""

from __future__ import annotations

from hypothesis import strategies as st

from ...errors import ScheduleError
from ...schedule import LoopRV, SBlockRV, Schedule
from .steps import Draw, any_block, any_loop, any_loops, block_of, step

INDEX = st.sampled_from([-1, -1, -2, 0, 1])
INTRINSICS = st.sampled_from(["dot_4_f32", "dot_8_f32", "outer_4x4_f32", "outer_8x8_f32"])


def _pair(draw: Draw, sch: Schedule, *, consumers: bool) -> tuple[SBlockRV, LoopRV]:
    """A block and a loop of one of its consumers, or producers."""
    block = any_block(draw, sch)
    others = sch.get_consumers(block) if consumers else sch.get_producers(block)
    if not others:
        raise ScheduleError("the block has none")
    loops = sch.get_loops(draw(st.sampled_from(others)))
    if not loops:
        raise ScheduleError("no loop is around it")
    return block, draw(st.sampled_from(loops))


@step
def _compute_at(draw: Draw, sch: Schedule) -> None:
    block, loop = _pair(draw, sch, consumers=True)
    sch.compute_at(block, loop, preserve_unit_loops=draw(st.booleans()), index=draw(INDEX))


@step
def _reverse_compute_at(draw: Draw, sch: Schedule) -> None:
    block, loop = _pair(draw, sch, consumers=False)
    sch.reverse_compute_at(block, loop, preserve_unit_loops=draw(st.booleans()), index=draw(INDEX))


@step
def _compute_inline(draw: Draw, sch: Schedule) -> None:
    sch.compute_inline(any_block(draw, sch))


@step
def _reverse_compute_inline(draw: Draw, sch: Schedule) -> None:
    sch.reverse_compute_inline(any_block(draw, sch))


def _reduction(draw: Draw, sch: Schedule) -> SBlockRV:
    """A block with an initialiser."""
    for _ in range(3):
        block = any_block(draw, sch)
        if block_of(sch, block).init is not None:
            return block
    raise ScheduleError("no reduction was found")


@step
def _decompose_reduction(draw: Draw, sch: Schedule) -> None:
    block = _reduction(draw, sch)
    loops = sch.get_loops(block)
    if not loops:
        raise ScheduleError("no loop is around it")
    sch.decompose_reduction(block, draw(st.sampled_from(loops)))


@step
def _rfactor(draw: Draw, sch: Schedule) -> None:
    block = _reduction(draw, sch)
    loops = sch.get_loops(block)
    if not loops:
        raise ScheduleError("no loop is around it")
    sch.rfactor(draw(st.sampled_from(loops)), draw(st.integers(-2, 2)))


@step
def _blockize(draw: Draw, sch: Schedule) -> None:
    unit = draw(st.booleans())
    if draw(st.integers(0, 3)):
        sch.blockize(any_loop(draw, sch), preserve_unit_iters=unit)
    else:
        blocks = [any_block(draw, sch) for _ in range(draw(st.integers(1, 2)))]
        sch.blockize(blocks, preserve_unit_iters=unit)


@step
def _tensorize(draw: Draw, sch: Schedule) -> None:
    sch.tensorize(any_loops(draw, sch)[-1], draw(INTRINSICS), preserve_unit_iters=draw(st.booleans()))


@step
def _decompose_padding(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    loops = sch.get_loops(block)
    if not loops:
        raise ScheduleError("no loop is around it")
    sch.decompose_padding(block, draw(st.sampled_from(loops)))


@step
def _pad_einsum(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    count = len(block_of(sch, block).iter_vars)
    sizes = st.sampled_from([1, 2, 3, 4])
    sch.pad_einsum(block, draw(st.lists(sizes, min_size=count, max_size=count)))


@step
def _fuse_reduction_epilogue(draw: Draw, sch: Schedule) -> None:
    block = _reduction(draw, sch)
    consumers = sch.get_consumers(block)
    if not consumers:
        raise ScheduleError("the block has no consumer")
    sch.fuse_reduction_epilogue(block, draw(st.sampled_from(consumers)))


@step
def _rolling_buffer(draw: Draw, sch: Schedule) -> None:
    sch.rolling_buffer(any_block(draw, sch), 0)

"""Random steps of schedules: for each primitive a function that draws arguments and calls it.

`STEPS` is open: `@step` adds a primitive.  What is refused raises ScheduleError as always.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from ...errors import ScheduleError
from ...ir import For, SBlock, structural_equal
from ...ir.stmt import BlockRef, SBlockRealize
from ...schedule import LoopRV, SBlockRV, Schedule

Draw = Callable[[Any], Any]
Step = Callable[[Draw, Schedule], None]
STEPS: dict[str, Step] = {}
"""Steps by the name of the primitive that they call."""

SIZES = st.sampled_from([1, 2, 3, 4])


def factors(draw: Draw, most: int = 3) -> list[int | None]:
    """Factors or lengths, mostly with one None among them."""
    found: list[int | None] = list(draw(st.lists(SIZES, min_size=1, max_size=most)))
    if draw(st.integers(0, 3)):
        found[draw(st.integers(0, len(found) - 1))] = None
    return found


def step(function: Step) -> Step:
    """Register a step: the function is called as the primitive is, with an underscore in front."""
    STEPS[function.__name__.removeprefix("_")] = function
    return function


def named_blocks(sch: Schedule) -> list[tuple[str, BlockRef]]:
    """The blocks whose name is theirs alone, the root left out."""
    found: dict[str, list[BlockRef]] = {}
    for one, place in sch.state.places.items():
        if isinstance(place.node, SBlockRealize) and isinstance(one, BlockRef) and place.parent is not None:
            found.setdefault(place.node.block.name_hint, []).append(one)
    return [(name, refs[0]) for name, refs in sorted(found.items()) if len(refs) == 1]


def any_block(draw: Draw, sch: Schedule) -> SBlockRV:
    """A block of the module, found by name (so that the trace knows it); not the root.

    Raises ScheduleError where all names are shared.
    """
    names = [name for name, _ in named_blocks(sch)]
    if not names:
        raise ScheduleError("no block has a name of its own")
    block = sch.get_sblock(draw(st.sampled_from(names)))
    assert isinstance(block, SBlockRV)
    return block


def any_loops(draw: Draw, sch: Schedule) -> list[LoopRV]:
    """The loops around a block, outer ones first. Raises ScheduleError where there are none."""
    loops: list[LoopRV] = sch.get_loops(any_block(draw, sch))
    if not loops:
        raise ScheduleError("the block stands in no loop")
    return loops


def any_loop(draw: Draw, sch: Schedule) -> LoopRV:
    """One of the loops."""
    loop = draw(st.sampled_from(any_loops(draw, sch)))
    assert isinstance(loop, LoopRV)
    return loop


def block_of(sch: Schedule, block: SBlockRV) -> SBlock:
    """The block itself."""
    found = sch.get(block)
    assert isinstance(found, SBlock)
    return found


@step
def _split(draw: Draw, sch: Schedule) -> None:
    keep = draw(st.booleans())
    sch.split(any_loop(draw, sch), factors(draw), preserve_unit_iters=keep)


@step
def _split_without_predicate(draw: Draw, sch: Schedule) -> None:
    loop = any_loop(draw, sch)
    extent = sch.get(loop).extent
    inner = draw(st.sampled_from([d for d in (1, 2, 3, 4) if getattr(extent, "value", 1) % d == 0]))
    sch.split(loop, [None, inner], disable_predication=True)


@step
def _fuse(draw: Draw, sch: Schedule) -> None:
    loops = any_loops(draw, sch)
    first = draw(st.integers(0, len(loops) - 1))
    last = draw(st.integers(first, len(loops) - 1))
    sch.fuse(*loops[first : last + 1], preserve_unit_iters=draw(st.booleans()))


@step
def _reorder(draw: Draw, sch: Schedule) -> None:
    loops = any_loops(draw, sch)
    sch.reorder(*draw(st.lists(st.sampled_from(loops), min_size=min(2, len(loops)), max_size=4, unique=True)))


@step
def _reorder_block_iter_var(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    sch.reorder_block_iter_var(block, draw(st.permutations(range(len(block_of(sch, block).iter_vars)))))


@step
def _add_unit_loop(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    sch.add_unit_loop(draw(st.sampled_from([block, *sch.get_loops(block)])))


@step
def _loop_partition(draw: Draw, sch: Schedule) -> None:
    sch.loop_partition(any_loop(draw, sch), factors(draw, 2), preserve_unit_iters=draw(st.booleans()))


@step
def _merge(draw: Draw, sch: Schedule) -> None:
    nests = [(name, sch.state.loops(ref)) for name, ref in named_blocks(sch)]
    pairs = [
        (a, b, depth)
        for a, outer in nests
        for b, other in nests
        for depth, (x, y) in enumerate(zip(outer, other))
        if x is not y and not x.annotations and not y.annotations and structural_equal(x.extent, y.extent)
    ]
    if not pairs:
        raise ScheduleError("there are no two loops alike")
    first, second, depth = draw(st.sampled_from(pairs))
    sch.merge(sch.get_loops(first)[depth], sch.get_loops(second)[depth])


@step
def _parallel(draw: Draw, sch: Schedule) -> None:
    sch.parallel(any_loop(draw, sch))


@step
def _vectorize(draw: Draw, sch: Schedule) -> None:
    sch.vectorize(any_loop(draw, sch))


@step
def _unroll(draw: Draw, sch: Schedule) -> None:
    sch.unroll(any_loop(draw, sch))


@step
def _bind(draw: Draw, sch: Schedule) -> None:
    sch.bind(any_loop(draw, sch), draw(st.sampled_from(["threadIdx.x", "blockIdx.x", "vthread.x"])))


@step
def _annotate(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    sch.annotate(draw(st.sampled_from([block, *sch.get_loops(block)])), "note", draw(st.integers(0, 3)))


def annotated(sch: Schedule, ref: BlockRef) -> list[SBlock | For]:
    """The block and the loops around it: what can carry annotations."""
    return [sch.state.block(ref), *sch.state.loops(ref)]


@step
def _unannotate(draw: Draw, sch: Schedule) -> None:
    noted = [
        (name, depth)
        for name, ref in named_blocks(sch)
        for depth, node in enumerate(annotated(sch, ref))
        if "note" in node.annotations
    ]
    if not noted:
        raise ScheduleError("nothing is annotated")
    name, depth = draw(st.sampled_from(noted))
    sch.unannotate(sch.get_loops(name)[depth - 1] if depth else sch.get_sblock(name), "note")


@step
def _sample_perfect_tile(draw: Draw, sch: Schedule) -> None:
    loop = any_loop(draw, sch)
    sch.split(loop, sch.sample_perfect_tile(loop, draw(st.integers(1, 3)), 4))


@step
def _sample_partitioned_tile(draw: Draw, sch: Schedule) -> None:
    loop = any_loop(draw, sch)
    sch.split(loop, sch.sample_partitioned_tile(loop, 2, draw(st.integers(0, 2)), draw(st.integers(1, 2))))


@step
def _sample_categorical(draw: Draw, sch: Schedule) -> None:
    sch.annotate(any_loop(draw, sch), "choice", sch.sample_categorical([1, 2, 4], [0.5, 0.25, 0.25]))


@step
def _sample_compute_location(draw: Draw, sch: Schedule) -> None:
    sch.sample_compute_location(any_block(draw, sch))


def steps(only: tuple[str, ...] = ()) -> st.SearchStrategy[Step]:
    """A step of any primitive, or of these."""
    return st.sampled_from([STEPS[name] for name in only or sorted(STEPS)])

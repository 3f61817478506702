"""Random steps of the primitives of loops."""

from __future__ import annotations

from hypothesis import strategies as st

from ...ir import IntImm, structural_equal
from ...schedule import Schedule
from .steps import Draw, any_loop, any_loops, any_target, handle, pick, plain, step, targets

SIZES = st.sampled_from([1, 2, 3, 4])


def _factors(draw: Draw, option: str, most: int = 3) -> list[int | None]:
    """Factors or lengths, one of them None in options other than "numbers"."""
    found: list[int | None] = list(draw(st.lists(SIZES, min_size=1, max_size=most)))
    if option != "numbers":
        found[draw(st.integers(0, len(found) - 1))] = None
    return found


@step("numbers", "inferred", "no_unit_iters", "no_predicate")
def _split(draw: Draw, sch: Schedule, option: str) -> None:
    loop = any_loop(draw, sch, plain)
    if option == "no_predicate":  # the factors must divide the extent, then: the user answers for it
        extent = sch.get(loop).extent
        inner = draw(st.sampled_from([d for d in (1, 2, 3, 4) if getattr(extent, "value", 1) % d == 0]))
        sch.split(loop, [None, inner], disable_predication=True)
    else:
        sch.split(loop, _factors(draw, option), preserve_unit_iters=option != "no_unit_iters")


@step("unit_iters", "no_unit_iters")
def _fuse(draw: Draw, sch: Schedule, option: str) -> None:
    loops = any_loops(draw, sch)
    first = draw(st.integers(0, len(loops) - 1))
    last = draw(st.integers(first, len(loops) - 1))
    sch.fuse(*loops[first : last + 1], preserve_unit_iters=option == "unit_iters")


@step()
def _reorder(draw: Draw, sch: Schedule) -> None:
    loops = any_loops(draw, sch)
    sch.reorder(*draw(st.lists(st.sampled_from(loops), min_size=min(2, len(loops)), max_size=4, unique=True)))


@step("numbers", "inferred", "no_unit_iters")
def _loop_partition(draw: Draw, sch: Schedule, option: str) -> None:
    loop = any_loop(draw, sch, plain)
    sch.loop_partition(loop, _factors(draw, option, 2), preserve_unit_iters=option != "no_unit_iters")


@step("two", "three")
def _merge(draw: Draw, sch: Schedule, option: str) -> None:
    nests = [(name, child.loops) for name, child in targets(sch)]
    found: list[tuple[int, list[str]]] = []
    for name, loops in nests:
        for depth, loop in enumerate(loops):
            alike = [
                other
                for other, rows in nests
                if len(rows) > depth and rows[depth] is not loop and plain(rows[depth])
                if structural_equal(rows[depth].extent, loop.extent)
            ]
            if plain(loop) and len(alike) >= (1 if option == "two" else 2):
                found.append((depth, [name, *alike]))
    depth, names = pick(draw, found, "loops alike")
    count = 2 if option == "two" else 3
    chosen = draw(st.lists(st.sampled_from(names), min_size=count, max_size=count, unique=True))
    sch.merge(*[sch.get_loops(handle(sch, name))[depth] for name in chosen])


@step("loop", "block")
def _add_unit_loop(draw: Draw, sch: Schedule, option: str) -> None:
    sch.add_unit_loop(any_loop(draw, sch) if option == "loop" else handle(sch, any_target(draw, sch)[0]))


@step()
def _parallel(draw: Draw, sch: Schedule) -> None:
    sch.parallel(any_loop(draw, sch))


@step()
def _vectorize(draw: Draw, sch: Schedule) -> None:
    sch.vectorize(any_loop(draw, sch))


@step()
def _unroll(draw: Draw, sch: Schedule) -> None:
    sch.unroll(any_loop(draw, sch))


@step("blockIdx", "threadIdx", "vthread")
def _bind(draw: Draw, sch: Schedule, option: str) -> None:
    sch.bind(any_loop(draw, sch), f"{option}.{draw(st.sampled_from('xyz'))}")


@step("drawn", "decision")
def _sample_perfect_tile(draw: Draw, sch: Schedule, option: str) -> None:
    loop = any_loop(draw, sch, plain)
    n = draw(st.integers(1, 3))
    decision = draw(st.lists(SIZES, min_size=n, max_size=n)) if option == "decision" else None
    most = draw(st.sampled_from([-1, 1, 2, 4, 16]))
    sch.split(loop, sch.sample_perfect_tile(loop, n, most, decision))


@step("drawn", "decision")
def _sample_partitioned_tile(draw: Draw, sch: Schedule, option: str) -> None:
    loop = any_loop(draw, sch, lambda lp: plain(lp) and isinstance(lp.extent, IntImm))
    n = draw(st.integers(1, 3))
    decision = draw(st.lists(SIZES, min_size=n, max_size=n)) if option == "decision" else None
    position, factor = draw(st.integers(0, n)), draw(st.integers(1, 2))
    sch.split(loop, sch.sample_partitioned_tile(loop, n, position, factor, decision))

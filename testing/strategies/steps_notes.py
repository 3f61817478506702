"""Random steps of the primitives that look, choose and annotate."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ...ir import substitute
from ...schedule import LoopRV, SBlockRV, Schedule
from .steps import (
    Draw,
    Target,
    any_block,
    any_loop,
    any_target,
    handle,
    inside,
    pick,
    region_index,
    step,
    targets,
)

_VALUES = st.recursive(
    st.integers(0, 3) | st.sampled_from([0.5, "text"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=3,
)


def _on(draw: Draw, sch: Schedule, option: str) -> LoopRV | SBlockRV:
    return any_loop(draw, sch) if option == "loop" else any_block(draw, sch)


@step("loop", "block")
def _annotate(draw: Draw, sch: Schedule, option: str) -> None:
    sch.annotate(_on(draw, sch, option), draw(st.sampled_from(["note", "other"])), draw(_VALUES))


@step("loop", "block")
def _unannotate(draw: Draw, sch: Schedule, option: str) -> None:
    rows: list[tuple[str, int | None, str]] = []
    for name, child in targets(sch):
        if option == "block":
            rows += [(name, None, key) for key in child.block.annotations]
        else:
            rows += [(name, k, key) for k, lp in enumerate(child.loops) for key in lp.annotations]
    name, depth, key = pick(draw, rows, "annotation")
    block = handle(sch, name)
    sch.unannotate(block if depth is None else sch.get_loops(block)[depth], key)


@step("drawn", "decision")
def _sample_categorical(draw: Draw, sch: Schedule, option: str) -> None:
    decision = draw(st.integers(0, 2)) if option == "decision" else None
    sch.annotate(
        any_loop(draw, sch), "choice", sch.sample_categorical([1, 2, 4], [0.5, 0.25, 0.25], decision)
    )


@step("drawn", "decision")
def _sample_compute_location(draw: Draw, sch: Schedule, option: str) -> None:
    decision = draw(st.integers(-2, 3)) if option == "decision" else None
    sch.sample_compute_location(any_block(draw, sch), decision)


@step()
def _get_sblock(draw: Draw, sch: Schedule) -> None:
    any_block(draw, sch)


@step()
def _get_loops(draw: Draw, sch: Schedule) -> None:
    sch.get_loops(any_block(draw, sch))


@step("loop", "block")
def _get_child_blocks(draw: Draw, sch: Schedule, option: str) -> None:
    sch.get_child_blocks(_on(draw, sch, option))


@step()
def _get_producers(draw: Draw, sch: Schedule) -> None:
    sch.get_producers(any_block(draw, sch))


@step()
def _get_consumers(draw: Draw, sch: Schedule) -> None:
    sch.get_consumers(any_block(draw, sch))


@step()
def _get_output_blocks(draw: Draw, sch: Schedule) -> None:
    sch.get_output_blocks(sch.get_sblock("root"))


@step()
def _enter_postproc(draw: Draw, sch: Schedule) -> None:
    sch.enter_postproc()


@step("read", "write")
def _annotate_buffer_access(draw: Draw, sch: Schedule, option: str) -> None:
    """The region of an access stated as it is."""
    name, child = any_target(draw, sch)
    index = region_index(draw, child.block, option)
    region = (child.block.reads if option == "read" else child.block.writes)[index].region
    axes = [a.var for a in child.block.iter_vars]

    def ranges(*own: Any) -> list[Any]:
        table = dict(zip(axes, own))
        ends = [(substitute(r.min, table), substitute(r.extent, table)) for r in region]
        return [(low, low + extent) for low, extent in ends]

    sch.annotate_buffer_access(handle(sch, name), index, option, ranges)


@step("read", "write", last=True)
def _unsafe_hide_buffer_access(draw: Draw, sch: Schedule, option: str) -> None:
    """The last step: what a block no longer tells cannot be kept."""
    name, child = any_target(draw, sch)
    sch.unsafe_hide_buffer_access(handle(sch, name), option, [region_index(draw, child.block, option)])


@step()
def _unsafe_set_dtype(draw: Draw, sch: Schedule) -> None:
    """A wider type, which keeps results."""
    wider = {"int16": "int32", "int32": "int64", "float32": "float64"}
    rows: list[tuple[Target, int, str]] = []
    for target in targets(sch):
        for k, region in enumerate(target[1].block.writes):
            dtype = str(region.buffer.dtype)
            if inside(sch, region) and dtype in wider:
                rows.append((target, k, wider[dtype]))
    (name, _), index, dtype = pick(draw, rows, "buffer to widen")
    sch.unsafe_set_dtype(handle(sch, name), index, dtype)

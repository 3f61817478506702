"""Random steps of the primitives that copy data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from ...ir import BufferLoad, IntImm, SBlock, Var, walk
from ...ir.analysis.blocks import ChildBlock
from ...schedule import SBlockRV, Schedule
from .steps import (
    Draw,
    any_block,
    any_target,
    block_where,
    handle,
    loop_where,
    named_as,
    pick,
    region_index,
    step,
)

SCOPES = st.sampled_from(["global", "shared", "local"])


@step("index", "name", "object", "consumers")
def _cache_read(draw: Draw, sch: Schedule, option: str) -> None:
    name, child = block_where(draw, sch, lambda c: bool(c.block.reads))
    index = region_index(draw, child.block, "read")
    block = handle(sch, name)
    consumers: list[SBlockRV] | None = None
    if option == "consumers":
        consumers = [block]
        if draw(st.booleans()):
            consumers.append(any_block(draw, sch))
    sch.cache_read(block, named_as(option, child.block, "read", index), draw(SCOPES), consumers)


@step("index", "name", "object", "consumers")
def _cache_write(draw: Draw, sch: Schedule, option: str) -> None:
    def fits(child: ChildBlock) -> bool:
        return option != "consumers" or bool(sch.state.scope_around(child.ref).consumers(child.ref))

    name, child = block_where(draw, sch, fits)
    index = region_index(draw, child.block, "write")
    block = handle(sch, name)
    consumers: list[SBlockRV] | None = None
    if option == "consumers":
        found = sch.get_consumers(block)
        consumers = [pick(draw, found, "consumer")]
    sch.cache_write(block, named_as(option, child.block, "write", index), draw(SCOPES), consumers)


def _in_place(block: SBlock) -> list[int]:
    """The positions of the buffers that the block both reads and writes."""
    written = {w.buffer for w in block.writes}
    return [k for k, r in enumerate(block.reads) if r.buffer in written]


@step("index", "name", "object")
def _cache_inplace(draw: Draw, sch: Schedule, option: str) -> None:
    name, child = block_where(draw, sch, lambda c: bool(_in_place(c.block)))
    rows = _in_place(child.block) or list(range(len(child.block.reads)))
    buffer = named_as(option, child.block, "read", pick(draw, rows, "buffer that is read"))
    sch.cache_inplace(handle(sch, name), buffer, draw(SCOPES))


def _computes_indices(child: ChildBlock) -> bool:
    loads = [n for n in walk(child.block.body) if isinstance(n, BufferLoad)]
    return any(not isinstance(i, Var | IntImm) for load in loads for i in load.indices)


@step("every", "common")
def _cache_index(draw: Draw, sch: Schedule, option: str) -> None:
    name, _ = block_where(draw, sch, _computes_indices)
    sch.cache_index(handle(sch, name), draw(SCOPES), draw(st.integers(0, 1)) if option == "every" else 2)


@step("read", "write", "name", "object")
def _reindex(draw: Draw, sch: Schedule, option: str) -> None:
    name, child = any_target(draw, sch)
    mode = option if option in ("read", "write") else draw(st.sampled_from(["read", "write"]))
    index = region_index(draw, child.block, mode)
    given: Any = (mode, index) if option == mode else named_as(option, child.block, mode, index)
    sch.reindex(handle(sch, name), given)


def _axes_map(draw: Draw, block: SBlock, *, reduced: bool) -> Callable[..., Any]:
    """A map of the axes to indices: the axes in some order, one of them perhaps in two parts."""
    usable = [k for k, a in enumerate(block.iter_vars) if reduced or a.iter_type == 0]
    order = draw(st.permutations(usable))
    divided = draw(st.sampled_from([None, *order]))

    def indices(*axes: Any) -> list[Any]:
        found: list[Any] = []
        for k in order:
            found += [axes[k] // 2, axes[k] % 2] if k == divided else [axes[k]]
        return found

    return indices


@step("index", "name", "object")
def _reindex_cache_read(draw: Draw, sch: Schedule, option: str) -> None:
    name, child = any_target(draw, sch)
    index = region_index(draw, child.block, "read")
    buffer = named_as(option, child.block, "read", index)
    sch.reindex_cache_read(
        handle(sch, name), buffer, draw(SCOPES), _axes_map(draw, child.block, reduced=True)
    )


@step("index", "name", "object")
def _reindex_cache_write(draw: Draw, sch: Schedule, option: str) -> None:
    name, child = any_target(draw, sch)
    index = region_index(draw, child.block, "write")
    buffer = named_as(option, child.block, "write", index)
    sch.reindex_cache_write(
        handle(sch, name), buffer, draw(SCOPES), _axes_map(draw, child.block, reduced=False)
    )


@step("index", "name", "object")
def _read_at(draw: Draw, sch: Schedule, option: str) -> None:
    target = name, child = block_where(draw, sch, lambda c: bool(c.loops and c.block.reads))
    index = region_index(draw, child.block, "read")
    loop = loop_where(draw, sch, target, lambda lp: True)
    sch.read_at(loop, handle(sch, name), named_as(option, child.block, "read", index), draw(SCOPES))


@step("index", "name", "object")
def _write_at(draw: Draw, sch: Schedule, option: str) -> None:
    target = name, child = block_where(draw, sch, lambda c: bool(c.loops and c.block.writes))
    index = region_index(draw, child.block, "write")
    loop = loop_where(draw, sch, target, lambda lp: True)
    sch.write_at(loop, handle(sch, name), named_as(option, child.block, "write", index), draw(SCOPES))

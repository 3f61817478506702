"""Random steps of the primitives that move and lay out data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from ...errors import ScheduleError
from ...ir import BufferType, IntImm, PrimFunc, SBlock, Var, free_vars, substitute
from ...schedule import SBlockRV, Schedule
from .steps import Draw, any_block, block_of, step

SCOPES = st.sampled_from(["global", "shared", "local"])


def _index(draw: Draw, block: SBlock, mode: str) -> int:
    """The position of a buffer that the block reads or writes."""
    found = block.reads if mode == "read" else block.writes
    if not found:
        raise ScheduleError(f"the block {mode}s nothing")
    at = draw(st.integers(0, len(found) - 1))
    assert isinstance(at, int)
    return at


def _some(draw: Draw, blocks: list[SBlockRV]) -> list[SBlockRV] | None:
    """Some of the blocks, mostly none given."""
    if not blocks or draw(st.booleans()):
        return None
    found: list[SBlockRV] = draw(st.lists(st.sampled_from(blocks), min_size=1, max_size=2, unique=True))
    return found


@step
def _cache_read(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    index = _index(draw, block_of(sch, block), "read")
    sch.cache_read(block, index, draw(SCOPES), _some(draw, [block]))


@step
def _cache_write(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    index = _index(draw, block_of(sch, block), "write")
    consumers = sch.get_consumers(block) if draw(st.booleans()) else []
    sch.cache_write(block, index, draw(SCOPES), _some(draw, consumers))


@step
def _cache_inplace(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    sch.cache_inplace(block, _index(draw, block_of(sch, block), "read"), draw(SCOPES))


@step
def _cache_index(draw: Draw, sch: Schedule) -> None:
    sch.cache_index(any_block(draw, sch), draw(SCOPES), draw(st.integers(0, 3)))


@step
def _reindex(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    mode = draw(st.sampled_from(["read", "write"]))
    sch.reindex(block, (mode, _index(draw, block_of(sch, block), mode)))


def _axes_map(draw: Draw, block: SBlock, reduced: bool) -> Callable[..., Any]:
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


@step
def _reindex_cache_read(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    node = block_of(sch, block)
    sch.reindex_cache_read(block, _index(draw, node, "read"), draw(SCOPES), _axes_map(draw, node, True))


@step
def _reindex_cache_write(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    node = block_of(sch, block)
    sch.reindex_cache_write(block, _index(draw, node, "write"), draw(SCOPES), _axes_map(draw, node, False))


def _loop_around(draw: Draw, sch: Schedule, block: SBlockRV) -> Any:
    loops = sch.get_loops(block)
    if not loops:
        raise ScheduleError("the block stands in no loop")
    return draw(st.sampled_from(loops))


@step
def _read_at(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    index = _index(draw, block_of(sch, block), "read")
    sch.read_at(_loop_around(draw, sch, block), block, index, draw(SCOPES))


@step
def _write_at(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    index = _index(draw, block_of(sch, block), "write")
    sch.write_at(_loop_around(draw, sch, block), block, index, draw(SCOPES))


@step
def _set_scope(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    sch.set_scope(block, _index(draw, block_of(sch, block), "write"), draw(SCOPES))


@step
def _storage_align(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    index = _index(draw, block_of(sch, block), "write")
    sch.storage_align(
        block, index, draw(st.integers(-2, 1)), draw(st.sampled_from([4, 8])), draw(st.integers(0, 3))
    )


def _accesses(sch: Schedule, block: SBlock) -> list[tuple[str, int, Var]]:
    """The accesses of buffers that are allocated inside the function."""
    func = sch.mod["main"]
    assert isinstance(func, PrimFunc)
    outside = func.params
    found = [("read", k, r.buffer) for k, r in enumerate(block.reads)]
    found += [("write", k, r.buffer) for k, r in enumerate(block.writes)]
    return [row for row in found if row[2] not in outside]


@step
def _transform_layout(draw: Draw, sch: Schedule) -> None:
    """Only buffers inside the function: a parameter would change what the function takes."""
    block = any_block(draw, sch)
    inside = _accesses(sch, block_of(sch, block))
    if not inside:
        raise ScheduleError("the block accesses parameters only")
    mode, index, buffer = draw(st.sampled_from(inside))
    assert isinstance(buffer.ty, BufferType)
    rank = len(buffer.ty.shape)
    order = draw(st.permutations(range(rank)))
    divided = draw(st.sampled_from([None, *order]))
    factor = draw(st.sampled_from([1, 2, 3]))

    def indices(*axes: Any) -> list[Any]:
        found: list[Any] = []
        for k in order:
            found += [axes[k] // factor, axes[k] % factor] if k == divided else [axes[k]]
        return found

    pad = draw(st.sampled_from([None, 0.0, 5.0])) if buffer.dtype.is_float else None
    sch.transform_layout(block, (mode, index), indices, pad)


@step
def _transform_block_layout(draw: Draw, sch: Schedule) -> None:
    block = any_block(draw, sch)
    node = block_of(sch, block)
    count = len(node.iter_vars)
    order = draw(st.permutations(range(count)))
    extents = [a.dom.extent if a.dom is not None else None for a in node.iter_vars]
    fused = draw(st.booleans()) and count >= 2

    def indices(*axes: Any) -> list[Any]:
        if not fused:
            return [axes[k] for k in order]
        first, second, *rest = order
        size = extents[second]
        if not isinstance(size, IntImm):
            raise ScheduleError("a size that is no number")
        return [axes[first] * size.value + axes[second], *[axes[k] for k in rest]]

    sch.transform_block_layout(block, indices)


@step
def _annotate_buffer_access(draw: Draw, sch: Schedule) -> None:
    """The region of a read stated as it is."""
    block = any_block(draw, sch)
    node = block_of(sch, block)
    index = _index(draw, node, "read")
    axes = [a.var for a in node.iter_vars]
    region = node.reads[index].region
    if [v for r in region for v in free_vars(r) if v not in axes]:
        raise ScheduleError("a region of sizes that are no numbers")

    def ranges(*own: Any) -> list[Any]:
        table = dict(zip(axes, own))
        ends = [(substitute(r.min, table), substitute(r.extent, table)) for r in region]
        return [(low, low + extent) for low, extent in ends]

    sch.annotate_buffer_access(block, index, "read", ranges)

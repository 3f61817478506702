"""Random steps of the primitives that lay out data and the axes of blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from ...errors import ScheduleError
from ...ir import BufferType, IndexMap, IntImm, PrimType, Var, as_expr
from ...ir.analysis.blocks import ChildBlock
from ...schedule import Schedule
from .steps import (
    Draw,
    any_target,
    block_where,
    handle,
    inside,
    named_as,
    pick,
    region_index,
    step,
)
from .steps_data import SCOPES

Map = Callable[..., list[Any]]


def _allocated(sch: Schedule, mode: str) -> Callable[[ChildBlock], bool]:
    """Whether a block accesses a buffer that is allocated in the function."""

    def test(child: ChildBlock) -> bool:
        return any(inside(sch, r) for r in (child.block.reads if mode == "read" else child.block.writes))

    return test


@step("index", "name", "object")
def _set_scope(draw: Draw, sch: Schedule, option: str) -> None:
    name, child = block_where(draw, sch, _allocated(sch, "write"))
    index = region_index(draw, child.block, "write")
    sch.set_scope(handle(sch, name), named_as(option, child.block, "write", index), draw(SCOPES))


@step("index", "name", "object")
def _storage_align(draw: Draw, sch: Schedule, option: str) -> None:
    name, child = block_where(draw, sch, _allocated(sch, "write"))
    buffer = named_as(option, child.block, "write", region_index(draw, child.block, "write"))
    axis, factor = draw(st.integers(-2, 1)), draw(st.sampled_from([4, 8]))
    sch.storage_align(handle(sch, name), buffer, axis, factor, draw(st.integers(0, 3)))


def _layout(draw: Draw, buffer: Var, *, exact: bool) -> Map:
    """The indices in some order, one of them perhaps in two parts; with `exact`, parts that leave no rest."""
    assert isinstance(buffer.ty, BufferType)
    shape = buffer.ty.shape
    order = draw(st.permutations(range(len(shape))))
    divided = draw(st.sampled_from([None, *order])) if exact else draw(st.sampled_from(order or [None]))
    sizes = [2, 3, 4]
    if exact and divided is not None:
        extent = shape[divided]
        sizes = [d for d in (1, 2, 3, 4) if isinstance(extent, IntImm) and extent.value % d == 0] or [1]
    factor = draw(st.sampled_from(sizes))

    def indices(*axes: Any) -> list[Any]:
        found: list[Any] = []
        for k in order:
            found += [axes[k] // factor, axes[k] % factor] if k == divided else [axes[k]]
        return found

    return indices


@step("read", "write", "name", "object", "index_map", "injective", "pad_value", "pad_map")
def _transform_layout(draw: Draw, sch: Schedule, option: str) -> None:
    """Only buffers inside the function: a parameter would change what the function takes."""
    mode = option if option in ("read", "write") else draw(st.sampled_from(["read", "write"]))
    name, child = block_where(draw, sch, _allocated(sch, mode))
    regions = child.block.reads if mode == "read" else child.block.writes
    index = pick(draw, [k for k, r in enumerate(regions) if inside(sch, r)], "buffer inside the function")
    buffer = regions[index].buffer
    named = option in ("name", "object")
    given: Any = named_as(option, child.block, mode, index) if named else (mode, index)
    padded = option in ("pad_value", "pad_map")
    exact = not padded and bool(draw(st.integers(0, 3)))
    function = _layout(draw, buffer, exact=exact)
    made: Map | IndexMap = function
    if option == "index_map" and isinstance(buffer.ty, BufferType):
        axes = [Var(f"x{k}", PrimType("int32")) for k in range(len(buffer.ty.shape))]
        made = IndexMap(axes, [as_expr(e) for e in function(*axes)])
    value: Any = 5.0 if buffer.dtype.is_float else 5

    def by_place(*axes: Any) -> Any:
        return (axes[0] % 3).astype(buffer.dtype)

    pad = value if option == "pad_value" else by_place if option == "pad_map" else None
    sch.transform_layout(
        handle(sch, name), given, made, pad, assume_injective_transform=option == "injective"
    )


@step("permuted", "fused", "divided")
def _transform_block_layout(draw: Draw, sch: Schedule, option: str) -> None:
    name, child = any_target(draw, sch)
    extents = [a.dom.extent if a.dom is not None else None for a in child.block.iter_vars]
    order = draw(st.permutations(range(len(extents))))
    numbers = [e.value if isinstance(e, IntImm) else None for e in extents]
    if option == "fused" and len(order) < 2:
        raise ScheduleError("the block has less than two axes")
    size: Any = numbers[order[1]] if option == "fused" else numbers[order[0]] if order else None
    if option != "permuted" and size is None:
        raise ScheduleError("a size that is no number")

    def indices(*axes: Any) -> list[Any]:
        rows = [axes[k] for k in order]
        if option == "fused":
            return [rows[0] * size + rows[1], *rows[2:]]
        if option == "divided":
            factor = 2 if size % 2 == 0 else 1
            return [rows[0] // factor, rows[0] % factor, *rows[1:]]
        return rows

    sch.transform_block_layout(handle(sch, name), indices)


@step()
def _reorder_block_iter_var(draw: Draw, sch: Schedule) -> None:
    name, child = any_target(draw, sch)
    order = draw(st.permutations(range(len(child.block.iter_vars))))
    sch.reorder_block_iter_var(handle(sch, name), order)

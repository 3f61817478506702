"""What a block is said to access: hiding regions, and stating them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir import BufferRegion, Expr, IndexMap, Range, SBlock, Sub, Var, as_expr
from ...ir.arith import Analyzer
from ...ir.visitor import substitute
from ..buffers import buffer_at, buffer_type, index_of, one_type, regions
from ..handles import SBlockRV
from ..index_maps import with_names
from ..refusal import Refused, refuse
from ..registry import primitive
from ..state import State

_MODES = ("read", "write")


def _mode(given: Any, node: SBlock) -> str:
    if given not in _MODES:
        raise refuse("buffer-index", f'an access is "read" or "write", not {given!r}', node)
    return str(given)


@primitive(inputs=("block", "buf_type", "buf_index_array"))
def unsafe_hide_buffer_access(
    state: State, block: SBlockRV, buf_type: str, buf_index_array: Sequence[int]
) -> State:
    """Take regions out of what a block is said to read or write: later steps do not see these accesses.

    Every handle is kept.

    before:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    steps:
        sch.unsafe_hide_buffer_access("B", "read", [0])
    after:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                T.reads()
                T.writes(B[vi])
                B[vi] = A[vi] + 1.0
    """
    node = state.block(block)
    mode = _mode(buf_type, node)
    if not isinstance(buf_index_array, list | tuple):
        raise refuse("buffer-index", f"the positions are a list, not {buf_index_array!r}", node)
    for index in buf_index_array:
        buffer_at(state, block, index, mode)
    kept = [r for k, r in enumerate(regions(node, mode)) if k not in buf_index_array]
    made = node.replace(reads=kept) if mode == "read" else node.replace(writes=kept)
    return state.replace_block(block, made)


def _prepare_ranges(state: State, arguments: dict[str, Any]) -> dict[str, Any]:
    """The buffer as a position, the ranges as an index map that gives begin and end of each dimension."""
    node = state.block(arguments["block"])
    mode = _mode(arguments["buf_type"], node)
    index = index_of(state, arguments["block"], arguments["buffer_index"], mode)
    ranges = arguments["gen_new_ranges"]
    buffer = buffer_at(state, arguments["block"], index, mode)
    if isinstance(ranges, IndexMap):
        sizes = [*[a.var for a in node.iter_vars], *buffer_type(buffer).shape]
        ranges = ranges.with_dtype(sizes[0].dtype if sizes else "int32")
    else:
        ranges = _map_of_ranges(ranges, node, buffer)
    ranges = with_names(ranges, state, arguments["block"])
    return {**arguments, "buffer_index": index, "gen_new_ranges": ranges}


def _map_of_ranges(function: Callable[..., Any], node: SBlock, buffer: Var) -> IndexMap:
    axes = [Var(a.var.name, a.var.ty) for a in node.iter_vars]
    try:
        found = function(*axes)
    except TypeError as err:
        raise _ranges(node, f"they cannot be computed from {len(axes)} axes: {err}") from err
    rows = list(found) if isinstance(found, list | tuple) else [found]
    rank = len(buffer_type(buffer).shape)
    if len(rows) != rank:
        raise _ranges(node, f"`{buffer.name}` has {rank} dimensions, but there are {len(rows)} ranges")
    ends: list[Expr] = []
    for row in rows:
        like = axes[0] if axes else None
        if isinstance(row, tuple | list):
            if len(row) != 2:
                raise _ranges(node, "a range is a begin and an end, or one index")
            ends += [as_expr(e, like=like) for e in row]
        else:
            first = as_expr(row, like=like)
            ends += [first, first + 1]
    return IndexMap(axes, ends)


def _ranges(node: SBlock, text: str) -> Refused:
    return refuse("buffer-ranges", f"the new ranges do not fit: {text}", node)


def _encode(arguments: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    mode = _MODES.index(arguments["buf_type"])
    return [arguments["block"], arguments["buffer_index"], mode, arguments["gen_new_ranges"]], []


def _decode(inputs: list[Any], attrs: list[Any]) -> dict[str, Any]:
    block, index, mode, ranges = inputs
    return {"block": block, "buffer_index": index, "buf_type": _MODES[int(mode)], "gen_new_ranges": ranges}


@primitive(prepare=_prepare_ranges, encode=_encode, decode=_decode)
def annotate_buffer_access(
    state: State,
    block: SBlockRV,
    buffer_index: int | str | Var,
    buf_type: str,
    gen_new_ranges: Callable[..., Any] | IndexMap,
) -> State:
    """State what part of a buffer a block reads or writes, in place of what analysis finds.

    `gen_new_ranges` takes the axes and gives for each dimension an index, or begin and end.  The
    caller answers for it that all accesses are inside.  Every handle is kept.

    before:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    steps:
        sch.annotate_buffer_access("B", 0, "read", lambda vi: [(vi - 1, vi + 2)])
    after:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                T.reads(A[vi - 1:vi - 1 + 3])
                T.writes(B[vi])
                T.sblock_attr({"explicit_read_region": [0]})
                B[vi] = A[vi] + 1.0
    """
    node = state.block(block)
    mode = _mode(buf_type, node)
    buffer = buffer_at(state, block, buffer_index, mode)
    assert isinstance(gen_new_ranges, IndexMap) and isinstance(buffer_index, int)
    if len(gen_new_ranges.initial_indices) != len(node.iter_vars):
        raise _ranges(node, f"the block has {len(node.iter_vars)} axes")
    if len(gen_new_ranges.final_indices) != 2 * len(buffer_type(buffer).shape):
        raise _ranges(node, f"`{buffer.name}` has {len(buffer_type(buffer).shape)} dimensions")
    table = dict(zip(gen_new_ranges.initial_indices, [a.var for a in node.iter_vars]))
    ends = [substitute(e, table) for e in gen_new_ranges.final_indices]
    ana = Analyzer()
    ranges = []
    for low, end in zip(ends[::2], ends[1::2]):
        low, end = one_type(low, end)
        extent = ana.simplify(Sub(end, low))
        ranges.append(Range(low, extent))
    found = [
        BufferRegion(buffer, ranges) if k == buffer_index else r for k, r in enumerate(regions(node, mode))
    ]
    made = node.replace(reads=found) if mode == "read" else node.replace(writes=found)
    key = f"explicit_{mode}_region"
    stated = tuple(node.annotations.get(key, ()))
    if buffer_index not in stated:
        stated = (*stated, buffer_index)
    return state.replace_block(block, made.replace(annotations=node.annotations.set(**{key: stated})))

"""`tvm.testing.tir`: a schedule of matrix multiplication on tensor cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....schedule import Schedule

_WARP = 32
_VECTOR = 8


def mma_schedule(
    workload: Any,
    k_inner: int,
    in_dtype: str,
    b_transposed: bool,
    i_factors: Sequence[int],
    j_factors: Sequence[int],
    k_factors: Sequence[int],
    index_map_A: Callable[..., Any],
    index_map_B: Callable[..., Any],
    index_map_C: Callable[..., Any],
    ldmatrix_a_intrin: str,
    ldmatrix_b_intrin: str,
    mma_intrin: str,
    mma_fill_intrin: str,
    mma_store_intrin: str,
    shared_scope: str = "shared",
) -> Schedule:
    """The schedule of a matrix product, block `C`, with these tiles, layouts of fragments and intrinsics."""
    sch = Schedule(workload)
    block = sch.get_sblock("C")
    outer, thread_idy, k0, k1 = _tiled(sch, block, k_inner, i_factors, j_factors, k_factors)
    for index in range(2):
        _shared(sch, sch.cache_read(outer, index, shared_scope), k0, i_factors[2] * j_factors[2])
    a_warp, b_warp = [sch.cache_read(outer, index, "warp") for index in range(2)]
    sch.compute_at(a_warp, k1)
    sch.compute_at(b_warp, k1)
    c_warp = sch.cache_write(outer, 0, "warp")
    sch.reverse_compute_at(c_warp, thread_idy)
    init = sch.decompose_reduction(outer, k0)
    sch.transform_layout(a_warp, ("write", 0), index_map_A)
    sch.transform_layout(b_warp, ("write", 0), index_map_B)
    sch.transform_layout(c_warp, ("read", 0), index_map_C)
    b_tile = (16, k_inner) if b_transposed else (k_inner, 16)
    _fragment(sch, a_warp, (16, k_inner), ldmatrix_a_intrin)
    _fragment(sch, b_warp, b_tile, ldmatrix_b_intrin)
    sch.tensorize(sch.get_loops(block)[-3], mma_intrin)
    sch.tensorize(sch.get_loops(sch.get_child_blocks(init)[0])[-2], mma_fill_intrin)
    _fragment(sch, c_warp, (16, 16), mma_store_intrin)
    return sch


def _tiled(
    sch: Schedule,
    block: Any,
    k_inner: int,
    i_factors: Sequence[int],
    j_factors: Sequence[int],
    k_factors: Sequence[int],
) -> tuple[Any, Any, Any, Any]:
    """Tiles bound to blocks and warps: the block of a tile, the loop of warps, the two outer ones of k."""
    i, j, k = sch.get_loops(block)
    i, i_tc = sch.split(i, factors=[None, 16])
    j, j_tc = sch.split(j, factors=[None, 16])
    k, k_tc = sch.split(k, factors=[None, k_inner])
    sch.reorder(i, j, k, i_tc, j_tc, k_tc)
    outer = sch.blockize(i_tc)
    i0, i1, i2, i3, i4 = sch.split(i, factors=list(i_factors))
    j0, j1, j2, j3, j4 = sch.split(j, factors=list(j_factors))
    k0, k1, k2 = sch.split(k, factors=list(k_factors))
    sch.reorder(i0, j0, i1, j1, j2, i2, k0, k1, i3, j3, k2, i4, j4)
    sch.bind(sch.fuse(i0, j0), "blockIdx.x")
    sch.bind(sch.fuse(i1, j1), "blockIdx.y")
    thread_idy = sch.fuse(j2, i2)
    sch.bind(thread_idy, "threadIdx.y")
    return outer, thread_idy, k0, k1


def _shared(sch: Schedule, copy: Any, at: Any, warps: int) -> None:
    """The copy to shared memory below a loop, made by all threads in vectors, with padded rows."""
    sch.compute_at(copy, at)
    fused = sch.fuse(*sch.get_loops(copy)[-2:])
    _, ty, tx, vec = sch.split(fused, factors=[None, warps, _WARP, _VECTOR])
    sch.bind(ty, "threadIdx.y")
    sch.bind(tx, "threadIdx.x")
    sch.vectorize(vec)
    sch.storage_align(copy, 0, axis=-2, factor=_WARP, offset=_VECTOR)


def _fragment(sch: Schedule, copy: Any, tile: tuple[int, int], intrinsic: str) -> None:
    """The copy in tiles, each by the intrinsic."""
    row, column = sch.get_loops(copy)[-2:]
    row, row_in = sch.split(row, factors=[None, tile[0]])
    column, column_in = sch.split(column, factors=[None, tile[1]])
    sch.reorder(row, column, row_in, column_in)
    sch.tensorize(row_in, intrinsic)


__all__ = ["mma_schedule"]

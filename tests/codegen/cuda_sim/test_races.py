"""The law of races: the simulator reports a race exactly where two accesses are not ordered."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from loopwright.errors import ExecutionError

TEXT = r"""
extern "C" __global__ void program(const int* kind, const int* cell, const int* sync, int n, int* memory, int* out) {
  __shared__ int mine[8];
  int* cells = memory ? memory : mine;
  int t = threadIdx.x, value = 0;
  for (int i = 0; i < n; ++i) {
    int at = (i * gridDim.x + blockIdx.x) * blockDim.x + t;
    if (kind[at] == 1) value += cells[cell[at]];
    if (kind[at] == 2) cells[cell[at]] = t;
    if (kind[at] == 3) atomicAdd(&cells[cell[at]], 1);
    if (sync[i] == 1) __syncwarp();
    if (sync[i] == 2) __syncwarp(t % 32 < 16 ? 0x0000ffffu : 0xffff0000u);
    if (sync[i] == 3) __syncthreads();
  }
  out[blockIdx.x * blockDim.x + t] = value;
}
"""
READ, WRITE, ATOMIC = 1, 2, 3
WARP, HALVES, BLOCK = 1, 2, 3
THREADS, BLOCKS = 64, 2


class Access(NamedTuple):
    step: int
    block: int
    thread: int
    kind: int
    cell: int


def has_race(accesses: list[Access], syncs: list[int]) -> bool:
    """Whether two accesses meet, by what each thread knows of the steps of the others in its block."""
    known = np.full((len(syncs), THREADS, THREADS), -1)  # before each step
    for i, sync in enumerate(syncs[:-1]):
        known[i + 1] = known[i]
        size = {WARP: 32, HALVES: 16, BLOCK: THREADS}.get(sync, 1)
        for low in range(0, THREADS, size):
            group = slice(low, low + size)
            known[i + 1, group] = known[i, group].max(0)
            known[i + 1, group, group] = i
    for a, b in combinations(sorted(accesses), 2):
        same = (a.block, a.thread) == (b.block, b.thread)
        if same or a.cell != b.cell or a.kind == b.kind == READ or a.kind == b.kind == ATOMIC:
            continue
        if a.block != b.block or known[b.step, b.thread, a.thread] < a.step:
            return True
    return False


@pytest.fixture(scope="module")
def kernel(loader: Callable[..., dict[str, Any]]) -> Any:
    return loader(TEXT)["program"]


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[Access], list[int]]:
    syncs = draw(st.lists(st.sampled_from([0, WARP, HALVES, BLOCK]), min_size=1, max_size=5))
    # Few threads, so that they meet: of both halves of both warps.
    threads = st.sampled_from([0, 1, 15, 16, 31, 32, 63])
    steps, blocks, cells = st.integers(0, len(syncs) - 1), st.integers(0, BLOCKS - 1), st.integers(0, 1)
    one = st.builds(Access, steps, blocks, threads, st.sampled_from([READ, WRITE, ATOMIC]), cells)
    return draw(st.lists(one, max_size=8, unique_by=lambda a: a[:3])), syncs


@given(program=programs(), shared=st.booleans(), seed=st.integers(0, 1 << 30), cores=st.integers(1, 2))
def test_races_are_found_and_nothing_else(
    kernel: Any, program: tuple[list[Access], list[int]], shared: bool, seed: int, cores: int
) -> None:
    accesses, syncs = program
    kinds = np.zeros((len(syncs), BLOCKS, THREADS), np.int32)
    cells = np.zeros_like(kinds)
    for a in accesses:
        kinds[a[:3]], cells[a[:3]] = a.kind, a.cell
    kernel.seed, kernel.cores = seed, cores
    memory = None if shared else np.zeros(8, np.int32)
    args = [
        kinds,
        cells,
        np.array(syncs, np.int32),
        len(syncs),
        memory,
        np.zeros((BLOCKS, THREADS), np.int32),
    ]
    try:
        kernel((BLOCKS, 1, 1), (THREADS, 1, 1), args)
        found = False
    except ExecutionError as error:
        assert error.code == "data-race"
        found = True
    parts = [[a for a in accesses if a.block == b] for b in range(BLOCKS)] if shared else [accesses]
    wanted = any(has_race(part, syncs) for part in parts)
    event(f"race: {wanted}, shared: {shared}")
    # Of several readers the last one is remembered: with halves of a warp a race with another may be missed.
    assert found == wanted or (wanted and HALVES in syncs and not found)

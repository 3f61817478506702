"""Memory of results is used again, never twice at a time, and given back."""

from __future__ import annotations

import ctypes
import gc
import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopwright
from loopwright.codegen.llvm import workspace
from loopwright.codegen.llvm.support import Support
from loopwright.errors import ArgumentTypeError, ArgumentValueError
from loopwright.runtime import empty, from_dlpack, memory

LARGE = (300, 301)


@pytest.fixture(autouse=True)
def nothing_waits() -> Iterator[None]:
    before = memory.limit()
    memory.release()
    yield
    memory.set_limit(before)
    memory.release()


def start(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


# Tensors


def test_a_freed_block_is_used_again() -> None:
    before = memory.statistics()
    first = empty(LARGE)
    place = start(first.numpy())
    during = memory.statistics()
    assert (during.fresh, during.reused) == (before.fresh + 1, before.reused)
    assert during.live_bytes >= before.live_bytes + 300 * 301 * 4
    del first
    assert memory.statistics().cached_bytes > 0 and memory.statistics().live_bytes == before.live_bytes
    second = empty((301, 300), "int32")
    assert start(second.numpy()) == place and memory.statistics().reused == before.reused + 1
    del second
    memory.release()
    assert memory.statistics().cached_bytes == 0


@pytest.mark.parametrize("shape", [(0,), (1,), (1000,), (70_000,), (1 << 20,), (1025, 1023)])
@pytest.mark.parametrize("dtype", ["int8", "float32", "bfloat16", "float32x4", "int4"])
def test_memory_is_aligned(shape: tuple[int, ...], dtype: str) -> None:
    for _ in range(2):
        t = empty(shape, dtype)
        assert (t.size == 0 or t.data_ptr() % 64 == 0) and t.shape == shape


def test_whoever_looks_at_memory_keeps_it() -> None:
    t = empty(LARGE)
    t.copyfrom(np.full(LARGE, 7, np.float32))
    views = [
        t.numpy()[3:],
        from_dlpack(t),
        np.from_dlpack(t),
        memoryview(t.numpy()),
        t.view((301, 300)).numpy().T,
    ]
    place = start(t.numpy())
    del t
    while views:
        gc.collect()
        other = empty(LARGE)
        assert start(other.numpy()) != place
        other.copyfrom(np.zeros(LARGE, np.float32))
        last = views.pop()
        values = last.numpy() if hasattr(last, "numpy") else np.asarray(last)
        assert (values == 7).all()
        del last, values
    del other
    found = [empty(LARGE) for _ in range(6)]  # now it is among those that waited
    assert place in [start(t.numpy()) for t in found]


def test_no_more_waits_than_the_limit() -> None:
    memory.set_limit(1 << 20)
    for size in (100_000, 200_000, 300_000, 400_000, 500_000, 100_000, 5_000_000):
        held = [empty((size,), "int8") for _ in range(3)]
        del held
        assert memory.statistics().cached_bytes <= 1 << 20
    assert memory.statistics().cached_bytes > 0
    memory.set_limit(0)
    assert memory.statistics().cached_bytes == 0 and memory.limit() == 0
    for wrong, kind in (("1", ArgumentTypeError), (True, ArgumentTypeError), (-1, ArgumentValueError)):
        with pytest.raises(kind, match="limit of memory"):
            memory.set_limit(wrong)


SIZES = st.one_of(st.integers(1, 300_000), st.sampled_from([65_535, 65_536, 65_537, 1 << 17, (1 << 17) + 1]))


@given(st.lists(st.one_of(SIZES, st.integers(-20, -1)), max_size=40))
def test_live_tensors_never_overlap(actions: list[int]) -> None:
    """Positive: allocate so many bytes; negative: drop the tensor at this place, counted from the end."""
    live: list[tuple[Any, int]] = []
    for k, action in enumerate(actions):
        if action > 0:
            array = empty((action,), "uint8").numpy()
            array[:] = k
            live.append((array, k))
        elif -action <= len(live):
            array, mark = live.pop(action)
            assert (array == mark).all()
            del array
        spans = sorted([(start(a), a.size) for a, _ in live])
        assert all(a + n <= b for (a, n), (b, _) in zip(spans, spans[1:]))
    assert all((a == mark).all() for a, mark in live)


@given(st.integers(1, 1 << 46))
def test_size_classes_waste_at_most_an_eighth(size: int) -> None:
    room = memory.capacity(size)
    assert size <= room <= max(size + size // 8 + 1, 16) and memory.capacity(room) == room


def test_threads_take_and_give() -> None:
    before = memory.statistics().live_bytes
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            held: list[Any] = []
            for _ in range(300):
                array = empty((int(rng.integers(60_000, 100_000)),), "uint8").numpy()
                array[:] = seed
                held.append(array)
                if len(held) > 5:
                    assert (held.pop(int(rng.integers(len(held)))) == seed).all()
            assert all((a == seed).all() for a in held)
        except BaseException as err:
            failures.append(err)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in workers:
        t.start()
    for t in workers:
        t.join()
    found = memory.statistics()
    assert not failures and found.live_bytes == before and found.reused > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_goes_on_with_what_it_has() -> None:
    held = empty(LARGE)
    place = start(held.numpy())
    del held
    memory._blocks._lock.acquire()  # as if another thread were at the lists
    child = os.fork()
    if child == 0:
        os._exit(0 if start(empty(LARGE).numpy()) == place else 1)
    memory._blocks._lock.release()
    assert os.waitpid(child, 0)[1] == 0


# Local buffers of kernels


class Native:
    """The allocator of compiled code by itself."""

    def __init__(self) -> None:
        self.support = Support()
        at = self.support.addresses
        self.take = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int64)(at["take"])
        self.give = ctypes.CFUNCTYPE(None, ctypes.c_size_t)(at["give"])
        self.store = self.support.workspaces
        self.store.set_limit(1 << 24)

    def close(self) -> None:
        self.store.release()
        self.support.pool.close()


@given(st.lists(st.one_of(SIZES, st.integers(-20, -1)), max_size=40))
def test_live_work_buffers_never_overlap(actions: list[int]) -> None:
    native = _native()
    live: list[tuple[int, int, int]] = []
    for k, action in enumerate(actions):
        if action > 0:
            place = native.take(action)
            assert place % 64 == 0
            ctypes.memset(place, k, action)
            live.append((place, action, k))
        elif -action <= len(live):
            place, size, mark = live.pop(action)
            assert ctypes.string_at(place, size) == bytes([mark]) * size
            native.give(place)
        spans = sorted([(a, n) for a, n, _ in live])
        assert all(a + n <= b for (a, n), (b, _) in zip(spans, spans[1:]))
    held = native.store.statistics()
    assert held.live_bytes == sum(memory.capacity(n) for _, n, _ in live if n >= 16384)
    for place, size, mark in live:
        assert ctypes.string_at(place, size) == bytes([mark]) * size
        native.give(place)
    assert native.store.statistics().live_bytes == 0


_kept: list[Native] = []


def _native() -> Native:
    if not _kept:
        _kept.append(Native())
    return _kept[0]


def test_work_buffers_are_bounded() -> None:
    native = _native()
    native.store.release()
    assert native.store.statistics().cached_bytes == 0
    before = native.store.statistics()
    for size in (1 << 20, 3 << 20, 9 << 20, 20 << 20, 1 << 20):
        blocks = [native.take(size) for _ in range(4)]
        for b in blocks:
            native.give(b)
        assert native.store.statistics().cached_bytes <= 1 << 24
    after = native.store.statistics()
    assert after.fresh > before.fresh and native.take(1 << 20) and native.store.statistics().reused > 0


def test_the_table_names_its_fields() -> None:
    assert f"[{len(workspace.FIELDS)} x i64]" in workspace.text()


KERNEL = """
@T.prim_func
def main(A: T.Buffer(("n",), "float32")):
    n = T.int32()
    work = T.alloc_buffer((n,), "float32")
    for i in T.parallel(n):
        own = T.alloc_buffer((5000,), "float32")
        own[i % 5000] = A[i]
        work[i] = own[i % 5000] * T.float32(2)
    for i in range(n):
        A[i] = work[n - 1 - i]
"""


def test_kernels_use_their_work_buffers_again() -> None:
    f = loopwright.build(loopwright.parse(KERNEL))["main"]
    a = np.arange(100_000, dtype=np.float32)
    wanted = a[::-1] * 4
    f(a)
    f(a)
    first = memory.statistics()
    f(a)
    f(a)
    second = memory.statistics()
    assert (a == 4 * np.arange(100_000, dtype=np.float32) * 4).all() and wanted[0] > 0
    assert second.reused > first.reused and second.live_bytes == first.live_bytes

"""Memory for large results and work buffers, kept for the next one instead of given back.

The pages of fresh memory are made when first touched, which costs several times what writing a
result costs.  A freed block therefore waits for the next request of its size class, eight classes
to an octave, until the limit is reached.

    memory.statistics()      counts of fresh and reused blocks, bytes in use and bytes that wait
    memory.release()         give what waits back to the system
    memory.set_limit(bytes)  how much may wait; 0: nothing

Tensors and the local buffers of compiled kernels have a store each; the limit holds for each.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..errors import ArgumentTypeError, ArgumentValueError, Diagnostic

if TYPE_CHECKING:
    import numpy as np

ALIGNMENT: Final = 64
SMALLEST: Final = 64 * 1024
"""Smaller results take the allocator's way; it keeps them by itself."""


@dataclass(frozen=True)
class Statistics:
    """Blocks made and blocks used again since the start; bytes in use, and bytes that wait for use."""

    fresh: int = 0
    reused: int = 0
    live_bytes: int = 0
    cached_bytes: int = 0

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(*[getattr(self, f.name) + getattr(other, f.name) for f in fields(self)])


class Store(Protocol):
    """Something that keeps freed blocks."""

    def statistics(self) -> Statistics:
        """What it holds now."""

    def release(self) -> None:
        """Give back what waits."""

    def set_limit(self, limit: int) -> None:
        """Let at most so many bytes wait."""


def capacity(size: int) -> int:
    """The bytes of the blocks that serve a request of `size` bytes: at most an eighth more."""
    step = 1 << max(0, (size - 1).bit_length() - 4)
    return -(-size // step) * step


_Region = tuple[Any, int]
"""A numpy array of bytes, and the first aligned address in it."""


def _region(size: int) -> _Region:
    """Fresh memory with `size` bytes from an aligned address on."""
    import numpy as np

    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = int(memory.ctypes.data)
    return memory, start + -start % ALIGNMENT


class _Block:
    """Memory that numpy arrays stand on; it goes back to its store when the last of them is gone."""

    __slots__ = ("__array_interface__", "_give", "_region")

    def __init__(self, region: _Region, size: int, give: Callable[[_Region], None]) -> None:
        self._region = region
        self._give = give
        self.__array_interface__ = {
            "data": (region[1], False),
            "shape": (size,),
            "typestr": "|u1",
            "version": 3,
        }

    def __del__(self) -> None:
        self._give(self._region)


class Blocks:
    """Blocks for tensors, by size class, the class used longest ago first.

    The collector may drop a tensor at any point, this code included, so nobody waits for the lock.  Who
    finds it taken gets fresh memory, or leaves the freed block in a queue for the next to come.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._free: OrderedDict[int, list[_Region]] = OrderedDict()
        self._late: deque[int | _Region] = deque()
        self._fresh = self._reused = self._live = self._cached = 0
        self.unlock()

    def unlock(self) -> None:
        """For a child process: whoever held the lock is not there."""
        self._lock = threading.Lock()

    def take(self, size: int) -> np.ndarray[Any, Any]:
        """Bytes of undefined contents, aligned to 64, that are the caller's while an array stands on them."""
        import numpy as np

        if size < SMALLEST:
            memory = np.empty(size + ALIGNMENT, np.uint8)
            gap = -int(memory.ctypes.data) % ALIGNMENT
            return memory[gap : gap + size]
        room = capacity(size)
        found = None
        if self._lock.acquire(blocking=False):
            try:
                self._file()
                waiting = self._free.get(room)
                if waiting:
                    found = waiting.pop()
                    self._free.move_to_end(room)
                    self._reused += 1
                    self._live += room
                    self._cached -= room
            finally:
                self._lock.release()
        if found is None:
            found = _region(room)
            self._late.append(room)
        return np.asarray(_Block(found, size, self._give))

    def _give(self, region: _Region) -> None:
        self._late.append(region)
        self._settle()

    def _settle(self, keep: int | None = None) -> None:
        """File what came in while the lock was taken, keep at most so many bytes; or leave it to others."""
        if self._lock.acquire(blocking=False):
            try:
                self._file()
                if keep is not None:
                    self._shrink(keep)
            finally:
                self._lock.release()

    def _file(self) -> None:
        while self._late:
            one = self._late.popleft()
            if isinstance(one, int):  # the size of a block that was made
                self._fresh += 1
                self._live += one
                continue
            room = len(one[0]) - ALIGNMENT
            self._live -= room
            if room <= self._limit:
                self._free.setdefault(room, []).append(one)
                self._free.move_to_end(room)
                self._cached += room
        self._shrink(self._limit)

    def _shrink(self, limit: int) -> None:
        """Drop blocks, those of the class used longest ago first, until no more than `limit` bytes wait."""
        while self._cached > limit and self._free:
            room, waiting = next(iter(self._free.items()))
            if waiting:
                waiting.pop()
                self._cached -= room
            else:
                del self._free[room]

    def statistics(self) -> Statistics:
        """What it holds now."""
        self._settle()
        return Statistics(self._fresh, self._reused, self._live, self._cached)

    def release(self) -> None:
        """Give back what waits."""
        self._settle(keep=0)

    def set_limit(self, limit: int) -> None:
        """Let at most so many bytes wait."""
        self._limit = limit
        self._settle()


def _default_limit() -> int:
    """An eighth of the machine's memory, at most 1 GiB."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        total = 1 << 32
    return min(1 << 30, max(total, 0) // 8)


_limit = _default_limit()
_blocks = Blocks(_limit)
_stores: list[Store] = [_blocks]
take = _blocks.take


def add_store(store: Store) -> None:
    """Count this store, release it, and bound it from now on as the others."""
    store.set_limit(_limit)
    _stores.append(store)


def statistics() -> Statistics:
    """The sums over all stores."""
    return sum([s.statistics() for s in _stores], Statistics())


def release() -> None:
    """Give all memory that waits back to the system."""
    for store in _stores:
        store.release()


def limit() -> int:
    """How many bytes may wait in each store."""
    return _limit


def set_limit(count: int) -> None:
    """Let at most so many bytes wait in each store. Raises ArgumentTypeError or ArgumentValueError."""
    global _limit
    if isinstance(count, bool) or not isinstance(count, int):
        message = f"a limit of memory is a number of bytes, not a {type(count).__name__}"
        raise ArgumentTypeError(Diagnostic("argument-type", message))
    if count < 0:
        raise ArgumentValueError(Diagnostic("argument-value", f"a limit of memory cannot be {count}"))
    _limit = count
    for store in _stores:
        store.set_limit(count)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blocks.unlock)

"""Padding of rows of shared memory, so that threads of a warp use different banks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import lcm
from typing import Final

_BANKS: Final = 32
_MOST: Final = 32

Indices = Sequence[tuple[int, ...]]
"""For each thread of a warp, the indices of the element that it uses."""


@dataclass
class Uses:
    """How a buffer is used: the warps' accesses, and what the padding must be a multiple of."""

    accesses: list[Indices] = field(default_factory=list)
    unit: int = 1

    def add(self, indices: Indices, unit: int) -> None:
        """Note an access."""
        self.accesses.append(indices)
        self.unit = lcm(self.unit, unit)


def padded(shape: Sequence[int], item: int, uses: Uses) -> list[int]:
    """The strides, in elements of `item` bytes, with the fewest conflicts, and of those the shortest."""
    best = min(range(0, _MOST + 1, uses.unit), key=lambda p: (_conflicts(_strides(shape, p), item, uses), p))
    return _strides(shape, best)


def _strides(shape: Sequence[int], padding: int) -> list[int]:
    strides = [1]
    for k, extent in enumerate(reversed(shape[1:])):
        strides.insert(0, strides[0] * extent + (padding if k == 0 else 0))
    return strides


def _conflicts(strides: Sequence[int], item: int, uses: Uses) -> int:
    """How often a warp must come back to a bank, over all accesses."""
    total = 0
    for access in uses.accesses:
        words = {sum(i * s for i, s in zip(at, strides, strict=True)) * item // 4 for at in access}
        total += max(Counter(word % _BANKS for word in words).values()) - 1
    return total

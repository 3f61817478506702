"""Choosing the part of a result that a block of threads computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

USUAL: Final = 1024
"""What a size that is known at run time only is taken for."""

WASTE: Final = 1.3
"""How much more than the result its tiles may cover."""


class Area(Protocol):
    """A tile of a result."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    @property
    def columns(self) -> int:
        """How many columns it has."""


Some = TypeVar("Some", bound=Area)


def largest(tiles: Sequence[Some], rows: int | None, columns: int | None, cores: int) -> Some:
    """The first of the tiles, large ones first, that are enough to keep so many cores busy; else the last."""
    high, wide = (USUAL if n is None else max(n, 1) for n in (rows, columns))
    for tile in tiles[:-1]:
        blocks = -(-high // tile.rows) * -(-wide // tile.columns)
        if blocks >= cores and blocks * tile.rows * tile.columns <= WASTE * high * wide:
            return tile
    return tiles[-1]

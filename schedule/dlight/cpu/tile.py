"""How large a tile of a product is: it stays in registers, and wastes little at the edges."""

from __future__ import annotations

from typing import NamedTuple

from ..machine import Machine

IN_FLIGHT = 8
"""Vectors of sums that keep the multipliers busy: four cycles of two."""
USUAL = 100
"""Rows of a product whose rows are known at run time only, to weigh speed against what is too much."""
BLOCK = 128
"""Rows whose part of the left operand is read again from a near cache."""


class Tile(NamedTuple):
    """Rows and columns of a tile that stays in registers, steps of the sum at once, tiles of a block
    (None: all of them).

    `pad_rows` and `pad_columns` say whether the last tile is larger than what is left.
    """

    rows: int
    columns: int
    steps: int
    block: int | None
    pad_rows: bool
    pad_columns: bool

    @property
    def padded(self) -> bool:
        """Whether the product has to be padded for tiles to fill it."""
        return self.pad_rows or self.pad_columns


def tile_of(rows: int | None, columns: int | None, depth: int | None, lanes: int, machine: Machine) -> Tile:
    """The tile for so many rows and columns (None: known at run time only) of vectors of so many lanes.

    The cheapest: a step of the sum costs its multiplications, or as much as fills their latency, and
    the numbers and vectors that it loads.  Tiles that fill the result are preferred, since padding is a copy.
    """
    best: tuple[float, Tile] | None = None
    for vectors in (2, 1):
        wide = vectors * lanes
        across = 1 if columns is None else max(1, -(-columns // wide))
        for high in range(min((machine.registers - vectors - 2) // vectors, rows or 1 << 30), 0, -1):
            down = USUAL / high + 0.5 if rows is None else -(-rows // high)
            pad_rows, pad_columns = rows is None or rows % high != 0, columns is None or columns % wide != 0
            cost = down * across * (max(high * vectors, IN_FLIGHT) + (high + vectors) / 2)
            cost /= vectors if columns is None else 1
            cost *= 1.05 if pad_rows else 1
            if best is None or cost < best[0]:
                best = (cost, Tile(high, wide, _steps(depth), _block(rows, high), pad_rows, pad_columns))
    assert best is not None
    return best[1]


def _steps(depth: int | None) -> int:
    return next((n for n in (4, 2) if depth is not None and depth % n == 0), 1)


def _block(rows: int | None, high: int) -> int | None:
    """How many tiles of a column run one after the other: a divisor of all of them, where that is known."""
    most = max(1, BLOCK // high)
    if rows is None:
        return None
    count = -(-rows // high)
    return next(n for n in range(min(most, count), 0, -1) if count % n == 0)

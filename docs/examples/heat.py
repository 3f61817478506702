"""Heat spreading in a plate: a stencil over time with two buffers, checked against numpy."""

from __future__ import annotations

import numpy as np

from loopwright.script import tirx as T


@T.prim_func
def spread(plate: T.Buffer((64, 64), "float64"), steps: T.int32):
    """`steps` explicit steps of the heat equation; the rim keeps its temperature."""
    next_plate = T.alloc_buffer((64, 64), "float64")
    for _ in range(steps):
        for y, x in T.grid(62, 62):
            around: T.let = plate[y, x + 1] + plate[y + 2, x + 1] + plate[y + 1, x] + plate[y + 1, x + 2]
            next_plate[y + 1, x + 1] = T.float64(0.6) * plate[y + 1, x + 1] + T.float64(0.1) * around
        for y, x in T.grid(62, 62):
            plate[y + 1, x + 1] = next_plate[y + 1, x + 1]


def main() -> None:
    """A hot spot for five hundred steps."""
    plate = np.zeros((64, 64))
    plate[20:30, 24:40] = 100.0
    expected = plate.copy()
    spread(plate, 500)
    for _ in range(500):
        inner = expected[1:-1, 1:-1]
        around = expected[:-2, 1:-1] + expected[2:, 1:-1] + expected[1:-1, :-2] + expected[1:-1, 2:]
        expected[1:-1, 1:-1] = 0.6 * inner + 0.1 * around
    np.testing.assert_allclose(plate, expected, rtol=1e-12, atol=1e-12)
    print(f"heat after 500 steps, warmest cell {plate.max():.2f} degrees: as numpy says")


if __name__ == "__main__":
    main()

"""The main job in one file: kernels written as decorated Python, compiled, run on a photograph and on matrices.

    python docs/examples/photograph.py

The photograph ships with matplotlib (extra `viz`). Every result is compared with numpy.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from loopwright.script import tirx as T


@T.prim_func
def blur(photo: T.Buffer(("h", "w", 3), "uint8"), out: T.Buffer(("h", "w", 3), "uint8")):
    """A 3 by 3 Gaussian (weights 1 2 1 in both directions); the border is copied."""
    h = T.int32()
    w = T.int32()
    for y, x, c in T.grid(h, w, 3):
        if y == 0 or x == 0 or y == h - 1 or x == w - 1:
            out[y, x, c] = photo[y, x, c]
        else:
            total: T.int32 = 0
            for dy, dx in T.grid(3, 3):
                weight: T.let = (2 - T.abs(dy - 1)) * (2 - T.abs(dx - 1))
                total += weight * T.cast(photo[y + dy - 1, x + dx - 1, c], "int32")
            out[y, x, c] = T.cast(total >> 4, "uint8")


@T.prim_func
def matmul(
    a: T.Buffer((510, 512), "float32"), b: T.Buffer((512, 512), "float32"), c: T.Buffer((510, 512), "float32")
):
    """Six rows by sixteen columns of the result at a time, held in registers."""
    for j0, i0 in T.grid(32, 85):
        tile = T.alloc_local((6, 16), "float32")
        for i in T.unroll(6):
            for j in T.vectorized(16):
                tile[i, j] = T.float32(0)
        for k in range(512):
            for i in T.unroll(6):
                for j in T.vectorized(16):
                    tile[i, j] = tile[i, j] + a[i0 * 6 + i, k] * b[k, j0 * 16 + j]
        for i in T.unroll(6):
            for j in T.vectorized(16):
                c[i0 * 6 + i, j0 * 16 + j] = tile[i, j]


def blur_with_numpy(photo: np.ndarray) -> np.ndarray:
    """The same filter with whole-array operations."""
    wide = photo.astype(np.int32)
    rows = wide[:-2] + 2 * wide[1:-1] + wide[2:]
    out = photo.copy()
    out[1:-1, 1:-1] = (rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]) >> 4
    return out


def best_time(run: Callable[[], object], repeat: int = 15) -> float:
    """The shortest of several runs, in milliseconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def report(what: str, ours: float, numpys: float) -> None:
    """One line: both times and their ratio."""
    print(
        f"{what}: loopwright {ours:.2f} ms, numpy {numpys:.2f} ms ({numpys / ours:.2f} times as fast as numpy)"
    )


def on_the_photograph() -> None:
    """Blur the photograph, compare with numpy, time both."""
    import matplotlib.cbook
    import matplotlib.image

    with matplotlib.cbook.get_sample_data("grace_hopper.jpg") as file:
        photo = np.array(matplotlib.image.imread(file, format="jpg"))
    out = np.empty_like(photo)
    blur(photo, out)
    expected = blur_with_numpy(photo)
    assert np.array_equal(out, expected)
    print(
        f"blurred a photograph of {photo.shape[1]} by {photo.shape[0]} pixels: equal to numpy in every byte"
    )
    report("  blur", best_time(lambda: blur(photo, out)), best_time(lambda: blur_with_numpy(photo)))


def on_matrices() -> None:
    """Multiply two matrices, compare with numpy, time both."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((510, 512), dtype=np.float32)
    b = rng.standard_normal((512, 512), dtype=np.float32)
    c = np.empty((510, 512), np.float32)
    matmul(a, b, c)
    error = float(np.abs(c - a.astype(np.float64) @ b).max())
    assert error < 1e-3, error
    print(f"multiplied 510x512 by 512x512 matrices: largest difference from float64 numpy {error:.1e}")
    report("  matmul", best_time(lambda: matmul(a, b, c)), best_time(lambda: np.matmul(a, b, out=c)))


def main() -> None:
    """Run both parts."""
    on_the_photograph()
    on_matrices()


if __name__ == "__main__":
    main()

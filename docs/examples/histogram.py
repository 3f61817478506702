"""A histogram of the bytes of a file: a data-dependent index, checked against numpy."""

from __future__ import annotations

import numpy as np

from loopwright.script import tirx as T


@T.prim_func
def histogram(data: T.Buffer(("n",), "uint8"), counts: T.Buffer((256,), "int64")):
    """counts[v] = how often v occurs in data"""
    n = T.int32()
    for v in range(256):
        counts[v] = T.int64(0)
    for i in range(n):
        value: T.let = T.cast(data[i], "int32")
        counts[value] += T.int64(1)


def main() -> None:
    """The bytes of numpy's own core library."""
    with open(np.__file__, "rb") as file:
        data = np.frombuffer(file.read(), np.uint8)
    counts = np.empty(256, np.int64)
    histogram(data, counts)
    assert np.array_equal(counts, np.bincount(data, minlength=256))
    print(f"histogram of {data.size} bytes: as numpy says")


if __name__ == "__main__":
    main()

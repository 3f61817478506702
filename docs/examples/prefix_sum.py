"""An inclusive prefix sum: each step needs the one before, checked against numpy."""

from __future__ import annotations

import numpy as np

from loopwright.script import tirx as T


@T.prim_func
def prefix_sum(x: T.Buffer(("n",), "int64"), out: T.Buffer(("n",), "int64")):
    """out[i] = x[0] + ... + x[i]"""
    n = T.int32()
    for i in range(n):
        with T.sblock("scan"):
            vi = T.axis.scan(n, i)
            if vi == 0:
                out[vi] = x[vi]
            else:
                out[vi] = out[vi - 1] + x[vi]


def main() -> None:
    """Where each line of this file starts."""
    with open(__file__, "rb") as file:
        lengths = np.array([len(line) for line in file], np.int64)
    starts = np.empty_like(lengths)
    prefix_sum(lengths, starts)
    assert np.array_equal(starts, np.cumsum(lengths))
    print(f"offsets of {lengths.size} lines: as numpy says")


if __name__ == "__main__":
    main()

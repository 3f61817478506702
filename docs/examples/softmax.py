"""Softmax of each row, with any number of rows and columns, checked against numpy."""

from __future__ import annotations

import numpy as np

from loopwright.script import tirx as T


@T.prim_func
def softmax(x: T.Buffer(("rows", "columns"), "float32"), out: T.Buffer(("rows", "columns"), "float32")):
    """out[i, :] = exp(x[i, :] - max) / sum"""
    rows = T.int32()
    columns = T.int32()
    for i in range(rows):
        largest: T.float32 = T.min_value("float32")
        for j in range(columns):
            largest = T.max(largest, x[i, j])
        total: T.float32 = T.float32(0)
        for j in range(columns):
            out[i, j] = T.exp(x[i, j] - largest)
            total += out[i, j]
        for j in range(columns):
            out[i, j] = out[i, j] / total


def main() -> None:
    """Softmax of text statistics: how often each letter follows each letter in this file."""
    with open(__file__, encoding="utf8") as file:
        text = [ord(ch) - ord("a") for ch in file.read().lower() if "a" <= ch <= "z"]
    counts = np.zeros((26, 26), np.float32)
    np.add.at(counts, (text[:-1], text[1:]), 1)
    out = np.empty_like(counts)
    softmax(counts, out)
    e = np.exp(counts.astype(np.float64) - counts.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-7)
    print("softmax of a 26 by 26 table: as numpy says")


if __name__ == "__main__":
    main()

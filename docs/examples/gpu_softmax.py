"""A softmax whose rows are reduced across the lanes of a warp, run without a GPU."""

from __future__ import annotations

import numpy as np

import loopwright
from loopwright.runtime import device, tensor
from loopwright.script import tirx as T


@T.prim_func
def softmax(X: T.Buffer(("rows", "columns"), "float32"), Y: T.Buffer(("rows", "columns"), "float32")):
    """Y[i, :] = exp(X[i, :] - max) / sum: a block has one warp, which reads its row with all lanes."""
    rows, columns = T.int32(), T.int32()
    for i in T.thread_binding(rows, thread="blockIdx.x"):
        with T.sblock("row"):
            vi = T.axis.spatial(rows, i)
            largest = T.sblock_alloc_buffer((1,), "float32", scope="shared")
            total = T.sblock_alloc_buffer((1,), "float32", scope="shared")
            for j in range((columns + 31) // 32):
                for lane in T.thread_binding(32, thread="threadIdx.x"):
                    with T.sblock("largest"):
                        vj = T.axis.reduce(columns, j * 32 + lane)
                        T.where(j * 32 + lane < columns)
                        with T.init():
                            largest[0] = T.min_value("float32")
                        largest[0] = T.max(largest[0], X[vi, vj])
            for j in range((columns + 31) // 32):
                for lane in T.thread_binding(32, thread="threadIdx.x"):
                    with T.sblock("total"):
                        vj = T.axis.reduce(columns, j * 32 + lane)
                        T.where(j * 32 + lane < columns)
                        with T.init():
                            total[0] = T.float32(0)
                        total[0] = total[0] + T.exp(X[vi, vj] - largest[0])
            for j in range((columns + 31) // 32):
                for lane in T.thread_binding(32, thread="threadIdx.x"):
                    with T.sblock("result"):
                        vj = T.axis.spatial(columns, j * 32 + lane)
                        T.where(j * 32 + lane < columns)
                        Y[vi, vj] = T.exp(X[vi, vj] - largest[0]) / total[0]


def main() -> None:
    """Softmax of text statistics: how often each letter follows each letter in this file."""
    with open(__file__, encoding="utf8") as file:
        text = [ord(ch) - ord("a") for ch in file.read().lower() if "a" <= ch <= "z"]
    counts = np.zeros((26, 26), np.float32)
    np.add.at(counts, (text[:-1], text[1:]), 1)
    e = np.exp(counts.astype(np.float64) - counts.max(axis=1, keepdims=True))
    wanted = e / e.sum(axis=1, keepdims=True)

    simulated = loopwright.build(softmax, "cuda-sim")
    out = np.empty_like(counts)
    simulated["softmax"](counts, out)
    np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-7)
    print(
        f"in the simulator: as numpy says; {simulated.source('cuda').count('__shfl')} shuffles in the CUDA C"
    )

    if device("opencl").exist:
        x, y = tensor(counts, device="opencl"), tensor(out * 0, device="opencl")
        loopwright.build(softmax, "opencl")["softmax"](x, y)
        np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-5, atol=1e-7)
        print("by OpenCL, whose lanes meet in local memory: as numpy says")


if __name__ == "__main__":
    main()

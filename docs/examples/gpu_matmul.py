"""A tiled matrix product for a GPU, run without one: in the simulator, and by OpenCL where that is installed."""

from __future__ import annotations

import numpy as np

import loopwright
from loopwright.runtime import device, tensor
from loopwright.script import tirx as T

TILE = 16


@T.prim_func
def matmul(
    A: T.Buffer(("m", "k"), "float32"), B: T.Buffer(("k", "n"), "float32"), C: T.Buffer(("m", "n"), "float32")
):
    """C = A @ B: each block of 16 by 16 threads makes a tile of C from tiles of A and B in shared memory."""
    m, n, k = T.int32(), T.int32(), T.int32()
    for by in T.thread_binding((m + TILE - 1) // TILE, thread="blockIdx.y"):
        for bx in T.thread_binding((n + TILE - 1) // TILE, thread="blockIdx.x"):
            for ty in T.thread_binding(TILE, thread="threadIdx.y"):
                for tx in T.thread_binding(TILE, thread="threadIdx.x"):
                    a = T.alloc_buffer((TILE, TILE), "float32", scope="shared")
                    b = T.alloc_buffer((TILE, TILE), "float32", scope="shared")
                    row: T.let = by * TILE + ty
                    column: T.let = bx * TILE + tx
                    total: T.float32 = T.float32(0)
                    for step in range((k + TILE - 1) // TILE):
                        x: T.let = step * TILE + tx
                        y: T.let = step * TILE + ty
                        a[ty, tx] = T.if_then_else(row < m and x < k, A[row, x], T.float32(0))
                        b[ty, tx] = T.if_then_else(y < k and column < n, B[y, column], T.float32(0))
                        for i in range(TILE):
                            total += a[ty, i] * b[i, tx]
                    if row < m and column < n:
                        C[row, column] = total


def main() -> None:
    """Multiply matrices whose sizes are no multiples of a tile; barriers are put in by the compiler."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((50, 70), (70, 40)))
    simulated = loopwright.build(matmul, "cuda-sim")
    c = np.empty((50, 40), np.float32)
    simulated["matmul"](a, b, c)
    assert np.array_equal(c, a @ b)
    print("in the simulator: as numpy says")

    if device("opencl").exist:
        on_device = [tensor(x, device="opencl") for x in (a, b, np.empty_like(c))]
        loopwright.build(matmul, "opencl")["matmul"](*on_device)
        assert np.array_equal(on_device[2].numpy(), a @ b)
        print("by OpenCL: as numpy says")

    source = simulated.source("cuda")
    print(f"the CUDA C has {len(source.splitlines())} lines and {source.count('__syncthreads')} barriers")


if __name__ == "__main__":
    main()

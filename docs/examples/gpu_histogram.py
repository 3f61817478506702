"""A histogram with atomics in shared and global memory, run without a GPU."""

from __future__ import annotations

import numpy as np

import loopwright
from loopwright.runtime import device, tensor
from loopwright.script import tirx as T

BLOCKS, THREADS = 8, 64


@T.prim_func
def histogram(data: T.Buffer(("n",), "uint8"), counts: T.Buffer((256,), "int32")):
    """counts[v] += how often v occurs in data: each block counts in shared memory, then adds to the whole."""
    n = T.int32()
    for block in T.thread_binding(BLOCKS, thread="blockIdx.x"):
        for thread in T.thread_binding(THREADS, thread="threadIdx.x"):
            own = T.alloc_buffer((256,), "int32", scope="shared")
            for j in range(256 // THREADS):
                own[j * THREADS + thread] = 0
            T.tvm_storage_sync("shared")
            for j in range((n + BLOCKS * THREADS - 1) // (BLOCKS * THREADS)):
                at: T.let = (j * BLOCKS + block) * THREADS + thread
                if at < n:
                    T.evaluate(T.cuda.atomic_add(T.address_of(own[T.cast(data[at], "int32")]), 1))
            T.tvm_storage_sync("shared")
            for j in range(256 // THREADS):
                v: T.let = j * THREADS + thread
                T.evaluate(T.cuda.atomic_add(T.address_of(counts[v]), own[v]))


def main() -> None:
    """The bytes of a file."""
    with open(loopwright.__file__, "rb") as file:
        data = np.frombuffer(file.read(), np.uint8)
    wanted = np.bincount(data, minlength=256)
    counts = np.zeros(256, np.int32)
    loopwright.build(histogram, "cuda-sim")["histogram"](data, counts)
    assert np.array_equal(counts, wanted)
    print(f"histogram of {data.size} bytes in the simulator: as numpy says")

    if device("opencl").exist:
        x, y = (tensor(v, device="opencl") for v in (data, np.zeros(256, np.int32)))
        loopwright.build(histogram, "opencl")["histogram"](x, y)
        assert np.array_equal(y.numpy(), wanted)
        print("by OpenCL: as numpy says")


if __name__ == "__main__":
    main()

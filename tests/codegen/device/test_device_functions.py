"""Functions that kernels call: each thread runs them for itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopwright import build
from loopwright.errors import PassError
from loopwright.runtime import tensor
from loopwright.script import ir as I
from loopwright.script import tirx as T
from loopwright.transform import lower


@I.ir_module
class Collatz:
    @T.prim_func(private=True)
    def half(x: T.int32) -> T.int32:
        return x // 2

    @T.prim_func(private=True)
    def steps(x: T.int32) -> T.int32:
        n = T.alloc_buffer((2,), "int32")
        n[0] = 0
        n[1] = x
        while n[1] > 1:
            if n[1] % 2 == 0:
                n[1] = Collatz.half(n[1])
            else:
                n[1] = n[1] * 3 + 1
            n[0] = n[0] + 1
        return n[0]

    @T.prim_func
    def bound(A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32")):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            B[t] = Collatz.steps(A[t])

    @T.prim_func
    def unbound(A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32")):
        for i in range(32):
            with T.sblock("B"):
                v = T.axis.spatial(32, i)
                B[v] = Collatz.steps(A[v])


def steps(x: int) -> int:
    return 0 if x <= 1 else 1 + steps(x // 2 if x % 2 == 0 else x * 3 + 1)


@pytest.mark.parametrize("kind", ["opencl", "simulator"])
def test_kernels_call_functions_that_return_values(kind: str, request: Any) -> None:
    request.getfixturevalue(kind)
    a = np.arange(32, dtype="int32")
    device = "opencl" if kind == "opencl" else "cpu"
    module = build(Collatz, "opencl" if kind == "opencl" else "cuda-sim")
    for name in ("bound", "unbound"):
        got = tensor(np.zeros(32, "int32"), device=device)
        module[name](tensor(a, device=device), got)
        np.testing.assert_array_equal(got.numpy(), [steps(x) for x in range(32)])
    if kind == "simulator":
        assert "__device__ int steps(int x) {" in module.source("cuda")


def test_a_function_that_kernels_call_allocates_no_global_memory() -> None:
    @I.ir_module
    class Large:
        @T.prim_func(private=True)
        def last(x: T.int32) -> T.int32:
            n = T.alloc_buffer((2048,), "int32")
            for i in range(2048):
                n[i] = x
            return n[x]

        @T.prim_func
        def main(A: T.Buffer((32,), "int32")):
            for t in T.thread_binding(32, thread="threadIdx.x"):
                A[t] = Large.last(t)

    with pytest.raises(PassError, match="a function that kernels call allocates `n`") as caught:
        lower(Large, "cuda")
    assert (
        caught.value.diagnostics[0].code == "kernel-memory" and caught.value.diagnostics[0].span is not None
    )

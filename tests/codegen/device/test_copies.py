"""Copies that threads share, copies in the background and fragments, all in one kernel source, executed."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright.codegen import build
from loopwright.ir import IRModule
from loopwright.script import parse
from loopwright.testing.devices import on_device

FRAGMENTS = """
@T.prim_func(s_tir=True)
def main(X: T.Buffer((64, 64), "float16"), A: T.Buffer((64,), "float32"), C: T.Buffer((64, 64), "float32")):
    with T.sblock("root"):
        T.reads()
        T.writes()
        T.sblock_attr({"warp_execution": True})
        for bx in T.thread_binding(1, thread="blockIdx.x"):
            for ty in T.thread_binding(2, thread="threadIdx.y"):
                with T.sblock(""):
                    S = T.sblock_alloc_buffer((64, 64), "float16", scope="shared.dyn")
                    XA = T.sblock_alloc_buffer((32, 32), "float16", scope="wmma.matrix_a")
                    XB = T.sblock_alloc_buffer((32, 64), "float16", scope="wmma.matrix_b")
                    F = T.sblock_alloc_buffer((32, 64), "float32", scope="wmma.accumulator")
                    with T.sblock("in"):
                        T.sblock_attr({"auto_copy": True, "vector_bytes": 16})
                        for i, j in T.grid(64, 64):
                            S[i, j] = X[i, j]
                    with T.sblock("a"):
                        T.sblock_attr({"auto_copy": True})
                        for i, j in T.grid(32, 32):
                            XA[i, j] = S[ty * 32 + i, j]
                    with T.sblock("b"):
                        T.sblock_attr({"auto_copy": True})
                        for i, j in T.grid(32, 64):
                            XB[i, j] = S[i, j]
                    for i, j in T.grid(2, 4):
                        with T.sblock("fill"):
                            T.reads()
                            T.writes(F[i * 16:i * 16 + 16, j * 16:j * 16 + 16])
                            T.tvm_fill_fragment(F.data, 16, 16, 16, i * 4 + j, T.float32(0))
                        for k in range(2):
                            with T.sblock("mma"):
                                T.reads(XA[0:32, 0:32], XB[0:32, 0:64], F[0:32, 0:64])
                                T.writes(F[0:32, 0:64])
                                T.tvm_mma_sync(
                                    F.data, i * 4 + j, XA.data, i * 2 + k, XB.data, k * 4 + j, F.data, i * 4 + j
                                )
                    with T.sblock("out"):
                        T.sblock_attr({"auto_copy": True, "vector_bytes": 16})
                        for i, j in T.grid(32, 64):
                            C[ty * 32 + i, j] = F[i, j] + A[ty * 32 + i]
"""

AHEAD = """
@T.prim_func(s_tir=True)
def main(X: T.Buffer((8, 128), "float32"), Y: T.Buffer((8, 128), "float32"), C: T.Buffer((8, 128), "float32"), n: T.int32):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        for i in T.serial(n, annotations={
            "software_pipeline_stage": [0, 0, 2, 3],
            "software_pipeline_order": [0, 3, 1, 2],
            "software_pipeline_async_stages": [0],
        }):
            with T.sblock(""):
                S = T.sblock_alloc_buffer((128,), scope="shared")
                R = T.sblock_alloc_buffer((128,), scope="shared.dyn")
                L = T.sblock_alloc_buffer((4,), scope="local")
                for j in T.vectorized(4):
                    with T.sblock("x"):
                        S[tx * 4 + j] = X[i, tx * 4 + j]
                for j in T.vectorized(4):
                    with T.sblock("y"):
                        R[tx * 4 + j] = T.if_then_else(i < 4, Y[i, tx * 4 + j], T.float32(0))
                for j in range(4):
                    with T.sblock("sum"):
                        L[j] = S[127 - tx * 4 - j] + R[tx + j * 32]
                for j in range(4):
                    with T.sblock("store"):
                        C[i, tx * 4 + j] = L[j]
"""


@pytest.fixture(scope="module")
def built(simulator):
    texts = {"fragments": FRAGMENTS, "ahead": AHEAD}
    functions = {name: parse(text).with_attr("global_symbol", name) for name, text in texts.items()}
    return build(IRModule(functions), simulator, schedule=None)


def test_tiles_go_through_shared_memory_to_fragments_and_back(built):
    x = np.random.default_rng(0).integers(-3, 4, (64, 64)).astype("float16")
    a, c = np.arange(64, dtype="float32"), np.zeros((64, 64), "float32")
    on_device(built["fragments"], "cuda-sim")(x, a, c)
    x = x.astype("float32")
    assert (c == x[:, :32] @ x[:32, :] + a[:, None]).all()


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8])
def test_copies_in_the_background_are_there_when_they_are_used(built, n):
    x, y = np.random.default_rng(n).integers(-9, 9, (2, 8, 128)).astype("float32")
    c = np.zeros((8, 128), "float32")
    on_device(built["ahead"], "cuda-sim")(x, y, c, n)
    kept = np.where(np.arange(8)[:, None] < 4, y, 0)
    columns = np.arange(128)
    want = x[:, ::-1] + kept[:, columns // 4 + columns % 4 * 32]
    want[n:] = 0
    assert (c == want).all()

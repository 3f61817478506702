"""Kernels bound to threads: the oracle, the simulator and OpenCL agree, and planted faults are found."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
from hypothesis import Phase, given, reject, settings
from hypothesis import strategies as st

from loopwright import IRModule, parse
from loopwright.errors import CodegenError, ExecutionError, PassError
from loopwright.runtime import device
from loopwright.testing.devices import (
    assert_devices_agree,
    build_as_is,
    count_calls,
    with_stores_moved,
    with_stores_together,
    without_call,
)
from loopwright.testing.strategies.device import device_kernels

COUNT = int(os.environ.get("LOOPWRIGHT_DEVICE_KERNELS", "12"))
"""How many kernels are drawn for each device."""
BATCH = 4
"""Kernels in one source text: compiling is what takes the time."""

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="the simulator needs g++")
needs_opencl = pytest.mark.skipif(not device("opencl").exist, reason="no OpenCL device")


NO_SHRINKING = [p for p in Phase if p is not Phase.shrink]
"""Each try takes a compiler; the failing programs are printed as they are."""


def agree(kernels, targets, seed):
    """Check the kernels; what a pass or the language refuses by name is another draw."""
    try:
        assert_devices_agree(kernels, targets, seed)
    except (PassError, CodegenError) as err:
        if not any(text in str(err) for text in ("cannot overtake", "which is not constant")):
            raise
        reject()


@needs_compiler
@settings(max_examples=max(1, COUNT // BATCH), deadline=None, phases=NO_SHRINKING)
@given(st.lists(device_kernels(), min_size=BATCH, max_size=BATCH), st.integers(0, 99))
def test_simulator_agrees_with_the_oracle(kernels, seed):
    agree(kernels, [f"cuda-sim -seed={seed + order}" for order in range(2)], seed)


@needs_opencl
@settings(max_examples=max(1, COUNT // BATCH), deadline=None, phases=NO_SHRINKING)
@given(st.lists(device_kernels(), min_size=BATCH, max_size=BATCH), st.integers(0, 99))
def test_opencl_agrees_with_the_oracle(kernels, seed):
    agree(kernels, ["opencl"], seed)


STAGED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for block in T.thread_binding(2, thread="blockIdx.x"):
        with T.sblock("tile"):
            vb = T.axis.spatial(2, block)
            S = T.sblock_alloc_buffer((32,), "float32", scope="shared")
            for thread in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("S"):
                    vt = T.axis.spatial(32, thread)
                    S[vt] = A[vb * 32 + vt]
            for thread in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("B"):
                    vt = T.axis.spatial(32, thread)
                    B[vb * 32 + vt] = S[31 - vt] * T.float32(2)
"""
BARRIER, WAIT = "tirx.tvm_storage_sync", "tirx.ptx.cp_async_wait_group"


def run(*faults, text=STAGED):
    """What the simulator makes of the program with these faults planted."""
    a, b = np.arange(64, dtype=np.float32), np.empty(64, np.float32)
    build_as_is(IRModule.from_expr(parse(text)), "cuda-sim", *faults)["main"](a, b)
    return a, b


@needs_compiler
def test_the_staged_program_is_right():
    a, b = run()
    assert np.array_equal(b, a.reshape(2, 32)[:, ::-1].reshape(-1) * 2)


@needs_compiler
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (without_call(BARRIER, 0), "race"),
        (with_stores_moved(1), "out-of-bounds"),
        (with_stores_moved(-1), "out-of-bounds"),
        (with_stores_together, "race"),
    ],
    ids=["missing barrier", "store behind", "store before", "race between blocks"],
)
def test_planted_faults_are_found(fault, said):
    with pytest.raises(ExecutionError, match=said) as err:
        run(fault)
    assert "main_kernel" in str(err.value)


PIPELINED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for thread in T.thread_binding(16, thread="threadIdx.x"):
        for step in T.serial(
            4,
            annotations={
                "software_pipeline_stage": [0, 1],
                "software_pipeline_order": [0, 1],
                "software_pipeline_async_stages": [0],
            },
        ):
            with T.sblock("step"):
                S = T.sblock_alloc_buffer((16,), "float32", scope="shared")
                with T.sblock("S"):
                    S[thread] = A[step * 16 + thread]
                with T.sblock("B"):
                    B[step * 16 + thread] = S[thread] + T.float32(1)
"""


@needs_compiler
def test_a_missing_wait_is_found():
    a, b = run(text=PIPELINED)
    assert np.array_equal(b, a + 1)
    seen = []

    def look(mod):
        seen.append(count_calls(mod, WAIT))
        return mod

    run(look, text=PIPELINED)
    assert seen[0] > 0
    with pytest.raises(ExecutionError, match="wait"):
        run(*[without_call(WAIT, 0)] * seen[0], text=PIPELINED)


@needs_compiler
def test_every_barrier_is_needed():
    """Without any one of the barriers of a product in tiles the simulator finds a race."""
    text = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for thread in T.thread_binding(16, thread="threadIdx.x"):
        a = T.alloc_buffer((16,), "float32", scope="shared")
        total: T.float32 = T.float32(0)
        for step in range(4):
            a[thread] = A[step * 16 + thread]
            for i in range(16):
                total += a[15 - i]
        B[thread] = total
"""
    counted = []

    def look(lowered):
        counted.append(count_calls(lowered, BARRIER))
        return lowered

    run(look, text=text)
    assert counted[0] == 2
    for which in range(counted[0]):
        with pytest.raises(ExecutionError, match="race"):
            run(without_call(BARRIER, which), text=text)

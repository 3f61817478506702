"""Stores past the caches, and vectors that are asked for early."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopwright
from loopwright.script import parse

TEXT = """
@T.prim_func
def main(A: T.Buffer((1024,), "{dtype}"), B: T.Buffer((1024,), "{dtype}"), C: T.Buffer((64,), "{dtype}")):
    for i in T.{kind}({count}, annotations={{"streaming": 1, "prefetch": 2}}):
        for j in T.vectorized({lanes}):
            B[i * {lanes} + j] = A[i * {lanes} + j] * T.Cast("{dtype}", 3)
        C[i % 64] = C[i % 64] + A[i * {lanes}]
"""


@given(
    st.sampled_from([1, 2, 3, 4, 8, 16, 32]),
    st.sampled_from(["int8", "int16", "float32", "float64", "bool"]),
    st.sampled_from(["serial", "parallel"]),
    st.integers(0, 64),
    st.integers(0, 64),
)
def test_results_do_not_depend_on_streaming_or_alignment(lanes, dtype, kind, first, second):
    if dtype == "bool":
        dtype = "uint8"
    text = TEXT.format(lanes=lanes, dtype=dtype, kind=kind, count=1024 // lanes)
    if kind == "parallel":
        text = text.replace("        C[i % 64] = C[i % 64] + A[i * " + str(lanes) + "]\n", "")
    plain = text.replace('annotations={"streaming": 1, "prefetch": 2}', "annotations={}")
    values = (np.arange(1024) % 100).astype(dtype)
    outs = []
    for one in (text, plain):
        a, b = at(values, first), at(np.zeros(1024, dtype), second)
        c = np.zeros(64, dtype)
        loopwright.build(parse(one), schedule=None)["main"](a, b, c)
        outs.append((b.copy(), c))
    np.testing.assert_array_equal(outs[0][0], outs[1][0])
    np.testing.assert_array_equal(outs[0][1], outs[1][1])


def at(values: np.ndarray, places: int) -> np.ndarray:
    """A copy that begins so many elements after an address that 64 divides."""
    size = values.itemsize
    raw = np.zeros(values.nbytes + 64 + places * size, np.uint8)
    start = -raw.ctypes.data % 64 + places * size
    made = raw[start : start + values.nbytes].view(values.dtype)
    made[:] = values
    return made


def test_only_what_the_loop_does_not_read_is_streamed_and_settled_after_it():
    text = TEXT.format(lanes=16, dtype="float32", kind="serial", count=64)
    code = loopwright.build(parse(text), schedule=None).source("llvm")
    assert code.count("!nontemporal") == 1
    assert code.count("call void @llvm.prefetch") == 3
    read = text.replace("B[i * 16 + j] =", "B[i * 16 + j] = B[i * 16 + j] +")
    assert "!nontemporal" not in loopwright.build(parse(read), schedule=None).source("llvm")


@pytest.mark.parametrize(
    ("target", "fence"), [("x86_64-unknown-linux-gnu", True), ("aarch64-linux-gnu", False)]
)
def test_processors_of_intel_wait_for_their_stores(target, fence):
    text = TEXT.format(lanes=16, dtype="float32", kind="serial", count=64)
    code = loopwright.build(parse(text), {"kind": "llvm", "mtriple": target}, schedule=None).source("llvm")
    assert ("sfence" in code) == fence

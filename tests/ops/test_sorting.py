"""Sorting, choosing and finding at sizes at which their programs take all their ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.codegen import build
from loopwright.ir import PrimFunc, Var
from loopwright.ir.relax import Function, TensorType, get_op
from loopwright.ops.merge_sort import network, swaps
from loopwright.testing.operators import legalized

SIZES = (0, 1, 24, 25, 64, 65, 256, 257, 1000, 4096, 65535, 65536, 65537, 131072, 262144, 300001)


def kernel(name: str, dtype: str, **attrs: Any) -> Any:
    """The compiled kernel of an operator of one vector of any length."""
    n = Var("n", "int64")
    x = Var("x", TensorType((n,), dtype))
    mod = legalized(Function([x], get_op(f"relax.{name}")(x, **attrs), None))
    func = next(f for f in mod.functions.values() if isinstance(f, PrimFunc))
    return build(func.with_attr("global_symbol", "kernel"), "llvm")["kernel"]


def numbers(size: int, dtype: str) -> np.ndarray[Any, Any]:
    """Numbers with many equal ones for odd sizes, with all special ones for floats."""
    rng = np.random.default_rng(size)
    x = rng.normal(size=size) * 1000
    if dtype.startswith("float") and size > 20:
        x[rng.integers(0, size, 5)] = np.nan
        x[rng.integers(0, size, 5)] = np.inf
        x[rng.integers(0, size, 5)] = -0.0
    return (np.round(x / 500) if size % 2 else x).astype(dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype, descending", [("float32", False), ("int32", True), ("float64", True)])
def test_long_lines_are_sorted(dtype: str, descending: bool) -> None:
    sort = kernel("sort", dtype, descending=descending)
    for size in SIZES:
        x = numbers(size, dtype)
        out = np.empty_like(x)
        sort(x, out)
        want = np.sort(x)[::-1] if descending else np.sort(x)
        np.testing.assert_array_equal(out, want)


@pytest.mark.slow
def test_long_lines_are_ordered_stably() -> None:
    argsort = kernel("argsort", "float32")
    for size in SIZES:
        x = numbers(size, "float32")
        out = np.empty(size, "int32")
        argsort(x, out)
        np.testing.assert_array_equal(out, np.argsort(x, kind="stable"))


@pytest.mark.slow
def test_the_best_of_long_lines() -> None:
    topk = kernel("topk", "float32", k=20, ret_type="indices", largest=False)
    for size in SIZES[2:]:
        x = numbers(size, "float32")
        out = np.empty(20, "int32")
        topk(x, out)
        np.testing.assert_array_equal(out, np.argsort(x, kind="stable")[:20])


@settings(max_examples=50, deadline=None)
@given(st.sampled_from([8, 16]), st.data())
def test_the_network_merges(lanes: int, data: st.DataObject) -> None:
    """Two sorted vectors come out of the steps as one sorted sequence."""
    keys = st.lists(st.integers(0, 9), min_size=lanes, max_size=lanes)
    a, b = sorted(data.draw(keys)), sorted(data.draw(keys))
    x, y = np.minimum(a, b[::-1]), np.maximum(a, b[::-1])
    *steps, last = network(lanes)
    for low, high in steps:
        both = np.concatenate([x, y])
        x, y = np.minimum(both[list(low)], both[list(high)]), np.maximum(both[list(low)], both[list(high)])
    both = np.concatenate([x, y])
    assert [*both[list(last[0])], *both[list(last[1])]] == sorted(a + b)


@pytest.mark.parametrize("lanes", [8, 16])
def test_the_swaps_transpose(lanes: int) -> None:
    table = np.arange(lanes * lanes).reshape(lanes, lanes)
    rows = list(table)
    distance = 1
    while distance < lanes:
        low, high = swaps(lanes, distance)
        for r in range(lanes):
            if not r & distance:
                both = np.concatenate([rows[r], rows[r + distance]])
                rows[r], rows[r + distance] = both[list(low)], both[list(high)]
        distance *= 2
    np.testing.assert_array_equal(np.stack(rows), table.T)

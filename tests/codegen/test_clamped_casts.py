"""Floats between constants become integers as others do, NaN and infinities too."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright import build, te
from loopwright.ir import const

VALUES = [
    0.0,
    -0.0,
    0.5,
    1.5,
    -1.5,
    126.9,
    127.5,
    128.0,
    -128.9,
    255.5,
    1e9,
    -1e9,
    1e30,
    np.inf,
    -np.inf,
    np.nan,
]
BOUNDS = {"int8": (-128.0, 127.0), "uint8": (0.0, 255.0), "int16": (-300.0, 400.0), "int32": (-1e12, 1e12)}


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("form", range(5))
def test_clamped(dtype: str, form: int) -> None:
    low, high = [const(b, "float32") for b in BOUNDS[dtype]]
    clamp = [
        lambda x: te.max(te.min(x, high), low),
        lambda x: te.min(te.max(x, low), high),
        lambda x: te.min(te.max(low, x), high),
        lambda x: te.max(low, te.min(x, high)),
        lambda x: te.max(te.max(x, low), high),
    ][form]
    a = te.placeholder((len(VALUES) * 8,), "float32", "a")
    b = te.compute(a.shape, lambda i: clamp(a[i]).astype(dtype), name="b")
    func = te.create_prim_func([a, b])
    given = np.array(VALUES * 8, "float32")
    want, got = np.zeros(given.shape, dtype), np.ones(given.shape, dtype)
    func.interpret(given, want)
    build(func.with_attr("global_symbol", "f"), "llvm")["f"](given, got)
    np.testing.assert_array_equal(got, want)

"""A matrix product as a block with an initialiser: the form that schedules transform."""

from __future__ import annotations

import numpy as np

from loopwright.script import ir as I
from loopwright.script import tirx as T


@I.ir_module
class Products:
    """Two products in one module; `gram` calls nothing else but shares the module."""

    @T.prim_func
    def matmul(
        a: T.Buffer((96, 64), "float32"), b: T.Buffer((64, 80), "float32"), c: T.Buffer((96, 80), "float32")
    ):
        for i, j, k in T.grid(96, 80, 64):
            with T.sblock("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    c[vi, vj] = T.float32(0)
                c[vi, vj] = c[vi, vj] + a[vi, vk] * b[vk, vj]

    @T.prim_func
    def gram(a: T.Buffer((96, 64), "float32"), g: T.Buffer((96, 96), "float32")):
        for i, j, k in T.grid(96, 96, 64):
            with T.sblock("gram"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    g[vi, vj] = T.float32(0)
                g[vi, vj] = g[vi, vj] + a[vi, vk] * a[vj, vk]


def main() -> None:
    """Build the module, call both functions."""
    import loopwright

    lib = loopwright.build(Products)
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((96, 64), np.float32), rng.standard_normal((64, 80), np.float32)
    c, g = np.empty((96, 80), np.float32), np.empty((96, 96), np.float32)
    lib["matmul"](a, b, c)
    lib["gram"](a, g)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(g, a @ a.T, rtol=1e-4, atol=1e-4)
    print("two products built as one module: as numpy says")


if __name__ == "__main__":
    main()

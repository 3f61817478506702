"""What a call costs: add-one on 16 float32 values, three arrays, all checks on."""

from __future__ import annotations

from common import Row, nanoseconds_per_call

KERNEL = """
@T.prim_func
def add(a: T.Buffer((16,), "float32"), b: T.Buffer((16,), "float32"), c: T.Buffer((16,), "float32")):
    for i in T.vectorized(16):
        c[i] = a[i] + b[i]
"""


def rows() -> list[Row]:
    """The built function and the decorated object; numpy and, where installed, numba beside them."""
    import numpy as np

    import loopwright

    func = loopwright.parse(KERNEL)
    built = loopwright.build(func)["add"]
    a, b, c = (np.arange(16, dtype=np.float32) for _ in range(3))
    func(a, b, c)
    found = [
        Row("call the built function", nanoseconds_per_call(lambda: built(a, b, c)), "ns", 100),
        Row("call the decorated object", nanoseconds_per_call(lambda: func(a, b, c)), "ns", 250),
        Row("numpy.add(a, b, out=c)", nanoseconds_per_call(lambda: np.add(a, b, out=c)), "ns"),
    ]
    try:
        import numba
    except ImportError:
        return found

    @numba.njit
    def add(x, y, z):  # type: ignore[no-untyped-def]
        for i in range(16):
            z[i] = x[i] + y[i]

    add(a, b, c)
    return [*found, Row("numba dispatcher", nanoseconds_per_call(lambda: add(a, b, c)), "ns")]

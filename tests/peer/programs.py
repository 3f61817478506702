"""Programs and tensor intrinsics that both sides read, beside those of the strategies."""

from __future__ import annotations

BIAS = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer(({n}, {k}), "float32"),
    B: T.Buffer(({k}, {m}), "float32"),
    bias: T.Buffer(({m},), "float32"),
    D: T.Buffer(({n}, {m}), "float32"),
):
    C = T.sblock_alloc_buffer(({n}, {m}))
    for i, j, k in T.grid({n}, {m}, {k}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid({n}, {m}):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + bias[vj]
"""

PADDED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {k}), "float32"), B: T.Buffer(({k}, {m}), "float32"), D: T.Buffer(({n}, {m}), "float32")):
    P = T.sblock_alloc_buffer(({n}, {k}))
    Q = T.sblock_alloc_buffer(({k}, {m}))
    C = T.sblock_alloc_buffer(({n}, {m}))
    for i, k in T.grid({n}, {k}):
        with T.sblock("P"):
            vi, vk = T.axis.remap("SS", [i, k])
            P[vi, vk] = A[vi, vk]
    for k, j in T.grid({k}, {m}):
        with T.sblock("Q"):
            vk, vj = T.axis.remap("SS", [k, j])
            Q[vk, vj] = B[vk, vj] + T.float32(1)
    for i, j, k in T.grid({n}, {m}, {k}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + P[vi, vk] * Q[vk, vj]
    for i, j in T.grid({n}, {m}):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj]
"""

POOL = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n} + 4, {m}), "float32"), C: T.Buffer(({n}, {m}), "float32")):
    B = T.sblock_alloc_buffer(({n} + 4, {m}))
    for i, j in T.grid({n} + 4, {m}):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(3)
    for i, j, r in T.grid({n}, {m}, 5):
        with T.sblock("C"):
            vi, vj, vr = T.axis.remap("SSR", [i, j, r])
            with T.init():
                C[vi, vj] = T.float32(-1000)
            C[vi, vj] = T.max(C[vi, vj], B[vi + vr, vj])
"""

STENCIL = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n} + 2, {m}), "float32"), C: T.Buffer(({n}, {m}), "float32")):
    B = T.sblock_alloc_buffer(({n} + 2, {m}))
    for i in range({n}):
        for r, j in T.grid(3, {m}):
            with T.sblock("B"):
                vi = T.axis.spatial({n} + 2, i + r)
                vj = T.axis.spatial({m}, j)
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range({m}):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]
"""

EXTRA: dict[str, str] = {"bias_sum": BIAS, "padded": PADDED, "pooled": POOL, "stencil": STENCIL}
"""Programs by name; `{{n}}`, `{{m}}` and `{{k}}` are sizes."""

_DOT = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer(({n},), "float32", offset_factor=1),
    B: T.Buffer(({n},), "float32", offset_factor=1),
    C: T.Buffer((1,), "float32", offset_factor=1),
):
    with T.sblock("root"):
        T.reads(C[0], A[0:{n}], B[0:{n}])
        T.writes(C[0])
        for k in range({n}):
            with T.sblock("update"):
                vk = T.axis.reduce({n}, k)
                C[0] = C[0] + A[vk] * B[vk]
"""

_DOT_MADE = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer(({n},), "float32", offset_factor=1),
    B: T.Buffer(({n},), "float32", offset_factor=1),
    C: T.Buffer((1,), "float32", offset_factor=1),
):
    with T.sblock("root"):
        T.reads(C[0], A[0:{n}], B[0:{n}])
        T.writes(C[0])
        for k in range({n}):
            C[0] = C[0] + A[{n} - 1 - k] * B[{n} - 1 - k]
"""

_DOUBLE = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n},), "float32", offset_factor=1), B: T.Buffer(({n},), "float32", offset_factor=1)):
    with T.sblock("root"):
        T.reads(A[0:{n}])
        T.writes(B[0:{n}])
        for k in range({n}):
            with T.sblock("double"):
                vk = T.axis.spatial({n}, k)
                B[vk] = A[vk] * T.float32(2)
"""

_DOUBLE_MADE = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n},), "float32", offset_factor=1), B: T.Buffer(({n},), "float32", offset_factor=1)):
    with T.sblock("root"):
        T.reads(A[0:{n}])
        T.writes(B[0:{n}])
        for k in range({n}):
            B[k] = A[k] + A[k]
"""

INTRINSICS: dict[str, tuple[str, str]] = {
    f"peer_{name}_{n}": (desc.format(n=n), made.format(n=n))
    for n in (2, 4)
    for name, desc, made in (("dot", _DOT, _DOT_MADE), ("double", _DOUBLE, _DOUBLE_MADE))
}
"""Description and implementation of tensor intrinsics, by name."""

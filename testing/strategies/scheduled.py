"""Small programs to schedule: elementwise chains, products, reductions, guarded and symbolic sizes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ...ir import PrimFunc
from ...script import parse

ELEMENTWISE = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m}), "float32"), C: T.Buffer(({n}, {m}), "float32")):
    B = T.sblock_alloc_buffer(({n}, {m}))
    for i, j in T.grid({n}, {m}):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid({n}, {m}):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
"""

MATMUL = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer(({n}, {k}), "float32"),
    B: T.Buffer(({k}, {m}), "float32"),
    C: T.Buffer(({n}, {m}), "float32"),
):
    for i, j, k in T.grid({n}, {m}, {k}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

MATMUL_RELU = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer(({n}, {k}), "float32"),
    B: T.Buffer(({k}, {m}), "float32"),
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
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
"""

ROW_SUM = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m}), "float32"), C: T.Buffer(({n},), "float32")):
    B = T.sblock_alloc_buffer(({n},))
    for i, k in T.grid({n}, {m}):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
    for i in range({n}):
        with T.sblock("C"):
            vi = T.axis.spatial({n}, i)
            C[vi] = B[vi] * T.float32(3)
"""

CONV_PAD = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n},), "float32"), W: T.Buffer((3,), "float32"), C: T.Buffer(({n},), "float32")):
    P = T.sblock_alloc_buffer(({n} + 2,))
    for i in range({n} + 2):
        with T.sblock("P"):
            vi = T.axis.spatial({n} + 2, i)
            P[vi] = T.if_then_else(1 <= vi and vi < {n} + 1, A[vi - 1], T.float32(0))
    for i, k in T.grid({n}, 3):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + P[vi + vk] * W[vk]
"""

SHARED_LOOP = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m}), "float32"), C: T.Buffer(({n}, {m}), "float32")):
    B = T.sblock_alloc_buffer(({n}, {m}))
    for i in range({n}):
        for j in range({m}):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range({m}):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, {m} - 1 - vj] + T.float32(1)
"""

SIDE_BY_SIDE = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer(({n}, {m}), "float32"),
    B: T.Buffer(({n}, {m}), "float32"),
    C: T.Buffer(({n}, {m}), "float32"),
):
    for i, j in T.grid({n}, {m}):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid({n}, {m}):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
"""

GUARDED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m}), "float32"), C: T.Buffer(({n}, {m}), "float32")):
    for i, j in T.grid({n} + 2, {m}):
        with T.sblock("C"):
            vi = T.axis.spatial({n}, i)
            vj = T.axis.spatial({m}, j)
            T.where(i < {n})
            C[vi, vj] = A[vi, vj] * T.float32(2)
"""

SYMBOLIC = """
@T.prim_func(s_tir=True)
def main(a: T.handle, c: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m))
    C = T.match_buffer(c, (n, m))
    B = T.sblock_alloc_buffer((n, m))
    for i, j in T.grid(n, m):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(n, m):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
"""

SYMBOLIC_SUM = """
@T.prim_func(s_tir=True)
def main(a: T.handle, c: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m))
    C = T.match_buffer(c, (n,))
    for i, k in T.grid(n, m):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
"""

HALO = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((3 * {n} + 2, {k}), "float32"), C: T.Buffer((3 * {n},), "float32")):
    B = T.sblock_alloc_buffer((3 * {n} + 2,))
    for i in range({n}):
        for j, k in T.grid(5, {k}):
            with T.sblock("B"):
                vi = T.axis.spatial(3 * {n} + 2, i * 3 + j)
                vk = T.axis.reduce({k}, k)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
        for j in range(3):
            with T.sblock("C"):
                vi = T.axis.spatial(3 * {n}, i * 3 + j)
                C[vi] = B[vi] + B[vi + 2]
"""

IN_PLACE = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m}), "float32"), B: T.Buffer(({n}, {m}), "float32")):
    for i, j in T.grid({n}, {m}):
        with T.sblock("B_init"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid({n}, {m}):
        with T.sblock("B_add"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = B[vi, vj] + A[{n} - 1 - vi, vj]
"""

THREE = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer(({n}, {m}), "float32"),
    B: T.Buffer(({n}, {m}), "float32"),
    C: T.Buffer(({n}, {m}), "float32"),
    D: T.Buffer(({n}, {m}), "float32"),
):
    for i, j in T.grid({n}, {m}):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid({n}, {m}):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
    for i, j in T.grid({n}, {m}):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + C[vi, vj]
"""

TEMPLATES: dict[str, str] = {
    "elementwise": ELEMENTWISE,
    "matmul": MATMUL,
    "matmul_relu": MATMUL_RELU,
    "row_sum": ROW_SUM,
    "conv_pad": CONV_PAD,
    "shared_loop": SHARED_LOOP,
    "side_by_side": SIDE_BY_SIDE,
    "guarded": GUARDED,
    "halo": HALO,
    "in_place": IN_PLACE,
    "symbolic": SYMBOLIC,
    "three": THREE,
    "symbolic_sum": SYMBOLIC_SUM,
}

_SIZES = st.sampled_from([1, 2, 3, 4, 5, 6, 8])


def program(name: str, **sizes: int) -> PrimFunc:
    """A program of the table with these sizes (4 where not given)."""
    made: Any = parse(TEMPLATES[name].format(**{"n": 4, "m": 4, "k": 4, **sizes}))
    assert isinstance(made, PrimFunc)
    return made


@st.composite
def programs(draw: st.DrawFn) -> PrimFunc:
    """One of the programs with small sizes."""
    name = draw(st.sampled_from(sorted(TEMPLATES)))
    return program(name, n=draw(_SIZES), m=draw(_SIZES), k=draw(_SIZES))

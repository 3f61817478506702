"""Tensor intrinsics of the WMMA instructions: fragments that only they can take apart."""

from __future__ import annotations

from typing import Final, NamedTuple

from .text import Pair, pair

LOAD = """
@T.prim_func(s_tir=True)
def wmma_load_{role}(
    A: T.Buffer(({h}, {w}), "{dtype}"{a}, scope="{scope}", offset_factor={w}),
    C: T.Buffer(({h}, {w}), "{dtype}"{c}, scope="wmma.matrix_{matrix}", offset_factor={w}),
):
    with T.sblock("root"):
        T.reads(A[0:{h}, 0:{w}])
        T.writes(C[0:{h}, 0:{w}])
{body}
"""

SYNC = """
@T.prim_func(s_tir=True)
def wmma_sync_{role}(
    A: T.Buffer(({m}, {k}), "{in_dtype}"{a}, scope="wmma.matrix_a", offset_factor={k}),
    B: T.Buffer(({bh}, {bw}), "{in_dtype}"{b}, scope="wmma.matrix_b", offset_factor={bw}),
    C: T.Buffer(({m}, {n}), "{out_dtype}"{c}, scope="wmma.accumulator", offset_factor={n}),
):
    with T.sblock("root"):
        T.reads(C[0:{m}, 0:{n}], A[0:{m}, 0:{k}], B[0:{bh}, 0:{bw}])
        T.writes(C[0:{m}, 0:{n}])
{body}
"""

FILL = """
@T.prim_func(s_tir=True)
def wmma_fill_{role}(C: T.Buffer(({m}, {n}), "{dtype}"{c}, scope="wmma.accumulator", offset_factor={n})):
    with T.sblock("root"):
        T.reads()
        T.writes(C[0:{m}, 0:{n}])
{body}
"""

STORE = """
@T.prim_func(s_tir=True)
def wmma_store_{role}(
    A: T.Buffer(({m}, {n}), "{dtype}"{a}, scope="wmma.accumulator", offset_factor={n}),
    C: T.Buffer(({m}, {n}), "{dtype}"{c}, scope="{scope}", offset_factor={n}),
):
    with T.sblock("root"):
        T.reads(A[0:{m}, 0:{n}])
        T.writes(C[0:{m}, 0:{n}])
{body}
"""

COPY_LOOPS = """
        for i, j in T.grid({h}, {w}):
            with T.sblock("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj]
"""

FILL_LOOPS = """
        for i, j in T.grid({m}, {n}):
            with T.sblock("init"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.{dtype}(0)
"""

SYNC_LOOPS = """
        for i, j, k in T.grid({m}, {n}, {k}):
            with T.sblock("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + {term}
"""


class Shape(NamedTuple):
    """Rows, columns and depth of a product."""

    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


CUBE: Final = Shape(16, 16, 16)
INT4: Final = Shape(8, 8, 32)


def place(buffer: str, height: int, width: int) -> str:
    """The number of the fragment that a tile of this size of a buffer is, counted row by row."""
    row, offset = f"{buffer}.strides[0]", f"{buffer}.elem_offset"
    return f"{offset} // {row} // {height} * ({row} // {width}) + {offset} % {row} // {width}"


def _strides(name: str) -> str:
    return f', strides=("{name}1", "{name}0")'


def load(shape: Shape, dtype: str, scope: str, is_b: bool, is_col_major: bool) -> Pair:
    """Loading an operand from shared memory."""
    m, n, k = shape
    h, w = (k, n) if is_b else (m, k)
    if is_col_major:
        h, w = w, h
    names = {"h": h, "w": w, "dtype": dtype, "scope": scope, "matrix": "b" if is_b else "a"}
    order = "col_major" if is_col_major else "row_major"
    source = f'T.tvm_access_ptr(T.type_annotation("{dtype}"), A.data, A.elem_offset, A.strides[0] * {h}, 1)'
    tile = f"{m}, {n}, {k}, {place('C', h, w)}"
    call = f'T.tvm_load_matrix_sync(C.data, {tile}, {source}, A.strides[0], "{order}")'
    strided = {"a": _strides("s"), "c": _strides("d")}
    return pair(LOAD, COPY_LOOPS.format(h=h, w=w), " " * 8 + call, strided, **names)


def sync(shape: Shape, in_dtype: str, out_dtype: str, b_transposed: bool) -> Pair:
    """The product of two fragments, added to a third."""
    m, n, k = shape
    bh, bw = (n, k) if b_transposed else (k, n)
    names = {"m": m, "n": n, "k": k, "bh": bh, "bw": bw, "in_dtype": in_dtype, "out_dtype": out_dtype}
    cast = "{}" if in_dtype == out_dtype else f'T.Cast("{out_dtype}", {{}})'
    term = cast.format("A[vi, vk]") + " * " + cast.format("B[vj, vk]" if b_transposed else "B[vk, vj]")
    parts = [("C", m, n), ("A", m, k), ("B", bh, bw), ("C", m, n)]
    call = "T.tvm_mma_sync(" + ", ".join(f"{b}.data, {place(b, h, w)}" for b, h, w in parts) + ")"
    strided = {name: _strides(name) for name in "abc"}
    return pair(SYNC, SYNC_LOOPS.format(m=m, n=n, k=k, term=term), " " * 8 + call, strided, **names)


def fill(shape: Shape, dtype: str) -> Pair:
    """Setting a result to zero."""
    m, n, k = shape
    names = {"m": m, "n": n, "dtype": dtype}
    call = f"T.tvm_fill_fragment(C.data, {m}, {n}, {k}, {place('C', m, n)}, T.{dtype}(0))"
    return pair(FILL, FILL_LOOPS.format(**names), " " * 8 + call, {"c": _strides("d")}, **names)


def store(shape: Shape, dtype: str, scope: str) -> Pair:
    """Storing a result."""
    m, n, k = shape
    names = {"m": m, "n": n, "dtype": dtype, "scope": scope}
    target = f'T.tvm_access_ptr(T.type_annotation("{dtype}"), C.data, C.elem_offset, C.strides[0] * {m}, 2)'
    tile = f"{m}, {n}, {k}, {place('A', m, n)}"
    call = f'T.tvm_store_matrix_sync(A.data, {tile}, {target}, C.strides[0], "row_major")'
    strided = {"a": _strides("d"), "c": _strides("s")}
    return pair(STORE, COPY_LOOPS.format(h=m, w=n), " " * 8 + call, strided, **names)

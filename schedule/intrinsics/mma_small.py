"""Tensor intrinsics of `mma.sync` on 16 by 8 by 8, over buffers of the scopes `m16n8k8.matrixA`, `B` and `C`.

Such a buffer is indexed as a matrix; the pass `s_tir.TransformMmaBufferLayout` turns it into the registers of
a thread, in the order that `left_place`, `right_place` and `result_place` say.
"""

from __future__ import annotations

from typing import Any

from ...errors import ArgumentValueError, Diagnostic
from .fragments import input_of, output_of
from .text import Formula, Pair, pair

INIT = """
@T.prim_func(s_tir=True)
def mma_init_{role}(dst: T.Buffer((16, 8), "{dtype}", scope="m16n8k8.matrixC", offset_factor=1)):
    with T.sblock("root"):
        T.reads()
        T.writes(dst[0:16, 0:8])
{body}
"""

INIT_LOOPS = """
        for i, j in T.grid(16, 8):
            with T.sblock("init"):
                vi, vj = T.axis.remap("SS", [i, j])
                dst[vi, vj] = T.{dtype}(0)
"""

INIT_LANES = """
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for b in range(2):
                for v in T.vectorized(2):
                    dst[b * 8 + tx // 4, tx % 4 * 2 + v] = T.{dtype}(0)
"""

COPY = """
@T.prim_func(s_tir=True)
def mma_{what}_{role}(
    src: T.Buffer(({h}, {w}), "{dtype}"{s}, scope="{source}", offset_factor=1),
    dst: T.Buffer(({h}, {w}), "{dtype}"{d}, scope="{target}", offset_factor=1),
):
    with T.sblock("root"):
        T.reads(src[0:{h}, 0:{w}])
        T.writes(dst[0:{h}, 0:{w}])
{body}
"""

COPY_LOOPS = """
        for i, j in T.grid({h}, {w}):
            with T.sblock("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                dst[vi, vj] = src[vi, vj]
"""

STORE_LANES = """
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for b in range(2):
                for v in T.vectorized(2):
                    dst[b * 8 + tx // 4, tx % 4 * 2 + v] = src[b * 8 + tx // 4, tx % 4 * 2 + v]
"""

LOAD = """
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            T.ptx_legacy.ldmatrix(
                T.bool({transposed}), {number}, ".b16", dst.data, {place},
                T.tvm_access_ptr(
                    T.type_annotation("{dtype}"), src.data, src.elem_offset, src.strides[0] * {h}, 1
                ),
                {cell},
            )
"""

SYNC = """
@T.prim_func(s_tir=True)
def mma_sync_{role}(
    A: T.Buffer((16, 8), "{a_dtype}"{a}, scope="m16n8k8.matrixA", offset_factor=1),
    B: T.Buffer(({bh}, {bw}), "{a_dtype}"{b}, scope="m16n8k8.matrixB", offset_factor=1),
    C: T.Buffer((16, 8), "{c_dtype}"{c}, scope="m16n8k8.matrixC", offset_factor=1),
):
    with T.sblock("root"):
        T.reads(C[0:16, 0:8], A[0:16, 0:8], B[0:{bh}, 0:{bw}])
        T.writes(C[0:16, 0:8])
{body}
"""

SYNC_LOOPS = """
        for i, j, k in T.grid(16, 8, 8):
            with T.sblock("m16n8k8_sync"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + {term}
"""

SYNC_CALL = """
        T.ptx_legacy.mma(
            "m16n8k8", "row", "col", "{a}", "{a}", "{c}", A.data, {at_a}, B.data, {at_b}, C.data, {at_c},
            T.bool(False),
        )
"""


def left_place(offset: Any, stride: Any) -> Any:
    """The first register of a tile of 16 by 8 at this offset of a left operand with rows of this length."""
    row, column = offset // stride, offset % stride
    return (row // 32 * (stride // 8) + column // 8) * 8 + row % 32 // 16 * 4


def right_place(offset: Any, stride: Any) -> Any:
    """The same of a tile of 8 by 8 of a right operand."""
    row, column = offset // stride, offset % stride
    return (row // 8 * (stride // 32) + column // 32) * 8 + column % 32 // 8 * 2


def result_place(offset: Any, stride: Any) -> Any:
    """The same of a tile of 16 by 8 of a result."""
    row, column = offset // stride // 8, offset % stride
    return (row // 2 * 2 * (stride // 8) + row % 2 + column // 8 * 2) * 2


def _at(place: Any, buffer: str) -> str:
    return str(place(Formula(f"{buffer}.elem_offset"), Formula(f"{buffer}.strides[0]")))


def _only(shape: tuple[int, int, int]) -> None:
    if shape != (16, 8, 8):
        text = "the shape is {} by {} by {}: these intrinsics are of 16 by 8 by 8".format(*shape)
        raise ArgumentValueError(Diagnostic("tensor-intrin", text))


def init(shape: tuple[int, int, int], dtype: str) -> Pair:
    """Setting a result to zero."""
    _only(shape)
    output_of(dtype)
    return pair(INIT, INIT_LOOPS.format(dtype=dtype), INIT_LANES.format(dtype=dtype), {}, dtype=dtype)


def load(shape: tuple[int, int, int], dtype: str, scope: str, is_b: bool, is_col_major: bool) -> Pair:
    """Loading an operand from shared memory; in column major order its sides are exchanged there."""
    _only(shape)
    if input_of(dtype).bits != 16:
        raise ArgumentValueError(
            Diagnostic("tensor-intrin", f"a product of 16 by 8 by 8 takes 16-bit elements, not `{dtype}`")
        )
    h, w = (8, 8) if is_b else (8, 16) if is_col_major else (16, 8)
    across = is_col_major != is_b
    cell = "tx % 8 * src.strides[0]" + (" + tx % 16 // 8 * 8" if w == 16 else "")
    if h == 16:
        cell = "tx % 16 * src.strides[0]"
    names = {"h": h, "w": w, "dtype": dtype, "what": "load", "source": scope}
    names["target"] = f"m16n8k8.matrix{'B' if is_b else 'A'}"
    place = _at(right_place if is_b else left_place, "dst")
    body = LOAD.format(transposed=across, number=1 if is_b else 2, place=place, cell=cell, h=h, dtype=dtype)
    strided = {"s": _strides("s"), "d": _strides("d")}
    return pair(COPY, COPY_LOOPS.format(h=h, w=w), body, strided, **names)


def sync(shape: tuple[int, int, int], in_dtype: str, out_dtype: str, b_transposed: bool) -> Pair:
    """The product of two fragments, added to a third."""
    _only(shape)
    a, c = input_of(in_dtype), output_of(out_dtype)
    cast = "{}" if in_dtype == out_dtype else f'T.Cast("{out_dtype}", {{}})'
    term = cast.format("A[vi, vk]") + " * " + cast.format("B[vj, vk]" if b_transposed else "B[vk, vj]")
    places = {"at_a": _at(left_place, "A"), "at_b": _at(right_place, "B"), "at_c": _at(result_place, "C")}
    body = SYNC_CALL.format(a=a.ptx, c=c.ptx, **places)
    strided = {name: _strides(name) for name in "abc"}
    names = {"bh": 8, "bw": 8, "a_dtype": in_dtype, "c_dtype": out_dtype}
    return pair(SYNC, SYNC_LOOPS.format(term=term), body, strided, **names)


def store(shape: tuple[int, int, int], dtype: str, scope: str) -> Pair:
    """Storing a result: each lane what it holds."""
    _only(shape)
    names = {"h": 16, "w": 8, "dtype": dtype, "what": "store", "source": "m16n8k8.matrixC", "target": scope}
    return pair(COPY, COPY_LOOPS.format(h=16, w=8), STORE_LANES, {"s": "", "d": ""}, **names)


def _strides(name: str) -> str:
    return f', strides=("{name}0", "{name}1")'

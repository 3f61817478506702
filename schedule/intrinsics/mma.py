"""Tensor intrinsics of `ldmatrix` and `mma.sync` on tiles of 16 by 16 results.

Operands and results lie in the registers of a warp: buffers of the scope `warp` of 32 lanes by the elements
that each holds.  Descriptions give every element a place there.  For operands these are names: what
`ldmatrix` of an operand loads only the `mma` that goes with it may read.  The places of results are as
described.
"""

from __future__ import annotations

from .fragments import Element, columns, columns_cell, result, rows, rows_cell
from .text import Formula, Pair, pair

LOAD = """
@T.prim_func(s_tir=True)
def ldmatrix_{role}(
    warp: T.Buffer((32, {held}), "{dtype}", scope="warp", offset_factor={factor}),
    shared: T.Buffer(({h}, {w}), "{dtype}"{s}, scope="{scope}", offset_factor={factor}),
):
    with T.sblock("root"):
        T.reads(shared[0:{h}, 0:{w}])
        T.writes(warp[0:32, 0:{held}])
{body}
"""

LOAD_LOOPS = """
        for i, j in T.grid({h}, {w}):
            with T.sblock("load"):
                vi, vj = T.axis.remap("SS", [i, j])
                warp[{lane}, {place}] = shared[vi, vj]
"""

LDMATRIX = """
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            T.ptx_legacy.ldmatrix(
                T.bool({transposed}), 4, ".b16", warp.data, warp.elem_offset + {held} * tx,
                T.tvm_access_ptr(
                    T.type_annotation("{dtype}"), shared.data, shared.elem_offset, shared.strides[0] * {h}, 1
                ),
                shared.strides[0] * {row} + {unit} * {column},
            )
"""

GATHER = """
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for e in T.unroll({held}):
                warp[tx, e] = shared[{row}, {column}]
"""

SYNC = """
@T.prim_func(s_tir=True)
def mma_sync_{role}(
    A: T.Buffer((32, {held}), "{in_dtype}", scope="warp", offset_factor={a_factor}),
    B: T.Buffer((32, {held}), "{in_dtype}", scope="warp", offset_factor={b_factor}),
    C: T.Buffer((32, 8), "{out_dtype}", scope="warp", offset_factor=16),
):
    with T.sblock("root"):
        T.reads(C[0:32, 0:8], A[0:32, 0:{held}], B[0:32, 0:{held}])
        T.writes(C[0:32, 0:8])
{body}
"""

SYNC_LOOPS = """
        for i, j, k in T.grid(16, 16, {depth}):
            with T.sblock("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[{c}] = C[{c}] + {term}
"""

MMA = """
            T.ptx_legacy.mma(
                "m16n8k{depth}", "row", "col", "{a}", "{a}", "{c}", A.data, A.elem_offset + tx * {held},
                B.data, B.elem_offset + tx * {held}{b_half}, C.data, C.elem_offset + tx * 8{c_half},
                T.bool(False),
            )
"""

FILL = """
@T.prim_func(s_tir=True)
def mma_fill_{role}(C: T.Buffer((32, 8), "{dtype}", scope="warp"{c})):
    with T.sblock("root"):
        T.reads()
        T.writes(C[0:32, 0:8])
{body}
"""

FILL_LOOPS = """
        for i, j in T.grid(16, 16):
            with T.sblock("init"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[{place}] = T.{dtype}(0)
"""

FILL_LANES = """
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for e in T.unroll(8):
                C[tx, e] = T.{dtype}(0)
"""

STORE = """
@T.prim_func(s_tir=True)
def mma_store_{role}(
    C_warp: T.Buffer((32, 8), "{dtype}", scope="warp"{w}),
    C: T.Buffer((16, 16), "{dtype}"{c}, scope="{scope}"{f}),
):
    with T.sblock("root"):
        T.reads(C_warp[0:32, 0:8])
        T.writes(C[0:16, 0:16])
{body}
"""

STORE_LOOPS = """
        for i, j in T.grid(16, 16):
            with T.sblock("store"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = C_warp[{place}]
"""

STORE_LANES = """
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for pair in T.unroll(4):
                for e in T.vectorized(2):
                    C[8 * (pair % 2) + tx // 4, 8 * (pair // 2) + tx % 4 * 2 + e] = C_warp[tx, pair * 2 + e]
"""


STRIDES = ', strides=("s0", "s1")'
FREE = ", offset_factor=1"


def _index(place: tuple[object, object]) -> str:
    return ", ".join(map(str, place))


def ldmatrix(e: Element, is_b: bool, transposed: bool, scope: str = "shared") -> Pair:
    """Loading an operand: `transposed` says that shared memory has it with rows and columns exchanged.

    A tile is 16 rows of the left operand, or 16 columns of the right one, by what an instruction takes of the
    sum.  16-bit elements are transposed by the instruction, others are fetched one by one.
    """
    across = transposed != is_b
    h, w = (e.depth, 16) if across else (16, e.depth)
    names = {"h": h, "w": w, "held": e.held, "dtype": e.dtype, "scope": scope}
    names["factor"] = 16 if across and e.bits != 16 else e.depth
    vi, vj, tx = Formula("vi"), Formula("vj"), Formula("tx")
    lane, place = rows(e, vi, vj)
    if across and e.bits != 16:
        lane, place = columns(e, vi, vj) if is_b else rows(e, vj, vi)
        cell = columns_cell(e, tx, Formula("e")) if is_b else rows_cell(e, tx, Formula("e"))[::-1]
        body = GATHER.format(held=e.held, row=cell[0], column=cell[1])
    else:
        pairs = ("(tx // 16 * 8 + tx % 8)", "(tx % 16 // 8)"), ("(tx % 16)", "(tx // 16)")
        row, column = pairs[is_b == across]
        body = LDMATRIX.format(transposed=across, row=row, column=column, unit=e.unit, **names)
    return pair(LOAD, LOAD_LOOPS.format(h=h, w=w, lane=lane, place=place), body, {"s": STRIDES}, **names)


def sync(a: Element, c: Element, a_transposed: bool = False, b_transposed: bool = False) -> Pair:
    """The product of two fragments, added to a third: two instructions of eight columns."""
    vi, vj, vk = Formula("vi"), Formula("vj"), Formula("vk")
    own = _index(rows(a, vk, vi) if a_transposed and a.bits == 16 else rows(a, vi, vk))
    by_columns = not b_transposed and a.bits != 16
    other = rows(a, vj, vk) if b_transposed else (columns if by_columns else rows)(a, vk, vj)
    cast = "{}" if a.dtype == c.dtype else f'T.Cast("{c.dtype}", {{}})'
    term = cast.format(f"A[{own}]") + " * " + cast.format(f"B[{_index(other)}]")
    loops = SYNC_LOOPS.format(depth=a.depth, c=_index(result(vi, vj)), term=term)
    body = '        for tx in T.thread_binding(32, thread="threadIdx.x"):'
    for b_half, c_half in (("", ""), (f" + {a.held // 2}", " + 4")):
        body += MMA.format(depth=a.depth, a=a.ptx, c=c.ptx, held=a.held, b_half=b_half, c_half=c_half)
    names = {"held": a.held, "in_dtype": a.dtype, "out_dtype": c.dtype, "a_factor": a.depth}
    return pair(SYNC, loops, body, {}, b_factor=16 if by_columns else a.depth, **names)


def fill(c: Element) -> Pair:
    """Setting a result to zero."""
    loops = FILL_LOOPS.format(place=_index(result(Formula("vi"), Formula("vj"))), dtype=c.dtype)
    body = FILL_LANES.format(dtype=c.dtype)
    return pair(FILL, loops, body, {"c": FREE}, dtype=c.dtype)


def store(c: Element, scope: str = "global") -> Pair:
    """Storing a result."""
    loops = STORE_LOOPS.format(place=_index(result(Formula("vi"), Formula("vj"))))
    return pair(STORE, loops, STORE_LANES, {"w": FREE, "c": STRIDES, "f": FREE}, dtype=c.dtype, scope=scope)

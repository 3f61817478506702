"""Access regions: that they hold every access, and that they are as small as they can be said to be."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.ir import SBlock, find
from loopwright.ir.analysis.regions import READ, WRITE, block_access_regions, touched_buffers
from loopwright.script import parse

HEAD = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32"),
      idx: T.Buffer((16,), "int32"), n: T.int32):
"""


def inferred(body):
    """The lines of the printed program that name blocks and their regions."""
    text = parse(HEAD + body).script()
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if re.match(r"T\.(reads|writes)", line)]


CASES = {
    # a reduction does not read what it accumulates into
    """
    for i, j, k in T.grid(16, 16, 16):
        with T.sblock("mm"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""": ["T.reads(A[vi, vk], B[vk, vj])", "T.writes(C[vi, vj])"],
    # without an initialiser it does
    """
    for i in range(16):
        with T.sblock("b"):
            vi = T.axis.spatial(16, i)
            C[vi, 0] = C[vi, 0] + T.float32(1)
""": ["T.reads(C[vi, 0])", "T.writes(C[vi, 0])"],
    # loops inside are run through, conditions on them respected
    """
    for i in range(16):
        with T.sblock("b"):
            vi = T.axis.spatial(16, i)
            for j in range(16):
                if j < 8:
                    C[vi, j] = A[vi, j] * B[j, vi]
""": ["T.reads(A[vi, 0:8], B[0:8, vi])", "T.writes(C[vi, 0:8])"],
    """
    for i in range(16):
        with T.sblock("b"):
            vi = T.axis.spatial(16, i)
            for j in range(16):
                C[vi, j] = T.if_then_else(j >= 3 and j < 12, A[vi, j - 3], T.float32(0))
""": ["T.reads(A[vi, 0:9])", "T.writes(C[vi, 0:16])"],
    # indices from memory
    """
    for i in range(16):
        with T.sblock("b"):
            vi = T.axis.spatial(16, i)
            C[vi, 1] = A[idx[vi], 2]
""": ["T.reads(A[idx[vi], 2], idx[vi])", "T.writes(C[vi, 1])"],
    """
    for i in range(16):
        with T.sblock("b"):
            vi = T.axis.spatial(16, i)
            for j in range(16):
                C[vi, j] = B[idx[j], j]
""": ["T.reads(B[0:16, 0:16], idx[0:16])", "T.writes(C[vi, 0:16])"],
    # pointers handed out
    """
    for i in range(4):
        with T.sblock("b"):
            vi = T.axis.spatial(4, i)
            T.evaluate(T.call_extern("int32", "g", A.access_ptr("r"), C.access_ptr("w"), B.data))
""": ["T.reads(A[0:16, 0:16], B[0:16, 0:16])", "T.writes(C[0:16, 0:16], B[0:16, 0:16])"],
    # a block inside counts by its own regions
    """
    for i in range(4):
        with T.sblock("outer"):
            vi = T.axis.spatial(4, i)
            for ii, j in T.grid(4, 16):
                with T.sblock("inner"):
                    vii = T.axis.spatial(16, vi * 4 + ii)
                    vj = T.axis.spatial(16, j)
                    C[vii, vj] = A[vii, vj]
""": [
        "T.reads(A[vi * 4:vi * 4 + 4, 0:16])",
        "T.writes(C[vi * 4:vi * 4 + 4, 0:16])",
        "T.reads(A[vii, vj])",
        "T.writes(C[vii, vj])",
    ],
    # names and vectors
    """
    for i in range(4):
        with T.sblock("b"):
            vi = T.axis.spatial(4, i)
            t: T.let = vi * 2
            C[t, 0:4] = T.Broadcast(A[t, 1], 4)
""": ["T.reads(A[vi * 2, 1])", "T.writes(C[vi * 2, 0:4])"],
    # buffers of the block itself are not listed; symbolic extents
    """
    for i in range(4):
        with T.sblock("b"):
            vi = T.axis.spatial(4, i)
            D = T.sblock_alloc_buffer((4,), "float32")
            for k in range(n):
                D[k] = A[vi, k] + A[vi, k + 1]
            C[vi, 0] = D[0]
""": ["T.reads(A[vi, 0:n + 1])", "T.writes(C[vi, 0])"],
    # views count as what they view
    """
    for i in range(4):
        with T.sblock("b"):
            vi = T.axis.spatial(4, i)
            M = T.match_buffer(A[vi * 4:vi * 4 + 4, 0:16], (4, 16))
            for k in range(16):
                C[vi, k] = M[1, k]
""": ["T.reads(A[vi * 4 + 1, 0:16])", "T.writes(C[vi, 0:16])"],
    """
    for i in range(4):
        with T.sblock("b"):
            vi = T.axis.spatial(4, i)
            M = T.match_buffer(A[vi, 3:7], (4,))
            C[vi, vi] = M[3]
""": ["T.reads(A[vi, 6])", "T.writes(C[vi, vi])"],
    # both values of a Select are read
    """
    for i in range(4):
        with T.sblock("b"):
            vi = T.axis.spatial(4, i)
            for j in range(4):
                C[vi, j] = T.Select(j < 2, A[vi, j], B[vi, j + 1])
""": ["T.reads(A[vi, 0:4], B[vi, 1:5])", "T.writes(C[vi, 0:4])"],
}


@pytest.mark.parametrize("case", range(len(CASES)))
def test_regions_left_out_are_inferred(case):
    body, expected = list(CASES.items())[case]
    assert inferred(body) == expected


@st.composite
def accesses(draw):
    """Two index expressions over i (around the block), j and k (inside), as text."""

    def number(low, high):
        return draw(st.integers(low, high))

    def index():
        total = " + ".join(f"{v} * {number(-3, 4)}" for v in "ijk" if number(0, 1)) or "j"
        text = f"({total} + {number(0, 7)})"
        return draw(st.sampled_from([f"{text} // {number(1, 5)}", f"{text} % {number(1, 9)}", text]))

    guard = draw(
        st.sampled_from(
            ["", f"j < {number(1, 5)}", f"j >= {number(0, 3)} and k != 1", f"i + j < {number(2, 9)}"]
        )
    )
    return index(), index(), guard


@given(accesses())
def test_regions_hold_every_access(case):
    first, second, guard = case
    body = f"A[{first.replace('i', 'vi')} + 64, {second.replace('i', 'vi')} + 64] = 1"
    if guard:
        body = f"if {guard.replace('i', 'vi')}:\n                {body}"
    func = parse(
        f"""
@T.prim_func(s_tir=True)
def f(A: T.Buffer((256, 256), "int32")):
    for i in range(4):
        with T.sblock("b"):
            vi = T.axis.spatial(4, i)
            for j, k in T.grid(5, 3):
                {body}
"""
        if not guard
        else f"""
@T.prim_func(s_tir=True)
def f(A: T.Buffer((256, 256), "int32")):
    for i in range(4):
        with T.sblock("b"):
            vi = T.axis.spatial(4, i)
            for j, k in T.grid(5, 3):
              {body}
"""
    )
    (block,) = [b for b in find(func, SBlock) if b.name_hint == "b"]
    _, (region,) = block_access_regions(block)
    text = region.script() if hasattr(region, "script") else None
    from loopwright.codegen.python import evaluate
    from loopwright.ir import substitute

    (axis,) = block.iter_vars
    for i in range(4):
        ends = []
        for r in region.region:
            low = int(evaluate(substitute(r.min, {axis.var: i})))
            ends.append((low, low + int(evaluate(substitute(r.extent, {axis.var: i})))))
        for j, k in itertools.product(range(5), range(3)):
            if guard and not eval(guard, {"i": i, "j": j, "k": k}):
                continue
            cell = [eval(e, {"i": i, "j": j, "k": k}) + 64 for e in (first, second)]
            for value, (low, high) in zip(cell, ends):
                assert low <= value < high, (text, i, j, k)


def test_touched_buffers_says_how():
    func = parse(
        HEAD
        + """
    for i in range(16):
        A[i, 0] = B[i, 0]
        C[i, 0] = C[i, 1]
"""
    )
    found = {b.name: mode for b, mode in touched_buffers(func.body).items()}
    assert found == {"A": WRITE, "B": READ, "C": READ | WRITE}

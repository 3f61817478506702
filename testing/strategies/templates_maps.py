"""Small programs to schedule whose blocks map elements to elements."""

from __future__ import annotations

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

INDEXED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((2 * {n} + 2, {m} + 1), "float32"), C: T.Buffer((4 * {n}, {m}), "float32")):
    for i, j in T.grid(4 * {n}, {m}):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi // 2 + 1, vj + 1] + A[vi // 2 + 1, vj] * A[vi // 2, {m} - 1 - vj]
"""

WINDOW = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n} + 2, {m} + 1), "float32"), C: T.Buffer(({n}, {m}), "float32")):
    B = T.sblock_alloc_buffer(({n} + 2, {m} + 1))
    for i in range({n}):
        for ii, j in T.grid(3, {m} + 1):
            with T.sblock("B"):
                vi = T.axis.spatial({n} + 2, i + ii)
                vj = T.axis.spatial({m} + 1, j)
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range({m}):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + B[vi + 1, vj + 1] + B[vi + 2, vj]
"""

PAD = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m}), "float32"), C: T.Buffer(({n}, {m}), "float32")):
    P = T.sblock_alloc_buffer(({n} + 2, {m} + 3))
    for i, j in T.grid({n} + 2, {m} + 3):
        with T.sblock("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(
                1 <= vi and vi < {n} + 1 and 2 <= vj and vj < {m} + 2, A[vi - 1, vj - 2], T.float32(5)
            )
    for i, j in T.grid({n}, {m}):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = P[vi + 2, vj] - P[vi, vj + 3]
"""

SIBLINGS = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer(({n}, {m}), "int32"),
    B: T.Buffer(({n}, {m}), "int32"),
    C: T.Buffer(({n}, {m}), "int32"),
    D: T.Buffer(({n},), "int32"),
):
    for i in range({n}):
        for j in range({m}):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2
        for j in range({m}):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + 1
    for i in range({n}):
        with T.sblock("D"):
            vi = T.axis.spatial({n}, i)
            D[vi] = A[vi, 0] - 3
"""

OFFSET = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n} + 2,), "float32"), C: T.Buffer(({n} + 2,), "float32")):
    with T.sblock("root"):
        T.reads(A[0:{n} + 2])
        T.writes(C[0:{n} + 2])
        B = T.sblock_alloc_buffer(({n} + 2,))
        for i in T.serial(1, {n} + 2):
            with T.sblock("B"):
                vi = T.axis.spatial((1, {n} + 2), i)
                B[vi] = A[vi] * T.float32(2)
        for i in T.serial(1, {n} + 2):
            with T.sblock("C"):
                vi = T.axis.spatial((1, {n} + 2), i)
                C[vi] = B[vi] + A[vi - 1]
"""

LONG = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer((T.int64({n}), T.int64({m})), "int16"), C: T.Buffer((T.int64({n}), T.int64({m})), "int16")
):
    B = T.sblock_alloc_buffer((T.int64({n}), T.int64({m})), "int16")
    for i, j in T.grid(T.int64({n}), T.int64({m})):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.int16(3)
    for i, j in T.grid(T.int64({n}), T.int64({m})):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] - T.int16(1)
"""

BRANCH = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m}), "float32"), flag: T.int32, C: T.Buffer(({n}, {m}), "float32")):
    B = T.sblock_alloc_buffer(({n}, {m}))
    for i, j in T.grid({n}, {m}):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    if flag > 0:
        for i, j in T.grid({n}, {m}):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
    else:
        for i, j in T.grid({n}, {m}):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj]
"""

SYMBOLIC_WINDOW = """
@T.prim_func(s_tir=True)
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n + 1, {m}))
    C = T.match_buffer(c, (n, {m}))
    B = T.sblock_alloc_buffer((n + 1, {m}))
    for i, j in T.grid(n + 1, {m}):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(n, {m}):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] - B[vi + 1, vj]
"""

SYMBOLIC_IN_PLACE = """
@T.prim_func(s_tir=True)
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, {m}))
    B = T.match_buffer(b, (n, {m}))
    for i, j in T.grid(n, {m}):
        with T.sblock("B_init"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(n, {m}):
        with T.sblock("B_add"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = B[vi, vj] + A[n - 1 - vi, vj]
"""

TWO_OUTPUTS = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer(({n}, {m}), "float32"), C: T.Buffer(({n}, {m}), "float32"), D: T.Buffer(({m}, {n}), "float32")
):
    X = T.sblock_alloc_buffer(({n}, {m}))
    Y = T.sblock_alloc_buffer(({m}, {n}))
    for i, j in T.grid({n}, {m}):
        with T.sblock("X"):
            vi, vj = T.axis.remap("SS", [i, j])
            X[vi, vj] = A[vi, vj] + T.float32(1)
            Y[vj, vi] = A[vi, vj] - T.float32(1)
    for i, j in T.grid({n}, {m}):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = X[vi, vj] * T.float32(2)
    for i, j in T.grid({m}, {n}):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = Y[vi, vj] * T.float32(3)
"""

NOTED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m}), "float32"), C: T.Buffer(({n}, {m}), "float32")):
    B = T.sblock_alloc_buffer(({n}, {m}))
    for i in T.serial({n}, annotations={{"note": 1}}):
        for j in range({m}):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.sblock_attr({{"note": "once"}})
                B[vi, vj] = A[vi, vj] * T.float32(2)
    for i in range({n}):
        for j in T.serial({m}, annotations={{"note": [1, 2]}}):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
"""

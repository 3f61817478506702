"""Small programs to schedule whose blocks reduce: sums, products, convolutions."""

from __future__ import annotations

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

_EPILOGUE = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer(({n}, {k}), "float32"),
    B: T.Buffer(({k}, {m}), "float32"),
    E: T.Buffer(({m},), "float32"),
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
            D[vi, vj] = EPILOGUE
"""

BIAS = _EPILOGUE.replace("EPILOGUE", "C[vi, vj] + E[vj]")
BIAS_RELU = _EPILOGUE.replace("EPILOGUE", "T.max(C[vi, vj] + E[vj], T.float32(0))")
CLIP = _EPILOGUE.replace("EPILOGUE", "T.min(T.max(C[vi, vj], E[vj]), T.float32(6))")

DOT = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer(({n}, {v}), "float32"),
    B: T.Buffer(({m}, {v}), "float32"),
    C: T.Buffer(({n}, {m}), "float32"),
):
    for i, j in T.grid({n}, {m}):
        with T.sblock("C_init"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.float32(0)
    for i, j, k in T.grid({n}, {m}, {v}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
"""

OUTER = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer(({k}, {v}), "float32"),
    B: T.Buffer(({k}, {v}), "float32"),
    C: T.Buffer(({v}, {v}), "float32"),
):
    for i, j in T.grid({v}, {v}):
        with T.sblock("C_init"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.float32(0)
    for k, i, j in T.grid({k}, {v}, {v}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vk, vi] * B[vk, vj]
"""

LANES = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer(({n}, 4), "int8"), B: T.Buffer(({v}, 4), "int8"), C: T.Buffer(({n}, {v}), "int32")
):
    for i, j in T.grid({n}, {v}):
        with T.sblock("C_init"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = 0
    for i, j, k in T.grid({n}, {v}, 4):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj, vk])
"""

TILED_DOT = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {v}), "float32"), B: T.Buffer(({v},), "float32"), C: T.Buffer(({n},), "float32")):
    for i in range({n}):
        with T.sblock("C_o"):
            vi = T.axis.spatial({n}, i)
            T.reads(A[vi, 0:{v}], B[0:{v}])
            T.writes(C[vi])
            with T.init():
                with T.sblock("C_init"):
                    T.reads()
                    T.writes(C[vi])
                    C[vi] = T.float32(0)
            with T.sblock("C_i"):
                T.reads(C[vi], A[vi, 0:{v}], B[0:{v}])
                T.writes(C[vi])
                for k in range({v}):
                    with T.sblock("C"):
                        vk = T.axis.reduce({v}, k)
                        C[vi] = C[vi] + A[vi, vk] * B[vk]
"""

ARGMAX = """
@T.prim_func(s_tir=True)
def main(V: T.Buffer(({n}, {m}), "int32"), K: T.Buffer(({n},), "int32"), M: T.Buffer(({n},), "int32")):
    for i, k in T.grid({n}, {m}):
        with T.sblock("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                K[vi] = -1
                M[vi] = T.min_value("int32")
            at: T.let[T.int32] = T.Select(
                M[vi] > V[vi, vk] or M[vi] == V[vi, vk] and K[vi] < vk, K[vi], vk
            )
            best: T.let[T.int32] = T.Select(M[vi] > V[vi, vk], M[vi], V[vi, vk])
            K[vi] = at
            M[vi] = best
"""

TWO_SUMS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m}), "float32"), X: T.Buffer(({n},), "float32"), Y: T.Buffer(({n},), "float32")):
    for i, k in T.grid({n}, {m}):
        with T.sblock("X"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                X[vi] = T.float32(0)
                Y[vi] = T.float32(0)
            x: T.let[T.float32] = X[vi] + A[vi, vk]
            y: T.let[T.float32] = Y[vi] + A[vi, vk] * A[vi, vk]
            X[vi] = x
            Y[vi] = y
"""

_FOLD = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m}, {k}), "int32"), B: T.Buffer(({m},), "int32")):
    for i, j, k in T.grid({n}, {m}, {k}):
        with T.sblock("B"):
            vi, vj, vk = T.axis.remap("RSR", [i, j, k])
            with T.init():
                B[vj] = START
            B[vj] = COMBINED
"""

FOLD_MAX = _FOLD.replace("START", 'T.min_value("int32")').replace("COMBINED", "T.max(B[vj], A[vi, vj, vk])")
FOLD_PRODUCT = _FOLD.replace("START", "1").replace("COMBINED", "B[vj] * A[vi, vj, vk]")

CONV_2D = """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer(({n}, {m}, {k}), "int32"),
    W: T.Buffer((2, 3, {k}, 2), "int32"),
    C: T.Buffer(({n}, {m}, 2), "int32"),
):
    P = T.sblock_alloc_buffer(({n} + 1, {m} + 2, {k}), "int32")
    for i, j, c in T.grid({n} + 1, {m} + 2, {k}):
        with T.sblock("P"):
            vi, vj, vc = T.axis.remap("SSS", [i, j, c])
            P[vi, vj, vc] = T.if_then_else(vi < {n} and 1 <= vj and vj < {m} + 1, A[vi, vj - 1, vc], 0)
    for i, j, o, x, y, c in T.grid({n}, {m}, 2, 2, 3, {k}):
        with T.sblock("C"):
            vi, vj, vo, vx, vy, vc = T.axis.remap("SSSRRR", [i, j, o, x, y, c])
            with T.init():
                C[vi, vj, vo] = 0
            C[vi, vj, vo] = C[vi, vj, vo] + P[vi + vx, vj + vy, vc] * W[vx, vy, vc, vo]
"""

POOL = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((2 * {n} + 1, {m}), "float32"), C: T.Buffer(({n}, {m}), "float32")):
    B = T.sblock_alloc_buffer((2 * {n} + 1, {m}))
    for i in range({n}):
        for ii, j in T.grid(3, {m}):
            with T.sblock("B"):
                vi = T.axis.spatial(2 * {n} + 1, i * 2 + ii)
                vj = T.axis.spatial({m}, j)
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for j, k in T.grid({m}, 3):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.min_value("float32")
                C[vi, vj] = T.max(C[vi, vj], B[vi * 2 + vk, vj])
"""

SYMBOLIC_MATMUL_RELU = """
@T.prim_func(s_tir=True)
def main(a: T.handle, B: T.Buffer(({k}, {m}), "float32"), d: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, {k}))
    D = T.match_buffer(d, (n, {m}))
    C = T.sblock_alloc_buffer((n, {m}))
    for i, j, k in T.grid(n, {m}, {k}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(n, {m}):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
"""

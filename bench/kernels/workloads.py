"""What is measured: each kernel as plain loops, its inputs, its meaning in float64, its goal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = list[np.ndarray[Any, Any]]
SIDE = 4096
LONG = 64 << 20


@dataclass(frozen=True)
class Workload:
    """One kernel.

    kind      what peers implement, with the sizes in `sizes`
    program   the kernel in script, unscheduled; its last parameter is the result
    inputs    random inputs
    meaning   the result in float64 (exact for integers)
    goal      our time over that of the best peer
    work      multiply-adds times two, for kernels that compute; 0 for those that move memory
    traffic   bytes that must be moved: each input and the result once
    tolerance largest difference over the largest magnitude of the result
    """

    name: str
    kind: str
    program: str
    inputs: Callable[[np.random.Generator], Arrays]
    meaning: Callable[..., np.ndarray[Any, Any]]
    shape: tuple[int, ...]
    dtype: str
    goal: float
    traffic: float
    work: float = 0.0
    tolerance: float = 1e-5
    sizes: dict[str, int] = field(default_factory=dict)


def script(params: str, body: str) -> str:
    """A kernel of these parameters (`A: 4, 8: float32; ...`) and statements."""
    shown = []
    for part in params.split(";"):
        name, shape, dtype = [p.strip() for p in part.split(":")]
        shown.append(f'{name}: T.Buffer(({shape},), "{dtype}")')
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    return f"@T.prim_func(s_tir=True)\ndef main({', '.join(shown)}):\n{lines}"


def normal(*shapes: tuple[int, ...], dtype: str = "float32") -> Callable[[np.random.Generator], Arrays]:
    """Inputs of these shapes from the normal distribution."""
    return lambda rng: [rng.standard_normal(s).astype(dtype) for s in shapes]


def wide(x: Any) -> Any:
    """The values in float64."""
    return x.astype(np.float64)


def product(n: int, dtype: str, goal: float) -> Workload:
    """A square matrix product."""
    inside, out = ("int8", "int32") if dtype == "int8" else (dtype, dtype)
    left, right = "A[vi, vk]", "B[vk, vj]"
    if dtype == "int8":
        left, right = f'T.Cast("int32", {left})', f'T.Cast("int32", {right})'
    body = f"""
for i, j, k in T.grid({n}, {n}, {n}):
    with T.sblock("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = T.Cast("{out}", 0)
        C[vi, vj] = C[vi, vj] + {left} * {right}
"""
    names = {"float32": "sgemm", "float64": "dgemm", "int8": "int8 gemm"}

    def small(rng: np.random.Generator) -> Arrays:
        return [rng.integers(-127, 128, (n, n)).astype(np.int8) for _ in "AB"]

    size = np.dtype(inside).itemsize * 2 + np.dtype(out).itemsize
    return Workload(
        name=f"{names[dtype]} {n}",
        kind="int8_gemm" if dtype == "int8" else "gemm",
        program=script(f"A: {n}, {n}: {inside}; B: {n}, {n}: {inside}; C: {n}, {n}: {out}", body),
        inputs=small if dtype == "int8" else normal((n, n), (n, n), dtype=dtype),
        meaning=lambda a, b: wide(a) @ wide(b),
        shape=(n, n),
        dtype=out,
        goal=goal,
        traffic=float(n * n * size),
        work=2.0 * n**3,
        tolerance={"float32": 1e-5, "float64": 1e-12, "int8": 0.0}[dtype],
    )


def convolution(c: int, o: int, side: int, kernel: int, stride: int, goal: float, name: str = "") -> Workload:
    """A convolution of one image, NCHW, padded by half the kernel."""
    pad, out = kernel // 2, (side + 2 * (kernel // 2) - kernel) // stride + 1
    inner = side + 2 * pad
    body = f"""
P = T.sblock_alloc_buffer((1, {c}, {inner}, {inner}))
for n, c, h, w in T.grid(1, {c}, {inner}, {inner}):
    with T.sblock("P"):
        vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
        P[vn, vc, vh, vw] = T.if_then_else(
            {pad} <= vh and vh < {side + pad} and {pad} <= vw and vw < {side + pad},
            X[vn, vc, vh - {pad}, vw - {pad}], T.float32(0))
for n, o, h, w, c, y, x in T.grid(1, {o}, {out}, {out}, {c}, {kernel}, {kernel}):
    with T.sblock("Y"):
        vn, vo, vh, vw, vc, vy, vx = T.axis.remap("SSSSRRR", [n, o, h, w, c, y, x])
        with T.init():
            Y[vn, vo, vh, vw] = T.float32(0)
        Y[vn, vo, vh, vw] = Y[vn, vo, vh, vw] + P[vn, vc, vh * {stride} + vy, vw * {stride} + vx] * K[vo, vc, vy, vx]
"""
    params = f"X: 1, {c}, {side}, {side}: float32; K: {o}, {c}, {kernel}, {kernel}: float32"

    def meaning(x: Any, k: Any) -> Any:
        padded = np.pad(wide(x), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        found = np.zeros((1, o, out, out))
        for i in range(kernel):
            for j in range(kernel):
                part = padded[:, :, i : i + out * stride : stride, j : j + out * stride : stride]
                found += np.einsum("oc,nchw->nohw", wide(k[:, :, i, j]), part, optimize=True)
        return found

    return Workload(
        name=name or f"conv {c}-{o} {side}² {kernel}x{kernel}/{stride}",
        kind="conv2d",
        program=script(f"{params}; Y: 1, {o}, {out}, {out}: float32", body),
        inputs=normal((1, c, side, side), (o, c, kernel, kernel)),
        meaning=meaning,
        shape=(1, o, out, out),
        dtype="float32",
        goal=goal,
        traffic=4.0 * (c * side * side + o * out * out + o * c * kernel * kernel),
        work=2.0 * o * c * kernel * kernel * out * out,
        sizes={"stride": stride, "pad": pad, "groups": 1},
    )


def depthwise(c: int, side: int, goal: float) -> Workload:
    """A convolution of each channel by itself, 3 x 3."""
    body = f"""
P = T.sblock_alloc_buffer((1, {c}, {side + 2}, {side + 2}))
for n, c, h, w in T.grid(1, {c}, {side + 2}, {side + 2}):
    with T.sblock("P"):
        vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
        P[vn, vc, vh, vw] = T.if_then_else(
            1 <= vh and vh < {side + 1} and 1 <= vw and vw < {side + 1}, X[vn, vc, vh - 1, vw - 1], T.float32(0))
for n, c, h, w, y, x in T.grid(1, {c}, {side}, {side}, 3, 3):
    with T.sblock("Y"):
        vn, vc, vh, vw, vy, vx = T.axis.remap("SSSSRR", [n, c, h, w, y, x])
        with T.init():
            Y[vn, vc, vh, vw] = T.float32(0)
        Y[vn, vc, vh, vw] = Y[vn, vc, vh, vw] + P[vn, vc, vh + vy, vw + vx] * K[vc, 0, vy, vx]
"""

    def meaning(x: Any, k: Any) -> Any:
        padded = np.pad(wide(x), ((0, 0), (0, 0), (1, 1), (1, 1)))
        parts = [
            wide(k[None, :, 0, i, j, None, None]) * padded[:, :, i : i + side, j : j + side]
            for i in range(3)
            for j in range(3)
        ]
        return np.sum(parts, axis=0)

    shape = f"1, {c}, {side}, {side}"
    return Workload(
        name="depthwise conv",
        kind="conv2d",
        program=script(f"X: {shape}: float32; K: {c}, 1, 3, 3: float32; Y: {shape}: float32", body),
        inputs=normal((1, c, side, side), (c, 1, 3, 3)),
        meaning=meaning,
        shape=(1, c, side, side),
        dtype="float32",
        goal=goal,
        traffic=8.0 * c * side * side,
        sizes={"stride": 1, "pad": 1, "groups": c},
    )


def attention(heads: int, length: int, width: int, goal: float) -> Workload:
    """Scaled dot products, softmax, and the weighted sum, for each head."""
    h, s, d = heads, length, width
    body = f"""
S = T.sblock_alloc_buffer(({h}, {s}, {s}))
M = T.sblock_alloc_buffer(({h}, {s}))
E = T.sblock_alloc_buffer(({h}, {s}, {s}))
Z = T.sblock_alloc_buffer(({h}, {s}))
N = T.sblock_alloc_buffer(({h}, {s}, {s}))
for h, i, j, d in T.grid({h}, {s}, {s}, {d}):
    with T.sblock("S"):
        vh, vi, vj, vd = T.axis.remap("SSSR", [h, i, j, d])
        with T.init():
            S[vh, vi, vj] = T.float32(0)
        S[vh, vi, vj] = S[vh, vi, vj] + Q[vh, vi, vd] * K[vh, vj, vd]
for h, i, j in T.grid({h}, {s}, {s}):
    with T.sblock("M"):
        vh, vi, vj = T.axis.remap("SSR", [h, i, j])
        with T.init():
            M[vh, vi] = T.min_value("float32")
        M[vh, vi] = T.max(M[vh, vi], S[vh, vi, vj] * T.float32({width**-0.5}))
for h, i, j in T.grid({h}, {s}, {s}):
    with T.sblock("E"):
        vh, vi, vj = T.axis.remap("SSS", [h, i, j])
        E[vh, vi, vj] = T.exp(S[vh, vi, vj] * T.float32({width**-0.5}) - M[vh, vi])
for h, i, j in T.grid({h}, {s}, {s}):
    with T.sblock("Z"):
        vh, vi, vj = T.axis.remap("SSR", [h, i, j])
        with T.init():
            Z[vh, vi] = T.float32(0)
        Z[vh, vi] = Z[vh, vi] + E[vh, vi, vj]
for h, i, j in T.grid({h}, {s}, {s}):
    with T.sblock("N"):
        vh, vi, vj = T.axis.remap("SSS", [h, i, j])
        N[vh, vi, vj] = E[vh, vi, vj] / Z[vh, vi]
for h, i, d, j in T.grid({h}, {s}, {d}, {s}):
    with T.sblock("O"):
        vh, vi, vd, vj = T.axis.remap("SSSR", [h, i, d, j])
        with T.init():
            O[vh, vi, vd] = T.float32(0)
        O[vh, vi, vd] = O[vh, vi, vd] + N[vh, vi, vj] * V[vh, vj, vd]
"""
    shape = f"{h}, {s}, {d}: float32"

    def meaning(q: Any, k: Any, v: Any) -> Any:
        return softmax_of(wide(q) @ wide(k).transpose(0, 2, 1) * width**-0.5) @ wide(v)

    return Workload(
        name=f"attention {h}x{s}x{d}",
        kind="attention",
        program=script("; ".join(f"{n}: {shape}" for n in "QKVO"), body),
        inputs=normal(*[(h, s, d)] * 3),
        meaning=meaning,
        shape=(h, s, d),
        dtype="float32",
        goal=goal,
        traffic=16.0 * h * s * d,
        work=4.0 * h * s * s * d,
    )


def softmax_of(x: Any) -> Any:
    """Softmax along the last axis, in float64."""
    e = np.exp(wide(x) - wide(x).max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def row_kernel(
    name: str,
    kind: str,
    body: str,
    meaning: Callable[..., Any],
    goal: float,
    *,
    weights: str = "",
    result: str = "matrix",
    tolerance: float = 1e-5,
) -> Workload:
    """A kernel over a 4096 x 4096 matrix `X`; `weights` are vectors, the result is a matrix or one value a row."""
    n = SIDE
    dtype = "int64" if kind == "argmax" else "float32"
    params = [f"X: {n}, {n}: float32", *[f"{w}: {n}: float32" for w in weights]]
    params.append(f"Y: {n}, {n}: {dtype}" if result == "matrix" else f"Y: {n}: {dtype}")
    text = body.replace("ROWS", f"{n}, {n}").replace("WIDTH", str(float(n)))
    return Workload(
        name=name,
        kind=kind,
        program=script("; ".join(params), text),
        inputs=normal((n, n), *[(n,)] * len(weights)),
        meaning=meaning,
        shape=(n, n) if result == "matrix" else (n,),
        dtype=dtype,
        goal=goal,
        traffic=4.0 * n * n * (2 if result == "matrix" else 1),
        tolerance=tolerance,
    )


SUM = """
for i, j in T.grid(ROWS):
    with T.sblock("{out}"):
        vi, vj = T.axis.remap("SR", [i, j])
        with T.init():
            {out}[vi] = {start}
        {out}[vi] = {value}
"""
EACH = """
for i, j in T.grid(ROWS):
    with T.sblock("{out}"):
        vi, vj = T.axis.remap("SS", [i, j])
        {out}[vi, vj] = {value}
"""


def reduce_rows(out: str, value: str, start: str = "T.float32(0)") -> str:
    """A block that reduces each row."""
    return SUM.format(out=out, value=value, start=start)


def each(out: str, value: str) -> str:
    """A block that computes each element."""
    return EACH.format(out=out, value=value)


def vectors(*names: str) -> str:
    """Buffers with a value for each row."""
    return "".join(f"{n} = T.sblock_alloc_buffer(({SIDE},))\n" for n in names)


def _gelu(x: Any, b: Any) -> Any:
    from scipy.special import erf

    y = wide(x) + b
    return 0.5 * y * (1 + erf(y / np.sqrt(2.0)))


def _layer_norm(x: Any, g: Any, b: Any) -> Any:
    x = wide(x)
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * g + b


def _rms_norm(x: Any, g: Any) -> Any:
    return wide(x) / np.sqrt((wide(x) ** 2).mean(-1, keepdims=True) + 1e-5) * g


def matrix_kernels() -> list[Workload]:
    """Kernels over rows and elements of a matrix."""
    square = f"E = T.sblock_alloc_buffer(({SIDE}, {SIDE}))\n"
    softmax = (
        vectors("M", "Z")
        + square
        + reduce_rows("M", "T.max(M[vi], X[vi, vj])", 'T.min_value("float32")')
        + each("E", "T.exp(X[vi, vj] - M[vi])")
        + reduce_rows("Z", "Z[vi] + E[vi, vj]")
        + each("Y", "E[vi, vj] / Z[vi]")
    )
    difference = "(X[vi, vj] - M[vi] / T.float32(WIDTH))"
    layer = (
        vectors("M", "D")
        + reduce_rows("M", "M[vi] + X[vi, vj]")
        + reduce_rows("D", f"D[vi] + {difference} * {difference}")
        + each("Y", f"{difference} * T.rsqrt(D[vi] / T.float32(WIDTH) + T.float32(1e-5)) * G[vj] + B[vj]")
    )
    rms = (
        vectors("D")
        + reduce_rows("D", "D[vi] + X[vi, vj] * X[vi, vj]")
        + each("Y", "X[vi, vj] * T.rsqrt(D[vi] / T.float32(WIDTH) + T.float32(1e-5)) * G[vj]")
    )
    gelu = square + each("E", "X[vi, vj] + B[vj]")
    gelu += each(
        "Y", "E[vi, vj] * (T.float32(0.5) + T.erf(E[vi, vj] * T.float32(0.5**0.5)) * T.float32(0.5))"
    )
    gelu = gelu.replace("0.5**0.5", repr(0.5**0.5))
    return [
        row_kernel("softmax 4096²", "softmax", softmax, softmax_of, 1.0),
        row_kernel("bias + GELU 4096²", "bias_gelu", gelu, _gelu, 0.6, weights="B"),
        row_kernel("layer norm 4096²", "layer_norm", layer, _layer_norm, 0.9, weights="GB"),
        row_kernel("RMS norm 4096²", "rms_norm", rms, _rms_norm, 0.9, weights="G"),
        row_kernel(
            "row sum 4096²",
            "row_sum",
            reduce_rows("Y", "Y[vi] + X[vi, vj]"),
            lambda x: wide(x).sum(-1),
            1.0,
            result="vector",
            tolerance=1e-4,
        ),
        row_kernel(
            "argmax 4096²", "argmax", ARGMAX, lambda x: x.argmax(-1), 1.0, result="vector", tolerance=0.0
        ),
        row_kernel(
            "transpose 4096²",
            "transpose",
            each("Y", "X[vj, vi]"),
            lambda x: wide(x.T),
            0.8,
            tolerance=0.0,
        ),
    ]


ARGMAX = f"""
V = T.sblock_alloc_buffer(({SIDE},))
for i, j in T.grid(ROWS):
    with T.sblock("Y"):
        vi, vj = T.axis.remap("SR", [i, j])
        with T.init():
            Y[vi] = T.int64(-1)
            V[vi] = T.min_value("float32")
        index: T.let[T.int64] = T.Select(V[vi] >= X[vi, vj], Y[vi], T.Cast("int64", vj))
        value: T.let[T.float32] = T.Select(V[vi] >= X[vi, vj], V[vi], X[vi, vj])
        Y[vi] = index
        V[vi] = value
"""


def long_kernels() -> list[Workload]:
    """Kernels over long vectors, and an embedding."""
    n, m = LONG, 16 << 20
    chain = "".join(
        f"""
for i in range({n}):
    with T.sblock("{out}"):
        v = T.axis.spatial({n}, i)
        {out}[v] = {value}
"""
        for out, value in (
            ("A", "X[v] * T.float32(1.1)"),
            ("B", "A[v] + T.float32(0.3)"),
            ("C", "T.max(B[v], T.float32(0))"),
            ("D", "C[v] * C[v]"),
            ("E", "D[v] - X[v]"),
            ("Y", "E[v] * T.float32(0.5)"),
        )
    )
    chain = "".join(f"{b} = T.sblock_alloc_buffer(({n},))\n" for b in "ABCDE") + chain

    def chain_meaning(x: Any) -> Any:
        t = np.maximum(wide(x) * np.float32(1.1) + np.float32(0.3), 0)
        return (t * t - x) * 0.5

    add = f"""
for i in range({m}):
    with T.sblock("Y"):
        v = T.axis.spatial({m}, i)
        Y[v] = A[v] + B[v]
"""
    words, width, count = 32000, 512, 8192
    embedding = f"""
for i, j in T.grid({count}, {width}):
    with T.sblock("Y"):
        vi, vj = T.axis.remap("SS", [i, j])
        Y[vi, vj] = W[I[vi], vj]
"""

    def lookups(rng: np.random.Generator) -> Arrays:
        return [*normal((words, width))(rng), rng.integers(0, words, count)]

    return [
        Workload(
            "six operations 64M",
            "chain",
            script(f"X: {n}: float32; Y: {n}: float32", chain),
            normal((n,)),
            chain_meaning,
            (n,),
            "float32",
            1.0,
            8.0 * n,
        ),
        Workload(
            "vector add 16M",
            "add",
            script(f"A: {m}: float32; B: {m}: float32; Y: {m}: float32", add),
            normal((m,), (m,)),
            lambda a, b: wide(a) + b,
            (m,),
            "float32",
            1.0,
            12.0 * m,
        ),
        Workload(
            "embedding",
            "embedding",
            script(
                f"W: {words}, {width}: float32; I: {count}: int64; Y: {count}, {width}: float32", embedding
            ),
            lookups,
            lambda w, i: wide(w)[i],
            (count, width),
            "float32",
            1.0,
            8.0 * count * width,
            tolerance=0.0,
        ),
    ]


def all_workloads() -> list[Workload]:
    """Every kernel, in the order of the table."""
    layers = [
        (64, 128, 56, 3, 2),
        (128, 128, 28, 3, 1),
        (256, 256, 14, 3, 1),
        (512, 512, 7, 3, 1),
        (64, 128, 56, 1, 2),
    ]
    return [
        *[product(n, "float32", 1.05) for n in (256, 512, 1024, 2048)],
        product(1024, "float64", 1.05),
        product(1024, "int8", 0.9),
        convolution(64, 64, 56, 3, 1, 1.0, "conv2d 64 56² 3x3"),
        *[convolution(c, o, side, k, s, 1.0) for c, o, side, k, s in layers],
        convolution(3, 64, 224, 7, 2, 1.0),
        depthwise(128, 56, 1.1),
        attention(8, 512, 64, 0.9),
        *matrix_kernels(),
        *long_kernels(),
    ]

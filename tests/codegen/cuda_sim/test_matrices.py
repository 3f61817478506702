"""mma.sync, ldmatrix and nvcuda::wmma, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from loopwright.errors import ExecutionError

# shape, type of a and b, type of c and d, bits of an element of a
PRODUCTS = [
    ("m16n8k16", "f16", "f32", 16),
    ("m16n8k8", "f16", "f16", 16),
    ("m16n8k16", "bf16", "f32", 16),
    ("m16n8k8", "bf16", "f32", 16),
    ("m16n8k8", "tf32", "f32", 32),
    ("m16n8k4", "tf32", "f32", 32),
    ("m16n8k32", "s8", "s32", 8),
    ("m16n8k16", "u8", "s32", 8),
    ("m8n8k16", "s8", "s32", 8),
    ("m16n8k64", "s4", "s32", 4),
    ("m16n8k32", "e4m3", "f32", 8),
    ("m8n8k4", "f64", "f64", 64),
]
NUMPY = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "f32": np.float32,
    "f64": np.float64,
    "s8": np.int8,
    "u8": np.uint8,
    "s4": np.int8,
    "s32": np.int32,
    "e4m3": ml_dtypes.float8_e4m3fn,
}
TEXT = (
    r"""
#include <mma.h>
using namespace nvcuda;
"""
    + "".join(
        [
            f"""
extern "C" __global__ void mma{i}(unsigned* d, const unsigned* a, const unsigned* b, const unsigned* c, int na, int nb, int nc) {{
  unsigned x[4], y[4], z[4], w[4];
  for (int i = 0; i < na; ++i) x[i] = a[threadIdx.x * na + i];
  for (int i = 0; i < nb; ++i) y[i] = b[threadIdx.x * nb + i];
  for (int i = 0; i < nc; ++i) z[i] = c[threadIdx.x * nc + i];
  lw_sim_mma("{shape}", "{ab}", "{ab}", "{cd}", w, x, y, z);
  for (int i = 0; i < nc; ++i) d[threadIdx.x * nc + i] = w[i];
}}"""
            for i, (shape, ab, cd, _) in enumerate(PRODUCTS)
        ]
    )
    + "".join(
        [
            f"""
extern "C" __global__ void wmma{i}({c}* d, const {ab}* a, const {ab}* b, const {c}* e) {{
  __shared__ {c} s[16 * 16];
  wmma::fragment<wmma::matrix_a, {m}, {n}, {k}, {kind}, wmma::{la}> fa;
  wmma::fragment<wmma::matrix_b, {m}, {n}, {k}, {kind}, wmma::{lb}> fb;
  wmma::fragment<wmma::accumulator, {m}, {n}, {k}, {c}> fc, fe;
  wmma::load_matrix_sync(fa, a, {k if la == "row_major" else m});
  wmma::load_matrix_sync(fb, b, {n if lb == "row_major" else k});
  wmma::fill_fragment(fc, {c}(2));
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::load_matrix_sync(fe, e, {n}, wmma::mem_row_major);
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] += fe.x[i];
  wmma::store_matrix_sync(d, fc, {n}, wmma::mem_row_major);
}}"""
            for i, (m, n, k, ab, kind, c, la, lb) in enumerate(
                [
                    (16, 16, 16, "half", "half", "float", "row_major", "col_major"),
                    (32, 8, 16, "half", "half", "half", "col_major", "row_major"),
                    (8, 32, 16, "__nv_bfloat16", "__nv_bfloat16", "float", "row_major", "row_major"),
                    (16, 16, 8, "float", "wmma::precision::tf32", "float", "row_major", "col_major"),
                    (16, 16, 16, "signed char", "signed char", "int", "row_major", "col_major"),
                ]
            )
        ]
    )
    + r"""
extern "C" __global__ void matrices(unsigned* out, const unsigned* x, int transposed) {
  __shared__ __align__(16) unsigned s[4 * 32];
  for (int i = 0; i < 4; ++i) s[i * 32 + threadIdx.x] = x[i * 32 + threadIdx.x];
  __syncwarp();
  unsigned r[4];
  lw_sim_ldmatrix(r, s + threadIdx.x * 4, 4, transposed);
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = r[i];
}
extern "C" __global__ void row_outside(unsigned* out) {
  __shared__ __align__(16) unsigned s[4 * 31];
  unsigned r[4];
  for (int i = threadIdx.x; i < 124; i += 32) s[i] = 0;
  __syncwarp();
  // matrices.py:3
  lw_sim_ldmatrix(r, s + threadIdx.x * 4, 4, false);
  out[threadIdx.x] = r[0];
}
extern "C" __global__ void half_a_warp(float* out) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> f;
  wmma::fill_fragment(f, 1.0f);
  // matrices.py:5
  if (threadIdx.x < 16) wmma::store_matrix_sync(out, f, 16, wmma::mem_row_major);
}
"""
)


@pytest.fixture(scope="module")
def kernels(loader: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    return loader(TEXT)


def packed(parts: np.ndarray, bits: int) -> np.ndarray:
    """The registers of 32 lanes, each with elements of so many bits."""
    if bits == 4:
        low = (parts & 15).astype(np.uint8)
        parts = low[:, ::2] | low[:, 1::2] << 4
    return np.ascontiguousarray(parts).view(np.uint32).reshape(32, -1)


def spots(shape: tuple[int, int, int], bits: int) -> tuple[Any, Any, Any]:
    """Rows and columns of the elements of each lane, of a, b and c, as PTX has them."""
    m, n, k = shape
    each = max(1, 32 // bits)
    lane = np.arange(32)[:, None]
    i = np.arange(m * k // 32)[None]
    r, e = i // each, i % each
    a = lane // 4 + 8 * (r % (m // 8)), r // (m // 8) * 4 * each + lane % 4 * each + e
    i = np.arange(k * n // 32)[None]
    b = i // each * 4 * each + lane % 4 * each + i % each, lane // 4 + 0 * i
    i = np.arange(m * n // 32)[None]
    return a, b, (lane // 4 + i // 2 * 8, lane % 4 * 2 + i % 2)


def values(kind: str, *shape: int) -> np.ndarray:
    low, high = {"u8": (0, 200), "s8": (-128, 128), "s4": (-8, 8)}.get(kind, (-8, 9))
    return np.random.default_rng(len(kind)).integers(low, high, shape).astype(NUMPY[kind])


@pytest.mark.parametrize("number", range(len(PRODUCTS)), ids=[f"{p[0]}-{p[1]}" for p in PRODUCTS])
def test_mma(kernels: dict[str, Any], number: int) -> None:
    text, ab, cd, bits = PRODUCTS[number]
    m, n, k = shape = [int(x) for x in text[1:].replace("n", " ").replace("k", " ").split()]
    a, b, c = values(ab, m, k), values(ab, k, n), values(cd, m, n)
    sa, sb, sc = spots(tuple(shape), bits)
    xa, xb, xc = packed(a[sa], bits), packed(b[sb], bits), packed(c[sc], c.itemsize * 8)
    d = np.zeros_like(xc)
    kernels[f"mma{number}"]((1, 1, 1), (32, 1, 1), [d, xa, xb, xc, xa.shape[1], xb.shape[1], xc.shape[1]])
    got = np.zeros_like(c)
    got[sc] = d.reshape(-1).view(c.dtype).reshape(32, -1)
    wide = np.int64 if c.dtype.kind == "i" else np.float64
    assert np.array_equal(got, (a.astype(wide) @ b.astype(wide) + c.astype(wide)).astype(c.dtype))


@pytest.mark.parametrize(
    "number, shape, ab, cd, layouts",
    [
        (0, (16, 16, 16), "f16", "f32", "rc"),
        (1, (32, 8, 16), "f16", "f16", "cr"),
        (2, (8, 32, 16), "bf16", "f32", "rr"),
        (3, (16, 16, 8), "tf32", "f32", "rc"),
        (4, (16, 16, 16), "s8", "s32", "rc"),
    ],
)
def test_wmma(
    kernels: dict[str, Any], number: int, shape: tuple[int, int, int], ab: str, cd: str, layouts: str
) -> None:
    m, n, k = shape
    a, b, e = values(ab, m, k), values(ab, k, n), values(cd, m, n)
    d = np.zeros_like(e)
    stored = [np.ascontiguousarray(x.T) if order == "c" else x for x, order in zip((a, b), layouts)]
    kernels[f"wmma{number}"]((1, 1, 1), (32, 1, 1), [d, *stored, e])
    assert np.array_equal(d, (a.astype(np.float64) @ b.astype(np.float64) + 2 + e).astype(e.dtype))


@pytest.mark.parametrize("transposed", [0, 1])
def test_ldmatrix(kernels: dict[str, Any], transposed: int) -> None:
    x = np.arange(4 * 64, dtype=np.uint16).reshape(4, 8, 8)
    out = np.zeros((32, 4), np.uint32)
    kernels["matrices"]((1, 1, 1), (32, 1, 1), [out, x.view(np.uint32), transposed])
    whole = x.transpose(0, 2, 1) if transposed else x
    assert np.array_equal(
        out.view(np.uint16).reshape(8, 4, 4, 2), whole.reshape(4, 8, 4, 2).transpose(1, 2, 0, 3)
    )


def test_faults(kernels: dict[str, Any]) -> None:
    for name, code, line in [("row_outside", "out-of-bounds", 3), ("half_a_warp", "inactive-lane", 5)]:
        with pytest.raises(ExecutionError) as found:
            kernels[name](
                (1, 1, 1), (32, 1, 1), [np.zeros(256, np.float32).view({"r": "u4", "h": "f4"}[name[0]])]
            )
        [said] = found.value.diagnostics
        assert (said.code, said.span and said.span.line) == (code, line), str(found.value)

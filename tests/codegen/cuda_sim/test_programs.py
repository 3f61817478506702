"""Correct programs: right results and no reports, whatever the order of threads and blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

SEEDS = range(6)
TEXT = r"""
#include <cuda_fp16.h>
extern "C" __global__ void saxpy(float* y, const float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void __launch_bounds__(256) matmul(float* c, const float* a, const float* b, int n) {
  __shared__ float as[16][16];
  __shared__ float bs[16][17];
  int tx = threadIdx.x, ty = threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    as[ty][tx] = a[(blockIdx.y * 16 + ty) * n + k + tx];
    bs[ty][tx] = b[(k + ty) * n + blockIdx.x * 16 + tx];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 16; ++j) sum += as[ty][j] * bs[j][tx];
    __syncthreads();
  }
  c[(blockIdx.y * 16 + ty) * n + blockIdx.x * 16 + tx] = sum;
}
extern "C" __global__ void sum(float* out, const float* x, int n) {
  extern __shared__ __align__(16) unsigned char buffer[];
  float* parts = (float*)buffer;
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 8) {
    unsigned mask = 0xffu;
    v = parts[threadIdx.x];
    for (int o = 4; o; o >>= 1) v += __shfl_xor_sync(mask, v, o, 8);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}
extern "C" __global__ void last_block_adds(float* out, float* parts, unsigned* count, const float* x) {
  __shared__ bool last;
  __shared__ float s[64];
  s[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  for (int o = 32; o; o >>= 1) {
    __syncthreads();
    if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
  }
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = s[0];
    __threadfence();
    last = atomicAdd(count, 1u) == gridDim.x - 1;
    if (last) *count = 0;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float total = 0;
    for (int i = 0; i < gridDim.x; ++i) total += parts[i];
    out[0] = total;
  }
}
extern "C" __global__ void histogram(int* bins, const unsigned char* x, int n) {
  __shared__ int mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&mine[x[i]], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}
extern "C" __global__ void locked(int* value, int* lock) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      value[0] = value[0] + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
extern "C" __global__ void flag(volatile int* ready, float* data, float* out) {
  if (threadIdx.x == 33) {
    data[0] = 7;
    __threadfence();
    atomicExch((int*)ready, 1);
  } else if (threadIdx.x == 0) {
    while (atomicAdd((int*)ready, 0) == 0) {}
    __threadfence();
    out[0] = data[0];
  }
}
extern "C" __global__ void warps(int* out) {
  int t = threadIdx.x;
  __shared__ volatile int s[64];
  s[t] = t;
  __syncwarp();
  int r = s[t ^ 1];
  out[t] = r;
  unsigned odd = __ballot_sync(0xffffffffu, t & 1);
  out[64 + t] = odd;
  if (t % 2) {
    __syncwarp(0xaaaaaaaau);
    out[128 + t] = __shfl_sync(0xaaaaaaaau, t, 31) + (__activemask() >> (t % 32) & 1);
  }
  out[192 + t] = __reduce_add_sync(0xffffffffu, t) + __all_sync(0xffffffffu, t >= 0) + __any_sync(0xffffffffu, t == 40);
  out[256 + t] = __match_any_sync(0xffffffffu, t % 3);
  int same;
  out[320 + t] = __match_all_sync(0xffffffffu, t / 32, &same) + same;
  out[384 + t] = __syncthreads_count(t < 10) + 100 * __syncthreads_or(t == 63) + 1000 * __syncthreads_and(t < 64);
  out[448 + t] = __shfl_up_sync(0xffffffffu, t, 3);
}
extern "C" __global__ void partial_warp(int* out) {
  int v = threadIdx.x;
  for (int o = 8; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o, 16);
  if (threadIdx.x % 16 == 0) out[threadIdx.x / 16] = v;
}
extern "C" __global__ void small_types(half* y, const half* x, signed char* b, bool* p) {
  __shared__ half s[64];
  __shared__ signed char c[64];
  int t = threadIdx.x;
  s[t] = x[t] * x[t] + half(0.5f);
  c[t] = t;
  __syncthreads();
  y[t] = s[63 - t];
  b[t] = c[t ^ 1] * 100;
  p[t] = s[t] > half(10.0f);
}
extern "C" __global__ void numbers(long long* out, const double* x) {
  int t = threadIdx.x;
  out[t * 4] = __double2ll_rz(x[t]);
  out[t * 4 + 1] = __float2int_rn((float)x[t]);
  out[t * 4 + 2] = __clz(t) * 100 + __ffs(t);
  out[t * 4 + 3] = __mulhi(t << 20, t << 20) + __float2uint_rz((float)x[t]);
}
__device__ int counter;
__constant__ int primes[4] = {2, 3, 5, 7};
extern "C" __global__ void variables(int* out) {
  int local[8];
  for (int i = 0; i < 8; ++i) local[(i * 3) % 8] = i * primes[i % 4];
  atomicAdd(&counter, local[threadIdx.x % 8]);
  out[threadIdx.x] = local[(threadIdx.x + 1) % 8];
}
extern "C" __global__ void undefined(float* out, int n) {
  __shared__ float s[8];
  float x[8];
  for (int i = 0; i < n; ++i) x[i] = 0;
  out[0] = x[n + 1];
  out[1] = s[n];
}
extern "C" __global__ void pipelined(float* out, const float* x, int n) {
  __shared__ __align__(16) float s[3][128];
  int t = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 2; ++k) {
    lw_sim_cp_async(&s[k][t * 4], x + k * 128 + t * 4, 16, 16);
    lw_sim_cp_async_commit();
  }
  for (int k = 0; k < n; ++k) {
    lw_sim_cp_async_wait(1);
    __syncthreads();
    sum += s[k % 3][127 - t] + s[k % 3][t];
    if (k + 2 < n) lw_sim_cp_async(&s[(k + 2) % 3][t * 4], x + (k + 2) * 128 + t * 4, 16, k == 0 ? 8 : 16);
    lw_sim_cp_async_commit();
  }
  out[t] = sum;
}
"""


@pytest.fixture(scope="module")
def kernels(loader: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    return loader(TEXT, {"num-cores": 3})


@pytest.fixture(params=SEEDS)
def run(request: pytest.FixtureRequest, kernels: dict[str, Any]) -> Callable[..., None]:
    def launch(
        name: str, blocks: int | tuple[int, int], threads: int | tuple[int, int], *args: Any, shared: int = 0
    ) -> None:
        grid, block = [(*x, 1) if isinstance(x, tuple) else (x, 1, 1) for x in (blocks, threads)]
        kernels[name].seed = request.param
        kernels[name](grid, block, args, shared)

    return launch


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


def test_elements_and_scalars(run: Callable[..., None]) -> None:
    x, y = floats(1000), floats(1000, seed=1)
    want = 3 * x + y
    run("saxpy", 8, 128, y, x, 3.0, 1000)
    assert np.array_equal(y, want)


def test_shared_memory(run: Callable[..., None]) -> None:
    a, b, c = floats(48, 48), floats(48, 48, seed=1), floats(48, 48)
    run("matmul", (3, 3), (16, 16), c, a, b, 48)
    assert np.array_equal(c, a @ b)


def test_dynamic_shared_memory_and_shuffles(run: Callable[..., None]) -> None:
    x, out = floats(5000), np.zeros(1, np.float32)
    run("sum", 4, 256, out, x, 5000, shared=32)
    assert out[0] == x.sum()


def test_fences_and_atomics_order_blocks(run: Callable[..., None]) -> None:
    x, parts, out = floats(8, 64), np.zeros(8, np.float32), np.zeros(1, np.float32)
    run("last_block_adds", 8, 64, out, parts, np.zeros(1, np.uint32), x)
    assert out[0] == x.sum()
    value = np.zeros(1, np.int32)
    run("locked", 2, 48, value, np.zeros(1, np.int32))
    assert value[0] == 96
    run("flag", 1, 64, np.zeros(1, np.int32), np.zeros(1, np.float32), out)
    assert out[0] == 7


def test_histogram(run: Callable[..., None]) -> None:
    x, bins = np.random.default_rng(0).integers(0, 256, 3000).astype(np.uint8), np.zeros(256, np.int32)
    run("histogram", 3, 256, bins, x, 3000)
    assert np.array_equal(bins, np.bincount(x, minlength=256))


def test_operations_of_warps(run: Callable[..., None]) -> None:
    out = np.zeros(512, np.int32)
    run("warps", 1, 64, out)
    t = np.arange(64)
    rows = out.reshape(8, 64)
    assert np.array_equal(rows[0], t ^ 1)
    assert (rows[1].view(np.uint32) == 0xAAAAAAAA).all()
    assert np.array_equal(rows[2], np.where(t % 2, 31 + t // 32 * 32 + 1, 0))
    assert np.array_equal(rows[3], np.where(t < 32, 496 + 1, 1520 + 2))
    assert all(
        (rows[4].view(np.uint32)[i] >> j % 32 & 1) == (i % 3 == j % 3)
        for i in t
        for j in range(i // 32 * 32, i // 32 * 32 + 32)
    )
    assert (rows[5] == 0).all() and (rows[6] == 1110).all()
    assert np.array_equal(rows[7], np.where(t % 32 < 3, t, t - 3))
    few = np.zeros(3, np.int32)
    run("partial_warp", 1, 48, few)
    assert few.tolist() == [sum(range(16 * i, 16 * i + 16)) for i in range(3)]


def test_small_types(run: Callable[..., None]) -> None:
    x, y = (np.arange(64) / 8).astype(np.float16), np.zeros(64, np.float16)
    b, p = np.zeros(64, np.int8), np.zeros(64, bool)
    run("small_types", 1, 64, y, x, b, p)
    want = x * x + np.float16(0.5)
    assert np.array_equal(y, want[::-1]) and np.array_equal(p, want > 10)
    assert np.array_equal(b, ((np.arange(64) ^ 1) * 100).astype(np.int8))


def test_numbers_and_variables(run: Callable[..., None]) -> None:
    x = np.array([1e30, -1e30, np.nan, 2.5, -2.5, 3e9, -0.5, 1.5])
    out = np.zeros((8, 4), np.int64)
    run("numbers", 1, 8, out, x)
    assert out[:, 0].tolist() == [2**63 - 1, -(2**63), 0, 2, -2, 3 * 10**9, 0, 1]
    assert out[:, 1].tolist() == [2**31 - 1, -(2**31), 0, 2, -2, 2**31 - 1, 0, 2]
    assert out[:, 2].tolist() == [(32 - t.bit_length()) * 100 + (t & -t).bit_length() for t in range(8)]
    few = np.zeros(16, np.int32)
    run("variables", 1, 16, few)
    local = {i * 3 % 8: i * [2, 3, 5, 7][i % 4] for i in range(8)}
    assert few.tolist() == [local[(t + 1) % 8] for t in range(16)]


def test_what_nobody_wrote_shows(run: Callable[..., None]) -> None:
    out = np.zeros(2, np.float32)
    run("undefined", 1, 1, out, 3)
    assert out[0] < -1e38 and np.isnan(out[1])


def test_asynchronous_copies(run: Callable[..., None]) -> None:
    x, out = floats(6, 128), np.zeros(32, np.float32)
    run("pipelined", 1, 32, out, x, 6)
    cut = x.copy()
    cut[2].reshape(32, 4)[:, 2:] = 0  # the copy of this row brings only half of each part
    t = np.arange(32)
    assert np.array_equal(out, (cut[:, 127 - t] + cut[:, t]).sum(0))

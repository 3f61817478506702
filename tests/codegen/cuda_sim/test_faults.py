"""Planted faults: each is found, with its code, its threads and its line, whatever the order of the threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopwright.errors import DivisionError, ExecutionError, OutOfBoundsError

SEEDS = range(1, 5)
TEXT = r"""
extern "C" __global__ void missing_barrier(float* out, const float* x) {
  __shared__ float s[64];
  // faults.py:1
  s[threadIdx.x] = x[threadIdx.x];
  // faults.py:2
  out[threadIdx.x] = s[(threadIdx.x + 32) % 64];
}
extern "C" __global__ void missing_barrier_before_overwriting(float* out, const float* x) {
  extern __shared__ __align__(16) unsigned char buffer[];
  float* s = (float*)buffer;
  for (int k = 0; k < 2; ++k) {
    // faults.py:1
    s[threadIdx.x] = x[k * 64 + threadIdx.x];
    __syncthreads();
    // faults.py:2
    out[threadIdx.x] += s[63 - threadIdx.x];
  }
}
extern "C" __global__ void missing_syncwarp(int* out) {
  __shared__ int s[32];
  // faults.py:1
  s[threadIdx.x] = threadIdx.x;
  // faults.py:2
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void syncwarp_of_half_a_warp(int* out) {
  __shared__ int s[32];
  // faults.py:1
  s[threadIdx.x] = threadIdx.x;
  unsigned half = threadIdx.x < 16 ? 0xffffu : 0xffff0000u;
  __syncwarp(half);
  // faults.py:2
  out[threadIdx.x] = s[threadIdx.x ^ 16];
}
extern "C" __global__ void bytes_of_one_word(signed char* out) {
  __shared__ signed char s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  // faults.py:1
  out[threadIdx.x] = s[threadIdx.x];
  // faults.py:2
  s[threadIdx.x ^ 1] = 0;
}
extern "C" __global__ void write_write_between_blocks(int* out) {
  // faults.py:1
  if (threadIdx.x == 0) out[0] = blockIdx.x;
}
extern "C" __global__ void read_of_another_block(int* out) {
  // faults.py:1
  out[blockIdx.x] = 1;
  // faults.py:2
  out[gridDim.x + blockIdx.x] = out[(blockIdx.x + 1) % gridDim.x];
}
extern "C" __global__ void race_inside_a_block(int* out) {
  // faults.py:1
  out[threadIdx.x / 2] = 1;
}
__device__ int total;
extern "C" __global__ void race_on_a_variable(int* out) {
  // faults.py:1
  total = total + out[threadIdx.x];
}
extern "C" __global__ void plain_and_atomic(int* out) {
  // faults.py:1
  if (threadIdx.x) atomicAdd(out, 1);
  // faults.py:2
  else out[0] = 5;
}
extern "C" __global__ void exits_before_barrier(float* out) {
  if (threadIdx.x == 7) return;
  // faults.py:1
  __syncthreads();
  out[threadIdx.x] = 1;
}
extern "C" __global__ void different_barriers(float* out) {
  if (threadIdx.x < 32) {
    // faults.py:1
    __syncthreads();
  } else {
    // faults.py:2
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}
extern "C" __global__ void barrier_against_shuffle(float* out) {
  if (threadIdx.x < 16) {
    // faults.py:1
    __syncthreads();
  } else {
    // faults.py:2
    out[threadIdx.x] = __shfl_sync(0xffffffffu, 1.0f, 0);
  }
}
extern "C" __global__ void masks_that_differ(int* out) {
  // faults.py:1
  out[threadIdx.x] = __shfl_sync(threadIdx.x < 16 ? 0xffffffffu : 0xfffffffeu, 1, 0);
}
extern "C" __global__ void mask_without_the_caller(int* out) {
  // faults.py:1
  out[threadIdx.x] = __ballot_sync(0x0000ffffu, 1);
}
extern "C" __global__ void reads_a_lane_outside(int* out) {
  if (threadIdx.x < 16) {
    // faults.py:1
    out[threadIdx.x] = __shfl_down_sync(0x0000ffffu, 1, 8);
  }
}
extern "C" __global__ void relies_on_active_lanes(int* out) {
  for (int i = 0; i < 8; ++i) {
    unsigned mask = __activemask();
    // faults.py:1
    out[threadIdx.x] = __shfl_sync(mask, 1, 0);
  }
}
extern "C" __global__ void lane_that_has_ended(int* out) {
  if (threadIdx.x == 3) return;
  // faults.py:1
  out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 3);
}
extern "C" __global__ void store_beyond(float* out) {
  // faults.py:1
  out[threadIdx.x * 2] = 1;
}
extern "C" __global__ void load_before(const float* x, float* out) {
  // faults.py:1
  out[threadIdx.x] = x[(int)threadIdx.x - 1];
}
extern "C" __global__ void shared_beyond(float* out) {
  __shared__ float a[64];
  __shared__ float b[64];
  b[threadIdx.x] = 0;
  // faults.py:1
  a[threadIdx.x + 1] = 1;
  out[threadIdx.x] = b[threadIdx.x];
}
extern "C" __global__ void shared_vector_beyond(float* out) {
  __shared__ __align__(16) float a[64];
  // faults.py:1
  *(float4*)(a + threadIdx.x * 4) = make_float4(1, 2, 3, 4);
  out[threadIdx.x] = 1;
}
extern "C" __global__ void dynamic_beyond(float* out) {
  extern __shared__ float s[];
  // faults.py:1
  s[threadIdx.x] = 1;
  out[threadIdx.x] = 1;
}
extern "C" __global__ void local_beyond(float* out, int n) {
  float a[8];
  for (int i = 0; i < 8; ++i) a[i] = i;
  // faults.py:1
  a[threadIdx.x % n] = 2;
  out[threadIdx.x] = a[n % 8];
}
extern "C" __global__ void local_vector_beyond(float* out, int n) {
  __align__(16) float a[8];
  for (int i = 0; i < 8; ++i) a[i] = i;
  // faults.py:1
  *(float4*)(a + 4 * n) = make_float4(1, 2, 3, 4);
  out[threadIdx.x] = a[n];
}
extern "C" __global__ void wild(float* out, unsigned long long where) {
  // faults.py:1
  *(float*)(where + threadIdx.x * 4) = 1;
}
extern "C" __global__ void misaligned(float* out) {
  // faults.py:1
  *(float4*)(out + 1) = make_float4(1, 2, 3, 4);
}
extern "C" __global__ void read_only(float* out) {
  // faults.py:1
  out[threadIdx.x] = 1;
}
extern "C" __global__ void copy_without_wait(float* out, const float* x) {
  __shared__ __align__(16) float s[256];
  lw_sim_cp_async(s + threadIdx.x * 4, x + threadIdx.x * 4, 16, 16);
  lw_sim_cp_async_commit();
  // faults.py:1
  out[threadIdx.x] = s[threadIdx.x * 4];
}
extern "C" __global__ void wait_for_too_few_groups(float* out, const float* x) {
  __shared__ __align__(16) float s[2][64];
  for (int k = 0; k < 2; ++k) {
    lw_sim_cp_async(&s[k][threadIdx.x], x + k * 64 + threadIdx.x, 4, 4);
    lw_sim_cp_async_commit();
  }
  lw_sim_cp_async_wait(1);
  __syncthreads();
  // faults.py:1
  out[threadIdx.x] = s[0][63 - threadIdx.x] + s[1][63 - threadIdx.x];
}
extern "C" __global__ void wait_without_barrier(float* out, const float* x) {
  __shared__ __align__(16) float s[64];
  // faults.py:1
  lw_sim_cp_async(&s[threadIdx.x], x + threadIdx.x, 4, 4);
  lw_sim_cp_async_commit();
  lw_sim_cp_async_wait(0);
  // faults.py:2
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void copies_of_a_thread_that_ended(float* out, const float* x) {
  __shared__ __align__(16) float s[64];
  s[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    lw_sim_cp_async(&s[threadIdx.x], x + threadIdx.x, 4, 4);
    lw_sim_cp_async_commit();
  } else {
    for (int i = 0; i < 9; ++i) __nanosleep(100);
    // faults.py:1
    out[threadIdx.x] = s[threadIdx.x - 32];
  }
}
extern "C" __global__ void division(int* out) {
  // faults.py:1
  out[threadIdx.x] = 7 / out[threadIdx.x];
}
extern "C" __global__ void remainder_of_smallest(long long* out) {
  // faults.py:1
  out[threadIdx.x] = (-9223372036854775807LL - 1) % (out[threadIdx.x] - 1);
}
extern "C" __global__ void endless(int* out) {
  int i = 0;
  // faults.py:1
  while (i < 10) { i += out[threadIdx.x]; }
  out[threadIdx.x] = i;
}
extern "C" __global__ void waits_for_nobody(int* out) {
  // faults.py:1
  while (atomicAdd(out, 0) == 0) { }
}
extern "C" __global__ void takes_a_lock_twice(int* out) {
  // faults.py:1
  while (atomicCAS(out, 0, 1) != 0) { }
}
extern "C" __global__ void asserts(const int* out) {
  // faults.py:1
  assert(out[threadIdx.x] == 0 && "all are zero");
}
extern "C" __global__ void traps(int* out) {
  // faults.py:1
  if (threadIdx.x == 63) { printf("row %d is empty\n", 5); __trap(); }
}
__device__ int depth(int n, int* out) { int a[64]; a[n % 64] = n; out[0] = a[n % 7]; return n ? depth(n - 1, out) + a[3] : 0; }
extern "C" __global__ void recursion(int* out, int n) {
  // faults.py:1
  int d = depth(n, out);
  if (d == 12345) out[1] = 1;
}
"""

# kernel, code, lines in which it may be noticed first, arguments, launch
FAULTS = [
    ("missing_barrier", "data-race", {1, 2}, ["float32", "float32"], {}),
    ("missing_barrier_before_overwriting", "data-race", {1, 2}, ["float32", "float32"], {"shared": 256}),
    ("missing_syncwarp", "data-race", {1, 2}, ["int32"], {"threads": 32}),
    ("syncwarp_of_half_a_warp", "data-race", {1, 2}, ["int32"], {"threads": 32}),
    ("bytes_of_one_word", "data-race", {1, 2}, ["int8"], {}),
    ("write_write_between_blocks", "data-race", {1}, ["int32"], {"blocks": 4}),
    ("read_of_another_block", "data-race", {1, 2}, ["int32"], {"blocks": 4, "threads": 1}),
    ("race_inside_a_block", "data-race", {1}, ["int32"], {}),
    ("race_on_a_variable", "data-race", {1}, ["int32"], {}),
    ("plain_and_atomic", "data-race", {1, 2}, ["int32"], {}),
    ("exits_before_barrier", "barrier-divergence", {1}, ["float32"], {}),
    ("different_barriers", "barrier-divergence", {1, 2}, ["float32"], {}),
    ("barrier_against_shuffle", "barrier-divergence", {1, 2}, ["float32"], {}),
    ("masks_that_differ", "warp-divergence", {1}, ["int32"], {"threads": 32}),
    ("mask_without_the_caller", "inactive-lane", {1}, ["int32"], {"threads": 32}),
    ("reads_a_lane_outside", "inactive-lane", {1}, ["int32"], {"threads": 32}),
    ("relies_on_active_lanes", "inactive-lane", {1}, ["int32"], {"threads": 32}),
    ("lane_that_has_ended", "inactive-lane", {1}, ["int32"], {"threads": 32}),
    ("store_beyond", "out-of-bounds", {1}, ["float32"], {"threads": 128}),
    ("load_before", "out-of-bounds", {1}, ["float32", "float32"], {}),
    ("shared_beyond", "out-of-bounds", {1}, ["float32"], {}),
    ("shared_vector_beyond", "out-of-bounds", {1}, ["float32"], {}),
    ("dynamic_beyond", "out-of-bounds", {1}, ["float32"], {"shared": 128}),
    ("local_beyond", "out-of-bounds", {1}, ["float32", 60], {}),
    ("local_vector_beyond", "out-of-bounds", {1}, ["float32", 1 << 20], {}),
    ("wild", "out-of-bounds", {1}, ["float32", 64], {}),
    ("misaligned", "misaligned", {1}, ["float32"], {}),
    ("read_only", "argument-readonly", {1}, ["read-only"], {}),
    ("copy_without_wait", "pending-copy", {1}, ["float32", "float32"], {"threads": 32}),
    ("wait_for_too_few_groups", "pending-copy", {1}, ["float32", "float32"], {}),
    ("wait_without_barrier", "data-race or pending-copy", {1, 2}, ["float32", "float32"], {"threads": 32}),
    ("copies_of_a_thread_that_ended", "pending-copy or data-race", {1, None}, ["float32", "float32"], {}),
    ("division", "division", {1}, ["int32"], {}),
    ("remainder_of_smallest", "division", {1}, ["int64"], {}),
    ("endless", "endless-loop", {1}, ["int32"], {}),
    ("waits_for_nobody", "endless-loop", {1}, ["int32"], {}),
    ("takes_a_lock_twice", "endless-loop", {1}, ["int32"], {}),
    ("asserts", "device-assert", {1}, ["ones"], {}),
    ("traps", "device-assert", {1}, ["int32"], {}),
    ("recursion", "device-stack", {None, 1}, ["int32", 100000], {"threads": 1}),
]


@pytest.fixture(scope="module")
def kernels(loader: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    return loader(TEXT, {"steps": 1 << 20})


def array(spec: object) -> object:
    if not isinstance(spec, str):
        return spec
    data = np.zeros(200, {"read-only": "float32", "ones": "int32"}.get(spec, spec))
    if spec == "ones":
        data[...] = 1
    data.flags.writeable = spec != "read-only"
    return data


@pytest.mark.parametrize("name, code, lines, args, launch", FAULTS, ids=[row[0] for row in FAULTS])
def test_fault_is_found(
    kernels: dict[str, Any],
    name: str,
    code: str,
    lines: set[int | None],
    args: list[object],
    launch: dict[str, int],
) -> None:
    kernel = kernels[name]
    for seed in SEEDS:
        kernel.seed = seed
        with pytest.raises(ExecutionError) as found:
            kernel(
                (launch.get("blocks", 1), 1, 1),
                (launch.get("threads", 64), 1, 1),
                [array(a) for a in args],
                launch.get("shared", 0),
            )
        [said] = found.value.diagnostics
        assert said.code in code.split(" or "), str(found.value)
        assert name in said.message and "thread (" in said.message
        line = said.span.line if said.span is not None and said.span.file == "faults.py" else None
        assert line in lines, str(found.value)
        assert isinstance(
            found.value, {"out-of-bounds": OutOfBoundsError, "division": DivisionError}.get(code, object)
        )


def test_every_planted_fault_is_listed(kernels: dict[str, Any]) -> None:
    assert set(kernels) == {row[0] for row in FAULTS}

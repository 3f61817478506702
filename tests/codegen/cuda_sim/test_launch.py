"""Loading and launching: texts, limits, output, options, and kernels that would crash the process."""

from __future__ import annotations

import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopwright
from loopwright.codegen.cuda_sim import compile, load, read_kernels
from loopwright.codegen.cuda_sim.text import prepare
from loopwright.errors import CodegenError, ExecutionError, MissingDependencyError
from loopwright.script import tirx as T

TEXT = r"""
#include <cstdio>
static __device__ __forceinline__ float at(const float* p, int i) {
  return p[i];
}
extern "C" __global__ void __launch_bounds__(128) speaks(const float* x, long long n) {
  // launch.py:1
  if (threadIdx.x == n) printf("threadIdx.x is %d, x is %g\n", threadIdx.x, at(x, n));
}
extern "C" __global__ void spread(int* out) {
  __shared__ int slot;
  if (threadIdx.x == 0) slot = 0;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(&slot, 1);
}
extern "C" __global__ void much(int* out) {
  __shared__ int s[40000];
  for (int i = threadIdx.x; i < 40000; i += blockDim.x) s[i] = i;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x * 1000];
}
extern "C" __global__ void waits(int* p) {
  while (*p == 0) { *p = 0; }
}
extern "C" __global__ void crashes(int* p) { *p = 1; }
extern "C" __global__ void divides(int* p) { *p = 7 / *p; }
extern "C" __global__ void overflows(float* out, int n) {
  float x[400000];
  for (int i = 0; i < n; ++i) x[i * 1001 % 400000] = i;
  out[0] = x[n];
}
"""
ONE = (1, 1, 1)


@pytest.fixture(scope="module")
def kernels(loader: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    return loader(TEXT)


def test_output_is_that_of_python(kernels: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    kernels["speaks"](ONE, (8, 1, 1), [np.arange(8, dtype=np.float32) / 2, 3])
    assert capsys.readouterr().out == "threadIdx.x is 3, x is 1.5\n"


def test_place_of_a_helper_is_that_of_its_call(kernels: dict[str, Any]) -> None:
    with pytest.raises(ExecutionError) as found:
        kernels["speaks"](ONE, (8, 1, 1), [np.zeros(2, np.float32), 3])
    [said] = pickle.loads(pickle.dumps(found.value)).diagnostics
    assert said.span.file == "launch.py" and said.span.line == 1
    assert "byte 12 of array `x`, which has 8 bytes" in said.message


@T.prim_func
def collide(A: T.Buffer((64,), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        with T.sblock("b"):
            v = T.axis.spatial(64, i)
            A[v // 2] = T.float32(1)  # here


def test_place_in_the_script(kernels: dict[str, Any]) -> None:
    with pytest.raises(ExecutionError) as found:
        loopwright.build(collide, "cuda-sim -seed=3")["collide"](np.zeros(64, np.float32))
    assert found.value.code == "data-race"
    span = found.value.diagnostics[0].span
    lines = Path(__file__).read_text().splitlines()
    assert span.file == __file__ and lines[span.line - 1].endswith("# here")
    assert "A[v // 2] = T.float32(1)  # here" in str(found.value)


@pytest.mark.parametrize(
    "name, grid, block, shared",
    [
        ("spread", ONE, (1025, 1, 1), 0),
        ("spread", ONE, (1, 1, 65), 0),
        ("spread", (1, 65536, 1), ONE, 0),
        ("spread", (0, 1, 1), ONE, 0),
        ("spread", ONE, ONE, 300_000),
        ("speaks", ONE, (129, 1, 1), 0),
        ("much", ONE, ONE, 100_000),
    ],
)
def test_what_no_device_starts(
    kernels: dict[str, Any], name: str, grid: Any, block: Any, shared: int
) -> None:
    args = [np.zeros(64, np.float32), 0] if name == "speaks" else [np.zeros(64, np.int32)]
    kernel = kernels[name]
    if name == "much":  # what the text declares counts too
        kernel = load(read_kernels(TEXT), {"max_shared_memory_per_block": 120_000})[name]
    with pytest.raises(ExecutionError) as found:
        kernel(grid, block, args, shared)
    assert found.value.code == "kernel-launch"


def test_a_seed_gives_an_order(kernels: dict[str, Any]) -> None:
    def order(seed: int, cores: int) -> list[int]:
        out = np.zeros(4 * 64, np.int32)
        kernels["spread"].seed, kernels["spread"].cores = seed, cores
        kernels["spread"]((4, 1, 1), (64, 1, 1), [out])
        assert (np.sort(out.reshape(4, 64), 1) == np.arange(64)).all()
        return out.tolist()

    assert order(1, 1) == order(1, 3) != order(2, 1)
    out = np.zeros(40, np.int32)
    kernels["much"](ONE, (40, 1, 1), [out])
    assert (out == np.arange(40) * 1000).all()


@pytest.mark.parametrize("checks", [True, False])
def test_nothing_crashes_the_process(kernels: dict[str, Any], checks: bool) -> None:
    loaded = kernels if checks else load(read_kernels(TEXT), {"checks": False})
    cases = [
        ("crashes", [None], "out-of-bounds"),
        ("crashes", [64], "out-of-bounds"),
        ("divides", [np.zeros(1, np.int32)], "division"),
        ("overflows", [np.zeros(4, np.float32), 8], "device-stack"),
    ]
    for name, args, code in cases:
        with pytest.raises(ExecutionError) as found:
            loaded[name](ONE, (3, 1, 1), args)
        assert found.value.code == code, str(found.value)


def test_texts_that_are_refused(kernels: dict[str, Any]) -> None:
    texts = [
        ('extern "C" __global__ void f(float* x) { x[0] = y; }', "device-compiler"),
        ('extern "C" __global__ void f(float* x) { __shared__ float a[2], b[2]; }', "unsupported-codegen"),
        ('extern "C" __global__ void f(struct thing x) { }', "unsupported-parameter"),
        ("int f() { return 1; }", "no-function"),
    ]
    for text, code in texts:
        with pytest.raises(CodegenError) as found:
            load(read_kernels(text))
        assert found.value.code == code


def test_interrupts_end_a_launch(kernels: dict[str, Any]) -> None:
    timer = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        kernels["waits"](ONE, ONE, [np.zeros(1, np.int32)])
        time.sleep(1)  # the interrupt comes to the main thread's next line
    timer.join()


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingDependencyError, match="install g"):
        compile.compiler()


PIECES = [
    "int a; ", "// __shared__ threadIdx.x\n", '"__shared__ float a[4];" ', "/* blockIdx.x \n */ ", "threadIdx.x + 1;\n",
    "__shared__ float a[4];", "extern __shared__ __align__(16) unsigned char\n buffer[];", "__shared__ volatile int v;\n",
    "__shared__ alignas(16) half2 h[2][N + 1];\n", "#include <cstdio>\n", "'\"' ", "blockDim . y\n", "\n",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES)))
def test_lines_stay_and_text_in_quotes_too(pieces: list[str]) -> None:
    text = "".join(pieces)
    made = prepare(text, [])
    assert made.rstrip("\n").count("\n") <= text.count("\n") <= made.count("\n")
    assert [i for i, line in enumerate(text.split("\n")) if '"__shared__ float a[4];"' in line] == [
        i for i, line in enumerate(made.split("\n")) if '"__shared__ float a[4];"' in line
    ]
    code = re.sub(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', "", made, flags=re.S)
    assert "__shared__" not in code and "threadIdx.x" not in code and "blockDim" not in code


@pytest.mark.slow
def test_other_processors(loader: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    """The portable switch between stacks does the same: barriers, shuffles and reports."""
    code = """
import numpy as np
import loopwright
from loopwright.codegen.cuda_sim import compile, load, read_kernels
compile._RUNTIME.append("-DLW_PORTABLE")
compile.native_digest = lambda: "portable"
text = r'''
extern "C" __global__ void turn(int* out) {
  __shared__ int s[64];
  s[threadIdx.x] = __shfl_xor_sync(0xffffffffu, threadIdx.x, 1);
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x];
}
extern "C" __global__ void wrong(int* out) { if (threadIdx.x) __syncthreads(); }
'''
kernels = load(read_kernels(text))
out = np.zeros(64, np.int32)
kernels["turn"]((1, 1, 1), (64, 1, 1), [out])
assert (out == (np.arange(64) ^ 1)[::-1]).all()
try:
    kernels["wrong"]((1, 1, 1), (64, 1, 1), [out])
except Exception as error:
    print(error.code)
"""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path), "LOOPWRIGHT_CACHE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert done.stdout == "barrier-divergence\n", done.stderr

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import loopwright
from loopwright.codegen.cuda import compile as cuda
from loopwright.errors import ArgumentValueError, CodegenError, MissingDependencyError
from loopwright.script import tirx as T

SOURCE = """#include <cuda_fp16.h>
#include <mma.h>
extern "C" __global__ void f(float* a, const __half* b, int n) {
  const int i = (int)blockIdx.x * 32 + (int)threadIdx.x;
  // kernels.py:12
  if (i < n) a[i] = __half2float(b[i]) + 1.0f;
}
"""


@pytest.fixture(params=["nvrtc", pytest.param("nvcc", marks=pytest.mark.slow)])
def tool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LOOPWRIGHT_CUDA_COMPILER", request.param)
    try:
        cuda.compiler()
    except MissingDependencyError as err:
        pytest.skip(f"no {request.param} here: {err.diagnostics[0].message}")
    return str(request.param)


def test_source_becomes_cubin_and_ptx(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cuda.compile_cuda(SOURCE, "sm_90")[:4] == b"\x7fELF"
    text = cuda.compile_cuda(SOURCE, "sm_80", "ptx").decode()
    assert ".target sm_80" in text and ".entry f" in text

    def compiled_again(*args: Any) -> bytes:
        raise AssertionError("the cache has it")

    monkeypatch.setattr(type(cuda.compiler()), "compile", compiled_again)
    assert cuda.compile_cuda(SOURCE, "sm_80", "ptx").decode() == text


def test_messages_name_the_line_of_the_script(tool: str) -> None:
    with pytest.raises(CodegenError, match=r'"nothing"(.|\n)*it comes from kernels.py:12') as caught:
        cuda.compile_cuda(SOURCE.replace("1.0f", "nothing"), "sm_80")
    assert caught.value.code == "device-compiler" and len(str(caught.value).splitlines()) <= 12


def test_an_architecture_that_does_not_exist(tool: str) -> None:
    with pytest.raises(CodegenError) as caught:
        cuda.compile_cuda(SOURCE, "sm_11")
    assert caught.value.code == "device-compiler"


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "_nvrtc_path", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert not cuda.has_compiler()
    with pytest.raises(MissingDependencyError, match=r"nvidia-cuda-nvrtc(.|\n)*loopwright\[cuda\]"):
        cuda.compile_cuda(SOURCE, "sm_80")
    with pytest.raises(MissingDependencyError, match="hipcc"):
        cuda.compile_hip(SOURCE, "gfx90a")
    monkeypatch.setenv("LOOPWRIGHT_CUDA_COMPILER", "clang")
    with pytest.raises(ArgumentValueError, match="`nvrtc` or `nvcc`, not `clang`"):
        cuda.compile_cuda(SOURCE, "sm_80")


@T.prim_func
def add(a: T.Buffer(("n",), "float32"), b: T.Buffer(("n",), "float32")):
    n = T.int32()
    for i in range(n):
        with T.sblock("b"):
            v = T.axis.spatial(n, i)
            b[v] = a[v] + 1.0


def test_building_needs_no_device(tmp_path: Path) -> None:
    module = loopwright.build(add, "cuda -arch=sm_90")
    assert "__global__" in module.source("cuda") and "add" in module.explain()
    assert module.imports[0].source() == module.source("cuda")
    assert module.export(tmp_path / "add.cu").read_text() == module.source()
    if not cuda.has_compiler():
        pytest.skip("no CUDA compiler here")
    assert ".target sm_90" in module.source("ptx")
    assert module.export(tmp_path / "add.cubin").read_bytes()[:4] == b"\x7fELF"


def test_hip_is_text(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    module = loopwright.build(add, "rocm")
    assert "__global__" in module.source("hip")
    with pytest.raises(NotImplementedError, match="not run") as caught:
        module["add"](1, 2)
    assert caught.value.code == "unsupported-target"  # type: ignore[attr-defined]
    if shutil.which("hipcc") is None:
        pytest.skip("no hipcc here")
    assert cuda.compile_hip(module.source("hip"), "gfx90a")

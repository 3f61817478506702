from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright
from loopwright.codegen.cuda.compile import has_compiler
from loopwright.errors import ArgumentValueError, CodegenError
from loopwright.runtime import load_module, tensor
from loopwright.runtime.sealed import LibraryError
from loopwright.script import ir as I
from loopwright.script import tirx as T


@T.prim_func
def shift(a: T.Buffer(("n",), "float32"), b: T.Buffer(("n",), "float32"), k: T.int32):
    n = T.int32()
    for i in range(n):
        with T.sblock("b"):
            v = T.axis.spatial(n, i)
            b[v] = a[v] + T.Cast("float32", k)


ALONE = """
import sys
import numpy as np
from loopwright.runtime import load_module, tensor
lib = load_module(sys.argv[1])
a = tensor(np.arange(9, dtype="float32"), device="opencl")
b = tensor(np.zeros(9, "float32"), device="opencl")
lib["shift"](a, b, k=5)
assert (b.numpy() == np.arange(9) + 5).all()
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("loopwright.")}
assert not rooms & {"ir", "codegen", "transform", "schedule", "script"}, rooms
"""


@pytest.mark.slow
@pytest.mark.opencl
def test_a_file_runs_without_the_compiler(opencl: Any, tmp_path: Path) -> None:
    path = loopwright.build(shift, "opencl").export(tmp_path / "shift.lw")
    subprocess.run([sys.executable, "-c", ALONE, str(path)], check=True)


@pytest.mark.opencl
def test_loaded_functions_check_their_arguments(opencl: Any, tmp_path: Path) -> None:
    lib = load_module(loopwright.build(shift, "opencl").export(tmp_path / "shift.lw"))
    assert "__kernel" in lib.source("opencl")
    a = tensor(np.zeros(9, "float32"), device="opencl")
    with pytest.raises(ArgumentValueError, match=r"shift: argument 1 \(a\) lies on the CPU"):
        lib["shift"](np.zeros(9, "float32"), a, 1)
    with pytest.raises(ArgumentValueError, match="share memory"):
        lib["shift"](a, a, 1)
    text = (tmp_path / "shift.lw").read_bytes()
    (tmp_path / "broken.lw").write_bytes(text.replace(b"__kernel", b"__kernal"))
    with pytest.raises(LibraryError, match="checksum"):
        load_module(tmp_path / "broken.lw")


def test_a_file_for_cuda_has_compiled_code(tmp_path: Path) -> None:
    if not has_compiler():
        pytest.skip("no CUDA compiler here")
    lib = load_module(loopwright.build(shift, "cuda -arch=sm_90").export(tmp_path / "shift.lw"))
    assert ".target sm_90" in lib.source("ptx") and "__global__" in lib.source("cuda")
    assert b"\x7fELF" in (tmp_path / "shift.lw").read_bytes()


@I.ir_module
class Mixed:
    @T.prim_func
    def here(a: T.Buffer((4,), "float32")):
        T.func_attr({"target": T.target("llvm")})
        for i in range(4):
            a[i] = 1.0

    @T.prim_func
    def there(a: T.Buffer((4,), "float32")):
        for i in T.thread_binding(4, thread="threadIdx.x"):
            a[i] = 2.0


def test_what_a_file_cannot_hold(tmp_path: Path) -> None:
    module = loopwright.build(Mixed, "opencl")
    a = np.zeros(4, "float32")
    module["here"](a)
    assert a.sum() == 4
    with pytest.raises(CodegenError, match="`here` runs on the CPU") as caught:
        module.export(tmp_path / "mixed.lw")
    assert caught.value.code == "unsupported-export"
    with pytest.raises(CodegenError, match=r"cannot be exported as `mixed.so`(.|\n)*\.cl, \.lw") as caught:
        module.export(tmp_path / "mixed.so")
    assert caught.value.code == "unknown-format"

"""Exported functions called from C, C++, Rust, and through the runtime of TVM-FFI."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import loopwright
from loopwright.errors import CodegenError
from loopwright.runtime import Module
from loopwright.script import tirx as T

C_PROGRAM = r"""
#include <stdio.h>
#include "kernels.h"

int main(void) {
  float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 1, 1, 1, 1, 1}, total = 0;
  int64_t shape[2] = {3, 2}, other[2] = {2, 3}, columns[2] = {1, 3};
  DLDataType kind = {2, 32, 1};
  DLTensor A, B;
  char *error = NULL;
  int32_t half = 0;
  memset(&A, 0, sizeof A);
  A.data = a; A.ndim = 2; A.dtype = kind; A.shape = shape;
  *(int32_t *)&A.device = 1;
  B = A;
  B.data = b;
  if (kernels_axpy(&A, &B, 2.0f, &error)) { puts(error); return 1; }
  for (int k = 0; k < 6; k++) total += b[k];
  printf("%g\n", total);
  if (kernels_halve(-7, &half, &error)) return 2;
  printf("%d\n", (int)half);
  B.shape = other;
  if (kernels_axpy(&A, &B, 2.0f, &error) != -1) return 3;
  puts(error);
  free(error);
  B.shape = shape;
  B.strides = columns;
  if (kernels_axpy(&A, &B, 2.0f, &error) != -1) return 4;
  puts(error);
  free(error);
  return kernels_axpy(&A, NULL, 2.0f, NULL) == -1 ? 0 : 5;
}
"""

RUST_PROGRAM = r"""
use std::ffi::{c_char, c_void, CStr};

#[repr(C)]
struct Tensor { data: *mut c_void, device: [i32; 2], ndim: i32, code: u8, bits: u8, lanes: u16,
                shape: *const i64, strides: *const i64, byte_offset: u64 }

#[repr(C)]
struct Cell { kind: i32, extra: u32, value: u64 }

extern "C" {
    fn __tvm_ffi_axpy(own: *const c_void, args: *const Cell, count: i32, result: *mut Cell) -> i32;
}

fn main() {
    let (mut a, mut b, shape) = ([1f32, 2., 3., 4.], [1f32; 4], [2i64, 2]);
    let tensor = |data: *mut f32| Tensor { data: data as *mut c_void, device: [1, 0], ndim: 2, code: 2, bits: 32,
        lanes: 1, shape: shape.as_ptr(), strides: std::ptr::null(), byte_offset: 0 };
    let (ta, tb) = (tensor(a.as_mut_ptr()), tensor(b.as_mut_ptr()));
    let args = [Cell { kind: 7, extra: 0, value: &ta as *const Tensor as u64 },
                Cell { kind: 7, extra: 0, value: &tb as *const Tensor as u64 },
                Cell { kind: 3, extra: 0, value: 0.5f64.to_bits() }];
    let mut result = Cell { kind: 8, extra: 0, value: 0 };
    let call = |count: i32, result: *mut Cell| unsafe { __tvm_ffi_axpy(std::ptr::null(), args.as_ptr(), count, result) };
    assert_eq!(call(3, &mut result), 0);
    println!("{:?}", b);
    assert_eq!(call(2, &mut result), -1);
    println!("{}", unsafe { CStr::from_ptr(result.value as *const c_char) }.to_str().unwrap());
}
"""


@pytest.fixture(scope="module")
def module() -> Module:
    return loopwright.build(
        loopwright.parse("""
@I.ir_module
class Module:
    @T.prim_func
    def axpy(a: T.Buffer(("n", "m"), "float32"), b: T.Buffer(("n", "m"), "float32"), k: T.float32):
        for i in range(n):
            for j in range(m):
                b[i, j] = a[i, j] * k + b[i, j]

    @T.prim_func
    def halve(x: T.int32) -> T.int32:
        return x // 2
""")
    )


@pytest.fixture(scope="module", params=["so", "o"])
def library(module: Module, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return module.export(tmp_path_factory.mktemp("lib") / f"kernels.{request.param}")
    except CodegenError as err:
        pytest.skip(str(err))


def need(command: str) -> str:
    found = shutil.which(command)
    if found is None:
        pytest.skip(f"no {command} here")
    return found


def run(*command: str | Path) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr}{done.stdout}"
    return done.stdout


SAID = [
    "48",
    "-4",
    "ValueError: axpy: argument 2 (b) must have shape[0] 3 (`n`), not 2",
    "ValueError: axpy: argument 2 (b) must be compact, without gaps",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compiler", "suffix", "standard"),
    [("cc", "c", "-std=c11"), ("c++", "cc", "-std=c++17"), ("clang", "c", "-std=c11")],
)
def test_c(library: Path, tmp_path: Path, compiler: str, suffix: str, standard: str) -> None:
    source = tmp_path / f"main.{suffix}"
    source.write_text(C_PROGRAM)
    strict = ["-Wall", "-Wextra", "-Werror"]
    place = [f"-I{library.parent}", f"-Wl,-rpath,{library.parent}"]
    run(need(compiler), standard, *strict, *place, "-o", tmp_path / "main", source, library)
    assert run(tmp_path / "main").splitlines() == SAID


@pytest.mark.slow
def test_rust(library: Path, tmp_path: Path) -> None:
    source = tmp_path / "main.rs"
    source.write_text(RUST_PROGRAM)
    where = ["-C", f"link-arg={library}", "-C", f"link-arg=-Wl,-rpath,{library.parent}"]
    run(need("rustc"), "--edition=2021", *where, "-o", tmp_path / "main", source)
    assert run(tmp_path / "main").splitlines() == [
        "[1.5, 2.0, 2.5, 3.0]",
        "TypeError: `axpy(a: float32[n, m], b: float32[n, m], k: float32)` takes 3 arguments but 2 were given",
    ]


FFI_PROGRAM = """
import sys

import numpy as np

try:
    import tvm_ffi
except ImportError:
    sys.exit(77)


def error(kind, function, *args):
    try:
        function(*args)
    except kind as err:
        return str(err)
    raise SystemExit("no error")


library = tvm_ffi.load_module(sys.argv[1])
a, b = np.ones((2, 3), np.float32), np.ones((2, 3), np.float32)
assert library.axpy(a, b, 3) is None and (b == 4).all()
library.axpy(tvm_ffi.from_dlpack(a), tvm_ffi.from_dlpack(b), 2.0)
assert (b == 6).all() and library.halve(9) == 4
try:
    import torch
except ImportError:
    pass
else:
    ones, zeros = torch.ones(2, 3), torch.zeros(2, 3)
    library.axpy(ones, zeros, 2.0)
    assert bool((zeros == 2).all())
print(error(ValueError, library.axpy, a, np.ones((2, 2), np.float32), 1.0))
print(error(TypeError, library.halve, 1, 2))
print(error(ValueError, library.halve, 1 << 40))

# Errors come as ours where our loader calls, though the other runtime is in the process.
from loopwright.errors import ArgumentValueError
from loopwright.runtime import load_module

print(error(ArgumentValueError, load_module(sys.argv[1])["halve"], 1 << 40))
"""


@pytest.mark.slow
def test_tvm_ffi(module: Module, tmp_path: Path) -> None:
    """Through `tvm_ffi.load_module`, where the package is installed; in a process without our stand-in for it."""
    try:
        path = module.export(tmp_path / "kernels.so")
    except CodegenError as err:
        pytest.skip(str(err))
    command = [sys.executable, "-c", FFI_PROGRAM, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("no apache-tvm-ffi here")
    assert done.returncode == 0, done.stderr
    outside = "halve: argument 1 (x) is 1099511627776, outside the range of `int32`"
    assert done.stdout.splitlines() == [
        "axpy: argument 2 (b) must have shape[1] 3 (`m`), not 2",
        "`halve(x: int32)` takes 1 arguments but 2 were given",
        outside,
        f"error[argument-value]: {outside}",
    ]


def test_names_that_c_does_not_have(tmp_path: Path) -> None:
    @T.prim_func
    def main(register: T.int32, error: T.int32, value: T.bool) -> T.float32:
        return T.Cast("float32", register + error) if value else T.float32(0)

    cc = need("cc")
    header = loopwright.build(main).export(tmp_path / "2 odd-name.h").read_text()
    assert "_2_odd_name_main(int32_t register_, int32_t error_, int value_, float *value" in header
    (tmp_path / "x.c").write_text(header)
    run(cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", tmp_path / "x.c")

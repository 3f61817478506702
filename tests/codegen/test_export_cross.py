"""Code for other machines: what the listings show, and that it runs, under emulation where there is one."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loopwright
from loopwright.errors import CodegenError, TargetError, UnsupportedError
from loopwright.runtime import LibraryError, Module, load_module
from loopwright.script import tirx as T
from loopwright.testing.strategies import prim_funcs

C_PROGRAM = r"""
#include <stdio.h>
#include "kernels.h"

int main(void) {
  float a[37], b[37], total = 0;
  int64_t n = 37, m = 36;
  DLTensor A, B;
  char *error = NULL;
  double sum = 0;
  memset(&A, 0, sizeof A);
  A.data = a; A.ndim = 1; A.shape = &n;
  A.dtype.code = 2; A.dtype.bits = 32; A.dtype.lanes = 1;
  *(int32_t *)&A.device = 1;
  B = A;
  B.data = b;
  for (int k = 0; k < 37; k++) { a[k] = (float)k; b[k] = 1; }
  if (kernels_axpy(&A, &B, 2.0f, &error)) { puts(error); return 1; }
  for (int k = 0; k < 37; k++) total += b[k];
  if (kernels_root(&A, 3, &sum, &error)) { puts(error); return 2; }
  printf("%g %.9f\n", total, sum);
  if (kernels_axpy(&A, &A, 1.0f, &error)) return 3;
  printf("%g\n", a[36]);
  if (kernels_spread(&A, &B, &error)) return 5;
  printf("%g\n", b[35]);
  B.shape = &m;
  if (kernels_axpy(&A, &B, 2.0f, &error) != -1) return 4;
  puts(error);
  return 0;
}
"""
SAID = [
    f"1369 {sum([math.sqrt(k) for k in range(37)]):.9f}",
    "72",
    "35",
    "ValueError: axpy: argument 2 (b) must have shape[0] 37 (`n`), not 36",
]


@T.prim_func
def axpy(a: T.Buffer(("n",), "float32"), b: T.Buffer(("n",), "float32"), k: T.float32):
    for i in range(n):
        b[i] = a[i] * k + b[i]


@T.prim_func
def spread(a: T.Buffer(("n",), "float32"), b: T.Buffer(("n",), "float32")):
    for i in T.parallel(n):
        b[i] = a[i] / T.float32(2)


@T.prim_func
def root(a: T.Buffer(("n",), "float32"), times: T.int32) -> T.float64:
    """The sum of square roots, times 3 at most through a heap buffer and float16."""
    x = T.alloc_buffer((n, 300), "float64")
    y = T.alloc_buffer((1,), "float64")
    for i in range(n):
        x[i, 299] = T.sqrt(T.Cast("float64", T.Cast("float16", a[i])))
    y[0] = T.float64(0)
    for i in range(n):
        y[0] = y[0] + x[i, 299] * T.Cast("float64", times) / T.float64(3)
    return y[0]


def program(target: str) -> Module:
    mod = loopwright.ir.IRModule({"axpy": axpy, "root": root, "spread": spread})
    return loopwright.build(mod, target)


MACHINES = {
    "neon": ("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", r"fmla\s+v\d+\.4s"),
    "sve": ("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1 -mattr=+sve", r"fm(la|ad)\s+z\d+\.s"),
    "rvv": (
        "llvm -mtriple=riscv64-unknown-linux-gnu -mcpu=generic-rv64 -mattr=+m,+a,+f,+d,+c,+v -mabi=lp64d",
        r"vfmacc\.v[vf]",
    ),
    "wasm": ("llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128", r"f32x4\.mul"),
    "x86": ("llvm -mtriple=x86_64-pc-windows-msvc -mcpu=haswell", r"vfmadd\d+ps"),
    "macos": ("llvm -mtriple=arm64-apple-macos -mcpu=apple-m1", r"fmla\.4s"),
    "arm": ("llvm -mtriple=armv7a-linux-gnueabihf -mattr=+neon", r"vmla\.f32"),
    "tag": ("raspberry-pi/4b-aarch64", r"fmla\s+v\d+\.4s"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_listings(name: str, tmp_path: Path) -> None:
    target, wanted = MACHINES[name]
    module = loopwright.build(axpy, target)
    assert module.inspect_source("asm") == module.inspect_source("s")
    assert re.search(wanted, module.inspect_source("s")), module.inspect_source("s")
    assert "define i32 @__tvm_ffi_axpy" in module.inspect_source("ll")
    assert module.export(tmp_path / "x.o").stat().st_size > 500
    with pytest.raises(TargetError, match="`axpy` cannot run here") as caught:
        module["axpy"](1, 2, 3)
    assert caught.value.diagnostics[0].code == "foreign-target"
    with pytest.raises(LibraryError, match="which is not this machine"):
        load_module(tmp_path / "x.o")


@pytest.mark.slow
@settings(max_examples=10)
@given(prim_funcs(executable=True), st.sampled_from(["neon", "sve", "rvv", "wasm", "arm"]))
def test_every_program_compiles_for_every_machine(func: loopwright.ir.PrimFunc, name: str) -> None:
    assert loopwright.build(func, MACHINES[name][0]).inspect_source("s")


def need(*commands: str) -> None:
    for command in commands:
        if shutil.which(command) is None:
            pytest.skip(f"no {command} here")


def run(*command: str | Path) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr}{done.stdout}"
    return done.stdout


EMULATED = {
    "neon": ("aarch64-linux-gnu", ["qemu-aarch64"]),
    "sve": ("aarch64-linux-gnu", ["qemu-aarch64", "-cpu", "max"]),
    "rvv": ("riscv64-linux-gnu", ["qemu-riscv64", "-cpu", "rv64,v=true,vext_spec=v1.0"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["so", "o"])
@pytest.mark.parametrize("name", EMULATED)
def test_emulated(name: str, suffix: str, tmp_path: Path) -> None:
    tools, emulator = EMULATED[name]
    need(f"{tools}-gcc", emulator[0])
    library = program(MACHINES[name][0]).export(tmp_path / f"kernels.{suffix}")
    (tmp_path / "main.c").write_text(C_PROGRAM)
    path = ["-o", tmp_path / "main", tmp_path / "main.c", library, f"-Wl,-rpath,{tmp_path}", "-lm"]
    run(f"{tools}-gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", *path)
    assert run(*emulator, "-L", f"/usr/{tools}", tmp_path / "main").splitlines() == SAID


NODE_PROGRAM = """
const fs = require('fs');
let memory, top;
const env = {
  malloc: (size) => { const at = top; top += (size + 15) & ~15; return at; },
  free: () => {},
  memcpy: (to, from, n) => { new Uint8Array(memory.buffer).copyWithin(to, from, from + n); return to; },
};
WebAssembly.instantiate(fs.readFileSync(process.argv[2]), { env }).then(({ instance }) => {
  memory = instance.exports.memory;
  memory.grow(8);
  top = memory.buffer.byteLength - 6 * 65536;
  const view = new DataView(memory.buffer);
  const tensor = (values, n) => {
    const data = env.malloc(4 * values.length), shape = env.malloc(8), t = env.malloc(40);
    values.forEach((v, k) => view.setFloat32(data + 4 * k, v, true));
    view.setBigInt64(shape, BigInt(n), true);
    [data, 1, 0, 1, 2 | 32 << 8 | 1 << 16, shape, 0].forEach((v, k) => view.setInt32(t + 4 * k, v, true));
    view.setBigInt64(t + 32, 0n, true);
    return { t, data };
  };
  const call = (A, B, k) => {
    const args = env.malloc(48), result = env.malloc(16);
    [[7, A.t], [7, B.t]].forEach(([kind, v], i) => {
      view.setInt32(args + 16 * i, kind, true); view.setInt32(args + 16 * i + 8, v, true);
    });
    view.setInt32(args + 32, 3, true); view.setFloat64(args + 40, k, true);
    view.setInt32(result, 8, true);
    const status = instance.exports.__tvm_ffi_axpy(0, args, 3, result);
    if (status === 0) return 'fine';
    const bytes = new Uint8Array(memory.buffer, view.getInt32(result + 8, true));
    return Buffer.from(bytes.slice(0, bytes.indexOf(0))).toString();
  };
  const A = tensor([1, 2, 3, 4, 5], 5), B = tensor([1, 1, 1, 1, 1], 5);
  console.log(call(A, B, 2));
  console.log([0, 1, 2, 3, 4].map((k) => view.getFloat32(B.data + 4 * k, true)).join(' '));
  console.log(call(A, tensor([1], 1), 2));
});
"""


@pytest.mark.slow
def test_web_assembly_runs_in_node(tmp_path: Path) -> None:
    need("node", "wasm-ld")
    path = loopwright.build(axpy, MACHINES["wasm"][0]).export(tmp_path / "axpy.wasm")
    (tmp_path / "main.js").write_text(NODE_PROGRAM)
    assert run("node", tmp_path / "main.js", path).splitlines() == [
        "fine",
        "3 5 7 9 11",
        "ValueError: axpy: argument 2 (b) must have shape[0] 5 (`n`), not 1",
    ]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a7x", "LLVM knows no processor `cortex-a7x`"),
        ("llvm -mtriple=aarch64-linux-gnu -mattr=+sev", "LLVM knows no feature `sev`"),
        ("llvm -mtriple=nonsense-linux", "LLVM does not know the triple `nonsense-linux`"),
        ("llvm -mcpu=another-machine", "LLVM knows no processor `another-machine`"),
    ],
)
def test_unknown_machines(target: str, text: str) -> None:
    with pytest.raises(TargetError, match=text) as caught:
        loopwright.build(axpy, target)
    assert caught.value.diagnostics[0].code == "unknown-processor"


def test_floats_are_in_registers() -> None:
    with pytest.raises(UnsupportedError, match="can only be `hard`"):
        loopwright.build(axpy, "llvm -mtriple=armv7a-linux-gnueabi -mfloat-abi=soft")


def test_libraries_of_systems_without_our_linkers(tmp_path: Path) -> None:
    for name in ("x86", "macos"):
        with pytest.raises(CodegenError, match="shared libraries for .* are not supported"):
            loopwright.build(axpy, MACHINES[name][0]).export(tmp_path / "x.so")


@pytest.mark.slow
def test_what_llvm_cannot_do_for_a_machine(tmp_path: Path) -> None:
    """Where it would end the process it is an error."""

    @T.prim_func
    def lanes(a: T.Buffer((1,), "int64")):
        a[0] = T.call_llvm_intrin("int64", "llvm.aarch64.sve.cntw", T.int32(31))

    assert loopwright.build(lanes, MACHINES["sve"][0]).export(tmp_path / "x.o").exists()
    with pytest.raises(CodegenError, match="LLVM refuses a call of `llvm.aarch64.sve.cntw`"):
        loopwright.build(lanes, MACHINES["neon"][0]).export(tmp_path / "x.o")


def test_intrinsics_of_another_machine() -> None:
    @T.prim_func
    def pause(a: T.Buffer((1,), "int32")):
        T.evaluate(T.call_llvm_intrin("void", "llvm.x86.sse2.pause"))

    with pytest.raises(CodegenError, match="on `aarch64`"):
        loopwright.build(pause, MACHINES["neon"][0]).inspect_source("s")

"""Atomic updates, prefetching, functions of C libraries, pointers and strided buffers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loopwright.codegen import build
from loopwright.dtype import DType
from loopwright.errors import CodegenError
from loopwright.script import parse


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "int8", "uint16", "bfloat16", "int4"])
def test_atomic_sums_of_parallel_loops(dtype: str) -> None:
    func = parse(f"""
@T.prim_func
def f(A: T.Buffer((4000,), "{dtype}"), C: T.Buffer((4,), "{dtype}")):
    for i in T.parallel(4000):
        T.evaluate(T.cuda.atomic_add(T.address_of(C[i % 4]), A[i]))
""")
    kind = DType(dtype).numpy()
    values = (
        (np.arange(4000) % 3 == 0).astype(kind) if dtype == "bfloat16" else (np.arange(4000) % 3).astype(kind)
    )
    if dtype == "bfloat16":
        values[400:] = 0
    got, want = np.zeros(4, kind), np.zeros(4, kind)
    build(func)["f"](values, got)
    func.interpret(values, want)
    np.testing.assert_array_equal(got.astype(float), want.astype(float))
    assert got.any()


def test_compare_and_swap() -> None:
    func = parse("""
@T.prim_func
def f(A: T.Buffer((1,), "int32"), C: T.Buffer((2,), "int32")):
    C[0] = T.cuda.atomic_cas(T.address_of(A[0]), 0, 7)
    C[1] = T.cuda.atomic_cas(T.address_of(A[0]), 0, 9)
""")
    for run in (build(func)["f"], func.interpret):
        a, c = np.zeros(1, "int32"), np.zeros(2, "int32")
        run(a, c)
        assert a[0] == 7 and c.tolist() == [0, 7]


def test_read_only_memory_is_not_updated() -> None:
    func = parse("""
@T.prim_func
def f(A: T.Buffer((1,), "int32")):
    T.evaluate(T.cuda.atomic_add(T.address_of(A[0]), 1))
""")
    a = np.zeros(1, "int32")
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        build(func)["f"](a)


def test_atomic_updates_need_an_address_of_their_type() -> None:
    func = parse("""
@T.prim_func
def f(A: T.Buffer((1,), "int32")):
    T.evaluate(T.cuda.atomic_add(T.address_of(A[0]), T.int64(1)))
""")
    with pytest.raises(CodegenError, match="of a `int64` to a cell of `int32`"):
        build(func)


def test_loops_ask_for_memory_ahead() -> None:
    body = """
@T.prim_func
def f(A: T.Buffer((1000,), "float32"), C: T.Buffer((1000,), "float32")):
    for i in T.serial(1000, annotations={"prefetch": AHEAD}):
        C[i] = A[i] + A[999 - i]
    T.evaluate(T.call_intrin("void", "tirx.prefetch", T.address_of(A[5]), 1, 2))
"""
    func = parse(body.replace("AHEAD", "16"))
    lib = build(func)
    text = lib.inspect_source("llvm")
    assert text.count("call void @llvm.prefetch") == 3 and "i32 1, i32 2, i32 1" in text
    a, c = np.arange(1000, dtype="float32"), np.zeros(1000, "float32")
    lib["f"](a, c)
    assert (c == 999).all()
    with pytest.raises(CodegenError, match="annotation `prefetch`"):
        build(parse(body.replace("AHEAD", "0")))


SOURCE = "float half_of(float x) { return x / 2; }\nvoid fill(float *p, int n) { while (n--) p[n] = n; }\n"
CALLER = """
@T.prim_func
def f(a: T.Buffer((4,), "float32")):
    T.func_attr({"link": ["LIBRARY"]})
    T.evaluate(T.call_extern("void", "lw_test_fill", T.address_of(a[0]), 4))
    a[0] = T.call_extern("float32", "lw_test_half_of", a[3])
"""


def test_functions_of_a_named_library(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source, library = tmp_path / "lib.c", tmp_path / "libmine.so"
    source.write_text(SOURCE.replace("half_of", "lw_test_half_of").replace("fill", "lw_test_fill"))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    a = np.zeros(4, "float32")
    build(parse(CALLER.replace("LIBRARY", str(library))))["f"](a)
    assert a.tolist() == [1.5, 1, 2, 3]


@pytest.mark.parametrize(
    ("symbol", "library", "code"),
    [("no_such_symbol", "", "unknown-symbol"), ("fill", "nowhere.so", "unknown-library")],
)
def test_what_is_missing_is_named(symbol: str, library: str, code: str) -> None:
    text = CALLER.replace("lw_test_fill", symbol)
    text = (
        text.replace("LIBRARY", library)
        if library
        else text.replace('T.func_attr({"link": ["LIBRARY"]})', "pass")
    )
    with pytest.raises(CodegenError, match=symbol if not library else library) as caught:
        build(parse(text))
    found: Any = caught.value.diagnostics[0]
    assert found.code == code
    if not library:
        assert found.span.line == 5


def test_strided_buffers_and_moved_pointers() -> None:
    func = parse("""
@T.prim_func
def f(a: T.handle, B: T.Buffer((12,), "float32")):
    s = T.int64()
    A = T.match_buffer(a, (3, 4), "float32", strides=[s, 1])
    for i in T.serial(3):
        for j in T.vectorized(4):
            A[i, j] = A[i, j] + B[i * 4 + j]
    W = T.decl_buffer((2,), "float32", data=T.ptr_byte_offset(B.data, 16, "float32"))
    W[1] = 7.0
""")
    whole = np.arange(24, dtype="float32").reshape(3, 8)
    for run in (build(func)["f"], func.interpret):
        a, b = whole.copy(), np.ones(12, "float32")
        run(a[:, 2:6], b)
        want = whole.copy()
        want[:, 2:6] += 1
        np.testing.assert_array_equal(a, want)
        assert b.tolist() == [1, 1, 1, 1, 1, 7, 1, 1, 1, 1, 1, 1]

"""Exported libraries: the same results and errors as in this process, files that tell what they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loopwright
from loopwright import ir
from loopwright.errors import CodegenError, LoopwrightError, UnsupportedError
from loopwright.runtime import LibraryError, Module, load_module
from loopwright.runtime.sealed import MAGIC, metadata_of, sealed
from loopwright.script import tirx as T
from loopwright.testing.results import assert_same_results
from loopwright.testing.strategies import prim_funcs

PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func
    def axpy(a: T.handle, b: T.handle, k: T.float32):
        n = T.int64()
        A = T.match_buffer(a, (n, 4), "float32")
        B = T.match_buffer(b, (n, 4), "float32")
        for i in T.parallel(n):
            for j in T.vectorized(4):
                B[i, j] = A[i, j] * k + B[i, j]

    @T.prim_func
    def shift(a: T.Buffer((8,), "int32"), b: T.Buffer((8,), "int32")):
        for i in T.vectorized(7):
            b[i + 1] = a[i] + 1

    @T.prim_func
    def divide(a: T.int32, b: T.int32) -> T.int32:
        return a // b

    @T.prim_func
    def halves(a: T.Buffer((3,), "float16"), b: T.Buffer((3,), "bfloat16"), flag: T.bool) -> T.bool:
        for i in range(3):
            if flag:
                b[i] = T.Cast("bfloat16", a[i]) * T.bfloat16(2)
        return not flag

    @T.prim_func
    def strided(a: T.handle, x: T.float64, byte: T.uint8) -> T.float64:
        n = T.int32()
        s = T.int64()
        A = T.match_buffer(a, (n,), "float64", strides=(s,))
        for i in range(n):
            A[i] = A[i] + x
        return A[0] + T.Cast("float64", byte)

    @T.prim_func
    def guarded(i: T.int32, big: T.uint64) -> T.uint64:
        assert i < 4, "the index is {too} large"
        return big + T.uint64(1)

    @T.prim_func
    def large(n: T.int64) -> T.int64:
        x = T.alloc_buffer((n,), "int64")
        for i in range(n):
            x[i] = i
        return x[n - 1]
"""


@pytest.fixture(scope="module")
def built() -> Module:
    return loopwright.build(loopwright.parse(PROGRAM))


def exported(module: Module, path: Path) -> Path:
    """The path of a written library, where there is a linker."""
    try:
        return module.export(path)
    except CodegenError as err:
        if err.diagnostics[0].code != "no-linker":
            raise
        pytest.skip("no linker here")


@pytest.fixture(scope="module", params=["built", "o", "so"])
def module(built: Module, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Module:
    if request.param == "built":
        return built
    return load_module(exported(built, tmp_path_factory.mktemp("export") / f"library.{request.param}"))


@pytest.fixture(scope="module")
def small() -> Module:
    @T.prim_func
    def divide(a: T.int32, b: T.int32) -> T.int32:
        return a // b

    return loopwright.build(divide)


class TestCalls:
    """A loaded function does what the built one does."""

    def test_arrays(self, module: Module) -> None:
        a, b = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((3, 4), np.float32)
        assert module["axpy"](a, B=b, k=2) is None
        assert (b == 2 * a + 1).all()

    def test_overlapping_arrays(self, module: Module) -> None:
        a = np.arange(8, dtype=np.int32)
        module["shift"](a, a)
        assert a.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
        whole = np.zeros(9, np.int32)
        module["shift"](whole[1:], whole[:-1])
        assert whole.tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 0]

    def test_arrays_with_gaps(self, module: Module) -> None:
        a, whole = np.ones((2, 4), np.float32), np.zeros((2, 8), np.float32)
        module["axpy"](np.asfortranarray(a), whole[:, ::2], 3.0)
        assert (whole[:, ::2] == 3).all() and (whole[:, 1::2] == 0).all()
        wide = np.zeros(10)
        assert module["strided"](wide[::3], 1.5, 7) == 8.5
        assert (wide[::3] == 1.5).all() and wide.sum() == 6

    def test_arrays_with_gaps_that_overlap(self, module: Module) -> None:
        whole = np.arange(16, dtype=np.int32)
        module["shift"](whole[::2], whole[::2])  # the same memory twice is one array
        assert whole[::2].tolist() == [0, 1, 2, 3, 4, 5, 6, 7] and whole[1::2].tolist() == [*range(1, 16, 2)]
        module["shift"](whole[::2], whole[1::2])
        assert whole.tolist() == [0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]
        with pytest.raises(ValueError, match=r"is not contiguous and overlaps argument"):
            module["shift"](whole[::2], whole[4:12])
        with pytest.raises(ValueError, match=r"is not contiguous and overlaps argument"):
            module["shift"](whole[2:10], whole[::2])

    def test_small_floats_and_bools(self, module: Module) -> None:
        a, b = np.array([1, 2.5, -3], np.float16), np.zeros(3, ml_dtypes.bfloat16)
        assert module["halves"](a, b, True) is False and b.astype(float).tolist() == [2, 5, -6]
        assert module["halves"](a, b, flag=False) is True

    def test_scalars(self, module: Module) -> None:
        assert module["divide"](-7, 2) == -4
        assert module["guarded"](3, 2**63 - 1) == 2**63

    def test_memory(self, module: Module) -> None:
        assert module["large"](100_000) == 99_999
        with pytest.raises(MemoryError, match="could not allocate"):
            module["large"](1 << 50)

    @pytest.mark.parametrize(
        ("name", "args", "error", "text"),
        [
            ("divide", (1, 0), ZeroDivisionError, "integer division by zero in `divide`"),
            ("divide", (1 << 31, 1), ValueError, "outside the range of `int32`"),
            ("divide", (1.5, 1), TypeError, r"argument 1 \(a\)"),
            ("divide", (1,), TypeError, "misses `b`"),
            ("divide", (1, 2, 3), TypeError, "takes 2 arguments but 3 were given"),
            ("guarded", (4, 0), RuntimeError, "the index is {too} large"),
            (
                "axpy",
                (np.zeros((2, 4), "f4"), np.zeros((3, 4), "f4"), 1.0),
                ValueError,
                r"shape\[0\] 2 \(`n`\), not 3",
            ),
            (
                "axpy",
                (np.zeros((2, 5), "f4"), np.zeros((2, 4), "f4"), 1.0),
                ValueError,
                r"shape\[1\] 4, not 5",
            ),
            ("axpy", (np.zeros((2, 4)), np.zeros((2, 4), "f4"), 1.0), TypeError, "must have dtype `float32`"),
            (
                "axpy",
                (np.zeros(8, "f4"), np.zeros((2, 4), "f4"), 1.0),
                ValueError,
                "must have 2 dimensions, not 1",
            ),
            ("axpy", (1, np.zeros((2, 4), "f4"), 1.0), TypeError, r"argument 1 \(A\) must be a"),
            ("axpy", (np.zeros((2, 4), "f4"), np.zeros((2, 4), "f4"), "x"), TypeError, r"argument 3 \(k\)"),
        ],
    )
    def test_errors(self, module: Module, name: str, args: tuple[Any, ...], error: type, text: str) -> None:
        with pytest.raises(error, match=text):
            module[name](*args)

    def test_read_only_arrays(self, module: Module) -> None:
        a, b = np.zeros((1, 4), np.float32), np.zeros((1, 4), np.float32)
        a.flags.writeable = False
        module["axpy"](a, b, 1.0)
        with pytest.raises(LoopwrightError, match="read-only"):
            module["axpy"](b, a, 1.0)


def test_bounds_checks_are_exported(tmp_path: Path) -> None:
    @T.prim_func
    def put(a: T.Buffer((4,), "float32"), i: T.int32):
        a[i] = T.float32(1)

    path = loopwright.build(put, checked=True).export(tmp_path / "put.o")
    load_module(path)["put"](np.zeros(4, np.float32), 3)
    with pytest.raises(IndexError, match=r"index 4 of .* is outside its extent 4 \(.*test_export.py:"):
        load_module(path)["put"](np.zeros(4, np.float32), 4)


@given(st.binary(), st.dictionaries(st.text(), st.integers()), st.booleans(), st.data())
def test_a_sealed_file_shows_any_change(
    code: bytes, facts: dict[str, int], wasm: bool, data: st.DataObject
) -> None:
    made = sealed(code, facts, wasm)
    assert made.startswith(code) and metadata_of(made, "file") == facts
    at = data.draw(st.integers(0, len(made) - 1))
    changed = bytearray(made)
    changed[at] ^= data.draw(st.integers(1, 255))
    for other in (bytes(changed), made[: len(made) - 1 - at], made + b"!"):
        with pytest.raises(LibraryError):
            metadata_of(other, "file")


@pytest.mark.slow
@settings(max_examples=20)
@given(prim_funcs(executable=True))
def test_an_exported_function_computes_the_same(func: ir.PrimFunc) -> None:
    """Or the export says what an exported function cannot do."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        try:
            path = loopwright.build(func).export(Path(folder, "code.o"))
        except CodegenError as err:
            assert err.diagnostics[0].code in ("unsupported-export", "unsupported-codegen")
            return
        loaded = load_module(path)
    assert_same_results(func, next(iter(loaded.functions.values())))


@pytest.fixture(scope="module")
def path(built: Module, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built.export(tmp_path_factory.mktemp("files") / "code.o")


class TestFiles:
    """A file tells what it is; what is not right with it is said before any of its code runs."""

    def test_metadata(self, path: Path) -> None:
        found = load_module(path).metadata
        assert found["version"] == loopwright.__version__ and found["triple"].split("-")[0]
        row = found["functions"]["axpy"]
        assert [p["name"] for p in row["params"]] == ["A", "B", "k"] and row["written"] == [1]
        assert row["params"][0] == {"name": "A", "dtype": "float32", "shape": ["n", "4"], "strided": False}
        assert found["functions"]["divide"]["results"] == ["int32"]

    @pytest.mark.parametrize("at", [0, 100, -200, -60])
    def test_damage(self, path: Path, tmp_path: Path, at: int) -> None:
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        broken = tmp_path / "broken.o"
        broken.write_bytes(data)
        with pytest.raises(LibraryError, match="damaged") as caught:
            load_module(broken)
        assert caught.value.diagnostics[0].code == "damaged-library"

    def test_foreign_files(self, path: Path, tmp_path: Path) -> None:
        for name, data in (
            ("short.so", path.read_bytes()[:-5]),
            ("empty.so", b""),
            ("text.so", b"hello" * 99),
        ):
            (tmp_path / name).write_bytes(data)
            with pytest.raises(LibraryError, match="no library that loopwright exported"):
                load_module(tmp_path / name)
        with pytest.raises(FileNotFoundError):
            load_module(tmp_path / "absent.so")

    def test_sealed_nonsense(self, path: Path, tmp_path: Path) -> None:
        found = metadata_of(path.read_bytes(), "code")
        for name in ("x.so", "x.o"):
            (tmp_path / name).write_bytes(sealed(b"no machine code", found))
            with pytest.raises(LibraryError, match="cannot be loaded"):
                load_module(tmp_path / name)

    @pytest.mark.parametrize(
        ("change", "text"),
        [
            ({"triple": "riscv64-unknown-linux-gnu"}, "which is not this machine"),
            ({"triple": "x86_64-pc-windows-msvc"}, "which is not this machine"),
            ({"features": ["sse2", "xop", "fma4", "sme2", "zvfh"]}, "which this processor lacks"),
        ],
    )
    def test_another_machine(self, path: Path, tmp_path: Path, change: dict[str, Any], text: str) -> None:
        data = path.read_bytes()
        found = metadata_of(data, "code")
        size = len(json.dumps(found, sort_keys=True).encode()) + 8 + 32 + len(MAGIC)
        (tmp_path / "x.o").write_bytes(sealed(data[:-size], {**found, **change}))
        with pytest.raises(LibraryError, match=text) as caught:
            load_module(tmp_path / "x.o")
        assert caught.value.diagnostics[0].code == "library-machine"

    def test_other_formats(self, built: Module, tmp_path: Path) -> None:
        assert "__tvm_ffi_axpy" in built.export(tmp_path / "x.s").read_text()
        assert "define i32 @__tvm_ffi_axpy" in built.export(tmp_path / "x.ll").read_text()
        assert "x_axpy(DLTensor *A, DLTensor *B, float k" in built.export(tmp_path / "x.h").read_text()
        with pytest.raises(CodegenError, match=r"`.so` \(a shared library\)"):
            built.export(tmp_path / "x.dylib")

    def test_a_loaded_module_is_not_exported(self, path: Path, tmp_path: Path) -> None:
        with pytest.raises(UnsupportedError, match="cannot be exported"):
            load_module(path).export(tmp_path / "x.o")


@pytest.mark.slow
def test_loading_takes_no_compiler(small: Module, tmp_path: Path) -> None:
    """In another process: only the runtime is there."""
    path = exported(small, tmp_path / "x.so")
    program = f"""
import sys
from loopwright.runtime import load_module
f = load_module({str(path)!r})["divide"]
assert f(9, 2) == 4
try:
    f(1, 0)
except ZeroDivisionError as err:
    print(err)
rooms = [m for m in sys.modules if m.startswith("loopwright.")]
print(sorted({{m.split(".")[1] for m in rooms}}), [m for m in ("llvmlite", "lark") if m in sys.modules])
"""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "integer division by zero" in done.stdout
    assert done.stdout.splitlines()[-1] == "['dtype', 'errors', 'runtime', 'target'] []"


@pytest.mark.slow
@pytest.mark.parametrize("kinds", ["so o", "o so"])
def test_parallel_loops_use_the_threads_of_the_runtime(tmp_path: Path, kinds: str) -> None:
    """Of two libraries, the pool of the first one; errors of tasks come through."""

    @T.prim_func
    def work(a: T.Buffer(("n",), "int64"), b: T.Buffer(("n",), "int64")):
        for i in T.parallel(n):
            b[i] = 0
            for _ in range(20):
                b[i] = b[i] + 100 // a[i]

    built = loopwright.build(work)
    paths = [str(exported(built, tmp_path / f"{kind}.{kind}")) for kind in kinds.split()]
    program = f"""
import threading
import numpy as np
from loopwright.runtime import load_module, threads
threads.set(3)
a, b = np.full(50_000, 7), np.zeros(50_000, np.int64)
for path in {paths!r}:
    work = load_module(path)["work"]
    work(a, b)
    assert (b == 280).all() and threading.active_count() == 3, threading.enumerate()
    b[:] = 0
    a[40_000] = 0
    try:
        work(a, b)
    except ZeroDivisionError:
        a[40_000] = 7
threads.set(1)
work(a, b)
assert (b == 280).all() and threading.active_count() == 1
print("done")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr


class TestLinkers:
    def test_without_one_the_object_stays(
        self, small: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CC", raising=False)
        with pytest.raises(CodegenError, match="no compiler or linker") as caught:
            small.export(tmp_path / "x.so")
        assert caught.value.diagnostics[0].code == "no-linker" and not (tmp_path / "x.so").exists()
        assert load_module(tmp_path / "x.o")["divide"](6, 3) == 2

    def test_a_failing_one_is_quoted(
        self, small: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(CodegenError, match="there is no command `no-such-linker`"):
            small.export(tmp_path / "x.so", linker="no-such-linker --fast")
        monkeypatch.setenv("CC", f"{sys.executable} -c 'import sys; sys.exit(\"I am no linker\")'")
        with pytest.raises(CodegenError, match="I am no linker") as caught:
            small.export(tmp_path / "x.so")
        assert caught.value.diagnostics[0].code == "linker" and not list(tmp_path.iterdir())

    @pytest.mark.parametrize("name", ["gcc", "clang", "ld.lld", "ld"])
    def test_each(self, small: Module, tmp_path: Path, name: str) -> None:
        import shutil

        if shutil.which(name) is None:
            pytest.skip(f"no {name} here")
        assert load_module(small.export(tmp_path / "x.so", linker=name))["divide"](7, 2) == 3


def test_c_functions(tmp_path: Path) -> None:
    @T.prim_func
    def root(x: T.float32) -> T.float32:
        return T.call_extern("float32", "sqrtf", x)

    for kind in ("o", "so"):
        assert load_module(exported(loopwright.build(root), tmp_path / f"x.{kind}"))["root"](9.0) == 3.0


class TestRefusals:
    def test_python_is_not_exported(self, tmp_path: Path) -> None:
        @T.prim_func
        def shows(a: T.int32):
            T.print(a)

        with pytest.raises(CodegenError, match="in code for export"):
            loopwright.build(shows).export(tmp_path / "x.o")

    def test_several_results(self, tmp_path: Path) -> None:
        both = ir.PrimFunc(
            [],
            ir.Return(ir.Tuple([ir.const(1, "int32"), ir.const(2, "int32")])),
            ir.TupleType([ir.PrimType("int32")] * 2),
        ).with_attr("global_symbol", "both")
        with pytest.raises(CodegenError, match="returns several values"):
            loopwright.build(both).export(tmp_path / "x.o")

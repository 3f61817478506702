from __future__ import annotations

import gc
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loopwright.codegen import build, compiled
from loopwright.codegen.collector import collector_paused
from loopwright.codegen.llvm import build as llvm_build
from loopwright.codegen.llvm import cache
from loopwright.errors import (
    CodegenError,
    DivisionError,
    ExecutionError,
    IRError,
    OutOfBoundsError,
    Span,
    UnsupportedError,
)
from loopwright.ir import (
    Add,
    Broadcast,
    BufferLoad,
    BufferStore,
    BufferType,
    FloorDiv,
    For,
    ForKind,
    IfThenElse,
    IRModule,
    PrimFunc,
    Ramp,
    Return,
    SBlock,
    SBlockRealize,
    Var,
)
from loopwright.script import parse


def kernel(step: float = 1.0, name: str = "x", symbol: str | None = "shift") -> PrimFunc:
    a = Var(name, BufferType("float32", (4, 8)))
    i, j = Var("i", "int32"), Var("j", "int32")
    store = BufferStore(a, Add(BufferLoad(a, [i, j]), step), [i, j])
    body = For(i, 0, 4, ForKind.SERIAL, For(j, 0, 8, ForKind.VECTORIZED, store))
    return PrimFunc([a], body, None, {} if symbol is None else {"global_symbol": symbol})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache.sources_digest()  # kept in the cache that was there before
    monkeypatch.setenv("LOOPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("LOOPWRIGHT_CACHE", raising=False)
    monkeypatch.setattr(llvm_build, "_compiled", type(llvm_build._compiled)())
    return tmp_path / "cache"


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("??/*"))


def ones() -> np.ndarray:
    return np.ones((4, 8), np.float32)


def test_modules_functions_and_sources() -> None:
    mod = build(
        IRModule({"one": kernel(symbol="one"), "two": kernel(2.0, symbol="two"), "own": kernel(symbol=None)})
    )
    assert mod.kind == "llvm" and set(mod.functions) == {"one", "two"}
    x = ones()
    mod["one"](x)
    mod["two"](x)
    assert (x == 4).all()
    assert "fadd contract <8 x float>" in mod.source("llvm")
    assert "lw.py.one" in mod.source("asm")
    assert mod.time("one", x, number=2, repeat=1).mean > 0
    with pytest.raises(LookupError, match="three"):
        mod["three"]


def test_private_functions_alone_are_main() -> None:
    x = ones()
    build(kernel(symbol=None))["main"](x)
    assert (x == 2).all()


def test_what_cannot_be_built() -> None:
    with pytest.raises(UnsupportedError, match="`metal`"):
        build(kernel(), "metal")
    with pytest.raises(IRError, match="a str cannot be built"):
        build("def f(): ...")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no function that could be called"):
        build(IRModule({"f": kernel(symbol=None)}))


def test_blocks_are_lowered() -> None:
    a = Var("a", BufferType("int32", (4,)))
    i = Var("i", "int32")
    block = SBlock([], [], [], "b", BufferStore(a, i, [i]))
    func = PrimFunc(
        [a],
        For(i, 0, 4, "serial", SBlockRealize([], True, block)),
        None,
        {"global_symbol": "f", "s_tir": True},
    )
    x = np.zeros(4, np.int32)
    build(func)["f"](x)
    assert x.tolist() == [0, 1, 2, 3]


def test_decorated_functions_compile_once_and_keep_the_result() -> None:
    f = kernel(3.0)
    x = ones()
    f(x)
    assert (x == 4).all()
    assert compiled(f) is compiled(f)
    f(x=x)
    assert (x == 7).all()
    assert not hasattr(f.replace(), "compiled")


def test_first_calls_of_a_function_from_threads(folder: Path) -> None:
    f = kernel(5.0)
    arrays = [ones() for _ in range(6)]
    threads = [threading.Thread(target=f, args=(x,)) for x in arrays]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all((x == 6).all() for x in arrays)
    assert len(entries(folder)) == 1


def test_names_of_parameters_are_not_mixed_up() -> None:
    x = ones()
    build(kernel(name="first"))["shift"](first=x)
    build(kernel(name="second"))["shift"](second=x)
    assert (x == 3).all()


def test_entries_are_private_and_used_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(kernel())
    (entry,) = entries(folder)
    if hasattr(os, "getuid"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    data = entry.read_bytes()
    llvm_build._compiled.clear()
    monkeypatch.setattr(llvm_build.jit, "compile_object", None)
    x = ones()
    build(kernel())["shift"](x)
    assert (x == 2).all() and entry.read_bytes() == data


def test_damaged_entries_are_rebuilt(folder: Path) -> None:
    build(kernel())
    (entry,) = entries(folder)
    good = entry.read_bytes()
    for bad in (
        b"",
        good[:40],
        good[:-1],
        good[:-5] + b"xxxxx",
        b"other" + good,
        good.replace(b"functions", b"functionz"),
    ):
        entry.write_bytes(bad)
        llvm_build._compiled.clear()
        x = ones()
        build(kernel())["shift"](x)
        assert (x == 2).all() and entry.read_bytes() == good


def test_the_cache_can_be_off_or_impossible(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in (("LOOPWRIGHT_CACHE", "0"), ("LOOPWRIGHT_CACHE_DIR", "")):
        monkeypatch.setenv(variable, value)
        assert cache.directory() is None
        llvm_build._compiled.clear()
        build(kernel())
        monkeypatch.delenv("LOOPWRIGHT_CACHE", raising=False)
    assert not folder.exists()
    blocked = folder.parent / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("LOOPWRIGHT_CACHE_DIR", str(blocked / "below"))
    llvm_build._compiled.clear()
    build(kernel())


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="file modes mean nothing here")
def test_a_folder_that_others_can_write_is_not_trusted(folder: Path) -> None:
    build(kernel())
    folder.chmod(0o777)
    llvm_build._compiled.clear()
    assert cache.load(entries(folder)[0].name) is None
    build(kernel(9.0))
    assert len(entries(folder)) == 1


def test_the_cache_is_bounded(folder: Path) -> None:
    for k in range(5):
        cache.store(f"{k:02d}entry", bytes(1000), {"k": k})
        os.utime(folder / f"{k:02d}" / f"{k:02d}entry", (k, k))
    cache.sweep(3500)
    assert [e.name for e in entries(folder)] == ["02entry", "03entry", "04entry"]


def test_keys_depend_on_program_options_and_place(folder: Path) -> None:
    build(kernel())
    build(kernel(2.0))
    build(kernel(), checked=True)
    build(kernel(), "llvm -num-cores 2")
    assert len(entries(folder)) == 4


def test_errors_point_to_the_program_at_hand(folder: Path) -> None:
    def divide(line: int) -> PrimFunc:
        n = Var("n", "int32")
        return PrimFunc(
            [n], Return(FloorDiv(7, n), Span("mine.py", line, 5, line, 20)), "int32", {"global_symbol": "f"}
        )

    for line in (3, 44):
        llvm_build._compiled.clear()
        with pytest.raises(DivisionError, match=f"mine.py:{line}:5"):
            build(divide(line))["f"](0)
    assert len(entries(folder)) == 1


def test_checked_builds() -> None:
    a = Var("a", BufferType("float32", (4, 8)))
    n, m = Var("n", "int32"), Var("m", "int32")
    store = BufferStore(a, 1.0, [n, m])
    func = PrimFunc([a, n, m], IfThenElse(m < 100, store), None, {"global_symbol": "f"})
    f = build(func, checked=True)["f"]
    f(ones(), 3, 7)
    f(ones(), 3, 100)
    for place, text in (
        ((4, 0), "index 4 of dimension 0 of `a` in `f` is outside its extent 4"),
        ((0, 8), "index 8 of dimension 1 of `a` in `f` is outside its extent 8"),
        ((-1, 0), "index -1 of dimension 0"),
        ((1, -8), "index -8 of dimension 1"),
    ):
        with pytest.raises(OutOfBoundsError, match=text):
            f(ones(), *place)
    x = ones()
    build(kernel(), checked=True)["shift"](x)
    assert (x == 2).all()


def test_checked_builds_of_vectors_and_blocks() -> None:
    a, n = Var("a", BufferType("int32", (8,))), Var("n", "int32")
    vector = BufferStore(a, Broadcast(7, 4), [Ramp(n, 2, 4)])
    f = build(PrimFunc([a, n], vector, None, {"global_symbol": "f"}), checked=True)["f"]
    x = np.zeros(8, np.int32)
    f(x, 1)
    assert x.tolist() == [0, 7] * 4
    with pytest.raises(IndexError, match="index 8 of dimension 0"):
        f(x, 2)
    i = Var("i", "int32")
    block = SBlock([], [], [], "b", BufferStore(a, BufferLoad(a, [Add(i, n)]), [i]))
    loop = For(i, 0, 4, "vectorized", SBlockRealize([], True, block))
    g = build(PrimFunc([a, n], loop, None, {"global_symbol": "g"}), checked=True)["g"]
    g(x, 4)
    with pytest.raises(OutOfBoundsError, match="index 8"):
        g(x, 5)


@pytest.mark.slow
def test_a_new_process_reads_the_cache(folder: Path) -> None:
    source = (
        "import numpy as np, sys, test_llvm_build as t\n"
        "from loopwright.codegen import build\n"
        "from loopwright.codegen.llvm import jit\n"
        "if len(sys.argv) > 1: jit.compile_object = None\n"
        "x = t.ones(); build(t.kernel())['shift'](x); print(x.sum())\n"
    )
    path = os.pathsep.join([os.path.dirname(__file__), *[p for p in sys.path if p]])
    env: dict[str, Any] = {**os.environ, "PYTHONPATH": path}
    for more in ([], ["cached"]):
        done = subprocess.run(
            [sys.executable, "-c", source, *more], capture_output=True, text=True, env=env, timeout=60
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "64.0\n", "")


def test_processors_of_a_target() -> None:
    from loopwright.codegen.llvm import jit
    from loopwright.errors import TargetError

    x = ones()
    host = jit.host()
    build(kernel(), f"llvm -mcpu={host.cpu}")["shift"](x)
    if host.triple.startswith("x86_64"):
        old = build(kernel(), "llvm -mcpu=x86-64")
        old["shift"](x)
        assert "ymm" not in old.source("asm")
        build(kernel(), "llvm -mcpu=x86-64 -mattr=+sse4.2 -opt-level 1")["shift"](x)
        assert (x == 4).all()
        with pytest.raises(TargetError, match="lacks the feature `xop`"):
            build(kernel(), "llvm -mattr=+xop")["shift"](x)
    other = "riscv64" if host.triple.startswith("aarch64") else "aarch64"
    elsewhere = build(kernel(), f"llvm -mtriple={other}-linux-gnu")
    with pytest.raises(TargetError, match=f"the triple `{other}-linux-gnu` is not this machine's"):
        elsewhere["shift"](x)
    with pytest.raises(TargetError, match="LLVM knows no processor `no-such-cpu`"):
        build(kernel(), "llvm -mcpu=no-such-cpu")
    with pytest.raises(TargetError, match="LLVM knows no feature `no-such-feature`"):
        build(kernel(), "llvm -mattr=+no-such-feature")


def test_functions_are_found_by_their_symbol() -> None:
    x = ones()
    mod = build(IRModule({"inner": kernel(symbol="outer")}))
    mod["outer"](x)
    mod["inner"](x)
    assert (x == 3).all()


def test_the_hash_of_the_sources_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = cache.sources_digest.__wrapped__
    found = fresh()
    assert len(entries(folder)) == 1
    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", None)  # no source is read again
        assert fresh() == found
    monkeypatch.setattr(cache, "_state", lambda path, stat: b"another state")
    assert fresh() == found
    assert len(entries(folder)) == 2


def test_the_collector_rests_while_compiling_and_runs_again() -> None:
    assert gc.isenabled()
    with collector_paused(), collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_long_straight_bodies_compile_quickly() -> None:
    func = parse("""
@T.prim_func
def f(A: T.Buffer((600000,), "float32")):
    for i in range(1000):
        for j in T.unroll(600):
            A[i * 600 + j] = A[i * 600 + j] + T.float32(1)
""")
    start = time.process_time()
    call = build(func)["f"]
    assert time.process_time() - start < 3  # 5 s where LLVM looks at all pairs of accesses
    a = np.zeros(600000, np.float32)
    call(a)
    assert (a == 1).all()


@pytest.mark.parametrize("name", ["llvm.nosuch", "llvm.nosuch.f32", "nosuch"])
def test_unknown_intrinsics_are_named(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    func = parse(f"""
@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    A[0] = T.call_llvm_pure_intrin("float32", "{name}", A[1])
""")
    with pytest.raises(CodegenError, match="nosuch") as caught:
        build(func)
    assert caught.value.code == "llvm-intrinsic"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("step", [0, -2])
def test_the_step_of_a_loop_is_checked(step: int) -> None:
    func = parse("""
@T.prim_func
def f(A: T.Buffer((8,), "int32"), step: T.int32):
    for i in range(0, 8, step):
        A[i] = 1
""")
    for call in (build(func)["f"], func.interpret):
        with pytest.raises(ExecutionError, match=f"`i` is {step}") as caught:
            call(np.zeros(8, np.int32), step)
        assert caught.value.code == "loop-step"


@pytest.mark.slow
def test_c_functions_are_found_in_a_new_process() -> None:
    code = """
import numpy as np
import loopwright

f = loopwright.build(loopwright.parse('@T.prim_func\\ndef f(a: T.Buffer((1,), "float32")):\\n'
    '    a[0] = T.call_extern("float32", "cosf", a[0])\\n'))["f"]
a = np.zeros(1, np.float32)
f(a)
assert a[0] == 1
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

"""Wrong arguments, by every way of calling: the error's family, code, and what its message names.

The ways are the decorated object, the built function and the oracle, by position and by keyword.
"""

from __future__ import annotations

import array
import importlib
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright
from loopwright.errors import ArgumentTypeError, ArgumentValueError, LoopwrightError
from loopwright.script import tirx as T


@T.prim_func
def add(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for i in T.vectorized(16):
        C[i] = A[i] + B[i]


@T.prim_func
def scale(x: T.float32, k: T.int8, A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n", "m"), "float32")):
    n = T.int32()
    m = T.int32()
    for i, j in T.grid(n, m):
        B[i, j] = A[i, j] * x + T.Cast("float32", k)


@T.prim_func
def column(A: T.Buffer((8,), "float32", strides=(4,)), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i]


@T.prim_func
def shift(A: T.Buffer((12,), "int32"), B: T.Buffer((12,), "int32")):
    for i in range(12):
        B[i] = A[i] * 2 + B[11 - i]


@T.prim_func
def factorial(n: T.int64) -> T.int64:
    if n > 1:
        return n * 2
    return T.int64(1)


FUNCTIONS = {"add": add, "scale": scale, "column": column, "shift": shift}
WAYS = ("decorated", "built", "oracle")


def caller(name: str, way: str) -> Callable[..., Any]:
    func = FUNCTIONS[name]
    if way == "built":
        return loopwright.build(func)[name]
    return func if way == "decorated" else func.interpret


def vector(dtype: Any = np.float32, n: int = 16) -> np.ndarray:
    return np.arange(n).astype(dtype)


def readonly(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


class OnDevice:
    """What claims to lie on a GPU."""

    def __dlpack__(self, **_: Any) -> Any:
        raise AssertionError("must not be asked for its memory")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


X, Y, Z = vector(), vector(), vector()
M = np.ones((3, 4), np.float32)
WIDE, LOW = np.ones((3, 5), np.float32), np.ones((2, 4), np.float32)
FROZEN = memoryview(bytes(64)).cast("f")
TYPE, VALUE = ArgumentTypeError, ArgumentValueError
ROWS: list[tuple[str, str, tuple[Any, ...], dict[str, Any], type[LoopwrightError], str, tuple[str, ...]]] = [
    ("missing", "add", (X, Y), {}, TYPE, "argument-count", ("`add`", "`C`")),
    ("missing two", "add", (X,), {}, TYPE, "argument-count", ("`add`", "`B`", "`C`")),
    ("nothing", "add", (), {}, TYPE, "argument-count", ("`add`", "`A`")),
    ("too many", "add", (X, Y, Z, Z), {}, TYPE, "argument-count", ("`add`", "3", "4")),
    ("unknown keyword", "add", (X, Y, Z), {"D": Z}, TYPE, "argument-name", ("`D`",)),
    ("near keyword", "scale", (1.0, 1, M), {"b": M}, TYPE, "argument-name", ("`b`",)),
    ("given twice", "add", (X, Y, Z), {"A": X}, TYPE, "argument-name", ("`A`",)),
    ("float64", "add", (X, Y.astype("f8"), Z), {}, TYPE, "argument-dtype", ("B", "float32", "float64")),
    ("integers", "add", (X, Y, Z.astype("i4")), {}, TYPE, "argument-dtype", ("C", "float32", "int32")),
    ("bool", "add", (X > 1, Y, Z), {}, TYPE, "argument-dtype", ("A", "float32", "bool")),
    ("objects", "add", (np.array([None] * 16), Y, Z), {}, TYPE, "argument-dtype", ("A", "float32", "object")),
    ("complex", "add", (X.astype("c8"), Y, Z), {}, TYPE, "argument-dtype", ("A", "float32", "complex64")),
    ("dates", "add", (X.astype("M8[s]"), Y, Z), {}, TYPE, "argument-dtype", ("A", "float32", "datetime64")),
    ("texts", "add", (X.astype("U4"), Y, Z), {}, TYPE, "argument-dtype", ("A", "float32", "U4")),
    ("fields", "add", (np.zeros(16, "i4,f4"), Y, Z), {}, TYPE, "argument-dtype", ("A", "float32")),
    ("rank", "add", (X.reshape(4, 4), Y, Z), {}, VALUE, "argument-rank", ("A", "1", "2")),
    ("rank 0", "add", (X, Y, np.float32(1)), {}, VALUE, "argument-rank", ("C", "1", "0")),
    ("shape", "add", (X, Y[:15], Z), {}, VALUE, "argument-shape", ("B", "16", "15")),
    ("empty", "add", (X, Y, Z[:0]), {}, VALUE, "argument-shape", ("C", "16", "0")),
    ("read-only", "add", (X, Y, readonly(vector())), {}, VALUE, "argument-readonly", ("C", "read-only")),
    ("read-only bytes", "add", (X, Y, FROZEN), {}, VALUE, "argument-readonly", ("C",)),
    ("device", "add", (X, OnDevice(), Z), {}, VALUE, "argument-device", ("B", "cuda")),
    ("list", "add", ([1.0] * 16, Y, Z), {}, TYPE, "argument-type", ("A", "array", "list")),
    ("number", "add", (1.0, Y, Z), {}, TYPE, "argument-type", ("A", "array", "float")),
    ("none", "add", (X, None, Z), {}, TYPE, "argument-type", ("B", "array", "NoneType")),
    ("text", "add", (X, Y, "C"), {}, TYPE, "argument-type", ("C", "array", "str")),
    ("bytes", "add", (X, Y, bytes(64)), {}, TYPE, "argument-dtype", ("C", "float32", "uint8")),
    ("class", "add", (X, Y, np.ndarray), {}, TYPE, "argument-type", ("C", "array", "type")),
    ("text for a float", "scale", ("1", 1, M, M), {}, TYPE, "argument-type", ("x", "float32", "str")),
    ("none for a float", "scale", (None, 1, M, M), {}, TYPE, "argument-type", ("x", "float32", "NoneType")),
    ("array for a float", "scale", (M, 1, M, M), {}, TYPE, "argument-type", ("x", "float32", "ndarray")),
    ("float for an int", "scale", (1.0, 1.5, M, M), {}, TYPE, "argument-type", ("k", "int8", "float")),
    ("large int", "scale", (1.0, 128, M, M), {}, VALUE, "argument-value", ("k", "int8", "128")),
    ("small int", "scale", (1.0, -129, M, M), {}, VALUE, "argument-value", ("k", "int8", "-129")),
    ("huge int", "scale", (1.0, 2**80, M, M), {}, VALUE, "argument-value", ("k", "int8")),
    ("symbol", "scale", (1.0, 1, M, WIDE), {}, VALUE, "argument-shape", ("B", "4", "5", "m")),
    ("first symbol", "scale", (1.0, 1, M, LOW), {}, VALUE, "argument-shape", ("B", "3", "n")),
    ("stride", "column", (X[:8], Z[:8].copy()), {}, VALUE, "argument-strides", ("A", "4", "1")),
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "args", "kwargs", "kind", "code", "words"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS]
)
def test_wrong_arguments(
    name: str,
    args: Any,
    kwargs: Any,
    kind: type[LoopwrightError],
    code: str,
    words: tuple[str, ...],
    way: str,
) -> None:
    call = caller(name, way)
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    assert isinstance(caught.value, TypeError if kind is TYPE else ValueError)
    found = caught.value.diagnostics[0]
    text = caught.value.__str__()
    stores = way == "oracle" and code == "argument-readonly"  # which notices it at the store
    assert found.code == code, text
    for word in words if stores else (name, *words):
        assert word in text, text
    assert len(found.render().splitlines()) <= 12
    if not kwargs and len(args) == len(FUNCTIONS[name].params):
        by_name = dict(zip([p.name for p in FUNCTIONS[name].params], args))
        with pytest.raises(kind) as again:
            call(**by_name)
        assert str(again.value) == text


@pytest.mark.parametrize("way", WAYS)
def test_arguments_are_unharmed_by_a_refused_call(way: str) -> None:
    out = np.full(16, 7, np.float32)
    with pytest.raises(ArgumentValueError):
        caller("add", way)(X, Y[:3], out)
    assert (out == 7).all()


def layouts() -> dict[str, np.ndarray]:
    """Arrays of 16 floats, 0 to 15, each laid out in another way."""
    base = np.arange(64, dtype=np.float32)
    spread = np.repeat(np.arange(16, dtype=np.float32), 4)
    odd = np.zeros(65, np.uint8)[1:].view(np.float32)
    odd[...] = base[:16]
    table = np.zeros((16, 3), np.float32)
    table[:, 1] = base[:16]
    record = np.zeros(16, np.dtype([("a", "u1"), ("x", "f4")]))
    record["x"] = base[:16]
    return {
        "contiguous": base[:16].copy(),
        "strided": spread[::4],
        "negative": base[:16][::-1].copy()[::-1],
        "column": table[:, 1],
        "big-endian": base[:16].astype(">f4"),
        "under-aligned": odd,
        "field of records": record["x"],
    }


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", layouts())
def test_every_layout_gives_the_right_answer(layout: str, way: str) -> None:
    call = caller("add", way)
    x, out = layouts()[layout], layouts()[layout]
    assert (x == np.arange(16)).all()
    call(x, X, out)
    np.testing.assert_array_equal(out, 2 * X)
    call(out, out, out)
    np.testing.assert_array_equal(out, 4 * X)


@pytest.mark.parametrize("way", WAYS)
def test_sizes_of_zero_and_one(way: str) -> None:
    call = caller("scale", way)
    for shape in ((0, 4), (3, 0), (0, 0), (1, 1), (1, 5)):
        a = np.ones(shape, np.float32)
        b = np.zeros(shape, np.float32)
        call(2.0, 3, a, b)
        np.testing.assert_array_equal(b, a * 5)
        call(2.0, 3, a.T.copy().T, b[::-1])
    for value in (np.float32(2), np.float64(2), np.int64(2), 2, True + 1):
        b = np.zeros((1, 1), np.float32)
        call(value, np.int8(3), np.ones((1, 1), np.float32), b)
        assert b[0, 0] == 5


@pytest.mark.parametrize("way", WAYS)
def test_other_containers(way: str) -> None:
    call = caller("add", way)
    from loopwright.runtime import tensor

    out = array.array("f", bytes(64))
    call(memoryview(X), array.array("f", X), out)
    assert list(out) == list(2 * X)
    raw = bytearray(64)
    call(X, X, memoryview(raw).cast("f"))
    assert list(memoryview(raw).cast("f")) == list(2 * X)
    t = tensor(np.zeros(16, np.float32))
    call(tensor(X), X, t)
    assert list(t.numpy()) == list(2 * X)


@pytest.mark.parametrize("way", WAYS)
def test_torch_tensors(way: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    call = caller("add", way)
    x, out = torch.arange(16, dtype=torch.float32), torch.zeros(16)
    call(x, x, out)
    assert out.tolist() == (2 * x).tolist()
    wide = torch.zeros(16, 2)
    call(x, X, wide[:, 1])
    assert wide[:, 1].tolist() == (2 * x).tolist() and not wide[:, 0].any()
    with pytest.raises(ArgumentTypeError, match="float64"):
        call(x.double(), x, out)
    call(x.requires_grad_(), X, out)  # its values; no gradient flows through a kernel
    assert out.tolist() == (2 * X).tolist()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("offset", [-5, -1, 0, 1, 4, 12])
def test_overlapping_arguments_mean_what_the_program_says(way: str, offset: int) -> None:
    memory = np.arange(40, dtype=np.int32)
    want = memory.copy()
    a, b = slice(10, 22), slice(10 + offset, 22 + offset)
    for i in range(12):
        want[b][i] = want[a][i] * 2 + want[b][11 - i]
    caller("shift", way)(memory[a], memory[b])
    np.testing.assert_array_equal(memory, want)


@pytest.mark.parametrize("way", WAYS)
def test_overlapping_copies_are_refused(way: str) -> None:
    memory = np.arange(40, dtype=np.int32)
    before = memory.copy()
    with pytest.raises(ArgumentValueError, match="overlaps") as caught:
        caller("shift", way)(memory[0:24:2], memory[2:26:2])
    assert caught.value.code == "argument-overlap"
    np.testing.assert_array_equal(memory, before)


@pytest.mark.parametrize("way", WAYS)
def test_columns_that_interleave_do_not_overlap(way: str) -> None:
    memory = np.zeros((12, 2), np.int32)
    memory[:, 0] = 1
    caller("shift", way)(memory[:, 0], memory[:, 1])
    assert memory[:, 1].tolist() == [2] * 6 + [4] * 6
    assert (memory[:, 0] == 1).all()


# Threads and processes


def fresh() -> Any:
    return loopwright.parse(
        "@T.prim_func\ndef one(A: T.Buffer((4,), 'int32')):\n"
        "    for i in range(4):\n        A[i] = A[i] + 1\n"
    )


def test_first_calls_from_several_threads_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = importlib.import_module("loopwright.codegen.call")
    count = []
    build = calls.build

    def counted(*args: Any, **kwargs: Any) -> Any:
        count.append(1)
        return build(*args, **kwargs)

    monkeypatch.setattr(calls, "build", counted)
    func, gate, arrays = fresh(), threading.Barrier(8), [np.zeros(4, np.int32) for _ in range(8)]
    faults: list[BaseException] = []

    def run(a: np.ndarray) -> None:
        try:
            gate.wait()
            for _ in range(50):
                func(a)
        except BaseException as err:
            faults.append(err)

    threads = [threading.Thread(target=run, args=(a,)) for a in arrays]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert faults == [] and len(count) == 1
    assert all((a == 50).all() for a in arrays)


def test_a_failed_first_call_does_not_block_the_next() -> None:
    func = fresh()
    with pytest.raises(ArgumentValueError):
        func(np.zeros(5, np.int32))
    a = np.zeros(4, np.int32)
    func(a)
    assert (a == 1).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_compiled_functions_work_after_a_fork() -> None:
    program = """
        import os, numpy as np, loopwright
        head = "@T.prim_func\\ndef one(A: T.Buffer((4,), 'int32')):\\n"
        text = head + "    for i in range(4):\\n        A[i] = A[i] + {}\\n"
        old, new = loopwright.parse(text.format(1)), loopwright.parse(text.format(2))
        a = np.zeros(4, np.int32)
        old(a)
        child = os.fork()
        if child == 0:
            old(a); new(a)
            os._exit(0 if (a == 4).all() else 1)
        _, status = os.waitpid(child, 0)
        assert status == 0, status
        old(a); new(a)
        assert (a == 4).all()
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


RECURSIVE = """
@I.ir_module
class Module:
    @T.prim_func
    def total(n: T.int64) -> T.int64:
        if n > T.int64(0):
            return n + Module.total(n - T.int64(1))
        return T.int64(0)
"""


def test_recursion() -> None:
    module = loopwright.parse(RECURSIVE)
    built = loopwright.build(module)["total"]
    for n in (0, 1, 10, 900):
        assert built(n) == n * (n + 1) // 2
    with pytest.raises(RecursionError, match="`total` calls itself too deeply"):
        built(100_000)
    assert built(3) == 6
    from loopwright.codegen.python import interpret

    assert interpret(module["total"], (50,), {}, module=module) == 1275


def test_a_kernel_may_be_called_from_a_function_that_it_calls() -> None:
    seen: list[int] = []

    def again(n: int) -> None:
        seen.append(n)
        if n > 0:
            built(n - 1)

    loopwright.register_func("tests.again", again, override=True)
    func = loopwright.parse("@T.prim_func\ndef down(n: T.int32):\n    T.call_packed('tests.again', n)\n")
    built = loopwright.build(func)["down"]
    built(3)
    assert seen == [3, 2, 1, 0]


def test_errors_of_called_functions_pass_through() -> None:
    class Mine(Exception):
        pass

    def fail(n: int) -> None:
        raise Mine(f"number {n}")

    loopwright.register_func("tests.fail", fail, override=True)
    func = loopwright.parse("@T.prim_func\ndef f(n: T.int32):\n    T.call_packed('tests.fail', n)\n")
    for way in (func, loopwright.build(func)["f"], func.interpret):
        with pytest.raises(Mine, match="number 4"):
            way(4)

"""The oracle on programs written as script; each case is text, arguments and what they hold afterwards."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import loopwright
from loopwright.codegen.python import interpret
from loopwright.errors import ExecutionError, OutOfBoundsError, UninitializedError

CASES: dict[str, tuple[str, list[Any], dict[int, Any], Any]] = {
    "mutable scalars and while": (
        """
@T.prim_func
def f(a: T.Buffer((8,), "int32"), n: T.int32):
    x: T.int32 = 1
    y = n
    while y > 0:
        x = x * 3
        y -= 1
    a[0] = x
""",
        [np.zeros(8, "int32"), 4],
        {0: [81, 0, 0, 0, 0, 0, 0, 0]},
        None,
    ),
    "break, continue, steps": (
        """
@T.prim_func
def f(a: T.Buffer((8,), "int32")):
    for i in range(0, 8, 2):
        if i == 2:
            continue
        if i == 6:
            break
        a[i] = i + 10
""",
        [np.zeros(8, "int32")],
        {0: [10, 0, 0, 0, 14, 0, 0, 0]},
        None,
    ),
    "softmax with blocks": (
        """
@T.prim_func
def f(a: T.Buffer((2, 4), "float32"), b: T.Buffer((2, 4), "float32")):
    top = T.sblock_alloc_buffer((2,), "float32")
    total = T.sblock_alloc_buffer((2,), "float32")
    for i, j in T.grid(2, 4):
        with T.sblock("top"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                top[vi] = T.min_value("float32")
            top[vi] = T.max(top[vi], a[vi, vj])
    for i, j in T.grid(2, 4):
        with T.sblock("total"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + T.exp2(a[vi, vj] - top[vi])
    for i, j in T.grid(2, 4):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            b[vi, vj] = T.exp2(a[vi, vj] - top[vi]) / total[vi]
""",
        [np.zeros((2, 4), "float32"), np.zeros((2, 4), "float32")],
        {1: np.full((2, 4), 0.25)},
        None,
    ),
    "split with a predicate": (
        """
@T.prim_func
def f(a: T.Buffer((10,), "int32")):
    for i0, i1 in T.grid(3, 4):
        with T.sblock("a"):
            v = T.axis.spatial(10, i0 * 4 + i1)
            T.where(i0 * 4 + i1 < 10)
            a[v] = v
""",
        [np.zeros(10, "int32")],
        {0: list(range(10))},
        None,
    ),
    "vectors": (
        """
@T.prim_func
def f(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
    b[0:4] = a[T.Ramp(0, 2, 4)] * T.Broadcast(T.float32(3), 4)
    b[T.Ramp(7, -1, 4)] = T.Shuffle([a[T.Ramp(0, 1, 4)]], [0, 1, 2, 3])
""",
        [np.arange(8, dtype="float32"), np.zeros(8, "float32")],
        {1: [0, 6, 12, 18, 3, 2, 1, 0]},
        None,
    ),
    "returned values": (
        """
@T.prim_func
def f(n: T.int64) -> T.int64:
    if n > T.int64(3):
        return n * T.int64(2)
    return T.int64(0) - n
""",
        [5],
        {},
        10,
    ),
    "narrow types": (
        """
@T.prim_func
def f(a: T.Buffer((3,), "float8_e4m3fn"), b: T.Buffer((3,), "bfloat16"), c: T.Buffer((3,), "int4")):
    for i in range(3):
        b[i] = T.Cast("bfloat16", a[i]) + T.bfloat16(1)
        c[i] = T.Cast("int4", b[i])
""",
        [
            np.array([1, 2.5, -3], ml_dtypes.float8_e4m3fn),
            np.zeros(3, ml_dtypes.bfloat16),
            np.zeros(3, ml_dtypes.int4),
        ],
        {1: [2, 3.5, -2], 2: [2, 3, -2]},
        None,
    ),
    "threads": (
        """
@T.prim_func
def f(a: T.Buffer((8,), "int32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 4)
    a[bx * 4 + tx] = bx * 10 + tx
""",
        [np.zeros(8, "int32")],
        {0: [0, 1, 2, 3, 10, 11, 12, 13]},
        None,
    ),
    "views and pointers": (
        """
@T.prim_func
def f(a: T.Buffer((2, 4), "int32")):
    flat = T.decl_buffer((8,), "int32", data=a.data)
    tail = T.decl_buffer((4,), "int32", data=T.address_of(a[1, 0]))
    flat[1] = 5
    tail[2] = 6
""",
        [np.zeros((2, 4), "int32")],
        {0: [[0, 5, 0, 0], [0, 0, 6, 0]]},
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    text, args, expected, returned = CASES[name]
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    assert interpret(loopwright.parse(text), args) == returned
    for number, value in expected.items():
        assert np.asarray(args[number], "float64").tolist() == np.asarray(value, "float64").tolist()


@pytest.mark.parametrize(
    ("text", "error", "line", "mark"),
    [
        ("for i in range(9):\n        a[i] = 0", OutOfBoundsError, 5, "a[i]"),
        ("b = T.alloc_buffer((2,), 'int32')\n    a[0] = b[1]", UninitializedError, 5, "b[1]"),
        ("a[0] = a[1] // a[0]", ZeroDivisionError, 4, "a[1] // a[0]"),
        ("for i in range(4):\n        a[i << (i - 2)] = 0", ExecutionError, 5, "i << (i - 2)"),
    ],
)
def test_faults_point_into_the_text(
    text: str, error: type[Exception], line: int, mark: str, tmp_path: Any
) -> None:
    source = f'\n@T.prim_func\ndef f(a: T.Buffer((8,), "int32")):\n    {text}\n'
    path = tmp_path / "kernel.py"
    path.write_text(source)
    func = loopwright.parse(source, filename=str(path))
    with pytest.raises(error) as caught:
        interpret(func, [np.zeros(8, "int32")])
    shown = str(caught.value)
    row = source.splitlines()[line - 1]
    assert f"{path}:{line}:" in shown and row in shown
    under = shown.splitlines()[[i for i, s in enumerate(shown.splitlines()) if row in s][0] + 1]
    column = row.index(mark)
    assert under.split("| ", 1)[1].startswith(" " * column + "^")


def test_a_kernel_as_python_sees_it(capsys: Any) -> None:
    from loopwright.script import tirx as T

    @T.prim_func
    def kernel(a: T.Buffer((3,), "float32"), n: T.int32):
        print("n", n, a[1], a[1] > T.float32(1), a)
        T.print(T.Broadcast(a[0], 2))
        a[0] = T.float32(0.1)

    for run in (kernel.interpret, kernel):
        a = np.array([0.1, 2, 3], "float32")
        run(a, n=2)
        assert capsys.readouterr().out == "n 2 2.0 True [0.1 2.  3. ]\n[0.1, 0.1]\n"
        assert a[0] == np.float32(0.1)


def test_module_functions() -> None:
    mod = loopwright.parse(
        """
@I.ir_module
class Module:
    @T.prim_func
    def twice(a: T.Buffer((4,), "int32")):
        for i in range(4):
            a[i] = a[i] * 2

    @T.prim_func
    def main(a: T.Buffer((4,), "int32")):
        Module.twice(a)
        Module.twice(a)
"""
    )
    a = np.arange(4, dtype="int32")
    interpret(mod, [a])
    assert a.tolist() == [0, 4, 8, 12]

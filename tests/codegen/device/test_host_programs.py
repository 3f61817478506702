from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.codegen.device.host import number_expression
from loopwright.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CodegenError,
    ExecutionError,
    LoopwrightError,
)
from loopwright.ir import BufferStore, BufferType, PrimFunc, Var, const
from loopwright.runtime import tensor
from loopwright.runtime.program_text import expression, shown, value_of
from loopwright.script import tirx as T


@T.prim_func
def scale(a: T.Buffer(("n", 4), "float32"), b: T.Buffer(("n", 4), "float32"), k: T.int32, f: T.float32):
    n = T.int32()
    for i in T.thread_binding((n + 1) // 2, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            if i * 2 + j // 4 < n:
                b[i * 2 + j // 4, j % 4] = a[i * 2 + j // 4, j % 4] * f + T.Cast("float32", k)


def arrays(n: int = 5) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(4 * n, dtype="float32").reshape(n, 4), np.zeros((n, 4), "float32")


def test_launches_are_computed_from_sizes(program: Any) -> None:
    made, started = program(scale)
    a, b = arrays()
    made.call(a, b, 3, 0.5)
    ((name, grid, block, args, shared),) = started.launches
    assert (name, grid, block, shared) == ("scale_kernel", (3, 1, 1), (8, 1, 1), 0)
    assert {id(x) for x in args if isinstance(x, np.ndarray)} == {id(a), id(b)}
    assert {3, 0.5, 5} <= {x for x in args if not isinstance(x, np.ndarray)}
    made.call(f=2.0, b=b, a=a, k=1)
    assert len(started.launches) == 2


def test_nothing_is_launched_over_nothing(program: Any) -> None:
    made, started = program(scale)
    made.call(*arrays(0), 3, 0.5)
    assert started.launches == []


def test_a_launch_that_is_too_large_is_an_error(program: Any) -> None:
    @T.prim_func
    def f(a: T.Buffer((1,), "float32"), n: T.int64):
        for i in T.thread_binding(n, thread="blockIdx.y"):
            if i == 0:
                a[0] = 1.0

    made, started = program(f)
    made.call(np.zeros(1, "float32"), 65535)
    with pytest.raises(ExecutionError, match="65536 blocks along y") as caught:
        made.call(np.zeros(1, "float32"), 65536)
    assert caught.value.code == "kernel-launch" and len(started.launches) == 1


def read_only(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


A, B = arrays()
BAD: list[tuple[str, tuple[Any, ...], type[LoopwrightError], str, str]] = [
    ("too few", (A, B, 1), ArgumentTypeError, "argument-count", "misses `f`"),
    ("too many", (A, B, 1, 1.0, 2), ArgumentTypeError, "argument-count", "takes 4 arguments but 5"),
    ("dtype", (A.astype("f8"), B, 1, 1.0), ArgumentTypeError, "argument-dtype", "`float32`, not `float64`"),
    ("rank", (A[0], B, 1, 1.0), ArgumentValueError, "argument-rank", "2 dimensions, not 1"),
    ("shape", (A[:, :3], B, 1, 1.0), ArgumentValueError, "argument-shape", r"shape\[1\] 4, not 3"),
    ("symbol", (A, B[:3], 1, 1.0), ArgumentValueError, "argument-shape", r"shape\[0\] 5 \(`n`\), not 3"),
    ("read-only", (A, read_only(B.copy()), 1, 1.0), ArgumentValueError, "argument-readonly", "argument 2"),
    ("list", (A.tolist(), B, 1, 1.0), ArgumentTypeError, "argument-type", "an array, not a list"),
    ("int", (A, B, 1.5, 1.0), ArgumentTypeError, "argument-type", "an int for `int32`, not a float"),
    ("range", (A, B, 1 << 31, 1.0), ArgumentValueError, "argument-value", "outside the range of `int32`"),
    ("float", (A, B, 1, "x"), ArgumentTypeError, "argument-type", "a number for `float32`, not a str"),
]


@pytest.mark.parametrize("case", BAD, ids=lambda c: c[0])
def test_bad_arguments(program: Any, case: Any) -> None:
    _, args, kind, code, text = case
    made, started = program(scale)
    with pytest.raises(kind, match=text) as caught:
        made.call(*args)
    assert caught.value.code == code and started.launches == []


def test_what_is_like_an_array_is_taken(program: Any) -> None:
    made, started = program(scale)
    a, b = arrays()
    made.call(tensor(a), memoryview(b), np.int64(3), np.float32(0.5))
    assert len(started.launches) == 1


def copies(name: str, *args: Any) -> None:
    first, second = [x for x in args if isinstance(x, np.ndarray)]
    second[...] = first + 1


def test_arrays_with_gaps_are_copied_and_given_back(program: Any) -> None:
    made, _ = program(scale, copies)
    whole = np.arange(40, dtype="float32").reshape(5, 8)
    out = np.zeros((4, 5), ">f4").T
    made.call(whole[:, ::2], out, 3, 0.5)
    np.testing.assert_array_equal(out, whole[:, ::2] + 1)


def test_arguments_that_share_memory(program: Any) -> None:
    made, _ = program(scale)
    a, _ = arrays()
    with pytest.raises(ArgumentValueError, match="share memory") as caught:
        made.call(a, a, 3, 0.5)
    assert caught.value.code == "argument-overlap"
    asked = []

    def others() -> dict[str, Any]:
        asked.append(1)
        return {"scale_kernel": lambda *launch: asked.append(2)}

    made, started = program(scale, overlapping=others)
    made.call(a, a, 3, 0.5)
    made.call(a[:3], a[1:4], 3, 0.5)
    made.call(a[:2], a[2:4], 3, 0.5)
    assert asked == [1, 2, 2] and len(started.launches) == 1


@T.prim_func
def strided(a: T.Buffer(("n",), "int32", strides=("s",))):
    n = T.int32()
    s = T.int32()
    for i in T.thread_binding(n, thread="threadIdx.x"):
        a[i] = i


def test_strides_of_its_own(program: Any) -> None:
    made, started = program(strided)
    whole = np.arange(12, dtype="int32")
    made.call(whole[1::4])
    (_, _, _, args, _) = started.launches[0]
    (given,) = [x for x in args if isinstance(x, np.ndarray)]
    assert given.ctypes.data == whole[1:].ctypes.data and given.size == 9
    assert 4 in [x for x in args if isinstance(x, int)]
    with pytest.raises(ArgumentValueError, match="negative strides"):
        made.call(whole[::-1])


def test_memory_between_kernels(program: Any) -> None:
    @T.prim_func
    def twice(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
        c = T.alloc_buffer((8,), "float32")
        for i in T.thread_binding(8, thread="threadIdx.x"):
            with T.sblock("c"):
                v = T.axis.spatial(8, i)
                c[v] = a[v] + 1.0
        for i in T.thread_binding(8, thread="threadIdx.x"):
            with T.sblock("b"):
                v = T.axis.spatial(8, i)
                b[v] = c[7 - v] + 1.0

    made, started = program(twice)
    a, b = np.zeros(8, "float32"), np.zeros(8, "float32")
    made.call(a, b)
    first, second = started.launches
    (between,) = [x for x in first[3] if isinstance(x, np.ndarray) and x is not a]
    assert between.size == 8 and any(x is between for x in second[3])


def test_what_stands_around_kernels(program: Any) -> None:
    @T.prim_func
    def f(a: T.Buffer(("n",), "int32"), k: T.int32):
        n = T.int32()
        assert k < 9, "k is too large"
        if k > 2:
            for t in range(k):
                for i in T.thread_binding(n + t, thread="threadIdx.x"):
                    if i < n:
                        a[i] = t

    made, started = program(f)
    a = np.zeros(4, "int32")
    made.call(a, 2)
    assert started.launches == []
    made.call(a, 4)
    assert [launch[2][0] for launch in started.launches] == [4, 5, 6, 7]
    with pytest.raises(Exception, match="k is too large"):
        made.call(a, 9)


def test_host_code_that_computes_is_refused(program: Any) -> None:
    @T.prim_func
    def f(a: T.Buffer((4,), "int32")):
        T.evaluate(T.call_extern("int32", "puts", "no"))
        for i in T.thread_binding(4, thread="threadIdx.x"):
            a[i] = i

    with pytest.raises(CodegenError, match="call_extern") as caught:
        program(f)
    assert caught.value.code == "unsupported-codegen"


NUMBERS = st.integers(-1000, 1000)
LEAVES = st.one_of(NUMBERS, st.sampled_from([["var", 0], ["var", 1]]))
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda e: st.tuples(st.sampled_from(["+", "-", "*", "//", "%", "min", "max", "tdiv", "tmod"]), e, e),
    max_leaves=8,
)


def to_ir(e: Any, variables: list[Var]) -> Any:
    """The expression that the data stands for."""
    if isinstance(e, int):
        return const(e, "int64")
    if e[0] == "var":
        return variables[e[1]]
    a, b = to_ir(e[1], variables), to_ir(e[2], variables)
    names = {"//": "floordiv", "%": "floormod", "tdiv": "truncdiv", "tmod": "truncmod"}
    if e[0] in names or e[0] in ("min", "max"):
        return getattr(T, names.get(e[0], e[0]))(a, b)
    return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b}[e[0]]()


@given(EXPRESSIONS, NUMBERS, NUMBERS)
def test_sizes_are_computed_as_the_script_says(e: Any, x: int, y: int) -> None:
    """The value of an expression of a host program is the oracle's value of the expression it came from."""
    variables = [Var("x", "int64"), Var("y", "int64")]
    node = to_ir(e, variables)
    out = Var("out", BufferType("int64", (1,)))
    func = PrimFunc([out, *variables], BufferStore(out, node, [0]))
    want = np.zeros(1, "int64")
    try:
        func.interpret(want, x, y)
    except ExecutionError:
        return  # a division by zero, or a number that needs more than 64 bits
    got = value_of(number_expression(node, {v: k for k, v in enumerate(variables)}), {0: x, 1: y})
    assert got == want[0]
    assert isinstance(shown(e, ["x", "y"]), str) and expression(e)

"""Decorated Python: what a function captures, where its source is, what errors point at."""

from __future__ import annotations

import linecache

import pytest

from loopwright import ir
from loopwright.errors import ScriptError, UnsupportedError
from loopwright.script import ir as I
from loopwright.script import ir_module, prim_func
from loopwright.script import relax as R
from loopwright.script import tirx as T

SIZE = 8


def twice(x):
    return T.exp(x) * 2


@T.macro
def fill(buffer, value):
    for i in range(SIZE):
        buffer[i] = value


def test_globals_helpers_and_macros() -> None:
    @T.prim_func
    def f(A: T.Buffer((SIZE,), "float32")):
        fill(A, T.float32(1))
        A[0] = twice(A[1])
        A[min(2, SIZE)] = max(A[0], A[1])

    printed = f.script()
    assert (
        "range(8)" in printed and "T.exp(A[1]) * T.float32(2.0)" in printed and "T.max(A[0], A[1])" in printed
    )


def test_cells_and_annotations_of_enclosing_functions() -> None:
    def make(n: int, dtype: str):
        @prim_func(private=True)
        def g(A: T.Buffer((n, n), dtype)):
            A[0, n - 1] = n

        return g

    assert make(4, "int8").params[0].ty.dtype == "int8"
    assert make(5, "int8").params[0].ty.shape[0].value == 5


def test_modules_and_classes_in_functions() -> None:
    n = 7

    @I.ir_module
    class Inner:
        I.module_attrs({"a": 1})

        @T.prim_func
        def main(A: T.Buffer((n,), "int32")):
            A[n - 1] = Inner.add(A[0], 1)

        @T.prim_func(private=True)
        def add(a: T.int32, b: T.int32) -> T.int32:
            return a + b

    assert isinstance(Inner, ir.IRModule)
    assert Inner["main"].params[0].ty.shape[0].value == 7
    assert ir_module is not None


def test_formatted_strings_comprehensions_and_python_choices() -> None:
    flag = True

    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        T.evaluate(T.call_extern("int32", f"name{SIZE}", A.data))
        idx = T.meta_var([i * 1 for i in range(3)])
        A[idx[2]] = sum(A[k] for k in range(2))
        if flag:
            A[0] = 1.0
        else:
            A[0] = 2.0

    printed = f.script()
    assert '"name8"' in printed and "A[2] = A[0] + A[1]" in printed and "T.float32(2.0)" not in printed


def test_templates() -> None:
    @T.jit
    def f(A: T.Buffer((N,), "float32"), B: T.Optional(T.Buffer((4,), "float32")), N: T.constexpr):
        for i in range(N):
            A[i] = 1.0

    with_b, without = f.specialize(N=4), f.specialize(N=4, B=None)
    assert len(with_b.params) == 2 and len(without.params) == 1


def test_errors_point_into_the_users_file() -> None:
    with pytest.raises(ScriptError) as caught:

        @T.prim_func
        def bad(A: T.Buffer((4,), "float32")):
            A[0] = missing
            A[0, 0] = 1.0

    first, second = caught.value.diagnostics
    assert first.span is not None and second.span is not None
    assert first.span.file == __file__ and second.span.line == first.span.line + 1
    with open(__file__, encoding="utf-8") as file:
        line = file.read().splitlines()[first.span.line - 1]
    assert line[first.span.column - 1 :].startswith("missing")
    assert "A[0] = missing" in str(caught.value)


def test_an_exception_of_a_helper_is_located() -> None:
    def helper(x):
        raise RuntimeError("no luck")

    with pytest.raises(ScriptError, match="no luck") as caught:

        @T.prim_func
        def bad(A: T.Buffer((4,), "float32")):
            A[0] = helper(A[1])

    assert caught.value.diagnostics[0].span is not None


def test_without_source_the_error_points_to_parse() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = 1.0\n'
    with pytest.raises(ScriptError, match="source of `f` cannot be found") as caught:
        exec(text, {"T": T})
    assert "parse" in caught.value.diagnostics[0].help[0]
    linecache.cache["<registered>"] = (len(text), None, text.splitlines(keepends=True), "<registered>")
    scope: dict = {"T": T}
    exec(compile(text, "<registered>", "exec"), scope)
    assert isinstance(scope["f"], ir.PrimFunc)


def test_words_outside_of_kernels() -> None:
    x = ir.Var("x", "float32")
    assert isinstance(T.exp(x), ir.Call)
    assert T.int32(3).value == 3 and T.float16(1).dtype == "float16"
    assert isinstance(T.Buffer((16, "n"), "float32").ty, ir.BufferType)
    assert isinstance(T.comm_reducer(lambda a, b: a + b, [T.float32(0)]), ir.CommReducer)
    with pytest.raises(UnsupportedError, match="nothing encloses it"):
        T.evaluate(x)
    with pytest.raises(AttributeError, match="did you mean"):
        T.expp
    with pytest.raises(UnsupportedError, match=r"T\.ptx"):
        T.ptx.mma(1)
    with pytest.raises(UnsupportedError, match="distributed"):
        R.dist.redistribute(x)


def test_misused_decorators() -> None:
    with pytest.raises(TypeError, match="functions"):
        T.prim_func(3)
    with pytest.raises(TypeError, match="classes"):
        I.ir_module(3)
    with pytest.raises(TypeError, match="no option"):
        T.prim_func(privat=True)
    with pytest.raises(ValueError, match="kernel"):
        fill(1, 2)


def test_the_names_of_dtypes() -> None:
    names = [n for n in dir(T) if isinstance(getattr_quiet(n), type(T.int32))]
    assert len(names) >= 167
    for name in ("int8x4", "float8_e4m3fn", "bfloat16x2", "u8", "f16", "boolean", "float4_e2m1fnx64"):
        assert name in names


def getattr_quiet(name: str):
    try:
        return getattr(T, name)
    except UnsupportedError:
        return None

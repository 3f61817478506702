from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.dtype import DType
from loopwright.errors import ArgumentTypeError, ArgumentValueError
from loopwright.runtime import (
    Device,
    DuplicateFunctionError,
    Module,
    PackedFunc,
    Tensor,
    UnknownFunctionError,
    get_global_func,
    list_global_func_names,
    pass_value,
    register_func,
    remove_global_func,
)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    before = set(list_global_func_names())
    yield
    for name in set(list_global_func_names()) - before:
        remove_global_func(name)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from([DType("int4"), DType("float32x4"), Device("cuda:1")]),
    lambda inner: st.tuples(inner, inner),
    max_leaves=5,
)


@given(VALUES)
def test_plain_values_pass_unchanged(value: object) -> None:
    assert pass_value(value) == value and type(pass_value(value)) is type(value)
    assert PackedFunc(lambda x: x)(value) == value


def test_other_values() -> None:
    seen = pass_value([1, np.float32(2.5), np.int8(-3), np.zeros((2, 2)), abs, np.bool_(True)])
    assert seen[:3] == (1, 2.5, -3) and seen[5] is True
    assert isinstance(seen[3], Tensor) and isinstance(seen[4], PackedFunc) and seen[4](-2) == 2


@pytest.mark.parametrize("value", [object(), {1: 2}, 1j, (1, {2})])
def test_what_cannot_pass(value: object) -> None:
    with pytest.raises(ArgumentTypeError, match="cannot pass"):
        pass_value(value)


def test_arrays_arrive_without_a_copy() -> None:
    source = np.zeros(3)

    def fill(x: Tensor) -> None:
        x.numpy()[:] = 4

    PackedFunc(fill)(source)
    assert source.tolist() == [4, 4, 4]


def test_errors_pass_through() -> None:
    def fail() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        PackedFunc(fail)()


def test_three_forms_of_registration() -> None:
    @register_func
    def test_first(x: int) -> int:
        return x + 1

    @register_func("test.second")
    def second(x: int) -> int:
        return x + 2

    register_func("test.third", lambda x: x + 3)
    found = [get_global_func(n)(1) for n in ("test_first", "test.second", "test.third")]
    assert found == [2, 3, 4] and test_first(1) == 2 and second(1) == 3
    with pytest.raises(DuplicateFunctionError, match="override"):
        register_func("test.third", abs)
    register_func("test.third", abs, override=True)
    assert get_global_func("test.third")(-1) == 1


def test_unknown_names() -> None:
    register_func("test.lookup", abs)
    assert get_global_func("test.absent", allow_missing=True) is None
    for error in (UnknownFunctionError, KeyError, ValueError, AttributeError):
        with pytest.raises(error, match="did you mean `test.lookup`"):
            get_global_func("test.lokup")
    with pytest.raises(UnknownFunctionError):
        remove_global_func("test.absent")


def test_module() -> None:
    inner = Module("inner", {"deep": lambda: 3})
    lib = Module("llvm", {"add": lambda a, b: a + b}, sources={"llvm": lambda: "define"}, imports=[inner])
    assert lib["add"](1, 2) == 3 and lib(1, 2) == 3 and lib["deep"]() == 3
    assert "deep" in lib and not lib.implements_function("deep") and lib.imports == (inner,)
    assert lib.source() == lib.source("llvm") == lib.inspect_source() == "define"
    with pytest.raises(UnknownFunctionError, match="did you mean `add`"):
        lib["adds"]
    with pytest.raises(UnknownFunctionError):
        lib.get_function("deep")
    with pytest.raises(ArgumentValueError, match="no source in format `ptx`"):
        lib.source("ptx")
    with pytest.raises(ArgumentValueError, match="itself"):
        inner.import_module(lib)
    lib.clear_imports()
    assert not lib.imports


def test_timing() -> None:
    calls: list[int] = []
    lib = Module("x", {"f": calls.append, "main": lambda: 1})
    found = lib.time("f", 1, number=5, repeat=2)
    assert len(calls) == 11 and len(found.results) == 2
    assert 0 < found.min <= found.median <= found.max and found.min <= found.mean <= found.max
    assert "mean" in str(found) and lib() == 1
    assert len(lib.time_evaluator("f", number=1, repeat=3)(1).results) == 3
    assert lib.time("f", 1, number=1, repeat=1, min_repeat_ms=1).mean < 1e-3

"""Tensors, built modules and files by the peer's names."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopwright
import loopwright.compat
from loopwright.errors import ArgumentValueError, CodegenError, UnsupportedError

KERNEL = """
@T.prim_func
def NAME(a: T.Buffer((4,), "int32")):
    for i in range(4):
        a[i] = a[i] * FACTOR
"""


@pytest.fixture(scope="module")
def tvm() -> Iterator[types.ModuleType]:
    loopwright.compat.install()
    try:
        yield importlib.import_module("tvm")
    finally:
        loopwright.compat.uninstall()


def times(name: str, factor: int, parallel: bool = False) -> Any:
    text = KERNEL.replace("NAME", name).replace("FACTOR", str(factor))
    return loopwright.parse(text.replace("range", "T.parallel") if parallel else text)


def called(function: Any) -> list[int]:
    a = np.arange(4, dtype=np.int32)
    function(a)
    return a.tolist()


@given(
    st.sampled_from(["int8", "int16", "float32", "float64"]),
    st.lists(st.integers(0, 4), max_size=3),
    st.integers(-8, 64),
)
def test_a_view_is_the_bytes_from_its_offset_on(
    tvm: types.ModuleType, dtype: str, shape: list[int], offset: int
) -> None:
    whole = tvm.runtime.tensor(np.arange(48, dtype=np.uint8))
    size = int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize
    if offset < 0 or offset + size > 48:
        with pytest.raises(ValueError, match=f"would occupy bytes {offset} <= i_byte < {offset + size}"):
            whole._create_view(shape, dtype, offset)
        return
    view = whole._create_view(shape, dtype, offset)
    assert view.shape == tuple(shape) and str(view.dtype) == dtype
    assert view.numpy().tobytes() == bytes(range(offset, offset + size))
    again = view._create_view([size], "uint8")
    again.numpy()[...] = 7
    assert whole.numpy()[offset : offset + size].tolist() == [7] * size  # the same memory


def test_a_tensor_with_gaps_has_no_view(tvm: types.ModuleType) -> None:
    with pytest.raises(ArgumentValueError, match="gaps"):
        tvm.runtime.from_dlpack(np.zeros((4, 4), np.float32)[:, :2])._create_view([8])


def test_an_executable_is_its_module_ready_to_run(tvm: types.ModuleType, tmp_path: Path) -> None:
    made = tvm.compile(times("twice", 2), target="llvm")
    assert isinstance(made, tvm.runtime.Executable) and made.jit() is made.jit(force_recompile=True)
    assert called(made) == called(made["twice"]) == called(made.mod) == [0, 2, 4, 6]
    assert made.kind == made.mod.kind == "llvm"
    with pytest.raises(UnsupportedError, match="`addons` of `jit`"):
        made.jit(addons=["more.o"])


@pytest.mark.parametrize("parallel", [False, True])
def test_static_libraries_join_the_module_that_imports_them(
    tvm: types.ModuleType, tmp_path: Path, parallel: bool
) -> None:
    one, two = (tvm.tirx.build(times(n, f, parallel), "llvm") for n, f in (("twice", 2), ("thrice", 3)))
    two.write_to_file(str(tmp_path / "two.o"))
    part = tvm.runtime.load_static_library(str(tmp_path / "two.o"), ["thrice"])
    one.import_module(part)
    tvm.runtime.Executable(one).export_library(tmp_path / "both.so", workspace_dir=tmp_path)
    both = tvm.runtime.load_module(str(tmp_path / "both.so"))
    assert called(both["twice"]) == [0, 2, 4, 6] and called(both["thrice"]) == [0, 3, 6, 9]
    assert part.is_compilation_exportable() and not both.is_compilation_exportable()


def test_objects_with_a_function_of_one_name_do_not_join(tvm: types.ModuleType, tmp_path: Path) -> None:
    for name, factor in (("a.o", 2), ("b.o", 3)):
        tvm.tirx.build(times("scale", factor), "llvm").write_to_file(str(tmp_path / name))
    with pytest.raises(CodegenError, match="two of the objects have a function `scale`"):
        tvm.support.cc.create_shared(tmp_path / "both.so", [tmp_path / "a.o", tmp_path / "b.o"])


def test_a_trace_may_change_the_value(tvm: types.ModuleType) -> None:
    seen: list[tuple[int, float]] = []

    def note(i: int, value: float) -> float | None:
        seen.append((i, value))
        return 13.0 if i == 1 else None

    tvm.register_global_func("test.runtime_names.note", note)
    te = tvm.te
    x = te.placeholder((3,), name="x", dtype="float32")
    y = te.compute(x.shape, lambda i: tvm.tirx.trace([i, x[i]], "test.runtime_names.note"))
    a, b = np.array([1, 2, 3], np.float32), np.zeros(3, np.float32)
    tvm.compile(te.create_prim_func([x, y]), target="llvm")(a, b)
    assert seen == [(0, 1.0), (1, 2.0), (2, 3.0)] and b.tolist() == [1.0, 13.0, 3.0]


def test_what_is_not_there_is_said_by_name(tvm: types.ModuleType) -> None:
    rpc = importlib.import_module("tvm.rpc")
    with pytest.raises(AttributeError, match=r"`tvm\.rpc\.Server`"):
        rpc.Server()
    keys = {rpc.base.random_key("board") for _ in range(10)}
    assert len(keys) == 10 and {rpc.base.split_random_key(k)[0] for k in keys} == {"board"}
    with pytest.raises(AttributeError, match=r"`tvm\.support\.popen_pool\.PopenWorker`"):
        tvm.support.popen_pool.PopenWorker()

"""Targets and built modules by the peer's names."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import loopwright.compat
from loopwright.errors import UnsupportedError

KERNEL = """
@T.prim_func
def twice(a: T.Buffer((4,), "int32")):
    for i in range(4):
        a[i] = a[i] * 2
"""


@pytest.fixture
def tvm() -> Iterator[types.ModuleType]:
    loopwright.compat.install()
    try:
        yield importlib.import_module("tvm")
    finally:
        loopwright.compat.uninstall()


def test_features_and_devices(tvm: types.ModuleType) -> None:
    target = tvm.target.Target({"kind": "llvm", "mcpu": "cortex-m55", "mattr": ["+nomve"]})
    assert target.features and target.features.has_dsp and not target.features.has_mve
    assert target.features.is_missing is None and list(target.features) == ["+nomve"]
    assert tvm.target.Target("arm/rasp4b64").features.has_asimd
    assert "llvm" in tvm.target.Target.list_kinds()
    for kind in tvm.target.Target.list_kinds():
        made = tvm.target.Target(kind)
        assert tvm.device_from_target(made).dlpack_device_type() == made.get_target_device_type()


def test_what_processors_have(tvm: types.ModuleType) -> None:
    codegen = tvm.target.codegen
    with tvm.target.Target({"kind": "llvm", "mcpu": "x86-64-v3"}):
        assert codegen.target_has_features("avx2") and not codegen.target_has_features(["avx2", "avx512f"])
    assert codegen.llvm_get_vector_width({"kind": "llvm", "mattr": ["+avx512f"]}) == 512
    number = codegen.llvm_lookup_intrinsic_id("llvm.fma.f32")
    assert codegen.llvm_get_intrinsic_name(number) == "llvm.fma.f32"
    assert codegen.llvm_lookup_intrinsic_id("fma") == 0


def test_modules_as_files(tvm: types.ModuleType, tmp_path: Path) -> None:
    built = tvm.compile(loopwright.parse(KERNEL), target="llvm")
    built.export_library(tmp_path / "twice.o")
    a = np.arange(4, dtype=np.int32)
    tvm.runtime.load_module(str(tmp_path / "twice.o"))["twice"](a)
    assert a.tolist() == [0, 2, 4, 6]
    built.write_to_file(str(tmp_path / "code.txt"), "asm")
    assert "__tvm_ffi_twice" in (tmp_path / "code.txt").read_text()
    with pytest.raises(UnsupportedError, match="fcompile"):
        built.export_library(tmp_path / "twice.tar", fcompile=print)

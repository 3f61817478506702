"""Graph programs under the peer's names."""

from __future__ import annotations

import types
from collections.abc import Iterator

import numpy as np
import pytest

import loopwright.compat
from loopwright.ir.relax import find_op

SOURCE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        return R.add(x, R.const(1.0, "float32"))
"""


@pytest.fixture
def tvm() -> Iterator[types.ModuleType]:
    import importlib

    loopwright.compat.install()
    try:
        yield importlib.import_module("tvm")
    finally:
        loopwright.compat.uninstall()


def test_modules_change_in_place(tvm):
    from tvm import relax

    mod = tvm.script.from_source(SOURCE)
    main, other = mod["main"], tvm.script.from_source(SOURCE.replace("R.add", "R.multiply"))["main"]
    name = mod.get_global_var("main")
    mod["main"] = other
    assert mod["main"] is other and mod.get_global_var("main") is name
    copy = mod.clone()
    mod["again"] = main
    assert "again" not in copy and copy["main"] is other
    assert mod["again"] is main and len(mod.functions) == 2
    mod.update_func(name, main)
    assert mod["main"] is main
    mod.update_global_info("vdevice", [relax.VDevice("llvm")])
    assert [v.memory_scope for v in mod.global_infos["vdevice"]] == ["global"]


def test_a_declared_result_may_say_less_than_the_body(tvm):
    text = SOURCE.replace('"float32")):', '"float32")) -> {}:')
    exact = tvm.script.from_source(SOURCE)
    for less in ("R.Any", "R.Tensor", "R.Tensor(ndim=2)"):
        tvm.ir.assert_structural_equal(tvm.script.from_source(text.format(less)), exact)


def test_attributes_of_calls_by_name(tvm):
    from tvm import relax

    x = relax.Var("x", relax.TensorType((1, 3, 8, 8), "float32"))
    call = relax.op.nn.max_pool2d(x, (2, 2), strides=(2, 2))
    assert list(call.attrs.strides) == [2, 2]
    with pytest.raises(AttributeError, match="no_such"):
        _ = call.attrs.no_such
    with pytest.raises(tvm.error.InternalError, match="pool_size"):
        relax.op.nn.max_pool2d(x, (1, 2, 3))
    with pytest.raises(AttributeError):
        _ = tvm.ir.make_node("ir.DictAttrs", a=1).b


def test_tensors_of_the_same_memory_are_equal(tvm):
    a = tvm.runtime.tensor(np.arange(4, dtype="float32"))
    assert a == tvm.runtime.from_dlpack(a) and hash(a) == hash(tvm.runtime.from_dlpack(a))
    assert a != tvm.runtime.tensor(np.arange(4, dtype="float32")) and a != 3


def test_patterns_are_registered_by_name(tvm):
    from tvm.relax.backend import pattern_registry as registry
    from tvm.relax.dpl import is_op, wildcard

    patterns = [(f"library.{n}", is_op(f"relax.{n}")(wildcard(), wildcard())) for n in ("add", "multiply")]
    registry.register_patterns(patterns)
    assert registry.get_patterns_with_prefix("library") == patterns[::-1]
    assert registry.get_pattern("library.add") is patterns[0]
    assert registry.get_pattern("library.none") is None


def test_parts_of_the_pipeline_build_a_module(tvm):
    from tvm import relax

    target = tvm.target.Target("llvm")
    mod = tvm.script.from_source(SOURCE)
    for part in ("library_dispatch", "legalize", "dataflow_lower", "finalize"):
        for one in getattr(relax.pipeline, f"{part}_passes")(target):
            mod = one(mod)
    assert find_op("relax.add").name not in str(mod)
    with pytest.raises(ValueError, match="not yet supported"):
        relax.pipeline.get_default_pipeline(tvm.target.Target("hexagon"))


def test_libraries_of_vendors_say_that_they_are_not_there(tvm):
    from tvm.relax.backend.cuda.cublas import partition_for_cublas

    with pytest.raises(tvm.TVMError, match="vendor"):
        partition_for_cublas(tvm.script.from_source(SOURCE))

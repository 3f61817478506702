"""On a CUDA device; what the stand-in of `test_cuda_loading.py` can only pretend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright
from loopwright.errors import ArgumentValueError, ExecutionError
from loopwright.runtime import Device, empty, load_module, tensor
from loopwright.runtime.vm import VirtualMachine
from loopwright.script import ir as I
from loopwright.script import relax as R
from loopwright.script import tirx as T

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not Device("cuda").exist, reason="there is no CUDA device here"),
]


@I.ir_module
class Kernels:
    @T.prim_func
    def add(a: T.Buffer(("n",), "float32"), b: T.Buffer(("n",), "float32"), k: T.int32, yes: T.bool):
        n = T.int32()
        for i in range(n):
            with T.sblock("b"):
                v = T.axis.spatial(n, i)
                b[v] = T.if_then_else(yes, a[v] + T.Cast("float32", k), T.float32(0))

    @T.prim_func
    def half(a: T.Buffer((64,), "bfloat16"), b: T.Buffer((64,), "float16")):
        for i in range(64):
            with T.sblock("b"):
                v = T.axis.spatial(64, i)
                b[v] = T.Cast("float16", a[v]) * T.float16(2)

    @T.prim_func
    def reverse(a: T.Buffer((64,), "int32"), size: T.int32):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.sblock("all"):
                T.reads(a[0:64])
                T.writes(a[0:64])
                s = T.alloc_buffer((size,), "int32", scope="shared.dyn")
                s[t] = a[t]
                T.tvm_storage_sync("shared")
                a[t] = s[63 - t]


@pytest.fixture(scope="module")
def built() -> Any:
    return loopwright.build(Kernels, "cuda")


def test_arrays_of_cupy_and_tensors(built: Any) -> None:
    import cupy

    x = cupy.arange(300, dtype="float32")
    y = cupy.zeros(300, "float32")
    with cupy.cuda.Stream(non_blocking=True) as stream:
        built["add"](x, y, 3, True)
        stream.synchronize()
    np.testing.assert_array_equal(y.get(), np.arange(300) + 3)
    built["add"](x[::2], y[1::2], 1, True)
    np.testing.assert_array_equal(y.get()[1::2], np.arange(0, 300, 2) + 1)
    built["add"](x, x, 1, True)
    np.testing.assert_array_equal(x.get(), np.arange(300) + 1)
    a, b = tensor(np.arange(64), "bfloat16", "cuda"), empty((64,), "float16", "cuda")
    built["half"](a, b)
    np.testing.assert_array_equal(b.numpy(), np.arange(64, dtype="float16") * 2)
    assert built.time("half", a, b).min > 0


def test_tensors_of_torch(built: Any) -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.arange(300.0, device="cuda"), torch.zeros(300, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        built["add"](x, y, 3, True)
        torch.cuda.current_stream().synchronize()
    assert torch.equal(y, x + 3)


def test_much_shared_memory(built: Any) -> None:
    for size in (64, 20000):
        a = tensor(np.arange(64, dtype="int32"), device="cuda")
        built["reverse"](a, size)
        np.testing.assert_array_equal(a.numpy(), np.arange(64)[::-1])
    with pytest.raises(ExecutionError) as caught:
        built["reverse"](a, 1 << 20)
    assert caught.value.code == "kernel-launch"


def test_arrays_elsewhere_are_errors(built: Any) -> None:
    with pytest.raises(ArgumentValueError, match="lies on the CPU"):
        built["add"](np.zeros(4, "float32"), empty((4,), "float32", "cuda"), 1, True)


def test_a_file(built: Any, tmp_path: Any) -> None:
    lib = load_module(built.export(tmp_path / "kernels.lw"))
    a, b = tensor(np.arange(9, dtype="float32"), device="cuda"), empty((9,), "float32", "cuda")
    lib["add"](a, b, 2, True)
    np.testing.assert_array_equal(b.numpy(), np.arange(9) + 2)


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor(("n", 16), "float32"), w: R.Tensor((16, 8), "float32")) -> R.Tensor(
        ("n", 8), "float32"
    ):
        with R.dataflow():
            y = R.nn.softmax(R.nn.relu(R.matmul(x, w)), axis=-1)
            R.output(y)
        return y


def test_a_model() -> None:
    from loopwright.testing.graphs import evaluate

    rng = np.random.default_rng(0)
    x, w = (rng.integers(-2, 3, s).astype("float32") for s in ((5, 16), (16, 8)))
    vm = VirtualMachine(loopwright.build(Model, "cuda", params={"w": w}), "cuda")
    got = vm["main"](tensor(x, device="cuda"))
    assert got.device == Device("cuda")
    np.testing.assert_allclose(got.numpy(), evaluate(Model, x, w), rtol=1e-5, atol=1e-6)

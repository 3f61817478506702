from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright
from loopwright.errors import ArgumentTypeError, ArgumentValueError, CodegenError, ExecutionError
from loopwright.runtime import empty, from_dlpack, tensor
from loopwright.runtime.kernels import DeviceSource, Kernel, KernelParam
from loopwright.script import ir as I
from loopwright.script import tirx as T

pytestmark = pytest.mark.opencl


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
    def reverse(a: T.Buffer((64,), "int32"), size: T.int32):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.sblock("all"):
                T.reads(a[0:64])
                T.writes(a[0:64])
                s = T.alloc_buffer((size,), "int32", scope="shared.dyn")
                s[t] = a[t]
                T.tvm_storage_sync("shared")
                a[t] = s[63 - t]

    @T.prim_func
    def strided(a: T.Buffer(("m", 3), "int16", strides=("s", 1))):
        m = T.int32()
        s = T.int32()
        for i in T.thread_binding(m, thread="blockIdx.x"):
            for j in T.thread_binding(3, thread="threadIdx.x"):
                a[i, j] = a[i, j] + T.Cast("int16", i)


@pytest.fixture(scope="module")
def built(opencl: Any) -> Any:
    return loopwright.build(Kernels, "opencl")


def on_device(x: Any) -> Any:
    return tensor(np.asarray(x), device="opencl")


def test_arrays_of_pyopencl_and_tensors(built: Any) -> None:
    x = np.arange(300, dtype="float32")
    a, b = on_device(x), empty((300,), "float32", "opencl")
    built["add"](a, b, 3, True)
    np.testing.assert_array_equal(b.numpy(), x + 3)
    built["add"](a._array, from_dlpack(b._array), k=4, yes=False)
    np.testing.assert_array_equal(b.numpy(), 0 * x)


@pytest.mark.parametrize(
    "place", [slice(0, 50), slice(32, 82), slice(3, 53), slice(0, 100, 2), slice(1, 101, 2)]
)
def test_parts_of_arrays(built: Any, place: slice) -> None:
    """Views at aligned places, at others, and with gaps; what is written outside of them is an error."""
    x = np.arange(128, dtype="float32")
    a, b = on_device(x)._array, on_device(-x)._array
    built["add"](a[place], b[place], 1, True)
    want = -x
    want[place] = x[place] + 1
    np.testing.assert_array_equal(b.get(), want)


def test_arguments_that_share_memory(built: Any) -> None:
    a = on_device(np.arange(9, dtype="float32"))
    built["add"](a, a, 1, True)
    np.testing.assert_array_equal(a.numpy(), np.arange(9) + 1)


def test_nothing_to_do(built: Any) -> None:
    nothing = empty((0,), "float32", "opencl")
    built["add"](nothing, nothing, 1, True)


def test_dynamic_shared_memory(built: Any) -> None:
    a = on_device(np.arange(64, dtype="int32"))
    built["reverse"](a, 64)
    np.testing.assert_array_equal(a.numpy(), np.arange(64)[::-1])


def test_strides_of_its_own(built: Any) -> None:
    x = np.arange(40, dtype="int16").reshape(5, 8)
    a = on_device(x)._array
    built["strided"](a[:, :3])
    x[:, :3] += np.arange(5, dtype="int16")[:, None]
    np.testing.assert_array_equal(a.get(), x)


def test_arrays_elsewhere_are_errors(built: Any, opencl: Any) -> None:
    x = np.zeros(4, "float32")
    with pytest.raises(ArgumentValueError, match=r"argument 1 \(a\) lies on the CPU") as caught:
        built["add"](x, on_device(x), 1, True)
    assert caught.value.code == "argument-device" and 'device="opencl"' in str(caught.value)
    with pytest.raises(ArgumentTypeError, match="must be an array, not a int"):
        built["add"](3, on_device(x), 1, True)
    other = opencl.cl.Context([opencl.devices[0]])
    foreign = opencl.cl.array.to_device(opencl.cl.CommandQueue(other), x)
    with pytest.raises(ArgumentValueError, match="different OpenCL contexts"):
        built["add"](foreign, on_device(x), 1, True)
    built["add"](foreign, foreign.copy(), 1, True)  # kernels go where the arrays are


def test_a_function_follows_its_arrays(opencl: Any) -> None:
    """Called with arrays on several devices in turn, a function is compiled for each."""

    @T.prim_func
    def double(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                b[v] = a[v] * 2.0

    x = np.ones(4, "float32")
    there, here = empty((4,), "float32", "opencl"), np.zeros(4, "float32")
    double(x, here)
    double(on_device(x), there)
    double(on_device(here), there)
    double(here, here)
    np.testing.assert_array_equal(here, x * 4)
    np.testing.assert_array_equal(there.numpy(), x * 4)
    with pytest.raises(ArgumentValueError, match="lies on the CPU; this function was compiled for OpenCL"):
        double(there, here)
    with pytest.raises(ArgumentValueError, match="lies on the CPU; this function was compiled for OpenCL"):
        double(here, there)


DTYPES = ["int8", "uint64", "float16", "bfloat16", "float8_e4m3fn", "int4", "bool", "float32x4", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_go_there_and_back(opencl: Any, dtype: str) -> None:
    there = empty((3, 5), dtype, "opencl")
    values = np.arange(there.numpy().size).reshape(there.numpy().shape) % 7
    there.copyfrom(values)
    want = values.astype(there.dtype.numpy())
    np.testing.assert_array_equal(there.numpy(), want)
    np.testing.assert_array_equal(there.copy().copyto("cpu").copyto("opencl").numpy(), want)
    assert str(there.device) == "opencl:0" and there.dtype == dtype and there.is_contiguous()


def test_what_the_driver_refuses_is_an_error(opencl: Any) -> None:
    param = KernelParam("a", "float32", True)
    wrong = "// kernels.py:7\n__kernel void f(__global float* a) { a[0] = nothing; }"
    kernel = opencl.load(DeviceSource("opencl", wrong, (Kernel("f", (param,), ("threadIdx.x",)),)))["f"]
    array = on_device(np.zeros(4, "float32"))._array
    with pytest.raises(CodegenError, match=r"nothing(.|\n)*it comes from kernels.py:7") as caught:
        kernel((1, 1, 1), (4, 1, 1), (array,))
    assert caught.value.code == "device-compiler"
    good = DeviceSource("opencl", wrong.replace("nothing", "1"), (Kernel("f", (param,), ("threadIdx.x",)),))
    with pytest.raises(
        ExecutionError, match=r"the kernel `f` could not be started(.|\n)*block \(100000, 1, 1\)"
    ):
        opencl.load(good)["f"]((1, 1, 1), (100000, 1, 1), (array,))


def test_timing_waits_for_the_device(built: Any, opencl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []
    monkeypatch.setattr(type(opencl), "wait", lambda self: waits.append(1))
    a, b = on_device(np.zeros(9, "float32")), empty((9,), "float32", "opencl")
    timing = built.time("add", a, b, 1, True, number=2, repeat=3)
    assert len(waits) == 4 and timing.min > 0


def test_an_equal_program_is_loaded_once(built: Any) -> None:
    again = loopwright.build(Kernels, "opencl")
    assert again["add"].code is built["add"].code
    other = loopwright.build(Kernels, "opencl -max_threads_per_block=128")
    assert other["reverse"].code is not built["reverse"].code

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright
from loopwright.codegen.vm.exec_builder import ExecBuilder
from loopwright.dtype import DType
from loopwright.errors import ArgumentValueError, LoopwrightError, UnsupportedError
from loopwright.ir import IRModule
from loopwright.runtime import tensor
from loopwright.runtime.vm import VirtualMachine, VMModule
from loopwright.script import ir as I
from loopwright.script import relax as R
from loopwright.script import tirx as T
from loopwright.testing.graphs import evaluate


@I.ir_module
class MLP:
    @R.function
    def main(
        x: R.Tensor(("n", 16), "float32"), w: R.Tensor((16, 8), "float32"), b: R.Tensor((8,), "float32")
    ) -> R.Tensor(("n", 8), "float32"):
        with R.dataflow():
            y = R.nn.softmax(R.nn.relu(R.add(R.matmul(x, w), b)), axis=-1)
            R.output(y)
        return y


@I.ir_module
class Network:
    """A convolution, then attention over its places; sizes that only the arguments tell, a tuple, a reshape."""

    @R.function
    def main(x: R.Tensor(("n", 2, 6, 6), "float32"), k: R.Tensor((4, 2, 3, 3), "float32")) -> R.Tuple(
        R.Tensor(("n", 16, 4), "float32"), R.Tensor(("n",), "float32")
    ):
        n = T.int64()
        with R.dataflow():
            c = R.nn.relu(R.nn.conv2d(x, k))
            q = R.permute_dims(R.reshape(c, (n, 4, 16)), (0, 2, 1))
            s = R.nn.softmax(R.matmul(q, R.permute_dims(q, (0, 2, 1))), axis=-1)
            y = R.matmul(s, q)
            m = R.max(y, axis=[1, 2])
            out = (y, m)
            R.output(out)
        return out


def integers(rng: Any, *shape: int) -> np.ndarray:
    return rng.integers(-2, 3, shape).astype("float32")


@pytest.fixture(params=["cuda-sim", pytest.param("opencl", marks=pytest.mark.opencl)])
def target(request: pytest.FixtureRequest) -> str:
    request.getfixturevalue({"cuda-sim": "simulator"}.get(request.param, request.param))
    return str(request.param)


def device_of(target: str) -> str:
    return {"cuda-sim": "cpu"}.get(target, target)


def check(mod: IRModule, target: str, *args: np.ndarray, **options: Any) -> VirtualMachine:
    """Compare what the built model gives with the oracle."""
    vm = VirtualMachine(loopwright.build(mod, target, **options), device_of(target))
    given = [tensor(a, device=device_of(target)) for a in args]
    got, want = vm["main"](*given), evaluate(mod, *args)
    for x, y in zip(*[r if isinstance(r, tuple) else (r,) for r in (got, want)], strict=True):
        assert x.device.kind == device_of(target)
        np.testing.assert_allclose(x.numpy(), y, rtol=1e-5, atol=1e-6)
    return vm


@pytest.mark.slow
def test_a_perceptron(target: str) -> None:
    rng = np.random.default_rng(1)
    args = [integers(rng, *shape) for shape in ((5, 16), (16, 8), (8,))]
    vm = check(MLP, target, *args)
    more = tensor(integers(rng, 2, 16), device=device_of(target))
    assert vm["main"](more, *[tensor(a, device=device_of(target)) for a in args[1:]]).shape == (2, 8)


@pytest.mark.slow
def test_convolution_and_attention(target: str) -> None:
    rng = np.random.default_rng(2)
    check(Network, target, integers(rng, 2, 2, 6, 6), integers(rng, 4, 2, 3, 3))


@pytest.mark.slow
@pytest.mark.opencl
def test_constants_are_moved_once(opencl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    args = [integers(rng, *shape) for shape in ((5, 16), (16, 8), (8,))]
    lib = loopwright.build(MLP, "opencl", params={"w": args[1], "b": args[2]})
    vm = VirtualMachine(lib, "opencl")
    x = tensor(args[0], device="opencl")
    first = vm["main"](x).numpy()
    assert vm.place is not None
    moved = dict(vm.place._constants)
    assert len(moved) >= 2
    np.testing.assert_allclose(lib["main"](x).numpy(), first)
    np.testing.assert_allclose(first, evaluate(MLP, *args), rtol=1e-5)
    vm["main"](x)
    assert all(vm.place._constants[k] is v for k, v in moved.items())


@pytest.mark.opencl
def test_wrong_devices(opencl: Any) -> None:
    lib = loopwright.build(MLP, "opencl")
    with pytest.raises(
        ArgumentValueError, match='built for `opencl`(.|\n)*VirtualMachine\\(module, "opencl"'
    ):
        VirtualMachine(lib)
    vm = VirtualMachine(lib, "opencl")
    x = np.zeros((5, 16), "float32")
    there = [tensor(np.zeros(s, "float32"), device="opencl") for s in ((16, 8), (8,))]
    with pytest.raises(ArgumentValueError, match=r"main: parameter 1 \(x\) lies on the CPU") as caught:
        vm["main"](x, *there)
    assert caught.value.code == "argument-device"
    with pytest.raises(LoopwrightError, match=r"dtype `float32`, not `int8`"):
        vm["main"](tensor(x.astype("int8"), device="opencl"), *there)


def test_what_models_on_devices_do_not_have(simulator: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="cannot be exported") as caught:
        loopwright.build(MLP, "opencl").export(tmp_path / "model.lw")
    assert caught.value.code == "unsupported-export"
    with pytest.raises(UnsupportedError, match="exec_mode"):
        loopwright.build(MLP, simulator, exec_mode="compiled")
    with pytest.raises(ArgumentValueError, match='"bytecode" or "compiled"'):
        loopwright.build(MLP, simulator, exec_mode="other")


@pytest.mark.opencl
def test_built_in_functions_on_a_device(opencl: Any) -> None:
    """Bytecode by hand: memory, views, shapes and conditions live where the machine is."""
    ib = ExecBuilder()
    with ib.function("main", 2):
        ib.emit_call(
            "vm.builtin.alloc_storage", [ib.vm_state(), ib.imm(64), ib.imm(0), DType("uint8")], ib.r(2)
        )
        ib.emit_call("vm.builtin.alloc_tensor", [ib.r(2), ib.imm(32), (2, 4), DType("bfloat16")], ib.r(3))
        ib.emit_call("vm.builtin.check_tensor_info", [ib.r(0), ib.imm(2), DType("float32"), "x"])
        ib.emit_call("vm.builtin.reshape", [ib.r(0), (4, 2)], ib.r(4))
        ib.emit_call("vm.builtin.shape_of", [ib.r(4)], ib.r(5))
        ib.emit_call("vm.builtin.shape_to_tensor", [ib.r(5)], ib.r(6))
        ib.emit_call("vm.builtin.tensor_to_shape", [ib.r(6)], ib.r(7))
        ib.emit_call("vm.builtin.read_if_cond", [ib.r(1)], ib.r(8))
        ib.emit_call("vm.builtin.to_device", [ib.r(4), ib.imm(1), ib.imm(0)], ib.r(9))
        view = [ib.r(0), (3,), DType("int16"), ib.imm(4)]
        ib.emit_call("runtime.TVMTensorCreateView", view, ib.r(10))
        listed = [ib.r(k) for k in (3, 4, 6, 7, 8, 9, 10)]
        ib.emit_call("vm.builtin.make_tuple", [*listed, ib.c(np.arange(3))], ib.r(11))
        ib.emit_ret(ib.r(11))
    vm = VirtualMachine(VMModule(ib.get(), {}, device="opencl"), ["opencl", "cpu"])
    x = np.arange(8, dtype="float32").reshape(2, 4)
    made, reshaped, sizes, shape, truth, here, part, constant = vm["main"](
        tensor(x, device="opencl"), tensor(np.array(True), device="opencl")
    )
    assert made.shape == (2, 4) and made.dtype == "bfloat16" and made.device.kind == "opencl"
    np.testing.assert_array_equal(reshaped.numpy(), x.reshape(4, 2))
    assert (
        sizes.device.kind == "opencl" and sizes.numpy().tolist() == [4, 2] and shape == (4, 2) and truth == 1
    )
    assert here.device.kind == "cpu" and here.numpy().tolist() == x.reshape(4, 2).tolist()
    assert part.numpy().tolist() == x.reshape(-1).view("int16")[2:5].tolist()
    assert constant.device.kind == "opencl" and constant.numpy().tolist() == [0, 1, 2]
    with pytest.raises(LoopwrightError, match="`x` must have dtype|dtype `float32`, not `int32`"):
        vm["main"](tensor(x.astype("int32"), device="opencl"), tensor(np.array(True), device="opencl"))

"""How kernels are loaded and started through CuPy, tried on a stand-in for it that runs nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from loopwright.errors import ArgumentTypeError, ArgumentValueError, ExecutionError, MissingDependencyError
from loopwright.runtime.device_module import Code, DeviceFunction
from loopwright.runtime.driver_cuda import CudaDriver
from loopwright.runtime.kernels import DeviceSource, Kernel, KernelParam
from loopwright.script import tirx as T


class Array:
    """What the driver uses of `cupy.ndarray`."""

    def __init__(self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None) -> None:
        self.host = np.zeros(shape, dtype) if memptr is None else np.empty(shape, dtype)
        self.shape, self.dtype, self.strides = self.host.shape, self.host.dtype, strides or self.host.strides
        self.ndim, self.size, self.nbytes, self.itemsize = (
            *(self.host.ndim, self.host.size, self.host.nbytes),
            self.host.itemsize,
        )
        self.flags = SimpleNamespace(c_contiguous=self.strides == self.host.strides)
        number = memptr.mem.device_id if memptr is not None else self.on
        pointer = memptr.mem.ptr if memptr is not None else self.host.ctypes.data
        self.data = SimpleNamespace(ptr=pointer, device_id=number)
        self.device = SimpleNamespace(id=number)

    on = 0


class World:
    """The state of the stand-in: devices, streams, what was started."""

    def __init__(self) -> None:
        self.device, self.stream, self.count = 0, "current", 2
        self.started: list[tuple[Any, ...]] = []
        self.attributes: list[int] = []
        self.refuses: set[str] = set()
        self.fail: Exception | None = None


class DriverError(RuntimeError):
    pass


def stand_in(world: World) -> ModuleType:
    @contextmanager
    def on_device(number: int) -> Iterator[None]:
        before, world.device = world.device, number
        yield
        world.device = before

    @contextmanager
    def on_stream(stream: Any) -> Iterator[None]:
        before, world.stream = world.stream, stream.__cuda_stream__()
        yield
        world.stream = before

    class Function:
        def __init__(self, name: str, form: str) -> None:
            self.name, self.form = name, form

        @property
        def num_regs(self) -> int:
            if self.form in world.refuses:
                raise DriverError("no binary for this device")
            return 10

        def __setattr__(self, name: str, value: Any) -> None:
            if name == "max_dynamic_shared_size_bytes":
                world.attributes.append(value)
            object.__setattr__(self, name, value)

        def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0) -> None:
            if world.fail is not None:
                raise world.fail
            where = (world.device, world.stream)
            world.started.append((self.form, self.name, grid, block, args, shared_mem, where))

    class RawModule:
        def __init__(self, *, path: str) -> None:
            self.form = Path(path).read_bytes().decode()

        def get_function(self, name: str) -> Function:
            return Function(name, self.form)

    def device(number: int | None = None) -> Any:
        if number is None:
            return SimpleNamespace(id=world.device, compute_capability="90")
        return on_device(number)

    cupy: Any = ModuleType("cupy")
    runtime = SimpleNamespace(
        getDevice=lambda: world.device, getDeviceCount=lambda: world.count, CUDARuntimeError=DriverError
    )
    cupy.cuda = SimpleNamespace(
        runtime=runtime,
        driver=SimpleNamespace(CUDADriverError=DriverError),
        Device=device,
        Stream=SimpleNamespace(from_external=on_stream),
        UnownedMemory=lambda ptr, size, owner, number: SimpleNamespace(ptr=ptr, device_id=number),
        MemoryPointer=lambda memory, offset: SimpleNamespace(mem=memory),
    )
    cupy.ndarray, cupy.RawModule = Array, RawModule
    cupy.empty = Array
    return cupy


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    monkeypatch.setitem(sys.modules, "cupy", stand_in(made))
    return made


KERNEL = Kernel(
    "f_kernel",
    (
        KernelParam("a", "float32", True),
        KernelParam("n", "int64", False),
        KernelParam("h", "float16", False),
        KernelParam("s", "bfloat16", False),
        KernelParam("yes", "bool", False),
    ),
    ("blockIdx.x", "threadIdx.x"),
)
BINARIES = {"cubin": lambda: b"cubin", "ptx": lambda: b"ptx"}


def start(world: World, args: Any, shared: int = 0) -> Any:
    kernels = CudaDriver().load(DeviceSource("cuda", "", (KERNEL,)), BINARIES)
    return kernels["f_kernel"]((2, 1, 1), (32, 1, 1), args, shared)


def test_arguments_have_the_types_of_parameters(world: World) -> None:
    a = Array((4,), "float32")
    start(world, (a, 7, 0.5, 1.0, True))
    ((form, name, grid, block, args, shared, where),) = world.started
    assert (form, name, grid, block, shared, where) == (
        *("cubin", "f_kernel", (2, 1, 1), (32, 1, 1)),
        *(0, (0, "current")),
    )
    assert args[0] is a and args[1:] == (7, 0.5, 0x3F80, 1)
    assert [type(x) for x in args[1:]] == [np.int64, np.float16, np.uint16, np.uint8]


def test_much_shared_memory_is_asked_for_once(world: World) -> None:
    kernel = CudaDriver().load(DeviceSource("cuda", "", (KERNEL,)), BINARIES)["f_kernel"]
    for shared in (48 << 10, 64 << 10, 50 << 10, 96 << 10):
        kernel((1, 1, 1), (1, 1, 1), (None, 1, 1, 1, 1), shared)
    assert world.attributes == [64 << 10, 96 << 10]


def test_newer_devices_take_ptx(world: World) -> None:
    world.refuses = {"cubin"}
    start(world, (None, 1, 1, 1, 1))
    assert world.started[0][0] == "ptx"
    world.refuses = {"cubin", "ptx"}
    with pytest.raises(ExecutionError, match=r"`cuda:0`, which is `sm_90`(.|\n)*-arch=sm_90") as caught:
        start(world, (None, 1, 1, 1, 1))
    assert caught.value.code == "kernel-load"


def test_a_launch_that_the_driver_refuses(world: World) -> None:
    world.fail = DriverError("CUDA_ERROR_INVALID_VALUE")
    text = r"`f_kernel`(.|\n)*INVALID_VALUE(.|\n)*grid \(2, 1, 1\), block \(32, 1, 1\), 9 bytes"
    with pytest.raises(ExecutionError, match=text) as caught:
        start(world, (None, 1, 1, 1, 1), 9)
    assert caught.value.code == "kernel-launch"


@T.prim_func
def f(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
    for i in T.thread_binding(4, thread="threadIdx.x"):
        b[i] = a[i]


@pytest.fixture
def function(program: Any) -> DeviceFunction:
    made, _ = program(f)
    params = (KernelParam("a", "float32", True), KernelParam("b", "float32", True))
    source = DeviceSource("cuda", "", (Kernel("f_kernel", params, ("threadIdx.x",)),))

    def load() -> Any:
        found = CudaDriver()
        return found, found.load(source, BINARIES)

    return DeviceFunction(made.data, Code(load))


def test_launches_go_to_the_device_of_the_arrays(world: World, function: DeviceFunction) -> None:
    function(Array((4,), "float32"), Array((4,), "float32"))
    Second = type("Second", (Array,), {"on": 1})
    function(Second((4,), "float32"), Second((4,), "float32"))
    assert [where for *_, where in world.started] == [(0, "current"), (1, "current")]
    with pytest.raises(ArgumentValueError, match="several devices: `cuda:0`, `cuda:1`"):
        function(Second((4,), "float32"), Array((4,), "float32"))


def test_tensors_of_torch_bring_their_stream(
    world: World, function: DeviceFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    class TorchTensor:
        requires_grad = False

        def __init__(self) -> None:
            self.memory = np.zeros(4, "float32")
            self.device = SimpleNamespace(index=1)

        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 1

        def __dlpack__(self, *, stream: int) -> Any:
            assert stream == -1  # nothing is to wait: kernels run on the tensor's own stream
            return self.memory.__dlpack__()

    torch: Any = ModuleType("torch")
    torch.Tensor = TorchTensor
    torch.cuda = SimpleNamespace(current_stream=lambda number: SimpleNamespace(cuda_stream=70 + number))
    monkeypatch.setitem(sys.modules, "torch", torch)
    x, y = TorchTensor(), TorchTensor()
    function(x, y)
    ((*_, args, _, where),) = world.started
    assert where == (1, (0, 71))
    assert {a.data.ptr for a in args} == {x.memory.ctypes.data, y.memory.ctypes.data}


def test_arrays_elsewhere_are_errors(world: World, function: DeviceFunction) -> None:
    with pytest.raises(ArgumentValueError, match=r"argument 1 \(a\) lies on the CPU") as caught:
        function(np.zeros(4, "float32"), Array((4,), "float32"))
    assert caught.value.code == "argument-device"
    with pytest.raises(ArgumentTypeError, match="must be an array, not a list"):
        function([1.0], Array((4,), "float32"))


def test_a_missing_wheel_or_driver(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.count = 0
    with pytest.raises(MissingDependencyError, match=r"no CUDA device here(.|\n)*cuda-sim") as caught:
        CudaDriver()
    assert caught.value.code == "missing-driver"
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingDependencyError, match=r"cupy(.|\n)*loopwright\[cuda\]"):
        CudaDriver()

"""CUDA through CuPy: compiled kernels on the caller's stream, memory from CuPy's pool."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from ..dtype import DType
from ..errors import (
    ArgumentTypeError,
    ArgumentValueError,
    Diagnostic,
    ExecutionError,
    missing_dependency,
)
from .device import Device
from .dlpack import Imported
from .drivers import device_item, elsewhere, launch_failed, missing_driver, no_array, number_type
from .kernels import DeviceSource, Dim3, Kernel, Launchable
from .tensor import Tensor, is_tensor_like

_HERE = "a CUDA device"
_COPY = "copy it to the device first: `cupy.asarray(array)`, `.cuda()` (PyTorch)"
_PLAIN_SHARED = 48 * 1024
"""The bytes of dynamic shared memory that a kernel may use without asking."""


class CudaDriver:
    """CUDA devices, their arrays being CuPy's.

    Raises MissingDependencyError where CuPy is absent, or a driver with a device.
    """

    kind = "cuda"

    def __init__(self) -> None:
        try:
            import cupy
        except ImportError as err:
            raise missing_dependency("cupy", "cuda") from err
        self.cupy = cupy
        self.array: Any = cupy.ndarray
        self._current = cupy.cuda.runtime.getDevice
        try:
            count, reason = cupy.cuda.runtime.getDeviceCount(), "no device was found"
        except cupy.cuda.runtime.CUDARuntimeError as err:
            count, reason = 0, str(err)
        if not count:
            help = (
                "drivers: https://www.nvidia.com/drivers",
                'without a GPU, build for "cuda-sim": it runs CUDA kernels on the CPU',
            )
            raise missing_driver("CUDA device", f"a GPU and NVIDIA's driver for it ({reason})", *help)

    def item(self, dtype: DType) -> Any:
        """The numpy type of stored elements."""
        return device_item(dtype)

    def take(self, value: Any) -> Any:
        """The array on the memory of a value. Raises as `Driver.take` does."""
        return value if isinstance(value, self.array) else self.share(value)[0]

    def share(self, value: Any) -> tuple[Any, DType]:
        """The array on the memory of a value, with the dtype of its elements."""
        if isinstance(value, self.array):
            return value, DType(value.dtype)
        if isinstance(value, Tensor):
            if value.device.kind != "cuda":
                raise elsewhere(f"`{value.device}`", _HERE, _COPY)
            return value._array, value.dtype
        if hasattr(value, "__dlpack__") and not isinstance(value, type):
            return self._from_dlpack(value)
        if hasattr(value, "__cuda_array_interface__"):
            array = self.cupy.asarray(value)
            return array, DType(array.dtype)
        if is_tensor_like(value):
            raise elsewhere("the CPU", _HERE, _COPY)
        raise no_array(value, "pass a CuPy array, or a tensor on a CUDA device")

    def _from_dlpack(self, value: Any) -> tuple[Any, DType]:
        """An array on a tensor's memory. The caller's stream is the tensor's own, so nothing waits."""
        kind, number = value.__dlpack_device__()
        if int(kind) not in (2, 13):  # a device, managed memory
            where = Device((int(kind), int(number)))
            raise elsewhere("the CPU" if where.kind == "cpu" else f"`{where}`", _HERE, _COPY)
        try:
            plain = value.detach() if getattr(value, "requires_grad", False) else value
            found = Imported(plain.__dlpack__(stream=-1))
        except (BufferError, TypeError, ValueError, RuntimeError) as err:
            text = f"cannot be used through DLPack: {err}"
            raise ArgumentTypeError(Diagnostic("argument-type", text)) from err
        item = self.item(found.dtype)
        steps = [s * item.itemsize for s in found.strides]
        reach = [(n - 1) * s for n, s in zip(found.shape, steps)]
        size = 0 if 0 in found.shape else sum(reach) + item.itemsize
        memory = self.cupy.cuda.UnownedMemory(found.address, size, found, int(number))
        place = self.cupy.cuda.MemoryPointer(memory, 0)
        return self.array(found.shape, item, place, tuple(steps)), found.dtype

    def empty(self, shape: Sequence[int], item: Any, like: Any = None) -> Any:
        """A compact array of undefined contents, from CuPy's pool."""
        if isinstance(like, Device):
            with self.cupy.cuda.Device(like.index):
                return self.cupy.empty(tuple(shape), item)
        return self.cupy.empty(tuple(shape), item)

    def copy(self, array: Any) -> Any:
        """A compact array with equal elements."""
        return array.copy(order="C")

    def assign(self, to: Any, source: Any) -> None:
        """Copy the elements of an array to one of the same shape."""
        to[...] = source

    def writeable(self, array: Any) -> bool:
        """Whether kernels may write to it."""
        return True

    def plain(self, array: Any) -> bool:
        """Whether the array lies on the current device."""
        return bool(array.data.device_id == self._current())

    def flat(self, array: Any) -> Any:
        """The array itself: kernels take the address of its first element."""
        return array

    def start(self, array: Any) -> int:
        """The address of the first element."""
        return int(array.data.ptr)

    def device(self, array: Any) -> Device:
        """Where an array lies."""
        return Device("cuda", int(array.device.id))

    @contextmanager
    def _on(self, number: int, stream: int | None) -> Iterator[None]:
        with self.cupy.cuda.Device(number):
            if stream is None:
                yield
            else:
                with self.cupy.cuda.Stream.from_external(_Stream(stream)):
                    yield

    def using(self, values: Sequence[Any]) -> AbstractContextManager[Any]:
        """The device of these arguments, and PyTorch's current stream where tensors of it are among them.

        Raises ArgumentValueError for arrays on several devices.
        """
        numbers = {n for n in map(_number_of, values) if n is not None}
        if len(numbers) > 1:
            text = f"the arrays lie on several devices: {', '.join([f'`cuda:{n}`' for n in sorted(numbers)])}"
            raise ArgumentValueError(Diagnostic("argument-device", text))
        number = next(iter(numbers), int(self._current()))
        torch = sys.modules.get("torch")
        from_torch = torch is not None and any(isinstance(v, torch.Tensor) for v in values)
        stream = int(torch.cuda.current_stream(number).cuda_stream) if from_torch and torch else None
        return self._on(number, stream)

    def wait(self) -> None:
        """Let all that was started on the current device end."""
        self.cupy.cuda.runtime.deviceSynchronize()

    def load(
        self, code: DeviceSource, binaries: Mapping[str, Callable[[], bytes]] | None = None
    ) -> Mapping[str, Launchable]:
        """The kernels of compiled code; `binaries` has a `cubin`, or `ptx` for newer devices."""
        module = _Module(self, binaries or {})
        return {k.name: _Launch(self, module, k) for k in code.kernels}


class _Stream:
    """A stream by its handle, as the protocol for streams has it."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


def _number_of(value: Any) -> int | None:
    """The number of the device of an argument; None for what lies on none."""
    if isinstance(value, Tensor):
        return value.device.index
    device = getattr(value, "device", None)
    found = getattr(device, "id", getattr(device, "index", None))
    return found if isinstance(found, int) else None


class _Module:
    """Compiled code, loaded from a file that lives as long as this."""

    def __init__(self, driver: CudaDriver, binaries: Mapping[str, Callable[[], bytes]]) -> None:
        self.driver, self.binaries = driver, binaries
        self._lock = threading.Lock()
        self._modules: dict[str, Any] = {}

    def function(self, name: str) -> Any:
        """A kernel for the current device. Raises ExecutionError where the device cannot load the code."""
        cupy = self.driver.cupy
        errors: list[str] = []
        for form, make in self.binaries.items():  # PTX is for devices that the cubin is not for
            try:
                found = self._module(form, make).get_function(name)
                _ = found.num_regs  # CuPy loads late: ask for something that needs the code
                return found
            except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as err:
                errors.append(f"{form}: {err}")
        device = cupy.cuda.Device()
        arch = f"sm_{device.compute_capability}"
        text = f"the kernel `{name}` cannot be loaded on `cuda:{device.id}`, which is `{arch}`"
        help = (f"build for the device: `cuda -arch={arch}`",)
        raise ExecutionError(Diagnostic("kernel-load", text, notes=tuple(errors), help=help))

    def _module(self, form: str, make: Callable[[], bytes]) -> Any:
        with self._lock:
            found = self._modules.get(form)
            if found is None:
                handle, path = tempfile.mkstemp(suffix=f".{form}")
                with os.fdopen(handle, "wb") as file:
                    file.write(make())
                weakref.finalize(self, os.unlink, path)
                found = self._modules[form] = self.driver.cupy.RawModule(path=path)
            return found


class _Launch:
    """A kernel, on whatever device is current."""

    def __init__(self, driver: CudaDriver, module: _Module, kernel: Kernel) -> None:
        self.driver, self.module, self.kernel = driver, module, kernel
        self.types = [None if p.pointer else number_type(DType(p.dtype)) for p in kernel.params]
        self._found: dict[int, Any] = {}
        self._shared: dict[int, int] = {}

    def __call__(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared: int = 0) -> None:
        """Start it on the current stream."""
        number = self.driver._current()
        function = self._found.get(number)
        if function is None:
            function = self._found[number] = self.module.function(self.kernel.name)
        values = tuple([a if t is None else t(a) for t, a in zip(self.types, args)])
        try:
            if shared > _PLAIN_SHARED and shared > self._shared.get(number, 0):
                function.max_dynamic_shared_size_bytes = shared
                self._shared[number] = shared
            function(grid, block, values, shared_mem=shared)
        except self.driver.cupy.cuda.driver.CUDADriverError as err:
            raise launch_failed(self.kernel.name, grid, block, shared, err) from err


__all__ = ["CudaDriver"]

"""OpenCL through pyopencl: a queue per device, arrays of `pyopencl.array`, programs built per context."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..dtype import DType
from ..errors import ArgumentValueError, Diagnostic, missing_dependency
from .device import Device
from .drivers import (
    device_item,
    elsewhere,
    launch_failed,
    missing_driver,
    no_array,
    number_type,
    reach_of,
    source_refused,
)
from .kernels import SHARED, DeviceSource, Dim3, Kernel, Launchable
from .tensor import Tensor, is_tensor_like

_HERE = "OpenCL"
_COPY = 'copy it to the device first: `loopwright.tensor(array, device="opencl")`'


class OpenCLDriver:
    """The devices of all OpenCL platforms, numbered in the order in which they are listed.

    Raises MissingDependencyError where pyopencl or every platform is absent.
    """

    kind = "opencl"

    def __init__(self) -> None:
        try:
            import pyopencl
            import pyopencl.array
            import pyopencl.tools
        except ImportError as err:
            raise missing_dependency("pyopencl", "opencl") from err
        self.cl = pyopencl
        self.array: Any = pyopencl.array.Array
        try:
            self.devices = [d for p in pyopencl.get_platforms() for d in p.get_devices()]
        except pyopencl.Error:
            self.devices = []
        if not self.devices:
            help = (
                "on Debian: apt install pocl-opencl-icd (OpenCL on the CPU)",
                "or, as a wheel: python -m pip install pocl-binary-distribution",
            )
            raise missing_driver("OpenCL device", "a driver of OpenCL", *help)
        self._places: dict[Any, tuple[Any, Any]] = {}
        self._used: dict[int, Any] = {}
        self._lock = threading.Lock()

    def item(self, dtype: DType) -> Any:
        """The numpy type of stored elements."""
        return device_item(dtype)

    def take(self, value: Any) -> Any:
        """The array on the memory of a value. Raises as `Driver.take` does."""
        if isinstance(value, Tensor):
            if value.device.kind != "opencl":
                raise elsewhere(f"`{value.device}`", _HERE, _COPY)
            value = value._array
        if isinstance(value, self.array):
            return value if value.queue is not None else value.with_queue(self.place(value.context)[0])
        if is_tensor_like(value):
            raise elsewhere("the CPU" if hasattr(value, "__array__") else "another device", _HERE, _COPY)
        raise no_array(value, "pass a pyopencl array, or a tensor of loopwright on `opencl`")

    def share(self, value: Any) -> tuple[Any, DType]:
        """The array on the memory of a value, with the dtype of its elements."""
        array = self.take(value)
        return array, value.dtype if isinstance(value, Tensor) else DType(array.dtype)

    def place(self, where: Any) -> tuple[Any, Any]:
        """The queue and the allocator of a context, or of the device of a number."""
        key = where if isinstance(where, int) else where.int_ptr
        with self._lock:
            found = self._places.get(key)
            if found is None:
                found = self._places[key] = self._open(where)
            return found

    def _open(self, where: Any) -> tuple[Any, Any]:
        cl = self.cl
        if isinstance(where, int):
            if where >= len(self.devices):
                text = f"there is no device `opencl:{where}`; there are {len(self.devices)}"
                raise ArgumentValueError(Diagnostic("unknown-device", text))
            where = cl.Context([self.devices[where]])
        queue = cl.CommandQueue(where)
        return queue, cl.tools.MemoryPool(cl.tools.ImmediateAllocator(queue))

    def empty(self, shape: Sequence[int], item: Any, like: Any = None) -> Any:
        """A compact array of undefined contents."""
        if isinstance(like, self.array):
            queue, allocator = like.queue, like.allocator or self.place(like.context)[1]
        else:
            queue, allocator = self.place(0 if like is None else like.index)
        return self.array(queue, tuple(shape), item, allocator=allocator)

    def copy(self, array: Any) -> Any:
        """A compact array with equal elements."""
        made = self.empty(array.shape, array.dtype, array)
        if array.size:
            self._move(made, array)
        return made

    def assign(self, to: Any, source: Any) -> None:
        """Copy the elements of an array to one of the same shape."""
        if to.size:
            self._move(to, source)

    def _move(self, to: Any, source: Any) -> None:
        """Copy between arrays of equal shape and any strides, row by row where rows have no gaps."""
        shape, size = (to.shape or (1,)), to.dtype.itemsize
        steps = [a.strides or (size,) for a in (to, source)]
        rows = shape[-1] if all(s[-1] == size for s in steps) else 1
        import numpy as np

        counts = shape[:-1] if rows > 1 else shape
        for index in np.ndindex(*counts):
            first, second = (
                int(a.offset + sum(i * s for i, s in zip(index, step)))
                for a, step in zip((to, source), steps)
            )
            self.cl.enqueue_copy(
                to.queue,
                to.base_data,
                source.base_data,
                byte_count=rows * size,
                src_offset=second,
                dst_offset=first,
            )

    def writeable(self, array: Any) -> bool:
        """Whether kernels may write to it."""
        return True

    def plain(self, array: Any) -> bool:
        """Whether kernels can take it as it lies: memory from its middle on begins at aligned places only."""
        offset: int = array.offset
        return offset == 0 or offset * 8 % array.queue.device.mem_base_addr_align == 0

    def flat(self, array: Any) -> Any:
        """The memory of an array from its first element on. Raises as `Driver.flat`."""
        _, high = reach_of(array, negative=False)
        count = high // array.dtype.itemsize
        return self.array(array.queue, (count,), array.dtype, data=array.base_data, offset=array.offset)

    def start(self, array: Any) -> int:
        """A number of the memory object, and the first byte in it."""
        base = array.base_data
        return 0 if base is None else (int(base.int_ptr) << 64) + int(array.offset)

    def device(self, array: Any) -> Device:
        """Where an array lies."""
        found = array.queue.device
        return Device("opencl", self.devices.index(found) if found in self.devices else 0)

    def using(self, values: Sequence[Any]) -> AbstractContextManager[Any]:
        """Arrays bring their queues. Raises ArgumentValueError for those of several contexts."""
        arrays = [v._array if isinstance(v, Tensor) else v for v in values]
        contexts = {a.context.int_ptr for a in arrays if isinstance(a, self.array)}
        if len(contexts) > 1:
            text = "the arrays belong to different OpenCL contexts"
            raise ArgumentValueError(Diagnostic("argument-device", text, help=("make them with one queue",)))
        return nullcontext()

    def wait(self) -> None:
        """Let all end that was started, on the queue that was used last in each context."""
        for queue in [*[q for q, _ in self._places.values()], *self._used.values()]:
            queue.finish()

    def load(self, code: DeviceSource, binaries: Mapping[str, Any] | None = None) -> Mapping[str, Launchable]:
        """The kernels of a source; a context builds it when the first of them is started there."""
        programs = _Programs(self, code)
        return {k.name: _Launch(self, programs, k) for k in code.kernels}


class _Programs:
    """A source, built once for each context."""

    def __init__(self, driver: OpenCLDriver, code: DeviceSource) -> None:
        self.driver, self.code = driver, code
        self._built: dict[int, Any] = {}
        self._lock = threading.Lock()

    def built(self, context: Any) -> Any:
        """The program. Raises CodegenError with what the compiler says."""
        with self._lock:
            found = self._built.get(context.int_ptr)
            if found is None:
                cl = self.driver.cl
                try:
                    found = cl.Program(context, self.code.text).build(cache_dir=False)
                except cl.Error as err:
                    raise source_refused("OpenCL", str(err), self.code.text, self.code.files) from err
                self._built[context.int_ptr] = found
            return found


class _Launch:
    """A kernel of a source, in whatever context its arguments lie."""

    def __init__(self, driver: OpenCLDriver, programs: _Programs, kernel: Kernel) -> None:
        self.driver, self.programs, self.kernel = driver, programs, kernel
        self._kernels: dict[int, Any] = {}
        self._lock = threading.Lock()
        self.types = [None if p.pointer else number_type(DType(p.dtype)) for p in kernel.params]

    def __call__(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared: int = 0) -> None:
        """Start it on the queue of its first array."""
        cl = self.driver.cl
        queue = next((a.queue for a in args if isinstance(a, self.driver.array)), None)
        if queue is None:
            queue, _ = self.driver.place(0)
        self.driver._used[queue.context.int_ptr] = queue
        values = [self.memory(a) if t is None else t(a) for t, a in zip(self.types, args)]
        if SHARED in self.kernel.launch:
            values.append(cl.LocalMemory(max(shared, 1)))
        kernel = self.found(queue.context)
        sizes = tuple([g * b for g, b in zip(grid, block)])
        try:
            with self._lock:  # the arguments belong to the kernel object
                kernel.set_args(*values)
                cl.enqueue_nd_range_kernel(queue, kernel, sizes, block)
        except (cl.Error, TypeError) as err:
            raise launch_failed(self.kernel.name, grid, block, shared, err) from err

    def found(self, context: Any) -> Any:
        """The kernel object of a context."""
        found = self._kernels.get(context.int_ptr)
        if found is None:
            program = self.programs.built(context)
            found = self._kernels[context.int_ptr] = self.driver.cl.Kernel(program, self.kernel.name)
        return found

    def memory(self, array: Any) -> Any:
        """The memory object from the first element of an array on."""
        if array is None or not array.size:
            return None
        if not array.offset:
            return array.base_data
        whole = self.driver.cl.Buffer.from_int_ptr(array.base_data.int_ptr)  # one of a pool has no parts
        return whole.get_sub_region(array.offset, array.nbytes)


__all__ = ["OpenCLDriver"]

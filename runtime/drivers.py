"""The drivers of devices, by kind; and that of arrays on the CPU, for kernels that are simulated."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..dtype import DType
from ..errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CodegenError,
    Diagnostic,
    ExecutionError,
    MissingDependencyError,
    UnsupportedError,
)
from . import memory
from .device import Device
from .kernels import DeviceSource, Dim3, Driver, Launchable
from .tensor import Tensor, from_dlpack


@functools.cache
def driver(kind: str) -> Driver:
    """What reaches devices of a kind.

    Raises MissingDependencyError where the package or the driver is absent, UnsupportedError for other kinds.
    """
    if kind == "cuda":
        from .driver_cuda import CudaDriver

        return CudaDriver()
    if kind == "opencl":
        from .driver_opencl import OpenCLDriver

        return OpenCLDriver()
    if kind == "cpu":
        return HostDriver()
    raise UnsupportedError(f"devices of the kind `{kind}` are not supported; `cpu`, `cuda` and `opencl` are")


def elsewhere(where: str, here: str, help: str) -> ArgumentValueError:
    """The error of an array that lies on another device than the function was compiled for."""
    text = f"lies on {where}; this function was compiled for {here}"
    return ArgumentValueError(Diagnostic("argument-device", text, help=(help,)))


def missing_driver(name: str, what: str, *help: str) -> MissingDependencyError:
    """The error of a package that finds no driver, or no device."""
    return MissingDependencyError(
        Diagnostic("missing-driver", f"there is no {name} here: install {what}", help=help)
    )


def no_array(value: Any, help: str) -> ArgumentTypeError:
    """The error of an argument that is no array at all."""
    text = f"must be an array, not a {type(value).__name__}"
    return ArgumentTypeError(Diagnostic("argument-type", text, help=(help,)))


def reach_of(array: Any, negative: bool = True) -> tuple[int, int]:
    """The first byte of an array and the one after its last, counted from its first element.

    Raises ArgumentValueError for bytes before the first where they are not allowed.
    """
    if array.flags.c_contiguous or not array.size:
        return 0, int(array.nbytes)
    reach = [(n - 1) * s for n, s in zip(array.shape, array.strides)]
    low, high = sum([r for r in reach if r < 0]), sum([r for r in reach if r > 0])
    if low and not negative:
        text = "has negative strides, which kernels for devices do not take"
        help = ("pass a copy of it",)
        raise ArgumentValueError(Diagnostic("argument-strides", text, help=help))
    return low, high + int(array.dtype.itemsize)


def extent_of(driver: Driver, array: Any) -> tuple[int, int]:
    """Numbers for the first byte of an array and the one after its last, as `Driver.start` numbers them."""
    start = driver.start(array)
    low, high = reach_of(array)
    return start + low, start + high


def device_item(dtype: DType) -> Any:
    """The numpy type of elements on devices, where the small formats lie as their bits."""
    import numpy as np

    if dtype.code in (4, *range(7, 18)):
        return np.dtype(f"uint{max(8, dtype.bits)}")
    return dtype.numpy()


def number_type(dtype: DType) -> Callable[[Any], Any]:
    """What makes a number of the dtype, of numpy, that kernels take by value; small formats as their bits."""
    import numpy as np

    if dtype.is_handle:
        return np.uint64
    item = device_item(dtype)
    if item == dtype.numpy():
        kind: Callable[[Any], Any] = np.uint8 if dtype.is_bool else item.type
        return kind
    return lambda value: np.asarray(dtype.round(value)).astype(dtype.numpy()).view(item)[()]


def launch_failed(name: str, grid: Dim3, block: Dim3, shared: int, err: BaseException) -> ExecutionError:
    """The error of a launch that the driver refuses."""
    notes = (f"grid {grid}, block {block}, {shared} bytes of dynamic shared memory",)
    return ExecutionError(
        Diagnostic("kernel-launch", f"the kernel `{name}` could not be started: {err}", notes=notes)
    )


_LOG_LINE = re.compile(r"[:(](\d+)[:)]")
_PLACE = re.compile(r"//\s*(\S+:\d+)")


def source_refused(
    compiler: str, log: str, text: str, files: Mapping[str, str] | None = None
) -> CodegenError:
    """The error of source that a compiler refuses: its first messages, with the lines of the script.

    `files` are the paths of the script files, by what comments call them.
    """
    source = text.splitlines()
    notes: list[str] = []
    lines = [x.strip() for x in log.splitlines() if "error" in x.lower() and " detected in" not in x]
    for line in lines[:4]:
        notes.append(line)
        found = _LOG_LINE.search(line)
        number = int(found[1]) if found else 0
        if 0 < number <= len(source):
            notes.append(f"line {number}: {source[number - 1].strip()}")
            places = [m[1] for m in map(_PLACE.search, source[:number]) if m]
            notes += [f"it comes from {_path(places[-1], files or {})}"] if places else []
    message = f"{compiler} refuses the generated source"
    return CodegenError(Diagnostic("device-compiler", message, notes=tuple(notes or [log.strip()[:400]])))


def _path(place: str, files: Mapping[str, str]) -> str:
    """The place `name:line` with the path of the file of this name."""
    name, _, line = place.rpartition(":")
    return f"{files.get(name, name)}:{line}"


class HostDriver:
    """Arrays of numpy, as kernels that run in this process take them."""

    kind = "cpu"

    def __init__(self) -> None:
        import numpy as np

        self.array: Any = np.ndarray

    def item(self, dtype: DType) -> Any:
        """The numpy type of stored elements."""
        return dtype.numpy()

    def take(self, value: Any) -> Any:
        """The array on the memory of a value. Raises as `Driver.take` does."""
        import numpy as np

        if isinstance(value, np.ndarray):
            return value
        help = "pass a numpy array or an object with DLPack or the buffer protocol"
        if isinstance(value, Tensor):
            found = value
        elif hasattr(value, "__dlpack__") and not isinstance(value, type):
            found = self._shared(value)
        elif hasattr(value, "__cuda_array_interface__"):
            raise elsewhere("a GPU", "the CPU", "copy the array to the CPU first")
        else:
            try:
                return np.asarray(memoryview(value))
            except (TypeError, BufferError, ValueError):
                raise no_array(value, help) from None
        if found.device.kind != "cpu":
            raise elsewhere(f"`{found.device}`", "the CPU", "copy the array to the CPU first")
        return found.numpy()

    def share(self, value: Any) -> tuple[Any, DType]:
        """The array on the memory of a value, with the dtype of its elements."""
        array = self.take(value)
        return array, DType(array.dtype)

    def _shared(self, value: Any) -> Tensor:
        try:
            kind, number = value.__dlpack_device__()
        except Exception as err:
            text = f"lies on a device that it does not name rightly: {err}"
            raise ArgumentTypeError(Diagnostic("argument-type", text)) from err
        if int(kind) not in (1, 3, 11):  # the CPU, pinned host memory of CUDA and of ROCm
            where = f"`{Device((int(kind), int(number)))}`"
            raise elsewhere(where, "the CPU", "copy the array to the CPU first")
        try:
            return from_dlpack(value.detach() if getattr(value, "requires_grad", False) else value)
        except Exception as err:
            text = f"cannot be used through DLPack: {err}"
            raise ArgumentTypeError(Diagnostic("argument-type", text)) from err

    def empty(self, shape: Sequence[int], item: Any, like: Any = None) -> Any:
        """A compact array of undefined contents, aligned to 64 bytes."""
        return memory.take(math.prod(shape) * item.itemsize).view(item).reshape(shape)

    def copy(self, array: Any) -> Any:
        """A compact array with equal elements in native order."""
        made = self.empty(array.shape, array.dtype.newbyteorder("="))
        made[...] = array
        return made

    def assign(self, to: Any, source: Any) -> None:
        """Copy the elements of an array to one of the same shape."""
        to[...] = source

    def writeable(self, array: Any) -> bool:
        """Whether kernels may write to it."""
        return bool(array.flags.writeable)

    def plain(self, array: Any) -> bool:
        """Whether its elements are aligned and in native order."""
        return bool(array.flags.aligned and array.dtype.isnative)

    def flat(self, array: Any) -> Any:
        """The memory of an array from its first element on. Raises as `Driver.flat`."""
        import numpy as np

        _, high = reach_of(array, negative=False)
        return np.lib.stride_tricks.as_strided(array, (high // array.itemsize,), (array.itemsize,))

    def start(self, array: Any) -> int:
        """The address of the first element."""
        return int(array.__array_interface__["data"][0])

    def device(self, array: Any) -> Device:
        """Where an array lies."""
        return Device("cpu")

    def using(self, values: Sequence[Any]) -> AbstractContextManager[Any]:
        """Nothing is to be chosen."""
        return nullcontext()

    def wait(self) -> None:
        """Nothing runs beside its caller."""

    def load(self, code: DeviceSource, binaries: Mapping[str, Any] | None = None) -> Mapping[str, Launchable]:
        """Source for a device does not run on the CPU by itself."""
        raise UnsupportedError(f"source in `{code.language}` runs on the CPU in the simulator only")

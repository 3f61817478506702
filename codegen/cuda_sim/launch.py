"""Loading kernels into the simulator and launching them."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ...dtype import DType
from ...runtime.drivers import launch_failed, number_type
from ...runtime.kernels import DeviceSource, Dim3, Kernel, KernelParam
from ...target.host import core_count
from . import compile
from .report import INTERRUPTED, Fault, Place, raise_fault
from .text import prepare

DEFAULT_STEPS = 1 << 27
_SHARED_LIMIT = 232448  # bytes a block of sm_90 may use


class _Argument(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("element", ctypes.c_int32),
        ("writable", ctypes.c_int32),
        ("name", ctypes.c_char_p),
    ]


class _Settings(ctypes.Structure):
    _fields_ = [
        ("entry", ctypes.c_void_p),
        ("args", ctypes.c_void_p),
        ("args_bytes", ctypes.c_uint64),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared", ctypes.c_uint64),
        ("shared_limit", ctypes.c_uint64),
        ("seed", ctypes.c_uint64),
        ("steps", ctypes.c_uint64),
        ("workers", ctypes.c_int32),
        ("races", ctypes.c_int32),
        ("arrays", ctypes.POINTER(_Argument)),
        ("array_count", ctypes.c_int32),
    ]


_Print = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)


@_Print
def _print(text: int, length: int) -> None:
    sys.stdout.write(ctypes.string_at(text, length).decode(errors="replace"))


class SimulatedKernel:
    """A kernel that runs on the CPU; a launch returns when the kernel has ended.

    `seed`, `cores`, `steps` and `shared_limit` may be changed between launches.
    """

    def __init__(self, kernel: Kernel, library: Any, place: Place, options: Mapping[str, Any]) -> None:
        self.kernel = kernel
        self.seed = int(options.get("seed", 0))
        self.cores = int(options.get("num-cores") or core_count())
        self.steps = int(options.get("steps", DEFAULT_STEPS))
        self.checks = bool(options.get("checks", True))
        self.shared_limit = int(options.get("max_shared_memory_per_block") or _SHARED_LIMIT)
        self._library = library
        self._entry = ctypes.cast(getattr(library, f"lw_entry_{kernel.name}"), ctypes.c_void_p)
        self._place = place

    def __call__(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared: int = 0) -> None:
        """Run the kernel: numpy arrays, addresses or None for pointers, Python numbers for scalars.

        Raises ExecutionError where the kernel breaks a rule, and for a launch that no device accepts.
        """
        self._check_launch(grid, block, shared)
        values, arrays = _packed(self.kernel.params, args)
        settings = _Settings(
            entry=self._entry,
            args=ctypes.addressof(values),
            args_bytes=ctypes.sizeof(values),
            grid=grid,
            block=block,
            shared=shared,
            shared_limit=self.shared_limit,
            seed=self.seed,
            steps=self.steps,
            workers=self.cores,
            races=self.checks,
            arrays=arrays,
            array_count=len(arrays),
        )
        fault = Fault()
        compile.runtime().lw_launch(ctypes.byref(settings), ctypes.byref(fault), _print)
        if fault.kind == INTERRUPTED:
            raise KeyboardInterrupt
        if fault.kind:
            raise_fault(self.kernel.name, fault, self._place)

    def _check_launch(self, grid: Dim3, block: Dim3, shared: int) -> None:
        """Raise ExecutionError for what no device can start."""
        most = min(self.kernel.max_threads or 1024, 1024)
        used = shared + self.kernel.static_shared
        if not 0 < math.prod(block) <= most or not 0 < block[2] <= 64:
            reason = f"a block has at most {most} threads, 64 of them along z"
        elif not (0 < grid[0] < 2**31 and 0 < grid[1] < 65536 and 0 < grid[2] < 65536):
            reason = "a grid has at most 2147483647 x 65535 x 65535 blocks, and at least one"
        elif math.prod(grid) >= 2**25:
            reason = "the simulator takes fewer than 33554432 blocks"
        elif used > self.shared_limit:
            reason = f"it needs {used} bytes of shared memory and may use {self.shared_limit}"
        else:
            return
        raise launch_failed(self.kernel.name, grid, block, shared, ValueError(reason))


def load(source: DeviceSource, target: Any = None) -> dict[str, SimulatedKernel]:
    """The kernels of a CUDA source by name, compiled for the simulator.

    `target` is a target of kind `cuda-sim`, or a mapping with its attributes: `seed`, `num-cores`, `steps`
    (the most that a thread may make), `checks` (false: faster, and hardly anything is reported).
    Raises CodegenError where the text is no C++, MissingDependencyError without g++.
    """
    options = dict(getattr(target, "attrs", target) or {})
    text = prepare(source.text, [k.name for k in source.kernels])
    compile.runtime()
    path = compile.kernels(text, bool(options.get("checks", True)))
    library = ctypes.CDLL(str(path))
    place = Place(source.text, source.files, path)
    return {k.name: SimulatedKernel(k, library, place, options) for k in source.kernels}


def _packed(params: Sequence[KernelParam], args: Sequence[Any]) -> tuple[Any, Any]:
    """One block of memory with pointers to the values and the values behind them; and the arrays."""
    from numpy.lib.array_utils import byte_bounds

    arrays = []
    values = (ctypes.c_uint64 * (2 * len(params) or 1))()
    start = ctypes.addressof(values)
    for i, (param, value) in enumerate(zip(params, args, strict=True)):
        at = len(params) + i
        values[i] = start + 8 * at
        if not param.pointer:
            data = number_type(DType(param.dtype))(value).tobytes()
            ctypes.memmove(start + 8 * at, data, len(data))
        elif isinstance(value, int):
            values[at] = value
        elif value is not None:
            low, high = byte_bounds(value)
            values[at] = value.__array_interface__["data"][0]
            writable = int(value.flags.writeable)
            arrays.append(_Argument(low, high - low, value.itemsize, writable, param.name.encode()))
    return values, (_Argument * len(arrays))(*arrays)

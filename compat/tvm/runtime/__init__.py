"""`tvm.runtime`: tensors, devices, modules."""

from __future__ import annotations

from typing import Any

from ....dtype import DType as DataType
from ....errors import Diagnostic, UnsupportedError
from ....ir import const
from ....runtime import (
    Device,
    Module,
    PackedFunc,
    Tensor,
    cpu,
    cuda,
    device,
    from_dlpack,
    opencl,
    threads,
)
from ....runtime import empty as _empty
from ....runtime import tensor as _tensor
from ....target import Target
from ...adapters import lacking
from . import executable, module, script_printer, views
from .executable import Executable
from .library import load_module, load_static_library
from .script_printer import ShapeTuple


def empty(shape: Any, dtype: Any = "float32", device: Any = None, mem_scope: str | None = None) -> Any:
    """A tensor with no particular content. Raises UnsupportedError for a memory scope."""
    _plain_memory(mem_scope)
    return _empty(shape, dtype, device if device is not None else cpu())


def tensor(arr: Any, device: Any = None, mem_scope: str | None = None) -> Any:
    """A tensor with the content of an array, on a device. Raises UnsupportedError for a memory scope."""
    _plain_memory(mem_scope)
    made = _tensor(arr)
    return made if device is None or made.device == device else made.copyto(device)


def _plain_memory(mem_scope: str | None) -> None:
    if mem_scope not in (None, "global"):
        text = f"the memory scope `{mem_scope}` is not supported yet"
        raise UnsupportedError(Diagnostic("unsupported", text))


def convert(value: Any) -> Any:
    """A Python value as the runtime holds it: sequences as tuples, functions as packed functions."""
    if isinstance(value, list | tuple):
        return tuple([convert(v) for v in value])
    if callable(value) and not isinstance(value, PackedFunc | type):
        return PackedFunc(value)
    return value


def device_from_target(target: Any, index: int | None = None) -> Device:
    """The device that code for a target runs on."""
    chosen = target if isinstance(target, Target) else Target(target)
    number = chosen.get("target_device_type")
    return device(chosen.device_kind, index) if number is None else device((number, index or 0))


def enabled(target: Any) -> bool:
    """Whether code for this target can be built and run here."""
    from ..testing import device_enabled

    return device_enabled(target)


def num_threads() -> int:
    """The threads that parallel loops use."""
    return threads.number()


__getattr__ = lacking("tvm.runtime")

__all__ = [
    "DataType",
    "Device",
    "Executable",
    "Module",
    "PackedFunc",
    "ShapeTuple",
    "Tensor",
    "const",
    "convert",
    "cpu",
    "cuda",
    "device",
    "device_from_target",
    "empty",
    "enabled",
    "executable",
    "from_dlpack",
    "load_module",
    "load_static_library",
    "module",
    "num_threads",
    "opencl",
    "script_printer",
    "tensor",
    "views",
]

"""What built code needs to run: tensors, devices, functions by name, modules. Knows no compiler."""

from __future__ import annotations

from . import memory, threads
from .device import Device, cpu, cuda, device, opencl
from .library import load_module
from .module import BenchmarkResult, Module
from .printing import print_values
from .registry import (
    DuplicateFunctionError,
    PackedFunc,
    UnknownFunctionError,
    get_global_func,
    list_global_func_names,
    pass_value,
    register_func,
    remove_global_func,
)
from .sealed import LibraryError
from .tensor import Tensor, empty, from_dlpack, is_tensor_like, tensor

__all__ = [
    "BenchmarkResult",
    "Device",
    "DuplicateFunctionError",
    "LibraryError",
    "Module",
    "PackedFunc",
    "Tensor",
    "UnknownFunctionError",
    "cpu",
    "cuda",
    "device",
    "empty",
    "from_dlpack",
    "get_global_func",
    "is_tensor_like",
    "list_global_func_names",
    "load_module",
    "memory",
    "opencl",
    "pass_value",
    "print_values",
    "register_func",
    "remove_global_func",
    "tensor",
    "threads",
]

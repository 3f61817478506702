"""`tvm_ffi`: structural equality, hashing and walking, and the small types of the runtime."""

from __future__ import annotations

import enum
from typing import Any

from ...dtype import DType as dtype
from ...ir import structural_hash as _hash
from ...runtime import Device, Module, Tensor, device, from_dlpack, get_global_func, remove_global_func
from ...runtime import PackedFunc as Function
from ...runtime import register_func as register_global_func
from ..access import mismatch, plain
from ..adapters import lacking
from ..tvm.runtime import ShapeTuple as Shape
from ..tvm.runtime import convert
from . import access_path, core
from .access_path import AccessPath
from .structural import VisitInterrupt, WalkOrder, WalkResult, structural_map, structural_walk

__version__ = "0.1.14"

Array = tuple
List = list
Map = dict
Dict = dict


class DLDeviceType(enum.IntEnum):
    """The kinds of devices by DLPack's numbers."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLOpenCL = 4


def structural_equal(
    lhs: Any, rhs: Any, map_free_vars: bool = False, skip_tensor_content: bool = False
) -> bool:
    """Whether two values are structurally equal."""
    return mismatch(lhs, rhs, map_free_vars) is None


def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False, skip_tensor_content: bool = False
) -> tuple[AccessPath, AccessPath] | None:
    """Where two values first differ, on either side; None when they are equal."""
    return mismatch(lhs, rhs, map_free_vars)


def structural_hash(value: Any, map_free_vars: bool = False, skip_tensor_content: bool = False) -> int:
    """A hash of 64 bits that structurally equal values share, free variables mapped or not."""
    return _hash(plain(value)) & (1 << 64) - 1


__getattr__ = lacking("tvm_ffi")

__all__ = [
    "AccessPath",
    "Array",
    "DLDeviceType",
    "Device",
    "Dict",
    "Function",
    "List",
    "Map",
    "Module",
    "Shape",
    "Tensor",
    "VisitInterrupt",
    "WalkOrder",
    "WalkResult",
    "access_path",
    "core",
    "convert",
    "device",
    "dtype",
    "from_dlpack",
    "get_first_structural_mismatch",
    "get_global_func",
    "register_global_func",
    "remove_global_func",
    "structural_equal",
    "structural_hash",
    "structural_map",
    "structural_walk",
]

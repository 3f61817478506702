"""Reading and writing DLPack capsules for the dtypes that numpy does not exchange itself."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..dtype import DType
from ..errors import ArgumentTypeError, Diagnostic
from .device import Device

if TYPE_CHECKING:
    import numpy as np


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


_NAME = b"dltensor"
_alive: dict[int, tuple[Any, ...]] = {}  # what exported capsules point to, until their deleter runs

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
# The same functions on a bare address: a destructor must not take a reference to the dying capsule.
_PyCapsule_IsValid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_PyCapsule_Address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


@_Deleter
def _release(managed: int) -> None:
    _alive.pop(managed, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _drop_capsule(capsule: int) -> None:
    if _PyCapsule_IsValid(capsule, _NAME):  # nobody took the tensor over
        _alive.pop(_PyCapsule_Address(capsule, _NAME), None)


def export_capsule(
    address: int, shape: Sequence[int], strides: Sequence[int], dtype: DType, device: Device, owner: Any
) -> Any:
    """A DLPack capsule of memory that `owner` keeps alive; strides count elements."""
    dims = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    steps = (ctypes.c_int64 * max(1, len(shape)))(*strides)
    managed = _Managed()
    tensor = managed.tensor
    tensor.data = address
    tensor.device = _Device(*device.dlpack)
    tensor.ndim = len(shape)
    tensor.dtype = _DataType(dtype.code, dtype.bits, dtype.lanes)
    tensor.shape = ctypes.cast(dims, ctypes.POINTER(ctypes.c_int64))
    tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = _release
    place = ctypes.addressof(managed)
    _alive[place] = (managed, dims, steps, owner)
    return _new_capsule(place, _NAME, ctypes.cast(_drop_capsule, ctypes.c_void_p))


class Imported:
    """The memory behind a capsule: address, shape, strides in elements, dtype, device; keeps it alive."""

    __slots__ = ("address", "capsule", "device", "dtype", "shape", "strides")

    def __init__(self, capsule: Any) -> None:
        tensor = ctypes.cast(_pointer(capsule, _NAME), ctypes.POINTER(_Managed)).contents.tensor
        # The capsule stays unconsumed; its own destructor frees the tensor when the last user is gone.
        self.capsule = capsule
        self.shape = tuple(tensor.shape[: tensor.ndim])
        self.dtype = DType.of(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
        self.device = Device((tensor.device.type, tensor.device.id))
        self.address = (tensor.data or 0) + tensor.byte_offset
        self.strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else compact(self.shape)


def compact(shape: Sequence[int]) -> tuple[int, ...]:
    """The row-major strides of a shape, in elements."""
    steps, step = [], 1
    for extent in reversed(shape):
        steps.append(step)
        step *= max(extent, 1)
    return tuple(reversed(steps))


def array_at(found: Imported, item: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A numpy array over CPU memory, with elements of the numpy type `item`."""
    import numpy as np

    if 0 in found.shape or not found.address:
        return np.empty(found.shape, item)
    steps = [s * item.itemsize for s in found.strides]
    spread = [(n - 1) * s for n, s in zip(found.shape, steps)]
    low = sum(s for s in spread if s < 0)
    high = sum(s for s in spread if s > 0) + item.itemsize
    memory = (ctypes.c_char * (high - low)).from_address(found.address + low)
    memory.owner = found  # a ctypes array takes attributes, so the view below keeps the capsule alive
    return np.ndarray(found.shape, item, memory, -low, steps)


def import_capsule(value: Any) -> Imported:
    """The memory that an object shows through `__dlpack__`.

    Raises ArgumentTypeError when the object gives no usable capsule.
    """
    try:
        return Imported(value.__dlpack__())
    except (BufferError, TypeError, ValueError, RuntimeError) as err:
        message = f"a {type(value).__name__} cannot be shared through DLPack: {err}"
        raise ArgumentTypeError(Diagnostic("dlpack", message)) from err

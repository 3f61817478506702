"""What the interpreter in machine code and the code that lays out its instructions agree on."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Mapping
from typing import Any, Final

OPERATIONS: Final = (
    "python",
    "kernel",
    "new_tensor",
    "storage",
    "tensor",
    "reshape",
    "check_tensor",
    "match_shape",
    "make_shape",
    "make_number",
    "copy",
    "null",
    "goto",
    "if",
    "ret",
)
"""The operations by their numbers."""

TABLE: Final = (
    "none",
    "true",
    "false",
    "ndarray",
    "new_array",
    "tensor_type",
    "cpu",
    "int_type",
    "float_type",
    "bool_type",
    "str_type",
    "storage_type",
    "storage_address",
    "storage_size",
    "tensor_array",
    "tensor_dtype",
    "tensor_device",
    "tensor_shape",
)
"""What the machine code finds in its table: objects, a function, places of fields in objects."""

WORDS: Final = 12
"""Words of an instruction."""
MOST_DIMS: Final = 32

_NEW_FROM_DESCR: Final = 94  # the place of PyArray_NewFromDescr in numpy's table of functions


@functools.cache
def table() -> Mapping[str, int] | None:
    """The table for this process; None where objects do not look as the machine code expects."""
    if sys.implementation.name != "cpython" or object.__basicsize__ != 16 or sys.byteorder != "little":
        return None
    enabled = getattr(sys, "_is_gil_enabled", None)
    if enabled is not None and not enabled():
        return None
    import numpy as np

    from ...dtype import DType
    from ..tensor import Tensor
    from .values import CPU, Storage

    new_array = _function(np)
    tensor = Tensor(np.zeros((3, 5), np.float32), (3, 5), DType("float32"), CPU)
    storage = Storage(8)
    places = {
        "tensor_array": _place(tensor, "_array"),
        "tensor_dtype": _place(tensor, "dtype"),
        "tensor_device": _place(tensor, "device"),
        "tensor_shape": _place(tensor, "shape"),
        "storage_address": _place(storage, "address"),
        "storage_size": _place(storage, "size"),
    }
    if (
        new_array is None
        or None in places.values()
        or not _arrays_as_expected(np)
        or not _ctypes_as_expected()
    ):
        return None
    objects = {
        "none": None,
        "true": True,
        "false": False,
        "ndarray": np.ndarray,
        "tensor_type": Tensor,
        "cpu": CPU,
        "int_type": int,
        "float_type": float,
        "bool_type": bool,
        "str_type": str,
        "storage_type": Storage,
    }
    found = {**{k: id(v) for k, v in objects.items()}, "new_array": new_array}
    return {**found, **{k: v for k, v in places.items() if v is not None}}


def _place(value: Any, name: str) -> int | None:
    """Where an object keeps the field of this name."""
    wanted = id(getattr(value, name))
    words = range(16, type(value).__basicsize__, 8)
    found = [at for at in words if ctypes.c_uint64.from_address(id(value) + at).value == wanted]
    return found[0] if len(found) == 1 else None


def _function(np: Any) -> int | None:
    """The address of numpy's function that makes arrays, tried once."""
    core = getattr(np, "_core", None) or np.core
    capsule = getattr(core._multiarray_umath, "_ARRAY_API", None)
    if capsule is None:
        return None
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = ctypes.c_uint64.from_address(get(capsule, None) + 8 * _NEW_FROM_DESCR).value
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.py_object,
        ctypes.py_object,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_void_p,
    )(address)
    kind = np.dtype(np.float32)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kind))  # the function takes the reference
    dims = (ctypes.c_int64 * 2)(3, 5)
    made = make(np.ndarray, kind, 2, ctypes.addressof(dims), None, None, 0, None)
    good = type(made) is np.ndarray and made.shape == (3, 5) and made.dtype is kind and made.flags.owndata
    return address if good else None


def _arrays_as_expected(np: Any) -> bool:
    """Whether the fields of an array and of an element type lie where the machine code looks."""
    owner = np.zeros((3, 5), np.float32)
    view = owner[:]

    def word(offset: int) -> int:
        return ctypes.c_uint64.from_address(id(view) + offset).value

    if np.ndarray.__basicsize__ < 68 or word(8) != id(np.ndarray) or word(16) != owner.ctypes.data:
        return False
    if word(24) & 0xFFFFFFFF != 2 or word(48) != id(owner) or word(56) != id(view.dtype):
        return False
    if list((ctypes.c_int64 * 2).from_address(word(32))) != [3, 5]:
        return False
    foreign = np.dtype(">f4")
    order = [ctypes.c_char.from_address(id(d) + 26).value for d in (foreign, view.dtype)]
    return word(64) & 0x501 == 0x501 and order[0] == b">" and order[1] == b"="


def _ctypes_as_expected() -> bool:
    """Whether an array of ctypes has the address of its memory behind its head."""
    words = (ctypes.c_int64 * 4)()
    return ctypes.c_uint64.from_address(id(words) + 16).value == ctypes.addressof(words)


__all__ = ["MOST_DIMS", "OPERATIONS", "TABLE", "WORDS", "table"]

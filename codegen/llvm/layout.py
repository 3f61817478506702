"""Where CPython and numpy keep the fields of their objects, and whether that holds here."""

from __future__ import annotations

import ctypes
import functools
import sys

# For builds of CPython whose object header is two words.
TYPE, HEAD = 8, 16
DATA, RANK, DIMS, STRIDES, DESCR, FLAGS = HEAD, HEAD + 8, HEAD + 16, HEAD + 24, HEAD + 40, HEAD + 48
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400


def fast_calls_possible() -> bool:
    """Whether generated CPython functions work here: CPython with the GIL and two-word object headers."""
    if sys.implementation.name != "cpython" or object.__basicsize__ != 16:
        return False
    enabled = getattr(sys, "_is_gil_enabled", None)
    if enabled is not None:
        import sysconfig

        if sysconfig.get_config_var("Py_GIL_DISABLED"):
            return False
    return _layout_as_expected()


@functools.cache
def _layout_as_expected() -> bool:
    """Read a known array through the offsets of the"""
    import numpy as np

    a = np.zeros((3, 5), np.float32)
    base = id(a)

    def word(offset: int) -> int:
        return ctypes.c_uint64.from_address(base + offset).value

    def number(offset: int) -> int:
        return ctypes.c_int32.from_address(base + offset).value

    if np.ndarray.__basicsize__ < FLAGS + 4 or word(TYPE) != id(np.ndarray):
        return False
    if word(DATA) != a.ctypes.data or number(RANK) != 2 or word(DESCR) != id(a.dtype):
        return False
    dims = (ctypes.c_int64 * 2).from_address(word(DIMS))
    strides = (ctypes.c_int64 * 2).from_address(word(STRIDES))
    needed = CONTIGUOUS | ALIGNED | WRITEABLE
    return list(dims) == [3, 5] and list(strides) == [20, 4] and number(FLAGS) & needed == needed

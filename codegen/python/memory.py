"""Memory of a running program: storages of bytes, pointers into them, and views as buffers.

Elements narrower than a byte take a whole one here, as in numpy.  Storages that the program allocates
remember which of their bytes were written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ...dtype import DType
from ...ir import Var

if TYPE_CHECKING:
    import numpy as np

VSCALE: Final = 2
"""How many times the stated lanes a scalable vector has here; any number would be a legal choice."""


def lane_count(dtype: DType) -> int:
    """The lanes of a value of this type."""
    return dtype.lanes * VSCALE if dtype.scalable else dtype.lanes


def compact(shape: Sequence[int]) -> tuple[int, ...]:
    """The row-major strides of a shape."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


class _ArrayCells:
    """Cells of a type that memoryview cannot index, with the same interface."""

    __slots__ = ("_array", "_item")

    def __init__(self, array: np.ndarray[Any, Any], is_float: bool) -> None:
        self._array = array
        self._item: Any = float if is_float else int

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, at: int) -> Any:
        return self._item(self._array[at])

    def __setitem__(self, at: int, value: Any) -> None:
        self._array[at] = value


class Storage:
    """A piece of memory; `written` has a byte for each byte of it, or is None where all count as written."""

    __slots__ = ("_cells", "memory", "name", "writable", "written")

    def __init__(self, memory: np.ndarray[Any, Any], name: str, written: bytearray | None = None) -> None:
        self.memory = memory
        self.name = name
        self.written = written
        self.writable = bool(memory.flags.writeable)
        self._cells: dict[DType, Any] = {}

    @staticmethod
    def allocate(size: int, name: str) -> Storage:
        """New memory of this many bytes, none of them written."""
        import numpy as np

        return Storage(np.zeros(size, np.uint8), name, bytearray(size))

    @staticmethod
    def of_array(array: np.ndarray[Any, Any], name: str) -> Storage:
        """The memory of a C-contiguous array."""
        import numpy as np

        return Storage(array.reshape(-1).view(np.uint8), name)

    def cells(self, dtype: DType) -> Any:
        """The memory as a sequence of elements of this scalar type, read as Python numbers."""
        found = self._cells.get(dtype)
        if found is None:
            item = dtype.numpy()
            whole = self.memory.size // item.itemsize * item.itemsize
            array = self.memory[:whole].view(item)
            plain = dtype.code in (0, 1, 2, 6) and dtype.bits >= 8 and dtype != "float16"
            found = self._cells[dtype] = array.data if plain else _ArrayCells(array, dtype.is_float)
        return found


class Pointer:
    """An address: a storage and a number of bytes. The null pointer is None."""

    __slots__ = ("offset", "storage")

    def __init__(self, storage: Storage, offset: int) -> None:
        self.storage = storage
        self.offset = offset

    def moved(self, size: int) -> Pointer:
        """The address this many bytes further on."""
        return Pointer(self.storage, self.offset + size)


class View:
    """A buffer at run time: cells of its element type, with origin, shape and strides counted in cells.

    `data` is the address that the buffer's data pointer holds; its element offset is part of `origin`.
    """

    __slots__ = (
        "cells",
        "data",
        "dtype",
        "lanes",
        "name",
        "origin",
        "shape",
        "size",
        "storage",
        "strides",
        "written",
    )

    def __init__(
        self, var: Var, data: Pointer, shape: tuple[int, ...], strides: tuple[int, ...] = (), offset: int = 0
    ) -> None:
        storage, element = data.storage, var.dtype.element
        self.name = var.name
        self.dtype = var.dtype
        self.data = data
        self.storage = storage
        self.shape = shape
        self.lanes = lane_count(var.dtype)
        self.size = element.numpy().itemsize
        if data.offset % self.size:
            raise ValueError(f"the address is no multiple of {self.size} bytes")
        self.strides = tuple([s * self.lanes for s in strides or compact(shape)])
        self.origin = data.offset // self.size + offset * self.lanes
        self.cells = storage.cells(element)
        self.written = storage.written

    def part(self, var: Var, start: int, shape: tuple[int, ...]) -> View:
        """The part of this shape that begins at cell `start` and runs along the last dimensions."""
        strides = tuple([s // self.lanes for s in self.strides[len(self.strides) - len(shape) :]])
        offset = (start - self.data.offset // self.size) // self.lanes
        return View(var, self.data, shape, strides or (1,) * len(shape), offset)

    def array(self) -> np.ndarray[Any, Any]:
        """The elements as a numpy array over the same memory; lanes of vectors as last dimension."""
        import numpy as np

        item = self.dtype.numpy()
        shape, strides = self.shape, self.strides
        if self.lanes != 1:
            shape, strides = (*shape, self.lanes), (*strides, 1)
        if math.prod(shape) == 0:
            return np.empty(shape, item)
        steps = [s * self.size for s in strides]
        return np.ndarray(shape, item, self.storage.memory.data, self.origin * self.size, steps)

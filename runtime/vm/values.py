"""What registers hold, and how it comes in and goes out.

A register holds a numpy array (a tensor; compact, in native order), an int, float, bool or text, a dtype,
None, a tuple (several values, or a shape: a tuple of integers), a `Storage`, a `Closure`, or any object that
a registered function gave.
"""

from __future__ import annotations

from typing import Any

from ...dtype import DType
from ...errors import ArgumentTypeError, ArgumentValueError, Diagnostic, LoopwrightError, noun
from .. import memory
from ..device import Device
from ..registry import PackedFunc
from ..tensor import Tensor, empty, from_dlpack, is_tensor_like, packed_bits

CPU = Device("cpu")


class Kept:
    """Base of what registers hold and callers hand back, but do not look into, such as caches."""

    __slots__ = ()


class Storage(Kept):
    """Bytes that tensors of a plan stand on; those tensors keep it alive."""

    __slots__ = ("_memory", "address", "size")

    def __init__(self, size: int) -> None:
        if size < 0:
            text = f"storage of {size} bytes cannot be made"
            raise ArgumentValueError(Diagnostic("argument-value", text))
        self.size = size
        self._memory = memory.take(size)
        self.address = self._memory.__array_interface__["data"][0]

    def __repr__(self) -> str:
        return f"<Storage of {self.size} bytes>"

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The bytes as an array, whose base is this object."""
        return {"data": (self.address, False), "shape": (self.size,), "typestr": "|u1", "version": 3}


class Closure(Kept):
    """A function of the module with the values that it captured; they are its last arguments."""

    __slots__ = ("captured", "name")

    def __init__(self, name: str, captured: tuple[Any, ...]) -> None:
        self.name = name
        self.captured = captured

    def __repr__(self) -> str:
        return f"<Closure {self.name}>"


_AS_THEY_ARE = (bool, int, float, str, DType, Device, PackedFunc, Kept)


def take_in(value: Any, what: str = "the argument") -> Any:
    """The value as registers hold it: arrays share memory where they are compact, else they are copied.

    Raises ArgumentTypeError or ArgumentValueError, naming it as `what`, for what no function takes.
    """
    import numpy as np

    if isinstance(value, np.ndarray):
        return _compact(value)
    if value is None or isinstance(value, _AS_THEY_ARE):
        return value
    if isinstance(value, tuple | list):
        return tuple([take_in(v, f"{what}, element {k},") for k, v in enumerate(value)])
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Tensor) or is_tensor_like(value):
        return _tensor(value, what)
    if callable(value) and not isinstance(value, type):
        return PackedFunc(value)
    text = f"{what} is {noun(value)}, which graph functions do not take"
    help = ("pass arrays, tensors, numbers, texts and tuples of them",)
    raise ArgumentTypeError(Diagnostic("argument-type", text, help=help))


def _tensor(value: Any, what: str) -> Any:
    try:
        found = value if isinstance(value, Tensor) else from_dlpack(_detached(value))
    except LoopwrightError as err:
        raise ArgumentTypeError(
            Diagnostic("argument-type", f"{what} cannot be used: {err.diagnostics[0].message}")
        ) from err
    if found.device is not CPU:
        text = f"{what} lies on `{found.device}`; the function was compiled for the CPU"
        help = ("copy it to the CPU first",)
        raise ArgumentValueError(Diagnostic("argument-device", text, help=help))
    array = found.numpy()
    return _compact(array)


def _detached(value: Any) -> Any:
    return value.detach() if getattr(value, "requires_grad", False) else value


def _compact(array: Any) -> Any:
    import numpy as np

    flags = array.flags
    if flags.c_contiguous and flags.aligned and array.dtype.isnative and type(array) is np.ndarray:
        return array
    kind = array.dtype.newbyteorder("=")
    made = np.empty(array.shape, kind)
    made[...] = array
    return made


def give_out(value: Any) -> Any:
    """A value of a register as callers see it: arrays become tensors."""
    import numpy as np

    if type(value) is np.ndarray:
        return as_tensor(value)
    if type(value) is tuple:
        return tuple([give_out(v) for v in value])
    return value


def as_tensor(array: Any) -> Tensor:
    """A tensor on the memory of an array; elements of less than a byte are packed into a new one."""
    dtype = DType(array.dtype)
    if packed_bits(dtype):
        return empty(array.shape, dtype).copyfrom(array)
    return Tensor(array, array.shape, dtype, CPU)


def describe(value: Any) -> str:
    """What a value is, for messages: `a float32 array of shape (2, 3)`."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"a `{DType(value.dtype)}` tensor of shape {tuple(value.shape)}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)} values"
    return "nothing" if value is None else noun(value)


__all__ = ["CPU", "Closure", "Kept", "Storage", "as_tensor", "describe", "give_out", "take_in"]

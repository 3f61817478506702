"""What a virtual machine does differently on a device: where values live, built-in functions for that.

Registers hold a `Tensor` where those of a machine on the CPU hold a numpy array.  Constants go to the device
once; an array on the CPU that comes in is an error, one that a function of the host gives goes to the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ...dtype import DType
from ...errors import ArgumentTypeError, ArgumentValueError, Diagnostic, LoopwrightError, UnsupportedError
from ..device import Device
from ..drivers import driver
from ..tensor import Tensor, empty, is_tensor_like
from ..tensor import tensor as make_tensor
from .builtins import BUILTINS, storage_fault
from .checks import fault
from .values import Kept, describe, take_in


class DeviceStorage(Kept):
    """Bytes on a device that tensors of a plan stand on."""

    __slots__ = ("device", "memory", "size")

    def __init__(self, size: int, device: Device) -> None:
        if size < 0:
            text = f"storage of {size} bytes cannot be made"
            raise ArgumentValueError(Diagnostic("argument-value", text))
        self.size, self.device = size, device
        self.memory = empty((size,), "uint8", device)

    def __repr__(self) -> str:
        return f"<Storage of {self.size} bytes on {self.device}>"


class Place:
    """The devices of a machine; the first is where its module runs."""

    def __init__(self, devices: tuple[Device, ...]) -> None:
        self.devices = devices
        self.device = devices[0]
        self.driver = driver(self.device.kind)
        self._constants: dict[int, Any] = {}
        self._builtins = {n if "." in n else f"vm.builtin.{n}": f for n, f in self._table().items()}

    def builtin(self, name: str) -> Callable[..., Any] | None:
        """A built-in function that is another one here."""
        if name.startswith("vm.builtin.attention_kv_cache"):
            return _no_cache(name, self.device)
        return self._builtins.get(name)

    def kernel(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel that takes tensors as registers hold them."""

        def call(*args: Any) -> Any:
            return function(*[a._array if type(a) is Tensor else a for a in args])

        return call

    def constant(self, number: int, value: Any) -> Any:
        """A constant as registers hold it: arrays are copied once."""
        if not hasattr(value, "tobytes"):
            return value
        found = self._constants.get(number)
        if found is None:
            found = self._constants[number] = make_tensor(value, device=self.device)
        return found

    def take_in(self, value: Any, what: str = "the argument") -> Any:
        """An argument as registers hold it. Raises as `values.take_in`, and for arrays that lie elsewhere."""
        if isinstance(value, tuple | list):
            return tuple([self.take_in(v, f"{what}, element {k},") for k, v in enumerate(value)])
        if not isinstance(value, Tensor) and not is_tensor_like(value):
            return take_in(value, what)
        try:
            array, dtype = self.driver.share(value)
        except LoopwrightError as err:
            first = err.diagnostics[0]
            found = Diagnostic(first.code, f"{what} {first.message}", help=first.help)
            raise type(err)(found) from err
        if not array.flags.c_contiguous or not self.driver.plain(array):
            array = self.driver.copy(array)
        return Tensor(array, tuple(array.shape), dtype, self.driver.device(array))

    def moved(self, value: Any) -> Any:
        """What a function of the host gave, on the device."""
        if isinstance(value, tuple):
            return tuple([self.moved(v) for v in value])
        if hasattr(value, "tobytes") and hasattr(value, "shape"):
            return make_tensor(value, device=self.device)
        return value

    # Built-in functions

    def _table(self) -> Mapping[str, Callable[..., Any]]:
        return {
            "alloc_storage": self.alloc_storage,
            "alloc_tensor": alloc_tensor,
            "check_tensor_info": check_tensor_info,
            "read_if_cond": lambda value: BUILTINS["vm.builtin.read_if_cond"](_host(value)),
            "reshape": reshape,
            "shape_to_tensor": lambda shape: self.moved(BUILTINS["vm.builtin.shape_to_tensor"](shape)),
            "tensor_to_shape": lambda value: BUILTINS["vm.builtin.tensor_to_shape"](_host(value)),
            "to_device": lambda value, kind, index=0, scope="global": value.copyto(Device((kind, index))),
            "runtime.TVMTensorCreateView": create_view,
        }

    def alloc_storage(
        self, vm: Any, size: Any, device: int, dtype: DType, scope: str = "global"
    ) -> DeviceStorage:
        """Memory of so many bytes on a device of the machine."""
        if not scope.startswith("global"):
            raise UnsupportedError(f"storage in the memory scope `{scope}` is not supported; `global` is")
        count = math.prod(size) if isinstance(size, tuple) else int(size)
        place = self.devices[device] if 0 <= device < len(self.devices) else self.device
        return DeviceStorage(count * dtype.numpy().itemsize, place)


def _host(value: Any) -> Any:
    return value.numpy() if isinstance(value, Tensor) else value


def _no_cache(name: str, device: Device) -> Callable[..., Any]:
    def refuse(*args: Any) -> Any:
        raise UnsupportedError(f"`{name}` is not supported on `{device}`; it is on the CPU")

    return refuse


def alloc_tensor(storage: Any, offset: int, shape: tuple[int, ...], dtype: DType, device: int = 0) -> Tensor:
    """A tensor on a storage, from a byte on. Raises ExecutionError where the storage is too small."""
    if min(shape, default=0) < 0:
        raise ArgumentValueError(Diagnostic("argument-shape", f"a tensor cannot have the shape {shape}"))
    if not isinstance(storage, DeviceStorage):
        text = f"a tensor stands on a storage, not on {describe(storage)}"
        raise ArgumentTypeError(Diagnostic("argument-type", text))
    size = math.prod(shape) * dtype.lanes * max(1, dtype.bits // 8)
    if offset < 0 or offset + size > storage.size:
        raise storage_fault(shape, dtype, size, storage.size - offset)
    if size == 0:
        return empty(shape, dtype, storage.device)
    bytes_ = storage.memory._array[offset : offset + size]
    return Tensor(bytes_, (size,), DType("uint8"), storage.device).view(shape, dtype)


def check_tensor_info(value: Any, ndim: int, *rest: Any) -> None:
    """A tensor of this rank (-1: any); `rest` has the dtype, if it matters, and the context."""
    dtype = rest[0] if rest and isinstance(rest[0], DType) else None
    context = rest[-1] if rest and isinstance(rest[-1], str) else "the value"
    BUILTINS["vm.builtin.check_tensor_info"](value, ndim, context)
    if dtype is not None and DType(value.dtype) is not dtype:
        text = f"must have dtype `{dtype}`, not `{DType(value.dtype)}`"
        raise fault(ArgumentTypeError, "argument-dtype", context, text, "convert it with .astype(...)")


def reshape(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The memory of a tensor under another shape."""
    if value.size != math.prod(shape):
        text = f"{value.size} elements of shape {value.shape} have no shape {shape}"
        raise ArgumentValueError(Diagnostic("argument-shape", text))
    return value.reshape(shape)


def create_view(value: Tensor, shape: tuple[int, ...], dtype: DType, offset: int = 0) -> Tensor:
    """The bytes of a tensor from `offset` on as a tensor of this shape and dtype."""
    size = math.prod(shape) * dtype.numpy().itemsize
    flat = value.view((value.size * value.dtype.numpy().itemsize,), "uint8")
    if offset < 0 or offset + size > flat.size:
        text = f"{flat.size} bytes have no view of {shape} of `{dtype}` from byte {offset} on"
        raise ArgumentValueError(Diagnostic("tensor-view", text))
    part = Tensor(flat._array[offset : offset + size], (size,), flat.dtype, flat.device)
    return part.view(shape, dtype)


__all__ = ["DeviceStorage", "Place"]

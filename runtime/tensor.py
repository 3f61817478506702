"""Arrays of every dtype on every device, exchanged without copies through DLPack and numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..dtype import DType
from ..errors import ArgumentTypeError, ArgumentValueError, Diagnostic, UnsupportedError
from . import memory
from .device import Device
from .dlpack import Imported, array_at, compact, export_capsule, import_capsule

if TYPE_CHECKING:
    import numpy as np


def packed_bits(dtype: DType) -> int:
    """Bits of an element where several share a byte in memory, else 0 (6-bit floats take a byte each)."""
    return dtype.bits if dtype.bits in (1, 2, 4) else 0


class Tensor:
    """A strided array on a device.

    Made by `empty`, `tensor` (a copy) and `from_dlpack` (shared memory).  Elements of 1, 2 and 4 bits
    are packed, the first in the lowest bits; a vector dtype has its lanes as a last dimension of the
    numpy view.
    """

    __slots__ = ("__weakref__", "_array", "device", "dtype", "shape")

    _array: Any  # numpy or CuPy array of the elements; of bytes, one dimension, where they are packed
    dtype: DType
    shape: tuple[int, ...]
    device: Device

    def __init__(self, array: Any, shape: Sequence[int], dtype: DType, device: Device) -> None:
        self._array = array
        self.shape = tuple(shape)
        self.dtype = dtype
        self.device = device

    @staticmethod
    def empty(
        shape: int | Sequence[int], dtype: DType | str = "float32", device: Device | str = "cpu"
    ) -> Tensor:
        """A compact tensor of undefined contents, aligned to 64 bytes. See `empty`."""
        return empty(shape, dtype, device)

    @staticmethod
    def from_dlpack(value: Any) -> Tensor:
        """A tensor that shares the memory of `value`. See `from_dlpack`."""
        return from_dlpack(value)

    def __repr__(self) -> str:
        return f"<Tensor {self.shape} {self.dtype} on {self.device}>"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def numel(self) -> int:
        """The number of elements."""
        return self.size

    @property
    def strides(self) -> tuple[int, ...]:
        """The steps between elements in each dimension, counted in elements."""
        if packed_bits(self.dtype):
            return compact(self.shape)
        item = self._array.dtype.itemsize * self.dtype.lanes
        return tuple([s // item for s in self._array.strides[: self.ndim]])

    def is_contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps."""
        return bool(packed_bits(self.dtype)) or bool(self._array.flags.c_contiguous)

    def data_ptr(self) -> int:
        """The address of the first element."""
        if self.device.kind == "cpu":
            return int(self._array.ctypes.data)
        if self.device.kind == "opencl":
            help = ("pass the tensor itself, or copy it to the CPU",)
            raise UnsupportedError(
                Diagnostic("no-address", f"memory on `{self.device}` has no address here", help=help)
            )
        return int(self._array.data.ptr)

    @property
    def readonly(self) -> bool:
        """Whether the memory must not be written."""
        return self.device.kind == "cpu" and not self._array.flags.writeable

    def numpy(self) -> np.ndarray[Any, Any]:
        """The elements as a numpy array: the same memory, or a copy where it is packed or on a device."""
        import numpy as np

        array = self._array
        if self.device.kind != "cpu":
            array = array.get()
        item = self.dtype.numpy()
        if packed_bits(self.dtype):
            return unpack(np.asarray(array), self.size * self.dtype.lanes, self.dtype).reshape(_lanes(self))
        host: np.ndarray[Any, Any] = array if array.dtype is item or array.dtype == item else array.view(item)
        return host

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        import numpy as np

        return (
            np.array(self.numpy(), dtype=dtype, copy=True) if copy else np.asarray(self.numpy(), dtype=dtype)
        )

    def __buffer__(self, flags: int) -> memoryview:
        """The memory as a buffer (the protocol of Python 3.12 and later)."""
        return self.numpy().data

    def item(self) -> Any:
        """The only element as a Python number. Raises ArgumentValueError where there are more."""
        if self.size != 1:
            raise ArgumentValueError(f"a tensor of shape {self.shape} has {self.size} elements, not one")
        return self.numpy().reshape(-1)[0].item()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device.dlpack

    def __dlpack__(self, **options: Any) -> Any:
        """A DLPack capsule of the memory. Raises BufferError for read-only memory and padded formats."""
        if self.device.kind == "opencl":
            raise BufferError(f"memory on `{self.device}` cannot be shared through DLPack")
        if self.device.kind != "cpu" and self.dtype.code <= 2 and self.dtype.lanes == 1:
            return self._array.__dlpack__(**options)
        if self.readonly:
            raise BufferError("read-only memory cannot be shared")
        if self.dtype.bits == 6:
            raise BufferError(f"DLPack packs `{self.dtype}`, which takes a byte an element here")
        return export_capsule(self.data_ptr(), self.shape, self.strides, self.dtype, self.device, self._array)

    def view(self, shape: Sequence[int], dtype: DType | str | None = None) -> Tensor:
        """The same memory with another shape and dtype.

        Raises ArgumentValueError when the elements are not contiguous or the bytes do not match.
        """
        new = self.dtype if dtype is None else DType(dtype)
        dims = _shape(shape, self.size if new is self.dtype else None)
        if not self.is_contiguous():
            raise ArgumentValueError(
                Diagnostic(
                    "tensor-view", "a tensor with gaps has no view of another shape", help=("copy it first",)
                )
            )
        old_bits = self.size * self.dtype.lanes * _storage(self.dtype)
        new_bits = math.prod(dims) * new.lanes * _storage(new)
        if old_bits != new_bits:
            raise ArgumentValueError(
                f"{self.shape} of `{self.dtype}` has {old_bits} bits, {dims} of `{new}` has {new_bits}"
            )
        flat = self._array.reshape(-1)
        if new is not self.dtype:
            flat = flat.view(_carrier(new, self.device))
        return Tensor(flat if packed_bits(new) else flat.reshape(_dims(dims, new)), dims, new, self.device)

    def reshape(self, shape: Sequence[int]) -> Tensor:
        """The elements in another shape: the same memory where they are contiguous, else a copy."""
        return (self if self.is_contiguous() else self.copy()).view(shape)

    def copy(self) -> Tensor:
        """A compact tensor of equal elements on the same device."""
        return self.copyto(self.device)

    def copyfrom(self, source: Any) -> Tensor:
        """Fill with the elements of an array, converted to this dtype; gives back this tensor.

        Raises ArgumentValueError for another shape and for read-only memory.
        """
        import numpy as np

        if self.readonly:
            raise ArgumentValueError("the tensor's memory is read-only")
        if isinstance(source, Tensor):
            source = source.numpy()
        elif not isinstance(source, np.ndarray) and is_tensor_like(source):
            source = from_dlpack(source).numpy()
        host = np.asarray(source)
        if host.shape != _lanes(self):
            raise ArgumentValueError(
                Diagnostic("argument-shape", f"the source has shape {host.shape}, the tensor {_lanes(self)}")
            )
        with np.errstate(all="ignore"):
            host = host.astype(self.dtype.numpy(), copy=False)
        if packed_bits(self.dtype):
            host = pack(host, self.dtype)
        if self.device.kind == "cpu":
            self._array[...] = host
        elif host.size:
            bits = np.ascontiguousarray(host).view(self._array.dtype)
            self._array.set(bits.reshape(self._array.shape))
        return self

    def copyto(self, target: Tensor | Device | str) -> Tensor:
        """Copy into a tensor of the same shape, or into a new one on a device; gives back the target."""
        if not isinstance(target, Tensor):
            target = empty(self.shape, self.dtype, target)
        return target.copyfrom(self)


def _storage(dtype: DType) -> int:
    return packed_bits(dtype) or max(8, dtype.bits)


def _dims(shape: Sequence[int], dtype: DType) -> tuple[int, ...]:
    return (*shape, dtype.lanes) if dtype.lanes != 1 else tuple(shape)


def _lanes(tensor: Tensor) -> tuple[int, ...]:
    return _dims(tensor.shape, tensor.dtype)


def _shape(shape: int | Sequence[int], size: int | None = None) -> tuple[int, ...]:
    try:
        dims = (int(shape),) if isinstance(shape, int) else tuple([int(n) for n in shape])
    except (TypeError, ValueError) as err:
        raise ArgumentTypeError(f"`{shape!r}` is not a shape") from err
    if size is not None and dims.count(-1) == 1:
        rest = -math.prod(dims)
        dims = tuple([size // max(rest, 1) if n == -1 else n for n in dims])
    if any(n < 0 for n in dims):
        raise ArgumentValueError(f"a shape has no negative extents: {dims}")
    return dims


def _carrier(dtype: DType, device: Device) -> Any:
    """The numpy type of the stored elements; devices lack the small formats, which travel as bits there."""
    import numpy as np

    if packed_bits(dtype):
        return np.dtype(np.uint8)
    if device.kind != "cpu" and dtype.code in (4, *range(7, 18)):
        return np.dtype(f"uint{max(8, dtype.bits)}")
    return dtype.numpy()


def empty(
    shape: int | Sequence[int],
    dtype: DType | str = "float32",
    device: Device | str = "cpu",
    mem_scope: Any = None,
) -> Tensor:
    """A compact tensor of undefined contents, its memory aligned to 64 bytes.

    Raises ArgumentTypeError or ArgumentValueError for what is no shape or device, MissingDependencyError
    where the package that reaches the device is absent.
    """
    dims, kind, place = _shape(shape), DType(dtype), Device(device)
    if mem_scope not in (None, "global"):
        raise UnsupportedError(f"tensors in the memory scope `{mem_scope}` are not supported")
    if kind.scalable or kind.is_handle or kind.bits == 0:
        raise ArgumentTypeError(Diagnostic("argument-dtype", f"a tensor cannot hold `{kind}`"))
    item = _carrier(kind, place)
    count = math.prod(dims) * kind.lanes
    bits = packed_bits(kind)
    stored = ((count * bits + 7) // 8,) if bits else _dims(dims, kind)
    if place.kind == "cpu":
        data = memory.take(math.prod(stored) * item.itemsize)
        return Tensor(data.view(item).reshape(stored), dims, kind, place)
    from .drivers import driver

    return Tensor(driver(place.kind).empty(stored, item, place), dims, kind, place)


def tensor(
    source: Any, dtype: DType | str | None = None, device: Device | str = "cpu", mem_scope: Any = None
) -> Tensor:
    """A new tensor with the elements of an array, a nested list or a number."""
    import numpy as np

    if isinstance(source, Tensor):
        kind, shape = source.dtype, source.shape
    else:
        if not isinstance(source, np.ndarray) and is_tensor_like(source):
            return tensor(from_dlpack(source), dtype, device, mem_scope)
        source = np.asarray(source)
        kind, shape = DType(source.dtype), source.shape
    kind = kind if dtype is None else DType(dtype)
    return empty(shape, kind, device, mem_scope).copyfrom(source)


def from_dlpack(value: Any) -> Tensor:
    """A tensor that shares the memory of `value`: a tensor, a numpy array, anything with DLPack or a buffer.

    Raises ArgumentTypeError for other things and for arrays in foreign byte order.
    """
    import numpy as np

    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray):
        return _from_numpy(value)
    if type(value).__module__ == "pyopencl.array":
        return _from_device("opencl", value)
    if hasattr(value, "__dlpack__"):
        kind, _ = value.__dlpack_device__()
        if kind == 1:
            return _from_capsule(import_capsule(value))
        if kind == 2:
            return _from_device("cuda", value)
        where = Device((int(kind), 0))
        raise UnsupportedError(f"tensors on `{where}` are not supported; `cpu`, `cuda` and `opencl` are")
    try:
        return _from_numpy(np.asarray(memoryview(value)))
    except TypeError as err:
        message = f"a {type(value).__name__} shares memory neither through DLPack nor as a buffer"
        raise ArgumentTypeError(Diagnostic("argument-type", message)) from err


def _from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    if not array.dtype.isnative:
        help = ("convert it: `array.astype(array.dtype.newbyteorder('='))`",)
        message = f"the array's elements `{array.dtype}` are in foreign byte order"
        raise ArgumentTypeError(Diagnostic("byte-order", message, help=help))
    dtype = DType(array.dtype)
    if packed_bits(dtype):
        help = ("`loopwright.runtime.tensor(array)` makes a packed copy",)
        message = f"numpy keeps one `{dtype}` a byte, a tensor packs them; the memory cannot be shared"
        raise ArgumentTypeError(Diagnostic("argument-dtype", message, help=help))
    return Tensor(array, array.shape, dtype, Device("cpu"))


def _from_capsule(found: Imported) -> Tensor:
    import numpy as np

    dtype, shape = found.dtype, found.shape
    if dtype.bits == 6:
        raise ArgumentTypeError(
            Diagnostic("argument-dtype", f"packed elements of `{dtype}` are not supported")
        )
    bits = packed_bits(dtype)
    if not bits and dtype.lanes == 1:
        return Tensor(array_at(found, dtype.numpy()), shape, dtype, found.device)
    if bits and found.strides != compact(shape):
        raise ArgumentTypeError(
            Diagnostic("argument-strides", f"packed elements of `{dtype}` must be compact")
        )
    if bits:
        found.shape, found.strides = ((math.prod(shape) * dtype.lanes * bits + 7) // 8,), (1,)
        return Tensor(array_at(found, np.dtype(np.uint8)), shape, dtype, found.device)
    found.shape = _dims(shape, dtype)
    found.strides = (*[s * dtype.lanes for s in found.strides], 1)
    return Tensor(array_at(found, dtype.numpy()), shape, dtype, found.device)


def _from_device(kind: str, value: Any) -> Tensor:
    from .drivers import driver

    found = driver(kind)
    array, dtype = found.share(value)
    return Tensor(array, tuple(array.shape), dtype, found.device(array))


def is_tensor_like(value: Any) -> bool:
    """Whether `from_dlpack` could take it: a tensor, or an object with DLPack or a writable buffer."""
    if isinstance(value, Tensor) or hasattr(value, "__dlpack__"):
        return True
    if type(value).__module__ == "pyopencl.array":
        return True
    if isinstance(value, str | bytes | int | float | type(None)):
        return False
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def pack(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """Elements of 1, 2 or 4 bits as bytes, the first in the lowest bits; the last byte is filled with 0."""
    import numpy as np

    bits = packed_bits(dtype)
    per = 8 // bits
    codes = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    codes = np.concatenate([codes, np.zeros(-len(codes) % per, np.uint8)]).reshape(-1, per)
    shifted = codes << np.arange(0, 8, bits, dtype=np.uint8)
    packed: np.ndarray[Any, Any] = np.bitwise_or.reduce(shifted, axis=1).astype(np.uint8)
    return packed


def unpack(array: np.ndarray[Any, Any], count: int, dtype: DType) -> np.ndarray[Any, Any]:
    """The first `count` elements that `pack` made into these bytes."""
    import numpy as np

    bits = packed_bits(dtype)
    codes = (array[:, None] >> np.arange(0, 8, bits, dtype=np.uint8)) & ((1 << bits) - 1)
    codes = codes.reshape(-1)[:count].astype(np.uint8)
    if dtype.is_float:
        return codes.view(dtype.numpy())
    values = codes.view(np.int8)
    if dtype.is_int:
        sign = np.int8(1 << (bits - 1))
        values = (values ^ sign) - sign
    return values.astype(dtype.numpy())

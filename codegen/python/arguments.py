"""Python arguments as memory of a running program, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...dtype import DType
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    Diagnostic,
    DTypeError,
    LoopwrightError,
    suggest,
)
from ...ir import BufferType, PointerType, PrimFunc, PrimType, TupleType, Type, Var
from ...runtime import Device, Tensor, from_dlpack, is_tensor_like
from .memory import Pointer, Storage, View
from .program import place, takes


def in_order(func: PrimFunc, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The arguments in the order of the parameters. Raises ArgumentTypeError where they do not match."""
    names = [p.name for p in func.params]
    name = str(func.attrs.get("global_symbol", "the function"))
    if len(args) > len(names):
        message = f"`{name}` takes {len(names)} arguments but {len(args)} were given"
        raise ArgumentTypeError(Diagnostic("argument-count", message, func.span))
    # Names are hints and may repeat: a keyword means the first parameter of its name that has no value yet.
    found: dict[int, Any] = dict(enumerate(args))
    for key, value in kwargs.items():
        places = [k for k, n in enumerate(names) if n == key]
        if not places:
            message = f"`{name}` has no parameter `{key}`"
            raise ArgumentTypeError(Diagnostic("argument-name", message, func.span, help=suggest(key, names)))
        free = [k for k in places if k not in found]
        if not free:
            raise ArgumentTypeError(
                Diagnostic("argument-name", f"`{name}` got two values for `{key}`", func.span)
            )
        found[free[0]] = value
    missing = [n for k, n in enumerate(names) if k not in found]
    if missing:
        message = f"`{name}` misses {', '.join([f'`{n}`' for n in missing])}"
        raise ArgumentTypeError(Diagnostic("argument-count", message, func.span))
    return [found[k] for k in range(len(names))]


class Arguments:
    """The runtime values of the arguments of one call; `give_back` ends it."""

    def __init__(self, func: PrimFunc, values: Sequence[Any]) -> None:
        self._copies: list[tuple[Any, Any]] = []
        self._arrays: list[Any] = []
        self._function = str(func.attrs.get("global_symbol", "main"))
        self.values = [self._value(i, p, v) for i, (p, v) in enumerate(zip(func.params, values))]

    def _value(self, number: int, var: Var, value: Any) -> Any:
        if isinstance(var.ty, BufferType):
            return self._buffer(number, var, value)
        if isinstance(var.ty, PointerType) and not isinstance(value, type) and is_tensor_like(value):
            tensor = self._tensor(value, var, place(self._function, number, var))
            return self._view(number, var, tensor).data
        return takes(var, value, number, self._function)

    def _buffer(self, number: int, var: Var, value: Any) -> View:
        if isinstance(value, type) or not (is_tensor_like(value) or isinstance(value, bytes)):
            where = place(self._function, number, var)
            message = f"{where} must be an array, not a {type(value).__name__}"
            raise ArgumentTypeError(Diagnostic("argument-type", message, var.span))
        return self._view(number, var, value)

    def _view(self, number: int, var: Var, value: Any) -> View:
        import numpy as np

        where = place(self._function, number, var)
        lanes = var.ty.dtype.lanes if isinstance(var.ty, BufferType) else 1
        if isinstance(value, np.ndarray):
            array, dtype, shape = value, self._dtype(value, var, where), value.shape
        else:
            tensor = self._tensor(value, var, where)
            array, dtype, shape = tensor.numpy(), tensor.dtype, tensor.shape
            if not np.may_share_memory(array, tensor._array):
                self._copies.append((tensor, array))
        if lanes != 1 and dtype.lanes == 1 and shape[-1:] == (lanes,):
            shape, dtype = shape[:-1], dtype.with_lanes(lanes)
        strides: tuple[int, ...] = ()
        if isinstance(var.ty, BufferType) and var.ty.strides and array.dtype.isnative and lanes == 1:
            return self._strided(var, array, dtype)
        array = self._straight(array, where)
        named = Var(var.name, BufferType(dtype, shape))
        return View(named, Pointer(Storage.of_array(array, var.name), 0), tuple(shape), strides)

    def _dtype(self, array: Any, var: Var, where: str) -> DType:
        try:
            return DType(array.dtype)
        except DTypeError:
            wanted = var.ty.dtype if isinstance(var.ty, BufferType) else "a number"
            message = f"{where} must have dtype `{wanted}`, not `{array.dtype}`"
            raise ArgumentTypeError(Diagnostic("argument-dtype", message, var.span)) from None

    def _tensor(self, value: Any, var: Var, where: str) -> Tensor:
        """The argument as a tensor on the CPU. Raises ArgumentTypeError or ArgumentValueError."""
        try:
            kind = value.__dlpack_device__() if hasattr(value, "__dlpack_device__") else (1, 0)
            device = Device((int(kind[0]), int(kind[1])))
            if device.kind == "cpu":
                return from_dlpack(value.detach() if getattr(value, "requires_grad", False) else value)
        except ArgumentValueError as err:
            raise ArgumentValueError(_named(where, err)) from err
        except LoopwrightError as err:
            raise ArgumentTypeError(_named(where, err)) from err
        except Exception as err:
            message = f"{where} cannot be used through DLPack or as a buffer: {err}"
            raise ArgumentTypeError(Diagnostic("argument-type", message, var.span)) from err
        message = f"{where} lies on `{device}`; the oracle runs on `cpu`"
        raise ArgumentValueError(Diagnostic("argument-device", message, var.span))

    def _straight(self, array: Any, where: str) -> Any:
        """The array itself, or a plain copy of it that is written back at the end."""
        import numpy as np

        plain = array.flags.c_contiguous and array.dtype.isnative and array.flags.aligned
        for other in self._arrays:
            copied = next((c for a, c in self._copies if a is other), None)
            if copied is not None and _same_memory(array, other):
                return copied
            if (copied is not None or not plain) and np.shares_memory(array, other):
                message = f"{where} overlaps another argument and is not contiguous"
                raise ArgumentValueError(Diagnostic("argument-overlap", message, help=("copy it first",)))
        self._arrays.append(array)
        if plain:
            return array
        whole = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("="), copy=True)
        whole.flags.writeable = array.flags.writeable
        self._copies.append((array, whole))
        return whole

    def _strided(self, var: Var, array: Any, dtype: DType) -> View:
        import numpy as np

        item = array.dtype.itemsize
        if any(s % item for s in array.strides):
            text = f"`{var.name}` has strides of {array.strides} bytes, no multiples of its {item} bytes"
            message = f"{self._function}: {text}"
            raise ArgumentValueError(Diagnostic("argument-strides", message, var.span))
        spread = [(n - 1) * s for n, s in zip(array.shape, array.strides) if n]
        low = sum([s for s in spread if s < 0])
        size = sum([s for s in spread if s > 0]) - low + item if array.size else 0
        if low < 0:
            corner = array[tuple([slice(None, None, -1 if s < 0 else 1) for s in array.strides])]
        else:
            corner = array
        flat = np.lib.stride_tricks.as_strided(
            corner, (size // item,), (item,), writeable=array.flags.writeable
        )
        steps = tuple([s // item for s in array.strides])
        named = Var(var.name, BufferType(dtype, array.shape))
        return View(named, Pointer(Storage.of_array(flat, var.name), -low), array.shape, steps)

    def give_back(self) -> None:
        """Write what the program left in copies back to the arguments."""
        for target, source in self._copies:
            if isinstance(target, Tensor):
                target.copyfrom(source)
            elif target.flags.writeable:
                target[...] = source


def _named(where: str, err: LoopwrightError) -> Diagnostic:
    """What an error says of an argument, with the argument named."""
    found = err.diagnostics[0]
    return replace(found, message=f"{where}: {found.message}")


def _same_memory(a: Any, b: Any) -> bool:
    return (a.ctypes.data, a.shape, a.strides, a.dtype) == (b.ctypes.data, b.shape, b.strides, b.dtype)


def result(value: Any, ty: Type) -> Any:
    """A returned value as Python sees it."""
    if isinstance(ty, TupleType) and isinstance(value, tuple):
        return tuple([result(v, t) for v, t in zip(value, ty.fields_)])
    if isinstance(ty, PrimType) and ty.dtype.is_bool and isinstance(value, int):
        return bool(value)
    return value

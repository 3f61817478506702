"""Calling functions of exported libraries: Python values to cells of TVM-FFI, errors back to exceptions."""

from __future__ import annotations

import builtins
import ctypes
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..dtype import DType
from ..errors import (
    ArgumentTypeError,
    ArgumentValueError,
    Diagnostic,
    DivisionError,
    LoopwrightError,
    OutOfBoundsError,
    suggest,
)
from .tensor import Tensor, from_dlpack, packed_bits

_ERRORS: Final[dict[str, type[Exception]]] = {
    "TypeError": ArgumentTypeError,
    "ValueError": ArgumentValueError,
    "ZeroDivisionError": DivisionError,
    "IndexError": OutOfBoundsError,
}
_INT, _FLOAT, _POINTER, _TENSOR, _TEXT = 1, 3, 4, 7, 8  # type indices
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)


class _Value(ctypes.Union):
    _fields_ = (("int", ctypes.c_int64), ("float", ctypes.c_double), ("pointer", ctypes.c_void_p))


class _Cell(ctypes.Structure):
    _anonymous_ = ("value",)
    _fields_ = (("kind", ctypes.c_int32), ("extra", ctypes.c_uint32), ("value", _Value))


@functools.cache
def _tensor_type(rank: int) -> Any:
    """A DLTensor of this rank with its shape and strides behind it."""

    class View(ctypes.Structure):
        _fields_ = (
            ("data", ctypes.c_uint64),
            ("device", ctypes.c_int32 * 2),
            ("rank", ctypes.c_int32),
            ("dtype", ctypes.c_uint32),
            ("shape", ctypes.c_uint64),
            ("strides", ctypes.c_uint64),
            ("offset", ctypes.c_uint64),
            ("extents", ctypes.c_int64 * rank),
            ("steps", ctypes.c_int64 * rank),
        )

    return View


_SHAPE: Final = 48  # where the shape begins


class Parameter:
    """A parameter as the library describes it; `rank` is None for scalars and pointers."""

    __slots__ = ("dtype", "lanes", "name", "rank", "shape", "strided", "written")

    def __init__(self, row: Mapping[str, Any], written: bool) -> None:
        self.name: str = row["name"]
        self.dtype = DType(row["dtype"])
        self.shape: list[str] = row.get("shape", [])
        self.rank = len(self.shape) if "shape" in row else None
        self.strided = bool(row.get("strided"))
        self.lanes = self.dtype.lanes
        self.written = written

    def __str__(self) -> str:
        shape = "" if self.rank is None else f"[{', '.join(self.shape)}]"
        return f"{self.name}: {self.dtype}{shape}"


class Function:
    """A function of a library. It takes what functions of `build` take, by position or by name."""

    def __init__(self, name: str, address: int, row: Mapping[str, Any], code: Any) -> None:
        self.__name__ = name
        self.params = [Parameter(p, k in row["written"]) for k, p in enumerate(row["params"])]
        self.result = DType(row["results"][0]) if row["results"] else None
        self._cells = _Cell * max(len(self.params), 1)
        self._call = _ENTRY(address)
        self._code = code  # it stays in the process as long as this

    def __repr__(self) -> str:
        return f"<Function {self.signature}>"

    @property
    def signature(self) -> str:
        """The function as people read it: `add(A: float32[n, 16], k: int32)`."""
        return f"{self.__name__}({', '.join([str(p) for p in self.params])})"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it. Raises what the function raises, and ArgumentTypeError for what it cannot take."""
        values = args if len(args) == len(self.params) and not kwargs else self._bind(args, kwargs)
        call = _Call(self)
        for k, (p, value) in enumerate(zip(self.params, values)):
            call.take(k, p, value)
        call.check_copies()
        cells, result = call.cells, _Cell(_TEXT)
        status = self._call(None, ctypes.addressof(cells), len(self.params), ctypes.addressof(result))
        call.copy_back()
        if status:
            raise _error(result, self.__name__)
        return None if self.result is None else _python(result, self.result)

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        names = [p.name for p in self.params]
        if len(args) > len(names):
            raise self._wrong(f"takes {len(names)} arguments but {len(args)} were given")
        bound = dict(zip(names, args))
        for key, value in kwargs.items():
            if key not in names:
                raise self._wrong(f"has no parameter `{key}`", "argument-name", suggest(key, names))
            if key in bound:
                raise self._wrong(f"got two values for `{key}`", "argument-name")
            bound[key] = value
        missing = [f"`{n}`" for n in names if n not in bound]
        if missing:
            raise self._wrong(f"misses {', '.join(missing)}")
        return [bound[n] for n in names]

    def _wrong(
        self, text: str, code: str = "argument-count", help: tuple[str, ...] = ()
    ) -> ArgumentTypeError:
        notes = (f"it is {self.signature}",)
        return ArgumentTypeError(Diagnostic(code, f"`{self.__name__}` {text}", notes=notes, help=help))


class _Call:
    """One call: the cells, what they point to, and the copies made for it."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.cells = function._cells()
        self.kept: list[Any] = []
        self.memory: dict[int, Any] = {}  # arrays on what the arguments lie in
        self.copies: dict[tuple[Any, ...], tuple[Tensor, Tensor]] = {}
        self.copied: dict[int, tuple[Any, ...]] = {}

    def problem(self, k: int, code: str, text: str) -> Diagnostic:
        """A diagnostic about an argument."""
        f = self.function
        message = f"{f.__name__}: argument {k + 1} ({f.params[k].name}) {text}"
        return Diagnostic(code, message, notes=(f"the function is {f.signature}",))

    def take(self, k: int, p: Parameter, value: Any) -> None:
        """Put an argument into its cell."""
        cell = self.cells[k]
        if p.rank is not None:
            cell.kind, cell.pointer = _TENSOR, self.tensor(k, p, value)
        elif p.dtype.is_handle:
            cell.kind, cell.pointer = _POINTER, self.pointer(k, value)
        else:
            self.number(k, p.dtype, value, cell)

    def number(self, k: int, dtype: DType, value: Any, cell: Any) -> None:
        """A scalar argument."""
        try:
            if dtype.is_float:
                cell.kind, cell.float = _FLOAT, float(value)
                return
            number = operator.index(value)
        except (TypeError, ValueError):
            text = f"must be a number for `{dtype}`, not a {type(value).__name__}"
            raise ArgumentTypeError(self.problem(k, "argument-type", text)) from None
        if not -(1 << 63) <= number < 1 << 63:
            text = f"is {number}, outside the range of `int64`"
            raise ArgumentValueError(self.problem(k, "argument-value", text))
        cell.kind, cell.int = _INT, number

    def pointer(self, k: int, value: Any) -> int:
        """An address, or that of a tensor's elements."""
        if value is None or isinstance(value, int):
            return int(value or 0)
        if isinstance(value, ctypes.c_void_p):
            return value.value or 0
        self.kept.append(self.shared(k, value))
        return int(self.kept[-1].data_ptr())

    def shared(self, k: int, value: Any) -> Tensor:
        """The memory of an argument as a tensor."""
        try:
            return from_dlpack(value)
        except LoopwrightError as err:
            text = f"must be a tensor: {err.diagnostics[0].message}"
            raise ArgumentTypeError(self.problem(k, "argument-type", text)) from None

    def tensor(self, k: int, p: Parameter, value: Any) -> int:
        """The address of a DLTensor on the memory of an argument, or on a copy without gaps."""
        plain = _compact_array(value)
        if plain is not None and p.lanes == 1:
            dtype, address, readonly = plain
            view = self.view(address, value.shape, (), dtype, (1, 0))
            self.memory[k] = value
        else:
            used = given = self.shared(k, value)
            readonly = given.readonly
            here = given.device.kind == "cpu"
            if here and not (p.strided or given.is_contiguous() or (p.written and readonly)):
                used = self.copy(k, given)
            self.kept.append(used)
            if here:
                self.memory[k] = given._array
            shape, dtype, strides = used.shape, used.dtype, used.strides
            if p.lanes > 1 and dtype.lanes == 1 and shape[-1:] == (p.lanes,) and not packed_bits(dtype):
                shape, dtype = shape[:-1], dtype.with_lanes(p.lanes)
                strides = tuple([s // p.lanes for s in strides[:-1]])
            view = self.view(used.data_ptr(), shape, strides, dtype, used.device.dlpack)
        if p.written and readonly:
            raise ArgumentValueError(self.problem(k, "argument-readonly", "is read-only, but is written to"))
        return view

    def view(
        self, data: int, shape: Sequence[int], strides: Sequence[int], dtype: DType, device: tuple[int, int]
    ) -> int:
        """The address of a new DLTensor; without strides it is one without gaps."""
        rank = len(shape)
        word = dtype.code | dtype.bits << 8 | dtype.lanes << 16
        made = _tensor_type(rank)(data, device, rank, word, 0, 0, 0, tuple(shape))
        place = ctypes.addressof(made)
        made.shape = place + _SHAPE
        if strides:
            made.steps = tuple(strides)
            made.strides = place + _SHAPE + 8 * rank
        self.kept.append(made)
        return place

    # Copies of tensors with gaps

    def copy(self, k: int, given: Tensor) -> Tensor:
        """A copy without gaps; the same one for the same memory."""
        key = (given.data_ptr(), given.shape, given.strides, given.dtype)
        if key not in self.copies:
            self.copies[key] = (given, given.copy())
        self.copied[k] = key
        return self.copies[key][1]

    def check_copies(self) -> None:
        """A copied tensor must not share memory with a different argument, where one of them is written."""
        if not self.copied:
            return
        params = self.function.params
        for k, key in self.copied.items():
            for j, other in self.memory.items():
                if j == k or self.copied.get(j) == key or not (params[k].written or params[j].written):
                    continue
                if _share(self.memory[k], other):
                    text = f"is not contiguous and overlaps argument {j + 1} ({params[j].name})"
                    raise ArgumentValueError(self.problem(k, "argument-overlap", text))

    def copy_back(self) -> None:
        """What was written to copies goes to the arguments."""
        written = {key for k, key in self.copied.items() if self.function.params[k].written}
        for key in written:
            given, used = self.copies[key]
            given.copyfrom(used)


def _compact_array(value: Any) -> tuple[DType, int, bool] | None:
    """(dtype, address, whether it is read-only) of a numpy array without gaps; None for anything else."""
    import numpy as np

    if type(value) is not np.ndarray or not value.flags.c_contiguous:
        return None
    dtype = _dtype_of(value.dtype)
    if dtype is None:
        return None
    address, readonly = value.__array_interface__["data"]
    return dtype, address, readonly


@functools.cache
def _dtype_of(item: Any) -> DType | None:
    """The dtype of numpy's elements as they lie in memory; None where they need a closer look."""
    if not item.isnative or item.hasobject or item.names:
        return None
    try:
        found = DType(item)
    except LoopwrightError:
        return None
    return None if packed_bits(found) else found


def _share(a: Any, b: Any) -> bool:
    """Whether two arrays have a byte in common; columns that interleave have none."""
    import numpy as np

    try:
        return bool(np.shares_memory(a, b, max_work=10_000))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _python(cell: Any, dtype: DType) -> Any:
    """The Python value of a result."""
    if dtype.is_handle:
        return cell.pointer or 0
    if dtype.is_float:
        return cell.float
    if dtype.is_bool:
        return bool(cell.int)
    return cell.int % (1 << 64) if dtype.is_uint else cell.int


def _error(cell: Any, name: str) -> Exception:
    """The exception of a failing call, from the text in its result."""
    if cell.kind != _TEXT or not cell.pointer:
        return MemoryError(f"`{name}` failed, and there was no memory to say why")
    kind, _, text = ctypes.string_at(cell.pointer).decode(errors="replace").partition(": ")
    _free()(cell.pointer)
    found = _ERRORS.get(kind) or getattr(builtins, kind, RuntimeError)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        found = RuntimeError
    try:
        return found(text)
    except TypeError:  # a kind that wants more than a message
        return RuntimeError(text)


@functools.cache
def _free() -> Callable[[int], None]:
    free = ctypes.CDLL(None).free
    free.argtypes, free.restype = [ctypes.c_void_p], None
    found: Callable[[int], None] = free
    return found

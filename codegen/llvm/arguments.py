"""Calls that the generated wrapper leaves to Python: conversions, checks, precise errors.

`Entry.slow` binds and checks the arguments, makes compact native copies where an array's layout
is not what the code expects (and copies results back), and calls the machine code through ctypes.
It is also the whole calling path where generated CPython functions are not possible.
"""

from __future__ import annotations

import ctypes
import operator
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...dtype import DType
from ...errors import ArgumentTypeError, ArgumentValueError, Diagnostic, suggest
from ...ir import (
    Add,
    BufferType,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    PointerType,
    PrimType,
    Sub,
    Type,
    Var,
)
from ...runtime import Device, Tensor, from_dlpack
from .exchange import remember
from .library import Library
from .signature import Signature, dtype_of, slot_format

_CPU_DEVICES = (1, 3, 11)  # DLPack: CPU, pinned host, managed


class Entry:
    """One function of a library as Python calls it."""

    def __init__(self, sig: Signature, library: Library, overlapping: Callable[[], Library]) -> None:
        self.sig = sig
        self.names = sig.names
        self.library = library
        facts = library.meta["functions"][sig.name]
        self.written = frozenset(facts["written"])
        self.conflicts = frozenset(facts["conflicts"])
        self._overlapping = overlapping
        self.fast: Callable[..., Any] | None = None

    def fail(self, site: int, a: int, b: int) -> Any:
        """Raise what a failing call reports."""
        raise self.library.error(site, a, b)

    def slow(self, *args: Any, **kwargs: Any) -> Any:
        """A call with any arguments. Raises ArgumentTypeError or ArgumentValueError naming the argument."""
        if self.fast is not None and not kwargs:
            plain = [_array_of(a) for a in args]
            if any(map(operator.is_not, plain, args)):
                return self.fast(*plain)
        call = _Call(self, self.bind(args, kwargs))
        library = self._overlapping() if call.overlapping() else self.library
        return call.run(library)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The arguments in order of the parameters."""
        names = self.names
        if len(args) > len(names):
            raise self.count_error(f"takes {len(names)} arguments but {len(args)} were given")
        bound = dict(zip(names, args))
        for key, value in kwargs.items():
            if key not in names:
                raise self.count_error(f"has no parameter `{key}`", "argument-name", suggest(key, names))
            if key in bound:
                raise self.count_error(f"got two values for `{key}`", "argument-name")
            bound[key] = value
        missing = [n for n in names if n not in bound]
        if missing:
            raise self.count_error(f"misses {', '.join([f'`{n}`' for n in missing])}")
        return [bound[n] for n in names]

    def count_error(
        self, text: str, code: str = "argument-count", help: tuple[str, ...] = ()
    ) -> ArgumentTypeError:
        notes = (f"it is {describe(self.sig)}",)
        return ArgumentTypeError(Diagnostic(code, f"`{self.sig.name}` {text}", notes=notes, help=help))


def _array_of(value: Any) -> Any:
    """The array inside a tensor of ours, which the fast path reads; other values as they are."""
    if type(value) is not Tensor or value.device.kind != "cpu":
        return value
    array = value._array
    return array if array.dtype == value.dtype.numpy() and array.shape == value.shape else value


def describe(sig: Signature) -> str:
    """The signature as people read it: `add(A: float32[n, 16], k: int32)`."""
    return f"{sig.name}({', '.join([f'{n}: {describe_type(p.ty)}' for n, p in zip(sig.names, sig.params)])})"


def describe_type(ty: Type) -> str:
    """A parameter's type as people read it."""
    if isinstance(ty, BufferType):
        return f"{ty.dtype}[{', '.join([describe_extent(n) for n in ty.shape])}]"
    return str(ty.dtype) if isinstance(ty, PrimType) else "handle"


def describe_extent(e: Expr) -> str:
    """A size as people read it."""
    if isinstance(e, IntImm):
        return str(e.value)
    if isinstance(e, Var):
        return e.name
    if isinstance(e, Cast):
        return describe_extent(e.value)
    signs = {"Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "FloorMod": "%"}
    sign = signs.get(type(e).__name__)
    if sign is None:
        return "..."
    return f"{describe_extent(e.a)} {sign} {describe_extent(e.b)}"  # type: ignore[attr-defined]


def evaluate(e: Expr, known: Mapping[Var, int]) -> int | None:
    """The value of a size, or None where a symbol is unknown or the form is not arithmetic."""
    if isinstance(e, IntImm):
        return e.value
    if isinstance(e, Var):
        return known.get(e)
    if isinstance(e, Cast):
        return evaluate(e.value, known)
    if not isinstance(e, Add | Sub | Mul | FloorDiv | FloorMod | Min | Max):
        return None
    a, b = evaluate(e.a, known), evaluate(e.b, known)
    if a is None or b is None:
        return None
    if isinstance(e, FloorDiv | FloorMod):
        if b == 0:
            return None
        return a // b if isinstance(e, FloorDiv) else a % b
    if isinstance(e, Min | Max):
        return min(a, b) if isinstance(e, Min) else max(a, b)
    return a + b if isinstance(e, Add) else a - b if isinstance(e, Sub) else a * b


class _Call:
    """One call: checked arguments, the arrays made for it, and the slots for the machine code."""

    def __init__(self, entry: Entry, values: list[Any]) -> None:
        self.entry = entry
        self.sig = entry.sig
        self.known: dict[Var, int] = {}
        self.later: list[tuple[int, str, Expr, int]] = []
        self.given: dict[int, Any] = {}
        self.used: dict[int, Any] = {}
        self.packed: dict[Var, bytes] = {}
        self.alive: list[Any] = []
        self.unpacked: dict[int, tuple[Any, Any]] = {}
        for k, (p, value) in enumerate(zip(self.sig.params, values)):
            self.take(k, p, value)
        self.compare_later()
        self.lay_out()

    # Checks

    def problem(self, k: int, code: str, text: str, *help: str) -> Diagnostic:
        p = self.sig.params[k]
        return Diagnostic(
            code,
            f"{self.sig.name}: argument {k + 1} ({self.entry.names[k]}) {text}",
            p.span,
            notes=(f"the function is {describe(self.sig)}",),
            help=help,
        )

    def take(self, k: int, p: Var, value: Any) -> None:
        if isinstance(p.ty, BufferType):
            self.array(k, p.ty, self.as_array(k, value))
        elif isinstance(p.ty, PointerType):
            self.packed[p] = struct.pack("=Q", self.pointer(k, value))
        else:
            dtype = p.dtype
            if dtype.is_float:
                self.packed[p] = pack_float(dtype, self.real(k, value, dtype))
            else:
                number = self.integer(k, value, dtype)
                self.packed[p] = struct.pack("=" + slot_format(dtype), number)
                self.known[p] = number

    def integer(self, k: int, value: Any, dtype: DType) -> int:
        kind = type(value).__name__
        try:
            number = int(value) if kind in ("bool", "bool_") else operator.index(value)
        except TypeError:
            raise ArgumentTypeError(
                self.problem(k, "argument-type", f"must be an int for `{dtype}`, not a {kind}")
            ) from None
        if dtype.is_bool:
            return int(number != 0)
        if not dtype.min_value <= number <= dtype.max_value:
            raise ArgumentValueError(
                self.problem(k, "argument-value", f"is {number}, outside the range of `{dtype}`")
            )
        return number

    def real(self, k: int, value: Any, dtype: DType) -> float:
        if isinstance(value, complex) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
            text = f"must be a number for `{dtype}`, not a {type(value).__name__}"
            raise ArgumentTypeError(self.problem(k, "argument-type", text))
        try:
            return float(value)
        except OverflowError:
            raise ArgumentValueError(
                self.problem(k, "argument-value", f"is outside the range of `{dtype}`")
            ) from None
        except (TypeError, ValueError) as err:
            text = f"must be a number for `{dtype}`, not a {type(value).__name__}"
            raise ArgumentTypeError(self.problem(k, "argument-type", text)) from err

    def pointer(self, k: int, value: Any) -> int:
        if value is None:
            return 0
        if isinstance(value, int):
            if not 0 <= value < 1 << 64:
                raise ArgumentValueError(self.problem(k, "argument-value", "is no address"))
            return int(value)
        if isinstance(value, ctypes.c_void_p):
            return value.value or 0
        if isinstance(value, ctypes._Pointer | ctypes.Array | ctypes.Structure | ctypes._SimpleCData):
            self.alive.append(value)
            if isinstance(value, ctypes._Pointer):
                return ctypes.cast(value, ctypes.c_void_p).value or 0
            return ctypes.addressof(value)
        array = self.as_array(k, value)
        self.alive.append(array)
        return int(array.__array_interface__["data"][0])

    def as_array(self, k: int, value: Any) -> Any:
        """A numpy array on the argument's memory."""
        if isinstance(value, np.ndarray):
            return value
        if hasattr(value, "__dlpack__") and not isinstance(value, type):
            return self.from_dlpack(k, value)
        if hasattr(value, "__cuda_array_interface__"):
            raise self.device_error(k, "a GPU")
        if type(value).__module__ == "pyopencl.array":
            raise self.device_error(k, "an OpenCL device")
        try:
            view = memoryview(value)
        except (TypeError, BufferError):
            text = f"must be an array, not a {type(value).__name__}"
            raise ArgumentTypeError(
                self.problem(
                    k,
                    "argument-type",
                    text,
                    "pass a numpy array or an object with DLPack or the buffer protocol",
                )
            ) from None
        try:
            return np.asarray(view)
        except (TypeError, ValueError) as err:
            text = f"has the element format `{view.format}`, which no dtype has"
            raise ArgumentTypeError(self.problem(k, "argument-dtype", text)) from err

    def from_dlpack(self, k: int, value: Any) -> Any:
        device = getattr(value, "__dlpack_device__", None)
        try:
            kind, number = device() if device is not None else (1, 0)
            place = None if int(kind) in _CPU_DEVICES else Device((int(kind), int(number)))
        except Exception as err:
            text = f"lies on a device that it does not name rightly: {err}"
            raise ArgumentTypeError(self.problem(k, "argument-type", text)) from err
        if place is not None:
            raise self.device_error(k, f"`{place}`")
        try:
            tensor = from_dlpack(value.detach() if getattr(value, "requires_grad", False) else value)
            array = self.elements(k, tensor)
        except Exception as err:
            text = f"cannot be used through DLPack: {err}"
            raise ArgumentTypeError(self.problem(k, "argument-type", text)) from err
        self.alive += [tensor, value]
        remember(self.entry.library, type(value))
        return array

    def elements(self, k: int, tensor: Any) -> Any:
        """The elements as an array: the tensor's own memory, or a copy where it packs them into bytes.

        A tensor that is given twice has one copy.
        """
        if tensor.dtype.bits not in (1, 2, 4):
            return tensor.numpy()
        place = (tensor.data_ptr(), tensor.shape, tensor.dtype)
        for other, array in self.unpacked.values():
            if (other.data_ptr(), other.shape, other.dtype) == place:
                self.unpacked[k] = tensor, array
                return array
        array = tensor.numpy()
        array.flags.writeable = not tensor.readonly
        self.unpacked[k] = tensor, array
        return array

    def device_error(self, k: int, where: str) -> ArgumentValueError:
        text = f"lies on {where}; this function was compiled for the CPU"
        return ArgumentValueError(self.problem(k, "argument-device", text, "copy the array to the CPU first"))

    def array(self, k: int, ty: BufferType, a: Any) -> None:
        """Check dtype, rank and shape; bind the symbols that stand alone."""
        expected = ty.dtype.numpy()
        if a.dtype != expected and a.dtype.newbyteorder("=") != expected:
            text = f"must have dtype `{ty.dtype.element}`, not `{a.dtype}`"
            raise ArgumentTypeError(self.problem(k, "argument-dtype", text, "convert it with .astype(...)"))
        lanes = (ty.dtype.lanes,) if ty.dtype.lanes > 1 else ()
        rank = len(ty.shape) + len(lanes)
        if a.ndim != rank:
            raise ArgumentValueError(
                self.problem(
                    k, "argument-rank", f"must have {rank} dimensions, not {a.ndim} (its shape is {a.shape})"
                )
            )
        if lanes and a.shape[-1] != lanes[0]:
            text = f"must have a last dimension of {lanes[0]} lanes, not {a.shape[-1]}"
            raise ArgumentValueError(self.problem(k, "argument-shape", text))
        if k in self.entry.written and not a.flags.writeable:
            text = "is read-only, but the function writes to it"
            raise ArgumentValueError(self.problem(k, "argument-readonly", text, "pass a writeable copy"))
        for d, (extent, value) in enumerate(zip(ty.shape, a.shape)):
            self.size(k, f"shape[{d}]", extent, value)
        if isinstance(ty.elem_offset, Var):
            self.known.setdefault(ty.elem_offset, 0)
        if ty.strides:
            self.strides(k, ty, a)
        self.given[k] = a

    def strides(self, k: int, ty: BufferType, a: Any) -> None:
        size = ty.dtype.numpy().itemsize * ty.dtype.lanes
        for d, (step, value) in enumerate(zip(ty.strides, a.strides)):
            if value % size:
                text = f"has strides[{d}] of {value} bytes, no multiple of the element's {size}"
                raise ArgumentValueError(self.problem(k, "argument-strides", text))
            if a.shape[d] > 1 or (isinstance(step, Var) and step not in self.known):
                self.size(k, f"strides[{d}]", step, value // size)
        native = a.dtype.isnative and a.flags.aligned
        if not native:
            text = "has strides of its own and must be aligned and in native byte order"
            raise ArgumentValueError(self.problem(k, "argument-strides", text))

    def size(self, k: int, place: str, expected: Expr, value: int) -> None:
        if isinstance(expected, Var) and expected not in self.known and expected in self.sig.symbols:
            dtype = expected.dtype
            if not dtype.min_value <= value <= dtype.max_value:
                text = f"has {place} {value}, outside the range of `{dtype}`"
                raise ArgumentValueError(self.problem(k, "argument-shape", text))
            self.known[expected] = value
        else:
            self.later.append((k, place, expected, value))

    def compare_later(self) -> None:
        for k, place, expected, value in self.later:
            wanted = evaluate(expected, self.known)
            if wanted is None:
                text = f"has a {place} of `{describe_extent(expected)}`, which the arguments do not determine"
                raise ArgumentValueError(self.problem(k, "argument-shape", text))
            if wanted != value:
                shown = describe_extent(expected)
                more = "" if isinstance(expected, IntImm) else f" (`{shown}`)"
                code = "argument-strides" if place.startswith("strides") else "argument-shape"
                raise ArgumentValueError(
                    self.problem(k, code, f"must have {place} {wanted}{more}, not {value}")
                )
        for v in self.sig.symbols:
            if v not in self.known:
                raise ArgumentValueError(
                    Diagnostic(
                        "argument-value", f"{self.sig.name}: the arguments do not determine `{v.name}`"
                    )
                )

    # Memory

    def lay_out(self) -> None:
        """Use each array's own memory, or a compact native copy where its layout is another."""
        copies: dict[tuple[Any, ...], Any] = {}
        for k, a in self.given.items():
            ty = self.sig.params[k].ty
            assert isinstance(ty, BufferType)
            if ty.strides or (a.flags.c_contiguous and a.flags.aligned and a.dtype.isnative):
                self.used[k] = a
                continue
            self.check_apart(k, a)
            same = (a.__array_interface__["data"][0], a.shape, a.strides, a.dtype.str)
            if same not in copies:
                copies[same] = np.ascontiguousarray(a, dtype=ty.dtype.numpy()).reshape(a.shape)
                if copies[same] is a:
                    copies[same] = a.copy()
            self.used[k] = copies[same]

    def check_apart(self, k: int, a: Any) -> None:
        """A copied array must not share memory with a different argument that the call could change."""
        for j, other in self.given.items():
            same = a.shape == other.shape and a.strides == other.strides and a.dtype == other.dtype
            same = same and a.__array_interface__["data"][0] == other.__array_interface__["data"][0]
            if j == k or same or not (j in self.entry.conflicts or k in self.entry.conflicts):
                continue
            if _share_memory(a, other):
                text = f"is not contiguous and overlaps argument {j + 1} ({self.entry.names[j]})"
                raise ArgumentValueError(
                    self.problem(k, "argument-overlap", text, "pass a copy of one of them")
                )

    def overlapping(self) -> bool:
        """Whether a written array shares memory with another one."""
        arrays = list(self.used.items())
        for i, (k, a) in enumerate(arrays):
            for j, b in arrays[i + 1 :]:
                if (k in self.entry.conflicts or j in self.entry.conflicts) and np.may_share_memory(a, b):
                    return True
        return False

    # The call

    def run(self, library: Library) -> Any:
        sig = self.sig
        slots = bytearray(8 * (len(sig.params) + len(sig.symbols) + len(sig.results)) or 8)
        for k, v in enumerate((*sig.params, *sig.symbols)):
            data = self.packed.get(v)
            if data is None and isinstance(v.ty, BufferType):
                data = struct.pack("=Q", self.start(k, v.ty))
            elif data is None:
                data = struct.pack("=" + slot_format(v.dtype), self.known[v])
            slots[8 * k : 8 * k + len(data)] = data
        report = (ctypes.c_int64 * 4)()
        buffer = (ctypes.c_char * len(slots)).from_buffer(slots)
        status = library.raw[sig.name](ctypes.addressof(buffer), ctypes.addressof(report))
        for k, used in self.used.items():
            given = self.given[k]
            if (
                used is not given
                and given.flags.writeable
                and (k in self.entry.written or k in self.entry.conflicts)
            ):
                given[...] = used
        for k, (tensor, array) in self.unpacked.items():
            if k in self.entry.written or k in self.entry.conflicts:
                tensor.copyfrom(array)
        if status:
            raise library.error(report[0], report[1], report[2])
        return self.results(slots)

    def start(self, k: int, ty: BufferType) -> int:
        """The address that stands for element 0 of the buffer's offset."""
        address = int(self.used[k].__array_interface__["data"][0])
        offset = 0 if ty.elem_offset is None else evaluate(ty.elem_offset, self.known) or 0
        return (address - offset * ty.dtype.numpy().itemsize * ty.dtype.lanes) % (1 << 64)

    def results(self, slots: bytearray) -> Any:
        first = len(self.sig.params) + len(self.sig.symbols)
        values: list[Any] = []
        for k, ty in enumerate(self.sig.results):
            dtype = dtype_of(ty)
            form = "Q" if dtype.is_handle else slot_format(dtype)
            value = struct.unpack_from("=" + form, slots, 8 * (first + k))[0]
            values.append(bool(value) if dtype.is_bool else value)
        if self.sig.tuple_result:
            return tuple(values)
        return values[0] if values else None


def _share_memory(a: Any, b: Any) -> bool:
    """Whether two arrays have a byte in common; columns that interleave have none."""
    try:
        return bool(np.shares_memory(a, b, max_work=10_000))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def pack_float(dtype: DType, value: float) -> bytes:
    """A float argument as machine code takes it, rounded to its dtype."""
    if slot_format(dtype) == "d":
        return struct.pack("=d", value)
    if dtype.bits < 32:
        value = dtype.round(value)
    return bytes(ctypes.c_float(value))

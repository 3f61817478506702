"""A compiled module in this process: its functions, errors and calls back into Python."""

from __future__ import annotations

import builtins
import ctypes
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...dtype import DType
from ...errors import (
    ArgumentTypeError,
    CodegenError,
    Diagnostic,
    DivisionError,
    ExecutionError,
    InternalError,
    OutOfBoundsError,
    Span,
)
from ...runtime import from_dlpack, get_global_func
from ...runtime.threads import number
from . import jit
from .signature import Signature, slot_format
from .sites import failure
from .support import support

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p)
RAW = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


class Library:
    """Loaded object code with everything its process-dependent pointers refer to."""

    def __init__(
        self,
        image: bytes,
        meta: Mapping[str, Any],
        *,
        spans: Callable[[bool], Sequence[Span | None]],
        overlapping: bool = False,
        threads: int = 0,
    ) -> None:
        self.meta = meta
        self._spans = spans
        self._variant = overlapping
        names = list(meta["functions"])
        kinds = ("raw", "entry") if overlapping else ("raw",) if meta["bare"] else ("raw", "py")
        jit.load_libraries(meta["libraries"])
        self._check_symbols()
        symbols = ["lw.slots", *[f"lw.{kind}.{n}" for n in names for kind in kinds]]
        self.code = jit.Loaded(image, symbols)
        self.raw = {n: RAW(self.code.address(f"lw.raw.{n}")) for n in names}
        self.kept: list[Any] = []
        self._pending = threading.local()
        self._callback = CALLBACK(self._called_back)
        for k, what in enumerate(meta["slots"]):
            if what[0] == "callback":
                self.code.set_pointer(k, ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
            elif what[0] in ("type", "dtype", "none", "true", "false"):
                self.refer(k, python_object(what))
            elif what[0] in ("launch", "take", "give"):
                self.code.set_pointer(k, support().addresses[what[0]])
            elif what[0] == "threads":
                number()  # a wrong count is reported now; helping threads have nobody to tell
                self.code.set_pointer(k, threads)

    def _check_symbols(self) -> None:
        """Raise CodegenError at the call of a symbol that the process does not have."""
        name = jit.missing_symbol(self.meta["externs"])
        if name is None:
            return
        site = self.meta["externs"][name]
        function = self.meta["sites"][site - 1]["function"]
        raise CodegenError(
            Diagnostic(
                "unknown-symbol",
                f"`{function}` calls the external function `{name}`, which this process does not have",
                self._spans(self._variant)[site - 1],
                help=('name its library: `T.func_attr({"link": ["lib....so"]})`',),
            )
        )

    def refer(self, index: int, value: Any) -> None:
        """Let a pointer of the code refer to an object, which is kept alive."""
        self.kept.append(value)
        self.code.set_pointer(index, id(value))

    def index(self, *what: str) -> int | None:
        """The number of a process-dependent pointer, or None if the code does not use it."""
        try:
            return int(self.meta["slots"].index(list(what)))
        except ValueError:
            return None

    # Calls back into Python

    def _called_back(self, site: int, address: int) -> int:
        try:
            self._run_site(self.meta["sites"][site - 1], address)
        except BaseException as err:
            self._pending.error = err
            return 1
        return 0

    def _run_site(self, site: Mapping[str, Any], address: int) -> None:
        printing = site["kind"] == "print"
        args = _arguments(site["args"], address, array_at if printing else tensor_at)
        if printing:
            from ...runtime import print_values

            kinds = [DType(k[1]) if k[0] in ("scalar", "vector") else None for k in site["args"]]
            print_values(zip(args, kinds))
            return
        result = get_global_func(site["name"])(*args)
        if site["result"] != "void":
            _give(site, result, address)

    def error(self, site: int, a: int, b: int) -> BaseException:
        """The exception that a failing call reports."""
        if site == 0:
            pending: BaseException | None = getattr(self._pending, "error", None)
            self._pending.error = None
            return pending or InternalError("a call into Python failed without an error")
        return site_error(self.meta["sites"][site - 1], self._spans(self._variant)[site - 1], a, b)


def python_object(what: list[str]) -> Any:
    """The object that a pointer named by the emitter stands for."""
    if what[0] == "dtype":
        return DType(what[1]).numpy()
    if what[0] == "type":
        if what[1] == "ndarray":
            import numpy as np

            return np.ndarray
        return getattr(builtins, what[1])
    return {"none": None, "true": True, "false": False}[what[0]]


def _arguments(kinds: list[list[str]], address: int, tensor: Callable[..., Any]) -> list[Any]:
    out: list[Any] = []
    position = 0

    def read(form: str) -> Any:
        nonlocal position
        value = struct.unpack_from("=" + form, ctypes.string_at(address + 8 * position, 8))[0]
        position += 1
        return value

    def scalar(dtype: DType) -> Any:
        value = read(slot_format(dtype))
        return bool(value) if dtype.is_bool else value

    for kind in kinds:
        if kind[0] == "str":
            out.append(kind[1])
        elif kind[0] == "handle":
            out.append(ctypes.c_void_p(read("Q")))
        elif kind[0] == "scalar":
            out.append(scalar(DType(kind[1])))
        elif kind[0] == "vector":
            out.append([scalar(DType(kind[1])) for _ in range(int(kind[2]))])
        else:
            pointer = read("Q")
            shape = tuple([read("q") for _ in range(int(kind[2]))])
            out.append(tensor(pointer, shape, DType(kind[1])))
    return out


def tensor_at(pointer: int, shape: tuple[int, ...], dtype: DType) -> Any:
    """A tensor on memory of the running kernel; it must not be kept after the call."""
    return from_dlpack(array_at(pointer, shape, dtype))


def array_at(pointer: int, shape: tuple[int, ...], dtype: DType) -> Any:
    """The same as a numpy array."""
    import numpy as np

    kind = dtype.numpy()
    count = 1
    for n in shape:
        count *= n
    if count == 0:
        return np.zeros(shape, kind)
    memory = (ctypes.c_uint8 * (count * kind.itemsize)).from_address(pointer)
    return np.frombuffer(memoryview(memory), dtype=kind, count=count).reshape(shape)


def _give(site: Mapping[str, Any], result: Any, address: int) -> None:
    dtype = DType(site["result"])
    form = slot_format(dtype)
    if result is None and dtype.is_integral:
        result = 0
    try:
        if dtype.is_float:
            data = struct.pack("=" + form, dtype.round(float(result)))
        elif dtype.is_handle:
            data = struct.pack(
                "=q", result.value or 0 if isinstance(result, ctypes.c_void_p) else int(result or 0)
            )
        else:
            data = struct.pack("=" + form, dtype.wrap(int(result)))
    except (TypeError, ValueError, struct.error) as err:
        found = type(result).__name__
        raise ArgumentTypeError(
            Diagnostic(
                "packed-result",
                f"the packed function `{site['name']}` gave a {found}; `{dtype}` was expected",
            )
        ) from err
    ctypes.memmove(address, data, len(data))


def site_error(site: Mapping[str, Any], span: Span | None, a: int, b: int) -> BaseException:
    """The exception of a failing place in compiled code."""
    found = failure(site)
    text = found.text.format(a=a, b=b)
    if found.code:
        errors = {"ZeroDivisionError": DivisionError, "IndexError": OutOfBoundsError}
        return errors.get(found.error, ExecutionError)(Diagnostic(found.code, text, span))
    kind = getattr(builtins, found.error, RuntimeError)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = RuntimeError
    try:
        return kind(text)
    except TypeError:  # a kind that wants more than a message
        return RuntimeError(text)


def make_callable(
    library: Library, sig: Signature, slow: Callable[..., Any], owner: Any
) -> Callable[..., Any]:
    """The CPython function for `lw.py.<name>`, documented by its signature; it keeps `owner` alive."""

    class Method(ctypes.Structure):
        _fields_ = (
            ("name", ctypes.c_char_p),
            ("call", ctypes.c_void_p),
            ("flags", ctypes.c_int),
            ("doc", ctypes.c_char_p),
        )

    address = library.code.address(f"lw.py.{sig.name}")
    method = Method(sig.name.encode(), address, 0x82, f"{sig.name}({', '.join(sig.names)})\n--\n\n".encode())
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    library.kept.append(method)
    made = new(ctypes.addressof(method), owner, None)
    if not callable(made):
        raise CodegenError("CPython refused the generated function")
    return made

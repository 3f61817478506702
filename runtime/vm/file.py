"""Modules with graph functions in files: bytecode, constants, kernels, and the interpreter in machine code.

Constants are not read but mapped: they are in memory when they are used, and only once.
"""

from __future__ import annotations

import builtins
import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ...dtype import DType
from ...errors import Diagnostic, DivisionError, ExecutionError, OutOfBoundsError, Span
from . import native
from .bytecode import Executable
from .kernel import NativeKernel
from .layout import table
from .module import VMModule
from .text import parse_bytecode, print_bytecode

ALIGNMENT: Final = 64
CODE: Final = ("__loopwright_vm_table", "__loopwright_vm_inner", "__loopwright_vm_outer")
"""The symbols of the interpreter."""
KERNEL: Final = "__loopwright_kernel_"
_ERRORS: Final = {"ZeroDivisionError": DivisionError, "IndexError": OutOfBoundsError}


def packed(exe: Executable, start: int) -> tuple[list[Any], dict[str, Any]]:
    """The constants of an executable as buffers that stand at `start` of a file, and its description."""
    import numpy as np

    buffers: list[Any] = []
    tensors: dict[str, Any] = {}
    at = start
    for k, value in enumerate(exe.constants):
        if hasattr(value, "tobytes"):
            gap = -at % ALIGNMENT
            tensors[str(k)] = [str(DType(value.dtype)), list(value.shape), at + gap]
            buffers += [b"\0" * gap, np.ascontiguousarray(value).reshape(-1).view(np.uint8).data]
            at += gap + value.nbytes
    places = {str(pc): [s.file, s.line, s.column, s.end_line, s.end_column] for pc, s in exe.places.items()}
    text = print_bytecode(exe, inline=False)
    return buffers, {"bytecode": text, "tensors": tensors, "places": places}


def open_module(
    path: Path, data: Any, metadata: Mapping[str, Any], load: Callable[[Sequence[str]], Any]
) -> VMModule:
    """The module in a file with these bytes; `load` gives its code with these symbols."""
    described = metadata["vm"]
    kernels = described["kernels"]
    code = load([*CODE, *[KERNEL + name for name in kernels]])
    exe = executable_of(data, described)
    made = {name: Kernel(name, code.address(KERNEL + name), row, code) for name, row in kernels.items()}
    listed = {name: made[same] for name, same in described["like"].items()}
    interpreter = None if table() is None else native.Code(code.address, code)

    def native_kernel(name: str) -> NativeKernel | None:
        found = listed.get(name)
        return None if found is None or found.result is not None else found

    return VMModule(exe, listed, metadata=metadata, native=native_kernel, code=interpreter)


def executable_of(data: Any, described: Mapping[str, Any]) -> Executable:
    """The executable that `packed` described; constants lie in `data`."""
    import numpy as np

    tensors: dict[int, Any] = {}
    for k, (name, shape, offset) in described["tensors"].items():
        kind = DType(name).numpy()
        tensors[int(k)] = np.frombuffer(data, kind, math.prod(shape), offset).reshape(shape)
    given = [tensors.get(k) for k in range(max(tensors, default=-1) + 1)]
    exe = parse_bytecode(described["bytecode"], given)
    places = {int(pc): Span(*where) for pc, where in described["places"].items()}
    return Executable(exe.functions, exe.constants, exe.instructions, places)


class Kernel(NativeKernel):
    """A kernel of a file, as Python calls it too: on arrays and numbers.

    The rows of `facts["sites"]` say what a failing call reports: error, code, text, place.
    """

    def __init__(self, name: str, address: int, facts: Mapping[str, Any], owner: Any) -> None:
        super().__init__(address, facts, self.report, owner)
        self.__name__ = name
        self.result = None if facts["result"] is None else DType(facts["result"])
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(address)

    def __call__(self, *args: Any) -> Any:
        """Call it. Raises ArgumentTypeError and ArgumentValueError for arguments that do not fit."""
        slots = self.slots(self.__name__, args)
        report = (ctypes.c_int64 * 4)()
        if self._call(ctypes.addressof(slots), ctypes.addressof(report)):
            self.report(*report[:3])
        return None if self.result is None else self.returned(slots, self.result)

    def report(self, site: int, a: int, b: int) -> Any:
        """Raise what a failing place reports."""
        error, code, text, place = self.facts["sites"][site - 1]
        message = text.format(a=a, b=b)
        if code:
            span = None if place is None else Span(*place)
            raise _ERRORS.get(error, ExecutionError)(Diagnostic(code, message, span))
        kind = getattr(builtins, error, RuntimeError)
        raise kind(message)


__all__ = ["ALIGNMENT", "CODE", "KERNEL", "Kernel", "executable_of", "open_module", "packed"]

"""Kernels as the interpreter in machine code calls them: an address, and what arguments it takes."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...dtype import DType
from ...errors import ArgumentTypeError, ArgumentValueError, Diagnostic
from .checks import EQUAL, SAME, STORE
from .values import describe

if TYPE_CHECKING:
    from .native import Program

TENSOR: Final = 0
SCALARS: Final = {"int64": 1, "int32": 2, "float64": 3, "float32": 4, "bool": 5}
"""The kinds of scalar parameters that machine code converts."""
STORE_NARROW: Final = 5
"""As STORE, of a size that must fit into 32 bits."""
NUMBER, SLOT = 0, 1
OPERATORS: Final = {"+": 2, "-": 3, "*": 4, "//": 5, "%": 6, "min": 7, "max": 8}
"""Programs of sizes that are computed: pairs of a number here and an operand, the operators behind theirs."""
_COMPACT, _WRITEABLE = 0x101, 0x400


class NativeKernel:
    """A kernel at an address.

    `facts` is plain data: `params`, a row for each of [kind, dtype, codes of the sizes, whether it is
    written]; the number of `slots` of its arguments; `computed`, rows [parameter, axis, program] of sizes
    that are expressions; the dtype of the `result`, if it has one; `conflicts`, the parameters that must not
    share memory with others; `long`, whether other threads should run meanwhile.
    `fail` raises what a failing call reports.
    """

    def __init__(
        self, address: int, facts: Mapping[str, Any], fail: Callable[[int, int, int], Any], owner: Any
    ) -> None:
        self.address, self.facts, self.fail, self.owner = address, facts, fail, owner

    @property
    def count(self) -> int:
        """The number of parameters."""
        return len(self.facts["params"])

    def words(self, program: Program) -> int:
        """The address of the description, which lives as long as the program."""
        program.keep(self)
        rows: list[int] = []
        for kind, dtype, codes, written in self.facts["params"]:
            item = DType(dtype).numpy() if kind == TENSOR else None
            flags = _COMPACT | (_WRITEABLE if written else 0)
            element = 0 if item is None else program.keep(item)
            size = 0 if item is None else item.itemsize
            rows += [kind, element, len(codes) // 2, program.array(codes), flags, size]
        checks: list[int] = []
        for param, axis, code in self.facts["computed"]:
            checks += [param, axis, program.array(code), len(code) // 2]
        words: Sequence[int] = [
            self.address,
            self.count,
            max(self.facts["slots"], 1),
            program.array(rows),
            program.keep(self.fail),
            program.array(checks),
            len(self.facts["computed"]),
            int(self.facts["long"]),
            program.array(self.facts["conflicts"]),
            len(self.facts["conflicts"]),
        ]
        return program.array(words)

    # The same in Python

    def slots(self, name: str, args: Sequence[Any]) -> Any:
        """The slots of a call with these arguments. Raises where they do not fit."""
        rows = self.facts["params"]
        if len(args) != len(rows):
            text = f"the kernel `{name}` takes {len(rows)} arguments but {len(args)} were given"
            raise ArgumentTypeError(Diagnostic("argument-count", text))
        words = (ctypes.c_int64 * (self.facts["slots"] + 1))()
        for k, ((kind, dtype, codes, written), value) in enumerate(zip(rows, args)):
            what = f"{name}: argument {k + 1}"
            if kind == TENSOR:
                _tensor(what, words, k, value, DType(dtype).numpy(), codes, written)
            else:
                _scalar(what, words, k, value, kind)
        for k, axis, program in self.facts["computed"]:
            if args[k].shape[axis] != evaluate(program, words):
                wanted = evaluate(program, words)
                text = f"{name}: argument {k + 1} must have shape[{axis}] {wanted}, not {args[k].shape[axis]}"
                raise ArgumentValueError(Diagnostic("argument-shape", text))
        self.check_apart(name, args)
        return words

    def check_apart(self, name: str, args: Sequence[Any]) -> None:
        """Raise ArgumentValueError where what is written shares memory with another argument."""
        import numpy as np

        for k in self.facts["conflicts"]:
            for j, other in enumerate(args):
                if j != k and hasattr(other, "shape") and np.may_share_memory(args[k], other):
                    text = f"{name}: arguments {k + 1} and {j + 1} share memory, and one is written"
                    raise ArgumentValueError(Diagnostic("argument-overlap", text))

    def returned(self, words: Any, dtype: DType) -> Any:
        """The result of a call that used these slots."""
        form = _FORMS[str(dtype)]
        value = struct.unpack_from("=" + form, words, 8 * self.facts["slots"])[0]
        return bool(value) if dtype.is_bool else value


_FORMS: Final = {"int64": "q", "int32": "i", "float64": "d", "float32": "f", "bool": "b"}


def _tensor(
    what: str, words: Any, k: int, value: Any, item: Any, codes: Sequence[int], written: bool
) -> None:
    if not hasattr(value, "dtype") or value.dtype != item:
        text = f"{what} must be a tensor of `{DType(item)}`, not {describe(value)}"
        raise ArgumentTypeError(Diagnostic("argument-dtype", text))
    if value.ndim != len(codes) // 2:
        text = f"{what} must have {len(codes) // 2} dimensions, not {value.ndim}"
        raise ArgumentValueError(Diagnostic("argument-rank", text))
    if written and not value.flags.writeable:
        raise ArgumentValueError(Diagnostic("argument-readonly", f"{what} is read-only, but is written to"))
    for axis, (size, code, x) in enumerate(zip(value.shape, codes[::2], codes[1::2])):
        if code == STORE_NARROW and size >= 1 << 31:
            text = f"{what} has shape[{axis}] {size}, outside the range of `int32`"
            raise ArgumentValueError(Diagnostic("argument-shape", text))
        if code in (STORE, STORE_NARROW):
            words[x] = size
        elif code in (EQUAL, SAME) and size != (x if code == EQUAL else words[x]):
            wanted = x if code == EQUAL else words[x]
            text = f"{what} must have shape[{axis}] {wanted}, not {size}"
            raise ArgumentValueError(Diagnostic("argument-shape", text))
    words[k] = value.__array_interface__["data"][0]


def _scalar(what: str, words: Any, k: int, value: Any, kind: int) -> None:
    form = next(_FORMS[name] for name, number in SCALARS.items() if number == kind)
    try:
        struct.pack_into("=" + form, words, 8 * k, value)
    except struct.error as err:
        text = f"{what} must be a number that fits, not {value!r}"
        raise ArgumentTypeError(Diagnostic("argument-type", text)) from err


def evaluate(program: Sequence[int], slots: Any) -> int:
    """The size that a program computes from slots."""
    stack: list[int] = []
    for op, x in zip(program[::2], program[1::2]):
        if op in (NUMBER, SLOT):
            stack.append(x if op == NUMBER else slots[x])
            continue
        b, a = stack.pop(), stack.pop()
        stack.append(_COMPUTE[op](a, b))
    return stack[0]


_COMPUTE: Final[dict[int, Callable[[int, int], int]]] = {
    2: lambda a, b: a + b,
    3: lambda a, b: a - b,
    4: lambda a, b: a * b,
    5: lambda a, b: a // (b or 1),
    6: lambda a, b: a % (b or 1),
    7: min,
    8: max,
}


__all__ = ["NUMBER", "OPERATORS", "SCALARS", "SLOT", "STORE_NARROW", "TENSOR", "NativeKernel", "evaluate"]

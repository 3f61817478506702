"""Bytecode of the virtual machine: four instructions on registers, functions, constants.

A call names a function of the table; its arguments are registers, numbers, constants and functions.  Whatever
a model does besides running kernels is a function `vm.builtin.*` (see `builtins.py`).  Offsets of jumps
count from the jump itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from ...errors import Diagnostic, LoopwrightError, Span, suggest

REGISTER, IMMEDIATE, CONSTANT, FUNCTION = range(4)
VOID: Final = 1 << 54
"""The register of results that nobody wants, and of arguments that are nothing."""
VM: Final = VOID + 1
"""The register that holds the machine itself."""


class BytecodeError(LoopwrightError, ValueError, RuntimeError):
    """Bytecode that cannot be read, or that no machine can run; TVM's programs expect a RuntimeError."""

    default_code = "bytecode"


class Operand(NamedTuple):
    """An argument of a call: what it is, and its register or number or index."""

    kind: int
    value: int


class Call(NamedTuple):
    """`dst = func(args)`."""

    func: int
    args: tuple[Operand, ...]
    dst: int = VOID


class Ret(NamedTuple):
    """End the function with the value of a register."""

    value: int


class Goto(NamedTuple):
    """Go on so many instructions further."""

    offset: int


class If(NamedTuple):
    """Go on with the next instruction where the register is not 0, else so many further."""

    cond: int
    false_offset: int


Instruction: TypeAlias = Call | Ret | Goto | If


@dataclass(frozen=True, slots=True)
class Function:
    """A row of the function table.

    `kind` is "packed" for what is found by name (kernels, built-in and registered functions), "vm" for
    bytecode.  A "vm" function takes its arguments in registers 0, 1, ...; its code is
    `instructions[start:stop]` of the executable.
    """

    name: str
    kind: str = "packed"
    params: tuple[str, ...] = ()
    registers: int = 0
    start: int = 0
    stop: int = 0


@dataclass(frozen=True, eq=False)
class Executable:
    """Functions, constants and instructions.

    Constants are numpy arrays, tuples of integers (shapes), texts, dtypes, numbers and None.  `places` says
    where in the script an instruction comes from, by its number.
    """

    functions: tuple[Function, ...]
    constants: tuple[Any, ...]
    instructions: tuple[Instruction, ...]
    places: dict[int, Span] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check(self)

    def index(self, name: str) -> int:
        """The number of the function of this name that has bytecode. Raises an AttributeError without one."""
        for k, f in enumerate(self.functions):
            if f.name == name and f.kind == "vm":
                return k
        from ..registry import UnknownFunctionError

        known = self.entries
        raise UnknownFunctionError(
            Diagnostic(
                "unknown-function",
                f"the module has no function `{name}`",
                notes=(f"it has: {', '.join(known) or 'none'}",),
                help=suggest(name, known),
            )
        )

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the functions that have bytecode."""
        return tuple([f.name for f in self.functions if f.kind == "vm"])

    def body(self, function: Function) -> Iterator[tuple[int, Instruction]]:
        """The instructions of a function with their numbers."""
        for pc in range(function.start, function.stop):
            yield pc, self.instructions[pc]

    def as_text(self, constants: bool = False) -> str:
        """The bytecode as text, which `parse_bytecode` reads; large arrays only where `constants` asks."""
        from .text import print_bytecode

        return print_bytecode(self, constants)

    def as_python(self) -> str:
        """The bytecode as Python that builds it again with an `ExecBuilder`."""
        from .text import print_python

        return print_python(self)

    def stats(self) -> str:
        """How many functions, constants and instructions there are, and what they take."""
        from .text import statistics

        return statistics(self)


def check(exe: Executable) -> None:
    """Raise BytecodeError where a register, constant, function or jump does not exist."""
    for f in exe.functions:
        if f.kind == "vm":
            _check_function(exe, f)


def _check_function(exe: Executable, f: Function) -> None:
    def need(ok: bool, pc: int, text: str) -> None:
        if not ok:
            raise BytecodeError(
                Diagnostic("bytecode", f"`{f.name}`, instruction {pc - f.start}: {text}", exe.places.get(pc))
            )

    need(0 <= f.start < f.stop <= len(exe.instructions), f.start, "the function has no code")
    need(f.registers >= len(f.params), f.start, "the parameters need more registers than there are")
    for pc, one in exe.body(f):
        match one:
            case Call(func, args, dst):
                need(0 <= func < len(exe.functions), pc, f"there is no function {func}")
                need(dst in (VOID,) or 0 <= dst < f.registers, pc, f"there is no register %{dst}")
                for kind, value in args:
                    if kind == REGISTER:
                        known = value in (VOID, VM) or 0 <= value < f.registers
                        need(known, pc, f"there is no register %{value}")
                    elif kind == CONSTANT:
                        need(0 <= value < len(exe.constants), pc, f"there is no constant c[{value}]")
                    elif kind == FUNCTION:
                        need(0 <= value < len(exe.functions), pc, f"there is no function {value}")
            case Ret(value):
                need(value == VOID or 0 <= value < f.registers, pc, f"there is no register %{value}")
            case Goto(offset):
                need(f.start <= pc + offset < f.stop and offset != 0, pc, f"a jump by {offset} leaves it")
            case If(cond, offset):
                need(0 <= cond < f.registers, pc, f"there is no register %{cond}")
                need(f.start <= pc + offset < f.stop and offset != 0, pc, f"a jump by {offset} leaves it")
    need(isinstance(exe.instructions[f.stop - 1], Ret | Goto), f.stop - 1, "the function does not end in ret")


def same_bytecode(a: Executable, b: Executable) -> bool:
    """Whether two executables do the same: equal functions, instructions and constants."""
    return (
        a.functions == b.functions
        and a.instructions == b.instructions
        and len(a.constants) == len(b.constants)
        and all(same_constant(x, y) for x, y in zip(a.constants, b.constants))
    )


def same_constant(x: Any, y: Any) -> bool:
    """Whether two constants are equal, arrays in every bit."""
    if hasattr(x, "tobytes") and hasattr(y, "tobytes"):
        return bool(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes())
    return type(x) is type(y) and bool(x == y)


def offsets(code: Sequence[Instruction], start: int) -> set[int]:
    """The numbers of the instructions that jumps lead to; the first has the number `start`."""
    found = set()
    for k, one in enumerate(code):
        if isinstance(one, Goto):
            found.add(start + k + one.offset)
        elif isinstance(one, If):
            found.add(start + k + one.false_offset)
    return found


__all__ = [
    "CONSTANT",
    "FUNCTION",
    "IMMEDIATE",
    "REGISTER",
    "VM",
    "VOID",
    "BytecodeError",
    "Call",
    "Executable",
    "Function",
    "Goto",
    "If",
    "Instruction",
    "Operand",
    "Ret",
    "check",
    "same_bytecode",
    "same_constant",
]

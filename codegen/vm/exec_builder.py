"""Bytecode by hand.

ib = ExecBuilder()
with ib.function("main", num_inputs=2):
    ib.emit_call("add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
    ib.emit_ret(ib.r(2))
vm = VirtualMachine(ib.get())
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...dtype import DType
from ...errors import Diagnostic, Span
from ...runtime import Tensor
from ...runtime.vm.bytecode import (
    CONSTANT,
    FUNCTION,
    IMMEDIATE,
    REGISTER,
    VM,
    VOID,
    BytecodeError,
    Call,
    Executable,
    Function,
    Goto,
    If,
    Instruction,
    Operand,
    Ret,
)

_SMALL = 4096
"""Equal arrays of at most so many bytes share a constant."""


class ExecBuilder:
    """Collects functions of bytecode; `get()` gives the executable."""

    def __init__(self) -> None:
        self._functions: list[Function] = []
        self._index: dict[str, int] = {}
        self._constants: list[Any] = []
        self._known: dict[Any, int] = {}
        self._code: list[Instruction] = []
        self._places: dict[int, Span] = {}
        self._open: str | None = None

    @contextmanager
    def function(
        self, func_name: str, num_inputs: int = 0, param_names: Sequence[str] | None = None
    ) -> Iterator[None]:
        """A function whose instructions are emitted inside the `with`; inputs are registers 0, 1, ..."""
        if self._open is not None:
            raise BytecodeError(Diagnostic("bytecode", f"the function `{self._open}` is not complete yet"))
        names = tuple(param_names or [f"arg{k}" for k in range(num_inputs)])
        if len(names) != num_inputs:
            text = f"`{func_name}` has {num_inputs} inputs, but {len(names)} names"
            raise BytecodeError(Diagnostic("bytecode", text))
        number = self._function(func_name)
        if self._functions[number].kind == "vm":
            raise BytecodeError(Diagnostic("bytecode", f"there are two functions `{func_name}`"))
        start = len(self._code)
        self._open = func_name
        try:
            yield
        finally:
            self._open = None
        registers = self._renumber(start, num_inputs)
        self._functions[number] = Function(func_name, "vm", names, registers, start, len(self._code))

    def _renumber(self, start: int, inputs: int) -> int:
        """Number the registers of the last function in order of their use; how many there are.

        Raises BytecodeError where one is read that nothing wrote.
        """
        found = {k: k for k in range(inputs)}
        loops = any(isinstance(one, Goto) and one.offset < 0 for one in self._code[start:])

        def old(register: int) -> int:
            if register < VOID and register not in found and not loops:
                text = f"the register %{register} is read before anything is written to it"
                raise BytecodeError(Diagnostic("bytecode", text))
            return new(register)

        def new(register: int) -> int:
            return register if register >= VOID else found.setdefault(register, len(found))

        for k in range(start, len(self._code)):
            one = self._code[k]
            if isinstance(one, Call):
                args = [a._replace(value=old(a.value)) if a.kind == REGISTER else a for a in one.args]
                self._code[k] = Call(one.func, tuple(args), new(one.dst))
            elif isinstance(one, Ret):
                self._code[k] = Ret(old(one.value))
            elif isinstance(one, If):
                self._code[k] = If(old(one.cond), one.false_offset)
        return len(found)

    def declare(self, func_name: str) -> None:
        """Make a row for a function whose code comes later."""
        self._function(func_name)

    def _function(self, name: str) -> int:
        if name not in self._index:
            self._index[name] = len(self._functions)
            self._functions.append(Function(name))
        return self._index[name]

    # Arguments

    def r(self, register: int) -> Operand:
        """A register."""
        return Operand(REGISTER, register)

    def imm(self, value: int) -> Operand:
        """A number of at most 56 bits."""
        value = value.__index__()
        if not -(1 << 55) <= value < 1 << 55:
            raise BytecodeError(Diagnostic("bytecode", f"{value} does not fit into an argument"))
        return Operand(IMMEDIATE, value)

    def c(self, value: Any) -> Operand:
        """A constant: an array, a shape, a text, a dtype, a number or None."""
        return Operand(CONSTANT, self.constant(value))

    convert_constant = c

    def f(self, func_name: str) -> Operand:
        """A function of the table."""
        return Operand(FUNCTION, self._function(func_name))

    def vm_state(self) -> Operand:
        """The machine itself."""
        return Operand(REGISTER, VM)

    def void_arg(self) -> Operand:
        """Nothing."""
        return Operand(REGISTER, VOID)

    def constant(self, value: Any) -> int:
        """The number of a constant; equal ones that are no arrays share it."""
        if isinstance(value, Tensor):
            value = value.numpy()
        if isinstance(value, list):
            value = tuple(value)
        if isinstance(value, np.ndarray):
            small = value.nbytes <= _SMALL
            key: Any = (str(value.dtype), value.shape, value.tobytes()) if small else id(value)
        elif value is None or isinstance(value, str | int | float | bool | tuple | DType):
            key = (type(value), repr(value))
        else:
            raise BytecodeError(Diagnostic("bytecode", f"a {type(value).__name__} is no constant"))
        if key not in self._known:
            self._known[key] = len(self._constants)
            self._constants.append(value)
        return self._known[key]

    # Instructions

    def emit_call(
        self,
        name: str,
        args: Sequence[Any] | None = None,
        dst: Operand | int | None = None,
        span: Span | None = None,
    ) -> None:
        """Call a function; arguments that are no operands become constants."""
        given = tuple([a if isinstance(a, Operand) else self.c(a) for a in args or ()])
        target = VOID if dst is None else dst.value if isinstance(dst, Operand) else int(dst)
        self._emit(Call(self._function(name), given, target), span)

    def emit_ret(self, result: Operand | int, span: Span | None = None) -> None:
        """End the function with a value."""
        self._emit(Ret(result.value if isinstance(result, Operand) else int(result)), span)

    def emit_goto(self, pc_offset: int, span: Span | None = None) -> None:
        """Jump."""
        self._emit(Goto(pc_offset), span)

    def emit_if(self, cond: Operand | int, false_offset: int, span: Span | None = None) -> None:
        """Jump where the register is 0."""
        self._emit(If(cond.value if isinstance(cond, Operand) else int(cond), false_offset), span)

    def _emit(self, one: Instruction, span: Span | None) -> None:
        if self._open is None:
            raise BytecodeError(Diagnostic("bytecode", "instructions stand inside `with ib.function(...)`"))
        if span is not None:
            self._places[len(self._code)] = span
        self._code.append(one)

    # Patching of jumps

    @property
    def position(self) -> int:
        """The number of the next instruction."""
        return len(self._code)

    def patch(self, position: int, target: int) -> None:
        """Let the jump at a position lead to an instruction."""
        one = self._code[position]
        offset = target - position
        self._code[position] = If(one.cond, offset) if isinstance(one, If) else Goto(offset)

    def get(self) -> Executable:
        """The executable. Raises BytecodeError where something in it does not exist."""
        return Executable(
            tuple(self._functions), tuple(self._constants), tuple(self._code), dict(self._places)
        )


__all__ = ["ExecBuilder"]

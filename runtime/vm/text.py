"""Bytecode as text, and back.

    @main(x, y) registers 4:
      call  add               in: %0, %1, %3  dst: %void
      ret   %3
    @add packed
    c[0] = "float32"
    c[1] = tensor float32 (2,) "AACAPwAAAEA="

Arrays stand in base64 behind their shape; without it the reader must be given them.
"""

from __future__ import annotations

import ast
import base64
import math
import re
from collections.abc import Sequence
from typing import Any

from ...dtype import DType
from ...errors import Diagnostic, LoopwrightError, Span
from .bytecode import (
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

_SMALL = 64
"""Arrays of at most so many bytes are always written out."""


def print_bytecode(exe: Executable, constants: bool = False, inline: bool = True) -> str:
    """The text of an executable: with all `constants`, only small ones, or none (`inline` is false)."""
    most = (1 << 62 if constants else _SMALL) if inline else -1
    parts = []
    for f in exe.functions:
        if f.kind != "vm":
            parts.append(f"@{_name(f.name)} {f.kind}")
            continue
        head = f"@{_name(f.name)}({', '.join([_name(p) for p in f.params])}) registers {f.registers}:"
        parts.append("\n".join([head, *[f"  {_instruction(exe, one)}" for _, one in exe.body(f)]]))
    listed = [f"c[{k}] = {_constant(value, most)}" for k, value in enumerate(exe.constants)]
    return "\n\n".join(["\n".join(listed), *parts] if listed else parts) + "\n"


def _name(name: str) -> str:
    return name if re.fullmatch(r"[\w.$]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    inner = "".join([c if c.isprintable() and c not in '"\\' else _escape(c) for c in text])
    return f'"{inner}"'


def _escape(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    return "\\n" if c == "\n" else f"\\U{ord(c):08x}"


def _register(number: int) -> str:
    return {VOID: "%void", VM: "%vm"}.get(number, f"%{number}")


def _operand(exe: Executable, one: Operand) -> str:
    if one.kind == REGISTER:
        return _register(one.value)
    if one.kind == IMMEDIATE:
        return f"i{one.value}"
    return f"c[{one.value}]" if one.kind == CONSTANT else f"f[{_name(exe.functions[one.value].name)}]"


def _instruction(exe: Executable, one: Instruction) -> str:
    match one:
        case Call(func, args, dst):
            given = ", ".join([_operand(exe, a) for a in args])
            return f"call  {_name(exe.functions[func].name):16} in: {given:12} dst: {_register(dst)}"
        case Ret(value):
            return f"ret   {_register(value)}"
        case Goto(offset):
            return f"goto  {offset}"
        case If(cond, offset):
            return f"if    {_register(cond)}, {offset}"


def _constant(value: Any, most: int) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, DType):
        return f"dtype {value}"
    if isinstance(value, tuple):
        return f"shape ({', '.join([str(v) for v in value])})"
    if hasattr(value, "tobytes"):
        head = f"tensor {DType(value.dtype)} ({', '.join([str(n) for n in value.shape])})"
        if value.nbytes > most:
            return head
        return f'{head} "{base64.b64encode(value.tobytes()).decode()}"'
    return repr(value)


def print_python(exe: Executable) -> str:
    """Python that makes the bytecode again with `ib`, an `ExecBuilder`."""
    lines = []
    for f in exe.functions:
        if f.kind != "vm":
            continue
        lines.append(
            f"with ib.function({f.name!r}, num_inputs={len(f.params)}, param_names={list(f.params)}):"
        )
        for _, one in exe.body(f):
            lines.append(f"    {_python(exe, one)}")
    return "\n".join(lines) + "\n"


def _python(exe: Executable, one: Instruction) -> str:
    def operand(a: Operand) -> str:
        if a.kind == REGISTER:
            return {VOID: "ib.void_arg()", VM: "ib.vm_state()"}.get(a.value, f"ib.r({a.value})")
        if a.kind == IMMEDIATE:
            return f"ib.imm({a.value})"
        if a.kind == FUNCTION:
            return f"ib.f({exe.functions[a.value].name!r})"
        value = exe.constants[a.value]
        return f"ib.c({value!r})" if not hasattr(value, "tobytes") else f"ib.c(constants[{a.value}])"

    match one:
        case Call(func, args, dst):
            into = "" if dst == VOID else f", dst=ib.r({dst})"
            given = ", ".join([operand(a) for a in args])
            return f"ib.emit_call({exe.functions[func].name!r}, args=[{given}]{into})"
        case Ret(value):
            return f"ib.emit_ret({operand(Operand(REGISTER, value))})"
        case Goto(offset):
            return f"ib.emit_goto({offset})"
        case If(cond, offset):
            return f"ib.emit_if(ib.r({cond}), {offset})"


def statistics(exe: Executable) -> str:
    """Counts and sizes in a few lines."""
    bytes_ = sum([getattr(c, "nbytes", 0) for c in exe.constants])
    vm = [f for f in exe.functions if f.kind == "vm"]
    return "\n".join(
        [
            f"functions: {len(vm)} of bytecode ({', '.join([f.name for f in vm])}), "
            f"{len(exe.functions) - len(vm)} others",
            f"instructions: {len(exe.instructions)}",
            f"constants: {len(exe.constants)}, {bytes_} bytes of tensors",
        ]
    )


_TOKEN = r'(?:"(?:[^"\\]|\\.)*"|[\w.$]+)'
_HEAD = re.compile(rf"@({_TOKEN})\((.*)\)\s+registers\s+(\d+):")
_PACKED = re.compile(rf"@({_TOKEN})\s+(packed)")
_CALL = re.compile(rf"call\s+({_TOKEN})\s+in:\s*(.*?)\s+dst:\s*(%\w+)")
_ARG = re.compile(rf"\s*(%\w+|i-?\d+|c\[\d+\]|f\[{_TOKEN}\])\s*(?:,|$)")
_RET = re.compile(r"ret\s+(%\w+)")
_GOTO = re.compile(r"goto\s+(-?\d+)")
_IF = re.compile(r"[iI]f\s+(%\w+)\s*,\s*(-?\d+)")
_CONSTANT = re.compile(r"c\[(\d+)\]\s*=\s*(.*)")
_TENSOR = re.compile(r'tensor\s+(\S+)\s+\(([\d, ]*)\)(?:\s+"([A-Za-z0-9+/=]*)")?')
_SHAPE = re.compile(r"shape\s+\(([-\d, ]*)\)")


def parse_bytecode(text: str, constants: Sequence[Any] = (), filename: str = "<bytecode>") -> Executable:
    """The executable that a text describes; `constants` stand for arrays that it does not write out.

    Raises BytecodeError with the line that cannot be read.
    """
    return _Reader(text, constants, filename).read()


class _Reader:
    def __init__(self, text: str, constants: Sequence[Any], filename: str) -> None:
        self.text, self.given, self.filename = text, constants, filename
        self.line, self.row = 0, ""
        self.functions: list[Function] = []
        self.calls: list[tuple[int, str, tuple[tuple[int, str], ...], int, int]] = []
        self.code: list[Instruction] = []
        self.constants: dict[int, Any] = {}

    def fail(self, text: str) -> BytecodeError:
        column = len(self.row) - len(self.row.lstrip()) + 1
        span = Span(self.filename, self.line, column, self.line, max(len(self.row) + 1, column + 1))
        return BytecodeError(Diagnostic("bytecode", text, span, source=self.text))

    def read(self) -> Executable:
        open_: Function | None = None
        for line, text in enumerate(self.text.splitlines(), 1):
            self.line, self.row = line, text
            row = text.strip()
            if not row or row.startswith("#"):
                continue
            if row.startswith(("@", "c[")):
                self.close(open_)
                open_ = self.head(row)
            elif open_ is None:
                raise self.fail("an instruction stands below the head of a function")
            else:
                self.instruction(row)
        self.close(open_)
        for at, name, args, dst, line in self.calls:
            self.line, self.row = line, self.text.splitlines()[line - 1]
            self.code[at] = Call(self.function(name), tuple([self.late(a) for a in args]), dst)
        if sorted(self.constants) != list(range(len(self.constants))):
            raise self.fail("constants are numbered from 0 without gaps")
        found = tuple([self.constants[k] for k in range(len(self.constants))])
        return Executable(tuple(self.functions), found, tuple(self.code))

    def close(self, open_: Function | None) -> None:
        if open_ is not None:
            names = (open_.name, open_.kind, open_.params, open_.registers, open_.start)
            self.functions.append(Function(*names, len(self.code)))

    def head(self, row: str) -> Function | None:
        if found := _HEAD.fullmatch(row):
            params = re.findall(_TOKEN, found[2])
            named = tuple([self.name(p) for p in params])
            return Function(self.name(found[1]), "vm", named, int(found[3]), len(self.code))
        if found := _PACKED.fullmatch(row):
            self.functions.append(Function(self.name(found[1])))
            return None
        if found := _CONSTANT.fullmatch(row):
            if int(found[1]) in self.constants:
                raise self.fail(f"the constant c[{found[1]}] is there twice")
            self.constants[int(found[1])] = self.constant(int(found[1]), found[2].strip())
            return None
        raise self.fail("this is no head of a function and no constant")

    def name(self, token: str) -> str:
        return str(self.literal(token)) if token.startswith('"') else token

    def literal(self, text: str) -> Any:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise self.fail(f"`{text}` is no constant") from None

    def constant(self, number: int, text: str) -> Any:
        if found := _TENSOR.fullmatch(text):
            return self.tensor(number, found[1], found[2], found[3])
        if found := _SHAPE.fullmatch(text):
            return tuple([int(n) for n in found[1].replace(",", " ").split()])
        if text.startswith("dtype "):
            return self.dtype(text.removeprefix("dtype ").strip())
        value = self.literal(text)
        if not isinstance(value, str | int | float | bool | None):
            raise self.fail(f"`{text}` is no constant")
        return value

    def dtype(self, text: str) -> DType:
        try:
            return DType(text)
        except LoopwrightError:
            raise self.fail(f"`{text}` is no dtype") from None

    def tensor(self, number: int, dtype: str, shape: str, data: str | None) -> Any:
        import numpy as np

        dims = tuple([int(n) for n in shape.replace(",", " ").split()])
        if data is None:
            if number >= len(self.given):
                raise self.fail(f"the data of the constant c[{number}] are not in the text")
            return self.given[number]
        kind = self.dtype(dtype).numpy()
        try:
            raw = base64.b64decode(data, validate=True)
        except ValueError:
            raw = b"?"
        if len(raw) != math.prod(dims) * kind.itemsize:
            raise self.fail(f"the data of c[{number}] do not fit {dims} of `{dtype}`")
        return np.frombuffer(raw, kind).reshape(dims)

    def register(self, text: str) -> int:
        special = {"%void": VOID, "%vm": VM}.get(text)
        if special is None and not text[1:].isdecimal():
            raise self.fail(f"`{text}` is no register")
        return int(text[1:]) if special is None else special

    def instruction(self, row: str) -> None:
        if found := _CALL.fullmatch(row):
            args = self.arguments(found[2])
            self.calls.append((len(self.code), self.name(found[1]), args, self.register(found[3]), self.line))
            self.code.append(Ret(VOID))  # until all functions are known
        elif found := _RET.fullmatch(row):
            self.code.append(Ret(self.register(found[1])))
        elif found := _GOTO.fullmatch(row):
            self.code.append(Goto(int(found[1])))
        elif found := _IF.fullmatch(row):
            self.code.append(If(self.register(found[1]), int(found[2])))
        else:
            raise self.fail("this is no instruction: they are `call`, `ret`, `goto` and `if`")

    def arguments(self, text: str) -> tuple[tuple[int, str], ...]:
        found: list[tuple[int, str]] = []
        at = 0
        while at < len(text):
            one = _ARG.match(text, at)
            if one is None:
                raise self.fail(f"`{text[at:].strip()}` is no argument")
            kind = {"%": REGISTER, "i": IMMEDIATE, "c": CONSTANT, "f": FUNCTION}[one[1][0]]
            found.append((kind, one[1]))
            at = one.end()
        return tuple(found)

    def late(self, arg: tuple[int, str]) -> Operand:
        kind, text = arg
        if kind == REGISTER:
            return Operand(kind, self.register(text))
        if kind == FUNCTION:
            return Operand(kind, self.function(self.name(text[2:-1])))
        return Operand(kind, int(text[1:] if kind == IMMEDIATE else text[2:-1]))

    def function(self, name: str) -> int:
        for k, f in enumerate(self.functions):
            if f.name == name:
                return k
        raise self.fail(f"there is no function `{name}`: declare it with `@{_name(name)} packed`")


__all__ = ["parse_bytecode", "print_bytecode", "print_python", "statistics"]

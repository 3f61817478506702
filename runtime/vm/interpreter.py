"""The bytecode interpreter in Python: the definition of the machine, and the one that is observed.

The interpreter in machine code (`native.py`) does the same where nobody looks at single instructions.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import ArgumentTypeError, Diagnostic, LoopwrightError
from .bytecode import CONSTANT, FUNCTION, REGISTER, VM, VOID, Call, Function, Goto, If, Operand, Ret

if TYPE_CHECKING:
    from .machine import VirtualMachine

NO_OP, SKIP_RUN = 0, 1
"""What an instrument gives back before a call: nothing, or that the call is left out."""

_MOST_FRAMES = 2000


class Step(NamedTuple):
    """One instruction that was run while profiling: its function, number, what it called, its seconds."""

    function: str
    number: int
    name: str
    seconds: float


class Interpreter:
    """Runs functions of an executable for a machine."""

    def __init__(self, vm: VirtualMachine) -> None:
        self.vm = vm
        self.exe = vm.executable
        self.instrument: Callable[..., Any] | None = None
        self.steps: list[Step] | None = None
        self._depth = 0

    def run(self, number: int, args: tuple[Any, ...]) -> Any:
        """The result of a function of bytecode. Raises what the functions that it calls raise."""
        f = self.exe.functions[number]
        check_count(f, len(args))
        if self._depth >= _MOST_FRAMES:
            raise RecursionError(f"functions of the module call each other {_MOST_FRAMES} levels deep")
        registers: list[Any] = [*args, *([None] * (f.registers - len(args)))]
        pc = f.start
        self._depth += 1
        try:
            while True:
                one = self.exe.instructions[pc]
                match one:
                    case Call():
                        value = self.call(f, pc, one, registers)
                        if one.dst != VOID:
                            registers[one.dst] = value
                        pc += 1
                    case Ret(value):
                        return None if value == VOID else registers[value]
                    case Goto(offset):
                        pc += offset
                    case If(cond, offset):
                        pc += 1 if registers[cond] else offset
        except Exception as err:
            raise traced(err, self.vm, f, pc) from None
        finally:
            self._depth -= 1

    def call(self, f: Function, pc: int, one: Call, registers: list[Any]) -> Any:
        """Run one call."""
        args = [self.operand(a, registers) for a in one.args]
        callee = self.exe.functions[one.func]
        if self.instrument is not None and self.instrument_before(callee.name, args):
            return None
        start = time.perf_counter() if self.steps is not None else 0.0
        if callee.kind == "vm":
            value = self.run(one.func, tuple(args))
        else:
            value = self.vm.function(one.func)(*args)
        if self.steps is not None:
            self.steps.append(Step(f.name, pc - f.start, callee.name, time.perf_counter() - start))
        if self.instrument is not None:
            self.ask(callee.name, False, value, args)
        return value

    def operand(self, a: Operand, registers: list[Any]) -> Any:
        """The value of an argument."""
        if a.kind == REGISTER:
            if a.value == VM:
                return self.vm
            return None if a.value == VOID else registers[a.value]
        if a.kind == CONSTANT:
            return self.vm.constant(a.value)
        if a.kind == FUNCTION:
            return self.vm.value_of(a.value)
        return a.value

    def instrument_before(self, name: str, args: list[Any]) -> bool:
        """Tell the instrument of a call; whether it wants the call left out."""
        return bool(self.ask(name, True, None, args) == SKIP_RUN)

    def ask(self, name: str, before: bool, value: Any, args: list[Any]) -> Any:
        """Call the instrument."""
        from .values import give_out

        assert self.instrument is not None
        shown = [give_out(a) for a in args if a is not self.vm]
        answer = self.instrument(None, name, before, give_out(value), *shown)
        return NO_OP if answer is None else int(answer)


def check_count(f: Function, count: int) -> None:
    """Raise ArgumentTypeError where a function takes another number of arguments."""
    wanted = len(f.params)
    if count != wanted:
        listed = ", ".join(f.params)
        verb = "was" if count == 1 else "were"
        text = f"`{f.name}` takes {wanted} argument{'s' * (wanted != 1)} but {count} {verb} given"
        notes = (f"its parameters are ({listed})",)
        raise ArgumentTypeError(Diagnostic("argument-count", text, notes=notes))


def traced(err: BaseException, vm: VirtualMachine, f: Function, pc: int) -> BaseException:
    """The error with a note on the instruction that it came from, and where the script says so."""
    exe = vm.executable
    one = exe.instructions[pc]
    place = exe.places.get(pc)
    name = exe.functions[one.func].name if isinstance(one, Call) else type(one).__name__.lower()
    where = f" at {place}" if place is not None else ""
    note = f"in `{f.name}`, instruction {pc - f.start} (`{name}`){where}"
    if isinstance(err, LoopwrightError) and len(err.diagnostics) == 1:
        first = err.diagnostics[0]
        if first.span is None and place is not None and first.code not in _CALLERS_FAULT:
            return type(err)(_placed(first, place)).with_traceback(err.__traceback__)
    if len(getattr(err, "__notes__", ())) < 8:
        err.add_note(note)
    return err


_CALLERS_FAULT = ("argument-count",)


def _placed(found: Diagnostic, place: Any) -> Diagnostic:
    from dataclasses import replace

    return replace(found, span=place)


__all__ = ["NO_OP", "SKIP_RUN", "Interpreter", "Step", "check_count", "traced"]

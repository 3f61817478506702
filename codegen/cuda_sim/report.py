"""What the runtime found, as errors with the kernel, its threads and the lines."""

from __future__ import annotations

import ctypes
import linecache
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import Diagnostic, DivisionError, ExecutionError, OutOfBoundsError, Span


class DeviceAssertError(ExecutionError, AssertionError):
    """An assertion in a kernel failed, or the kernel stopped itself."""

    default_code = "device-assert"


class Fault(ctypes.Structure):
    """The report of the runtime; `native/worker.h` has the same fields."""

    _fields_ = [
        ("kind", ctypes.c_int32),
        *[(name, ctypes.c_uint32 * 3) for name in ("block", "thread", "other_block", "other_thread")],
        ("place", ctypes.c_uint32),
        ("other_place", ctypes.c_uint32),
        ("has_other", ctypes.c_int32),
        ("text", ctypes.c_char * 256),
    ]


class _Rule(NamedTuple):
    """How a kind of fault is told; `{0}` ... are parts of the runtime's text, `{who}`, `{other}` threads."""

    error: type[ExecutionError]
    code: str
    message: str
    note: str = ""
    help: str = ""


_BARRIER = "all threads of a block must reach the same `__syncthreads`: move it out of the branch or loop"
_KINDS: tuple[_Rule | None, ...] = (
    None,
    _Rule(OutOfBoundsError, code="out-of-bounds", message="{who} {0}"),
    _Rule(OutOfBoundsError, code="out-of-bounds", message="{who} accesses a local or shared array: {0}"),
    _Rule(
        ExecutionError,
        code="misaligned",
        message="{who} {0}",
        help="vectors must lie at a multiple of their size",
    ),
    _Rule(ExecutionError, code="argument-readonly", message="{who} writes to the read-only {0}"),
    _Rule(
        ExecutionError,
        code="data-race",
        message="{who} {0} what {other} {1}, and no barrier lies between",
        note="{2}",
        help='put `T.tvm_storage_sync("shared")` (`__syncthreads()`) between the two',
    ),
    _Rule(
        ExecutionError,
        code="data-race",
        message="{who} {0} what {other} {1}, and nothing orders the two",
        note="{2}",
        help="let one thread do it, use an atomic operation, or split the kernel in two",
    ),
    _Rule(
        ExecutionError,
        code="pending-copy",
        message="{who} {0} what an asynchronous copy of {other} has not yet brought",
        note="{1}",
        help="wait for the copy (`cp.async.wait_group`) and put a barrier after the wait",
    ),
    _Rule(ExecutionError, code="barrier-divergence", message="{who} {0}, but {other} {1}", help=_BARRIER),
    _Rule(
        ExecutionError,
        code="warp-divergence",
        message="{who} {0}, but {other} {1}",
        help="all lanes that the mask names must make the same call with the same mask",
    ),
    _Rule(
        ExecutionError,
        code="inactive-lane",
        message="{who}: {0}",
        help="the mask must name the lanes that make the call, and they may read only from each other",
    ),
    _Rule(
        ExecutionError,
        code="endless-loop",
        message="{who} does not end: {0}",
        help="raise the target's attribute `steps` if the kernel needs more",
    ),
    _Rule(DivisionError, code="division", message="{who}: {0}"),
    _Rule(DeviceAssertError, code="device-assert", message="{who}: assertion failed: {0}"),
    _Rule(DeviceAssertError, code="device-assert", message="{who} stops the kernel: {0}"),
    _Rule(
        ExecutionError,
        code="device-stack",
        message="{who}: {0}",
        help="use less local memory, or loops for recursion",
    ),
    _Rule(ExecutionError, code="kernel-launch", message="{who}: too little shared memory: {0}"),
)
INTERRUPTED = len(_KINDS)
"""The kind after these: the user has interrupted the launch."""
_COMMENT = re.compile(r"//\s*(?P<file>[^\s:]+(?:[ ][^\s:]+)*):(?P<line>\d+)\s*$")


class Line(NamedTuple):
    """A line of the kernel text, and the place in the script that it comes from."""

    number: int
    text: str
    script: Span | None

    def shown(self) -> str:
        """Words for a note."""
        return f"line {self.number} of the CUDA text: `{self.text}`"


class Place:
    """Finds the lines of instructions."""

    def __init__(self, text: str, files: Mapping[str, str], library: Path) -> None:
        self.rows = text.splitlines()
        self.files = files
        self.library = library

    def line(self, offset: int) -> Line | None:
        """The line of the kernel that the instruction before the offset belongs to."""
        numbers = self._numbers(offset) if offset else []
        found = [self._line(n) for n in numbers if 1 <= n <= len(self.rows)]
        return next((x for x in found if x.script is not None), found[0] if found else None)

    def _numbers(self, offset: int) -> list[int]:
        """The lines of the text that were inlined into each other, the innermost first."""
        command = shutil.which("addr2line")
        if command is None:
            return []
        arguments = [command, "-i", "-e", str(self.library), hex(offset - 1)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        name = re.escape(self.library.with_suffix(".cu").name)
        return [int(n) for n in re.findall(rf"{name}:(\d+)", done.stdout)]

    def _line(self, number: int) -> Line:
        """The line with the last comment that names a place, at or above it in its function."""
        for row in reversed(self.rows[:number]):
            found = _COMMENT.search(row)
            if found:
                file = self.files.get(found["file"], found["file"])
                span = _whole_line(file, int(found["line"]), linecache.getline(file, int(found["line"])))
                return Line(number, self.rows[number - 1].strip(), span)
            if row.startswith("}") or "__global__" in row:
                break
        return Line(number, self.rows[number - 1].strip(), None)


def raise_fault(kernel: str, fault: Fault, place: Place) -> None:
    """Raise the error of a fault."""
    rule = _KINDS[fault.kind]
    assert rule is not None
    parts = [*fault.text.decode(errors="replace").split("|"), "", ""]
    who = _thread(fault.thread, fault.block)
    same = list(fault.block) == list(fault.other_block)
    other = _thread(fault.other_thread, None if same else fault.other_block)
    words: dict[str, Any] = {"who": who, "other": other}
    line, there = place.line(fault.place), place.line(fault.other_place)
    notes = [rule.note.format(*parts, **words)] if rule.note else []
    notes += [line.shown()] if line and line.script else []
    if there is None or not fault.has_other or there == line:
        related: tuple[tuple[Span, str], ...] = ()
    else:
        notes += [f"the other is at {there.shown()}"]
        related = ((there.script, "the other thread"),) if there.script else ()
    span, source = _span(line, place)
    raise rule.error(
        Diagnostic(
            rule.code,
            f"kernel `{kernel}`: {rule.message.format(*parts, **words)}",
            span,
            notes=tuple(notes),
            help=(rule.help,) if rule.help else (),
            related=related,
            source=source,
        )
    )


def _span(line: Line | None, place: Place) -> tuple[Span | None, str | None]:
    """The place in the script; in the text where that says nothing of a script."""
    if line is None:
        return None, None
    if line.script is not None:
        return line.script, "".join(linecache.getlines(line.script.file)) or None
    return _whole_line("<cuda>", line.number, place.rows[line.number - 1]), "\n".join(place.rows)


def _whole_line(file: str, number: int, text: str) -> Span:
    """The range of what stands in a line."""
    first = len(text) - len(text.lstrip()) + 1
    return Span(file, number, first, number, max(first, len(text.rstrip()) + 1))


def _thread(index: Sequence[int], block: Sequence[int] | None) -> str:
    text = f"thread {tuple(index)}"
    return text if block is None else f"{text} of block {tuple(block)}"

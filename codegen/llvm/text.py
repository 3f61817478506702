"""LLVM assembly as text: the lines of one function, and what the functions of a unit share."""

from __future__ import annotations

import re
from typing import Any

from ...errors import CodegenError, Diagnostic, Span

LIKELY = ", !prof !0"
METADATA = '!0 = !{!"branch_weights", i32 1048575, i32 1}'


LAUNCH = "__loopwright_launch"
"""The pointer of standalone code to what runs its parallel loops; null: they run in place."""
OPTIONAL = frozenset({"launch", "threads", "take", "give"})
"""The process-dependent pointers that may be null."""


def quoted(name: str) -> str:
    """A global name as LLVM reads it; any characters are possible."""
    if re.fullmatch(r"[A-Za-z_.$][\w.$]*", name, re.ASCII):
        return f"@{name}"
    escaped = "".join(
        [chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in name.encode()]
    )
    return f'@"{escaped}"'


class Code:
    """The text of one function under construction.

    `op` names a result, `do` adds an instruction without one.  Instructions go to the current
    block; `stack` puts an allocation into the entry block; `cold` holds blocks for the end.
    """

    __slots__ = ("block", "closed", "cold", "count", "entry", "lines")

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.cold: list[str] = []
        self.count = 0
        self.block = "start"
        self.closed = False

    def name(self, hint: str = "t") -> str:
        """A fresh register or label name, without its sigil."""
        self.count += 1
        return f"{hint}{self.count}"

    def op(self, text: str) -> str:
        """Add an instruction; the register that holds its result."""
        self.count += 1
        register = f"%t{self.count}"
        self.lines.append(f"  {register} = {text}")
        return register

    def do(self, text: str) -> None:
        """Add an instruction without a result."""
        self.lines.append("  " + text)

    def stack(self, what: str, hint: str = "a") -> str:
        """Reserve stack memory in the entry block: `what` is the text after `alloca`."""
        register = "%" + self.name(hint)
        self.entry.append(f"  {register} = alloca {what}")
        return register

    def label(self, name: str) -> None:
        """Start a block; the one before must have ended."""
        if not self.closed:
            self.lines.append(f"  br label %{name}")
        self.lines.append(f"{name}:")
        self.block = name
        self.closed = False

    def jump(self, name: str) -> None:
        """End the block with a jump (unless it has ended)."""
        if not self.closed:
            self.lines.append(f"  br label %{name}")
            self.closed = True

    def branch(self, condition: str, yes: str, no: str, likely: bool = False) -> None:
        """End the block with a choice; `likely` says that `yes` is the common case."""
        self.lines.append(f"  br i1 {condition}, label %{yes}, label %{no}{LIKELY if likely else ''}")
        self.closed = True

    def ret(self, text: str) -> None:
        """End the block by leaving the function."""
        self.lines.append(f"  ret {text}")
        self.closed = True

    def body(self) -> str:
        """The blocks, between the braces of the function."""
        if not self.closed:
            self.lines.append("  unreachable")
            self.closed = True
        return "\n".join(["entry:", *self.entry, "  br label %start", "start:", *self.lines, *self.cold])


class Unit:
    """What the functions of one LLVM module share, and the functions themselves.

    `sites` describes the places that report to Python (errors, packed calls, printing), in the
    order of their numbers, as plain data that a cache can keep.  `outside` are the LLVM intrinsics
    that the program itself names, `externs` its external symbols, each with the site of a call.
    Nobody fills in the process-dependent pointers of a `standalone` unit: they are null.
    """

    def __init__(self, standalone: bool = False) -> None:
        self.standalone = standalone
        self.declared: dict[str, str] = {}
        self.helpers: dict[str, str] = {}
        self.strings: dict[bytes, str] = {}
        self.functions: list[str] = []
        self.sites: list[dict[str, Any]] = []
        self.spans: list[Span | None] = []
        self.slots: list[tuple[str, ...]] = []
        self.outside: set[str] = set()
        self.externs: dict[str, int] = {}
        self.hints: list[str] = []
        self.constants: dict[str, str] = {}
        self.kept: list[str] = []

    def keep(self, name: str) -> None:
        """Keep an internal function though nothing calls it yet: LLVM may find a use for it."""
        self.kept.append(name)

    def declare(self, name: str, signature: str) -> str:
        """Declare an outside function, e.g. `float (float)`; its name as LLVM reads it.

        A second declaration with another signature reuses the first: pointers are untyped, so
        calls state their own type.
        """
        if name not in self.declared:
            result, params = signature.split(" (", 1)
            self.declared[name] = f"declare {result} {quoted(name)}({params}"
        return quoted(name)

    def helper(self, name: str, text: str) -> str:
        """Add an internal function of this unit once; its name as LLVM reads it."""
        self.helpers.setdefault(name, text)
        return f"@{name}"

    def string(self, value: str) -> str:
        """A constant zero-terminated string; the name of the global that holds it."""
        data = value.encode() + b"\0"
        found = self.strings.get(data)
        if found is None:
            found = self.strings[data] = f"@lw.str.{len(self.strings)}"
        return found

    def site(self, span: Span | None, **what: Any) -> int:
        """The number of a place that reports to Python; numbers start at 1.

        Spans stand apart: they are no part of a program and so must not be kept with cached code.
        """
        self.sites.append(what)
        self.spans.append(span)
        return len(self.sites)

    def slot(self, *what: str) -> str:
        """The address of a process-dependent pointer, which Python fills in after loading.

        Raises CodegenError where nobody would, and the code is no use without.
        """
        if self.standalone and what[0] not in OPTIONAL:
            text = f"code that needs Python (`{' '.join(what)}`) cannot be exported"
            raise CodegenError(Diagnostic("unsupported-export", text))
        if self.standalone and what[0] == "launch":
            return self.helper(LAUNCH, f"@{LAUNCH} = global ptr null")
        if what not in self.slots:
            self.slots.append(what)
        k = self.slots.index(what)
        return f"getelementptr (ptr, ptr @lw.slots, i64 {k})" if k else "@lw.slots"

    def nontemporal(self) -> str:
        """Metadata that lets a store go past the caches, as its end."""
        name = f"!{1 + len(self.hints)}"
        self.hints.append(f"{name} = !{{i32 1}}")
        return f", !nontemporal {name}"

    def loop_hint(self, hints: list[str]) -> str:
        """Metadata that says this of one loop, as the end of its branch."""
        first = 1 + len(self.hints)
        names = [f"!{first + 1 + k}" for k in range(len(hints))]
        self.hints.append(f"!{first} = distinct !{{!{first}, {', '.join(names)}}}")
        self.hints += [f"{name} = !{{{hint}}}" for name, hint in zip(names, hints)]
        return f", !llvm.loop !{first}"

    def text(self) -> str:
        """The whole module."""
        strings = []
        for data, name in self.strings.items():
            escaped = "".join([f"\\{b:02X}" for b in data])
            strings.append(f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{escaped}"')
        kind = "internal global" if self.standalone else "global"
        table = f"@lw.slots = {kind} [{max(len(self.slots), 1)} x ptr] zeroinitializer, align 16"
        kept = []
        if self.kept:
            names = ", ".join([f"ptr {quoted(n)}" for n in self.kept])
            kind = f"[{len(self.kept)} x ptr]"
            kept = [f'@llvm.compiler.used = appending global {kind} [{names}], section "llvm.metadata"']
        parts = [table, *strings, *self.constants.values(), *kept]
        parts += [*self.declared.values(), *self.helpers.values(), *self.functions]
        return "\n".join([*parts, METADATA, *self.hints, ""])

"""C text: terms with the strength they bind with, unique names, and the source that is put together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ...dtype import DType
    from .dialect import Dialect

COMMA, CHOICE, EITHER, BOTH, BITS, EQUAL, ORDER, SHIFT, SUM, PRODUCT, UNARY, ATOM = range(12)
"""How strongly operators bind, the weakest first; the bitwise ones count as one level."""

_SIMPLE = re.compile(r"[A-Za-z_][\w.]*|\d[\w.]*", re.ASCII)


class Term(NamedTuple):
    """A C expression.

    A `modular` one has an unsigned C type and is right but for a multiple of 2 ** bits of its dtype.  Every
    other one has the value, and the C type of its dtype (or `int`, for integers that C promotes to it).
    """

    text: str
    level: int = ATOM
    modular: bool = False

    def at(self, level: int) -> str:
        """The text as an operand of an operator of this level."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def simple(self) -> bool:
        """Whether it is a name or a number, which may be repeated."""
        return _SIMPLE.fullmatch(self.text) is not None


Lanes = list[Term]
"""A value: one term for each lane of a vector, one for a scalar."""


def infix(a: Term, sign: str, b: Term, level: int, modular: bool = False) -> Term:
    """`a sign b`.

    Operands of bitwise operators and shifts stand in parentheses where they are operators themselves: nobody
    knows that order by heart.
    """
    if level in (BITS, SHIFT):
        return Term(f"{a.at(UNARY)} {sign} {b.at(UNARY)}", level, modular)
    return Term(f"{a.at(level)} {sign} {b.at(level + 1)}", level, modular)


def call(name: str, *args: Term | str) -> Term:
    """`name(args)`"""
    return Term(f"{name}({', '.join([a if isinstance(a, str) else a.at(CHOICE) for a in args])})")


def prefix(sign: str, a: Term) -> Term:
    """`sign a`, for a sign such as `!`."""
    text = a.at(UNARY)
    return Term(f"{sign} {text}" if text[:1] == sign[-1:] else f"{sign}{text}", UNARY)


def convert(kind: str, a: Term) -> Term:
    """`(kind)a`"""
    return Term(f"({kind}){a.at(UNARY)}", UNARY)


def choose(condition: Term, a: Term, b: Term) -> Term:
    """`condition ? a : b`"""
    first = condition.at(UNARY if condition.level == BITS else EITHER)
    return Term(f"{first} ? {a.at(EITHER)} : {b.at(CHOICE)}", CHOICE)


class Names:
    """Identifiers that differ: those of the language are taken, each other one is given out once."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self._taken = set(reserved)

    def fresh(self, hint: str) -> str:
        """The identifier nearest to the hint that nobody has."""
        base = re.sub(r"\W", "_", hint, flags=re.ASCII) or "v"
        if base[0].isdigit() or base.startswith(("lw_", "__")):
            base = "v" + base
        name, k = base, 0
        while name in self._taken:
            k += 1
            name = f"{base}_{k}"
        self._taken.add(name)
        return name


class Unit:
    """One source: headers, helper functions in the order of their use, then the functions of the program."""

    def __init__(self, dialect: Dialect, fast: bool) -> None:
        self.dialect = dialect
        self.fast = fast
        self.files: dict[str, str] = {}
        """The paths of the script files, by the names that comments call them."""
        self.headers: dict[str, None] = dict.fromkeys(dialect.preamble)
        self.parts: dict[str, str] = {}
        self.prototypes: list[str] = []
        self.functions: list[str] = []

    def part(self, name: str, text: str) -> str:
        """The name of a part of the prelude, which is there from now on."""
        self.parts.setdefault(name, text)
        return name

    def file(self, path: str) -> str:
        """What comments call a script file: the last part of its path, or more where another one ends so."""
        parts = " ".join(path.replace("\\", "/").split()).split("/")
        name = parts[-1]
        for k in range(1, len(parts) + 1):
            name = "/".join(parts[-k:])
            if self.files.setdefault(name, path) == path:
                break
        return name

    def header(self, line: str) -> None:
        """A line such as an include, once."""
        self.headers.setdefault(line)

    def helper(self, name: str, result: str, params: str, *body: str) -> str:
        """The name of a helper function, which is there from now on."""
        if name not in self.parts:
            lines = "\n".join([f"  {line}" for line in body])
            self.parts[name] = f"{self.dialect.helper} {result} {name}({params}) {{\n{lines}\n}}"
        return name

    def type(self, dtype: DType) -> str:
        """The C type of a scalar's value; its headers are there from now on."""
        name = self.dialect.value_type(dtype)
        for line in self.dialect.needs.get(name, ()):
            self.header(line)
        return name

    def cell(self, dtype: DType) -> str:
        """The C type of a scalar in memory."""
        name = self.dialect.cell_type(dtype)
        for line in self.dialect.needs.get(name, ()):
            self.header(line)
        return name

    def text(self) -> str:
        """The whole source."""
        groups = [list(self.headers), *[[p] for p in self.parts.values()], self.prototypes]
        return "\n\n".join(["\n".join(g) for g in groups if g] + self.functions) + "\n"

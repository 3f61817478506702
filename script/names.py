"""Where names that a function does not define come from.

In text: the language's own tables, the values given as `extra_vars`, and what the text itself
defines around the function.  In decorated Python: closure cells, the frames of lexically enclosing
functions, the function's globals, built-in functions.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .values import MISSING, Symbol


class Outer:
    """Base: finds names outside the function."""

    def find(self, name: str) -> Any:
        """What the name means, or MISSING."""
        return MISSING

    def known(self) -> Iterable[str]:
        """Names to offer when one is misspelt."""
        return ()


class TextNames(Outer):
    """The names of a text."""

    def __init__(self, extra: Mapping[str, Any] | None = None, defined: dict[str, Any] | None = None) -> None:
        self.extra = dict(extra or {})
        self.defined: dict[str, Any] = {} if defined is None else defined

    def find(self, name: str) -> Any:
        """What the text defines, else what `extra_vars` holds, else the language's own tables."""
        found = self.defined.get(name, MISSING)
        if found is MISSING:
            found = self.extra.get(name, MISSING)
            if found is not MISSING:
                return own(found)
            found = language_table().get(name, MISSING)
        return found

    def known(self) -> Iterable[str]:
        """All names that mean something."""
        return [*self.defined, *self.extra, *language_table()]


class LiveNames(Outer):
    """The names of decorated Python."""

    def __init__(
        self,
        functions: Sequence[Any],
        frames: Sequence[types.FrameType] = (),
        namespace: Mapping[str, Any] | None = None,
        defined: dict[str, Any] | None = None,
    ) -> None:
        self.cells: dict[str, Any] = {}
        self.globals: Mapping[str, Any] = namespace or {}
        for function in functions:
            code = getattr(function, "__code__", None)
            if code is None:
                continue
            self.globals = function.__globals__
            for name, cell in zip(code.co_freevars, function.__closure__ or ()):
                self.cells.setdefault(name, cell)
        self.frames = [frame.f_locals for frame in frames]
        self.defined: dict[str, Any] = {} if defined is None else defined

    def find(self, name: str) -> Any:
        """The current value of the name, read afresh each time."""
        found = self.defined.get(name, MISSING)
        if found is not MISSING:
            return found
        cell = self.cells.get(name)
        if cell is not None:
            try:
                return own(cell.cell_contents)
            except ValueError:  # the enclosing function has not assigned it yet
                pass
        for table in self.frames:
            if name in table:
                return own(table[name])
        if name in self.globals:
            return own(self.globals[name])
        table = language_table()
        return table[name] if name in _OWN_BUILTINS and name in table else getattr(builtins, name, MISSING)

    def settle(self) -> None:
        """Let the names of enclosing functions mean from here on what they mean now."""
        for name, cell in self.cells.items():
            try:
                self.defined.setdefault(name, own(cell.cell_contents))
            except ValueError:  # the enclosing function has not assigned it yet
                pass

    def known(self) -> Iterable[str]:
        """The names that the function's surroundings define."""
        local = [name for table in self.frames for name in table]
        return [*self.defined, *self.cells, *local, *self.globals]


def own(value: Any) -> Any:
    """A captured value as the builder sees it: our modules as their tables, type variables as symbols."""
    if isinstance(value, types.ModuleType):
        table = value.__dict__.get("__script_table__")
        return value if table is None else table
    if type(value).__name__ == "TypeVar" and type(value).__module__ == "typing":
        return Symbol(value.__name__)
    return value


# Builtins that mean something else in a kernel: loops, and functions that build expressions.
_OWN_BUILTINS = ("range", "min", "max", "sum", "print", "breakpoint", "abs", "round")
_table: dict[str, Any] = {}


def language_table() -> dict[str, Any]:
    """The names that text may use without definition."""
    if not _table:
        from .language import make_table

        _table.update(make_table())
    return _table

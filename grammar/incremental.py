"""Reading again after an edit: only the definition that was edited.

`Reader` keeps a text with its tree. A change inside one definition of the module, or of a class in
it, is read alone; what stands behind it is moved, not read. The result is that of reading all.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from ..errors import Diagnostic, Span
from ..node import runs_deep
from . import tree as t
from .ast_reader import read_ast
from .reader import read
from .reading import Reading, no_collection, plain
from .trivia import region_start

_BETWEEN = (t.Comment, t.Blank)
_DEFINITION = re.compile(r"[ \t]*(?:@|(?:def|class)\b)")


class Reader:
    """A text that is being edited; `reading` is always that of the present text."""

    def __init__(self, source: str, *, filename: str = "<text>") -> None:
        self.filename = filename
        self.reading = read(source, filename=filename)
        self.last_read = (1, self.reading.source.count("\n") + 1)
        """The first and last line that the last update had to read."""

    @runs_deep
    def update(self, source: str) -> Reading:
        """Take the new text; gives the same as reading it anew."""
        source = plain(source)
        if source != self.reading.source:
            with no_collection():
                found = self._read_part(source)
            if found is None:
                found = read(source, filename=self.filename)
                self.last_read = (1, source.count("\n") + 1)
            self.reading = found
        return self.reading

    def _read_part(self, source: str) -> Reading | None:
        """The new reading if the change lies within one definition, else None."""
        old = self.reading
        if not old.whole or old.tree.span is None:
            return None
        old_lines, new_lines = old.source.split("\n"), source.split("\n")
        change = _change(old_lines, new_lines)
        section = _find_section(old.tree, change, old_lines)
        if section is None or not all(section.holds(d) for d in old.diagnostics):
            return None  # a fault elsewhere may have to do with what is read now
        shift = len(new_lines) - len(old_lines)
        piece = new_lines[section.first - 1 : section.last + shift]
        read_piece = self._read_piece(section, piece)
        if read_piece is None:
            return None
        items, diagnostics = read_piece
        last = section.last + shift
        self.last_read = (section.first, last)
        whole = Span(self.filename, 1, 1, len(new_lines), len(new_lines[-1]) + 1)
        tree = _replaced(old.tree, section, items, shift).replace(span=whole)
        return Reading(tree, tuple([dataclasses.replace(d, source=source) for d in diagnostics]), source)

    def _read_piece(
        self, section: _Section, piece: list[str]
    ) -> tuple[tuple[t.SStmt, ...], tuple[Diagnostic, ...]] | None:
        """The statements of a section's new text, if they cannot depend on what stands around it."""
        from .lark_reader import read_lark

        indent = section.indent
        if not piece or not piece[0].startswith(indent) or not _DEFINITION.match(piece[0], len(indent)):
            return None
        if piece[0][len(indent)].isspace() or piece[-1].endswith("\\"):
            return None
        if section.ends_block and not piece[-1].split("#")[0].strip():
            return None
        lead = "\n" * (section.first - 2) + "if 1:\n" if indent else "\n" * (section.first - 1)
        text = lead + "\n".join(piece) + ("" if section.to_end_of_text else "\n")
        keep = not section.to_end_of_text
        reading = read_ast(text, self.filename, to_end=keep) or read_lark(text, self.filename, to_end=keep)
        if not reading.whole or len(reading.diagnostics) > 50:
            return None
        if reading.diagnostics and any(row.strip() and not row.startswith(indent) for row in piece):
            return None
        body = reading.tree.body
        while body and isinstance(body[0], t.Blank) and body[0].span and body[0].span.line < section.first:
            body = body[1:]
        if indent:
            if (
                not body
                or not isinstance(body[0], t.IfStmt)
                or not all(isinstance(s, _BETWEEN) for s in body[1:])
            ):
                return None
            body = body[0].body + body[1:]
        return body, reading.diagnostics


@dataclasses.dataclass(frozen=True, slots=True)
class _Section:
    """The lines of one definition and of what stands between it and the next statement.

    `path` holds the indices of the classes around it; `begin` and `end` are the items of the
    innermost list that it holds.
    """

    path: tuple[int, ...]
    begin: int
    end: int
    first: int
    last: int
    indent: str
    ends_block: bool
    to_end_of_text: bool

    def holds(self, diagnostic: Diagnostic) -> bool:
        """Whether a diagnostic is about these lines."""
        return diagnostic.span is not None and self.first <= diagnostic.span.line <= self.last


def _change(old: list[str], new: list[str]) -> tuple[int, int]:
    """The old lines that changed, as indices from 0, the end exclusive."""
    most = min(len(old), len(new))
    before = 0
    while before < most and old[before] == new[before]:
        before += 1
    behind = 0
    while behind < most - before and old[-1 - behind] == new[-1 - behind]:
        behind += 1
    return before, len(old) - behind


def _find_section(tree: t.ModuleTree, change: tuple[int, int], lines: list[str]) -> _Section | None:
    """The innermost definition that holds all changed lines."""
    found: _Section | None = None
    body: tuple[t.SStmt, ...] = tree.body
    path: tuple[int, ...] = ()
    limit = len(lines)  # the last line that may belong to this list
    while True:
        section = _section_of(body, path, change, lines, limit)
        if section is None:
            return found
        found = section
        inner = body[section.begin]
        if not isinstance(inner, t.ClassDef):
            return found
        body, path, limit = inner.body, (*path, section.begin), section.last


def _section_of(
    body: tuple[t.SStmt, ...], path: tuple[int, ...], change: tuple[int, int], lines: list[str], limit: int
) -> _Section | None:
    real = [k for k, s in enumerate(body) if not isinstance(s, _BETWEEN)]
    for place, k in enumerate(real):
        stmt = body[k]
        first = region_start(stmt)[0]
        following = real[place + 1] if place + 1 < len(real) else None
        last = region_start(body[following])[0] - 1 if following is not None else limit
        inside = first - 1 <= change[0] and change[1] <= last
        if change[0] == change[1]:
            inside = first - 1 < change[0] <= last
        if not inside or not isinstance(stmt, (t.FunctionDef, t.ClassDef)) or stmt.span is None:
            continue
        ends_block = following is None and bool(path)
        if ends_block:
            if any(row.strip() for row in lines[stmt.span.end_line : last]) or change[1] > stmt.span.end_line:
                return None
            last = stmt.span.end_line
        indent = lines[first - 1][: stmt.span.column - 1]
        if indent.strip():
            return None
        end = len(body) if following is None else following
        to_end = following is None and not path
        return _Section(path, k, k + 1 if ends_block else end, first, last, indent, ends_block, to_end)
    return None


def _replaced(tree: t.ModuleTree, section: _Section, items: tuple[t.SStmt, ...], shift: int) -> t.ModuleTree:
    """The tree with the items of a section exchanged, and all that follows moved by so many lines."""

    def rebuild(body: tuple[t.SStmt, ...], path: tuple[int, ...]) -> tuple[t.SStmt, ...]:
        if not path:
            begin, end, new = section.begin, section.end, items
        else:
            begin, end = path[0], path[0] + 1
            owner = body[begin]
            inner = rebuild(owner.body, path[1:])  # type: ignore[attr-defined]
            last = [s for s in inner if not isinstance(s, _BETWEEN)][-1].span
            assert owner.span is not None and last is not None
            new = (owner.replace(body=inner, span=owner.span.to(last)),)
        after: tuple[Any, ...] = body[end:]
        if shift:
            after = tuple([moved(s, shift) for s in after])
        return (*body[:begin], *new, *after)

    return tree.replace(body=rebuild(tree.body, section.path))


def moved(node: t.Surface, shift: int) -> t.Surface:
    """A surface node so many lines further down."""
    kind = type(node)
    leaves, nested = _FIELDS[kind]
    s = node.span
    span = None if s is None else Span(s.file, s.line + shift, s.column, s.end_line + shift, s.end_column)
    if not nested:
        return kind(*[getattr(node, name) for name in leaves], span)
    values = {name: getattr(node, name) for name in leaves}
    for name in nested:
        value = getattr(node, name)
        if type(value) is tuple:
            value = tuple([x if x is None else moved(x, shift) for x in value])
        elif value is not None:
            value = moved(value, shift)
        values[name] = value
    return kind(**values, span=span)


def _fields(kind: type[t.Surface]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields with plain values and those that may hold nodes."""
    plain_hints = ("str", "int", "bool", "str | None", "Any", "tuple[str, ...]")
    hints: dict[str, str] = {}
    for c in reversed(kind.__mro__):
        hints |= vars(c).get("__annotations__", {})
    names = [f for f in kind.fields if f != "span"]
    leaves = tuple([f for f in names if hints[f] in plain_hints])
    return leaves, tuple([f for f in names if f not in leaves])


_FIELDS = {
    kind: _fields(kind) for kind in vars(t).values() if isinstance(kind, type) and issubclass(kind, t.Surface)
}

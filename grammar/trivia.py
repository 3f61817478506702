"""Comments and blank lines: found in the text, then hung into a finished tree by position.

Both readers use it, so they cannot disagree. What belongs where:

- a comment beside or inside a simple statement joins its `comment`; beside or inside the header
  of a compound statement (decorators included) it joins the header's; beside `else:`, `else_comment`;
- a comment on a line of its own between statements becomes a `Comment` in the innermost block that
  is still open there and not indented deeper than the comment; before an `else` it stays in the
  block above;
- a run of blank lines between statements becomes a `Blank` before what follows it; blank lines at
  the end of the text, and inside a statement or a header, are dropped.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from ..errors import Span
from .tree import (
    Blank,
    ClassDef,
    Comment,
    ForStmt,
    FunctionDef,
    IfStmt,
    ModuleTree,
    SStmt,
    Surface,
    Unsupported,
    WhileStmt,
    WithStmt,
)

Place = tuple[int, int]
_FAR = 1 << 60
_STRING_OR_COMMENT = re.compile(
    r'"{3}(?:[^"\\]|\\.|"(?!""))*(?:"{3}|\Z)|\'{3}(?:[^\'\\]|\\.|\'(?!\'\'))*(?:\'{3}|\Z)'
    r'|"(?:[^"\\\n]|\\.)*"?|\'(?:[^\'\\\n]|\\.)*\'?|#[^\n]*',
    re.S,
)
_BLANK_RUN = re.compile(r"(?:^[ \t\f]*\n)+", re.M)
_HEADER_END = re.compile(r"(?:[^:#\[]++|#[^\n]*+|\[[^\]]*+\])*+:")
_ELSE = re.compile(r"(?:[^#e]++|#[^\n]*+|e(?!lse\b))*+(else)(?:[^:#]++|#[^\n]*+)*+:")
_COMPOUND = frozenset((ClassDef, ForStmt, FunctionDef, IfStmt, WhileStmt, WithStmt))


class Trivium(NamedTuple):
    """A comment, or a run of blank lines (`text` is None)."""

    line: int
    column: int
    text: str | None
    lines: int


def scan(source: str) -> list[Trivium]:
    """The comments and blank runs of a text in order; strings are stepped over, nothing else is looked at."""
    found = []
    if "#" in source:
        line, start = 1, 0
        for match in _STRING_OR_COMMENT.finditer(source):
            if source[match.start()] == "#":
                at = match.start()
                line += source.count("\n", start, at)
                start = at
                column = at - source.rfind("\n", 0, at)
                found.append(Trivium(line, column, match[0].rstrip(), 1))
    if "\n\n" in source or source.startswith("\n") or _BLANK_RUN.search(source):
        line, start = 1, 0
        for match in _BLANK_RUN.finditer(source):
            line += source.count("\n", start, match.start())
            start = match.start()
            found.append(Trivium(line, 0, None, match[0].count("\n")))
        found.sort()
    return found


def without_strings(source: str) -> str:
    """The text with every string and comment replaced by an empty string."""
    return _STRING_OR_COMMENT.sub('""', source)


def attach(tree: ModuleTree, found: list[Trivium], source: str, *, to_end: bool = False) -> ModuleTree:
    """Hang trivia into a tree that was just made from `source` and that nobody else has seen.

    The nodes are changed in place. `to_end` keeps blank lines at the end.
    """
    if not found:
        return tree
    hanger = _Hanger(found, source, tree.span.file if tree.span else "", to_end)
    _put(tree, "body", hanger.block(tree.body, (_FAR, 0), 0, to_end))
    return tree


def _put(node: Surface, field: str, value: object) -> None:
    object.__setattr__(node, field, value)  # the node is still private to the reader


def region_start(stmt: SStmt) -> Place:
    """Where a statement starts, its decorators included."""
    decorators = getattr(stmt, "decorators", ())
    if decorators:
        return (decorators[0].span.line, 1)
    span = stmt.span
    assert span is not None
    return (span.line, span.column)


class _Hanger:
    """Walks the tree and the trivia side by side."""

    def __init__(self, found: list[Trivium], source: str, file: str, to_end: bool) -> None:
        self.items = [*found, Trivium(_FAR, _FAR, None, 0)]
        self.index = 0
        self.item = self.items[0]
        self.source = source
        self.file = file
        self.starts: list[int] = []

    def take(self) -> Trivium:
        item = self.item
        self.index += 1
        self.item = self.items[self.index]
        return item

    def block(
        self, stmts: tuple[SStmt, ...], limit: Place, column: int, all_blanks: bool
    ) -> tuple[SStmt, ...]:
        """The statements with what belongs between them.

        Comments before `limit` that start at `column` or right of it are taken; `all_blanks` says
        whether blank lines with no comment of this block after them are.
        """
        out: list[SStmt] = []
        last = len(stmts) - 1
        for k, stmt in enumerate(stmts):
            start = region_start(stmt)
            while self.item[:2] < start:
                self.line_of_its_own(out)
            out.append(stmt)
            after = region_start(stmts[k + 1]) if k < last else limit
            if self.item[:2] < after:
                self.statement(stmt, after)
        while self.item[:2] < limit:
            if self.item.text is None:
                if not all_blanks and not self.comment_follows(limit, column):
                    break
            elif self.item.column < column:
                break
            self.line_of_its_own(out)
        return tuple(out)

    def comment_follows(self, limit: Place, column: int) -> bool:
        """Whether the next comment belongs to a block that is indented by `column`."""
        index = self.index
        while self.items[index].text is None and self.items[index].line < _FAR:
            index += 1
        item = self.items[index]
        return item[:2] < limit and item.column >= column and item.line < _FAR

    def line_of_its_own(self, out: list[SStmt]) -> None:
        line, column, text, count = self.take()
        if line >= _FAR:
            return
        if text is None:
            span = Span(self.file, line, 1, line + count, 1)
            before = out[-1] if out else None
            if isinstance(before, Blank) and before.span is not None:  # a lone backslash stood between them
                out[-1] = Blank(before.count + count, before.span.to(span))
            else:
                out.append(Blank(count, span))
        else:
            out.append(Comment(text, Span(self.file, line, column, line, column + len(text))))

    def statement(self, stmt: SStmt, limit: Place) -> None:
        """Take what lies inside and beside a statement, and in its blocks."""
        span = stmt.span
        assert span is not None
        if type(stmt) is Unsupported:
            while self.item[:2] < (span.end_line, span.end_column):
                self.take()  # it stands in the text
        if type(stmt) not in _COMPOUND:
            self.join(stmt, "comment", min(limit, (span.end_line + 1, 0)))
            return
        body: tuple[SStmt, ...] = stmt.body  # type: ignore[attr-defined]
        first = region_start(body[0])
        if self.item[:2] < first:
            header = self.header_end(stmt)
            self.join(stmt, "comment", min(first, (header + 1, 0)))
        orelse = stmt.orelse if type(stmt) is IfStmt else ()
        end = self.start_of_else(stmt) if orelse else limit  # type: ignore[arg-type]
        if self.item[:2] < end:
            _put(stmt, "body", self.block(body, end, self.column(stmt, body, bool(orelse)), bool(orelse)))
        if orelse and self.item[:2] < limit:
            self.otherwise(stmt, limit)  # type: ignore[arg-type]

    def otherwise(self, stmt: IfStmt, limit: Place) -> None:
        """The part of an `if` from `else` or `elif` on."""
        if is_elif(stmt):
            self.statement(stmt.orelse[0], limit)
            return
        first = region_start(stmt.orelse[0])
        if self.item[:2] < first:
            found = self.find_else(stmt)
            colon = self.place(found.end() - 1)[0] if found else first[0]
            self.join(stmt, "else_comment", min(first, (colon + 1, 0)))
        column = stmt.orelse[0].span.column if self.alone(first) else _FAR  # type: ignore[union-attr]
        _put(stmt, "orelse", self.block(stmt.orelse, limit, column, False))

    def join(self, stmt: SStmt, field: str, limit: Place) -> None:
        """Take everything before `limit` into a comment field; blank lines are dropped."""
        texts = []
        while self.item[:2] < limit:
            item = self.take()
            if item.text is not None:
                texts.append(item.text)
        if texts:
            _put(stmt, field, "  ".join(texts))

    def column(self, stmt: SStmt, body: tuple[SStmt, ...], before_else: bool) -> int:
        """How far in a comment must start to belong to the end of a block."""
        if before_else:
            return 0
        first = region_start(body[0])
        if not self.alone(first):
            return _FAR
        return body[0].span.column  # type: ignore[union-attr]

    def alone(self, place: Place) -> bool:
        """Whether nothing but space stands before a place on its line."""
        start = self.offset((place[0], 1))
        return not self.source[start : start + place[1] - 1].strip()

    def header_end(self, stmt: SStmt) -> int:
        """The line on which the colon of a header stands."""
        span = header_part(stmt).span
        assert span is not None
        at = (span.line, span.column) if header_part(stmt) is stmt else (span.end_line, span.end_column)
        found = _HEADER_END.match(self.source, self.offset(at))
        return self.place(found.end() - 1)[0] if found else at[0]

    def find_else(self, stmt: IfStmt) -> re.Match[str] | None:
        span = stmt.body[-1].span
        assert span is not None
        if type(stmt.body[-1]) in (Comment, Blank):
            span = [s for s in stmt.body if type(s) not in (Comment, Blank)][-1].span
            assert span is not None
        return _ELSE.match(self.source, self.offset((span.end_line, span.end_column)))

    def start_of_else(self, stmt: IfStmt) -> Place:
        if is_elif(stmt):
            return region_start(stmt.orelse[0])
        found = self.find_else(stmt)
        return self.place(found.start(1)) if found else region_start(stmt.orelse[0])

    def line_starts(self) -> list[int]:
        if not self.starts:
            self.starts = [0, *[m.end() for m in re.finditer("\n", self.source)]]
        return self.starts

    def offset(self, place: Place) -> int:
        return self.line_starts()[place[0] - 1] + place[1] - 1

    def place(self, offset: int) -> Place:
        line = bisect_right(self.line_starts(), offset)
        return (line, offset - self.starts[line - 1] + 1)


def is_elif(stmt: IfStmt) -> bool:
    """Whether the else part of an `if` is an `elif`."""
    other = stmt.orelse
    return len(other) == 1 and type(other[0]) is IfStmt and other[0].is_elif


def header_part(stmt: SStmt) -> Surface:
    """The last part of a compound statement's header that has a span, else the statement itself."""
    match stmt:
        case ForStmt():
            return stmt.iter
        case WhileStmt() | IfStmt():
            return stmt.test
        case WithStmt():
            last = stmt.items[-1]
            return last.target or last.context
        case ClassDef():
            return stmt.bases[-1] if stmt.bases else stmt
        case FunctionDef():
            if stmt.returns is not None:
                return stmt.returns
            if stmt.params:
                last_param = stmt.params[-1]
                return last_param.default or last_param
    return stmt

"""Printed text that knows where each part of its tree stands."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from ..errors import Span
from ..grammar import read
from ..grammar import tree as t
from ..node import runs_deep


class Range(NamedTuple):
    """Where a surface node stands in a text: lines and columns from 1, offsets from 0, ends exclusive."""

    node: t.Surface
    span: Span
    start: int
    end: int


class Text(str):
    """The text of a surface tree.

    Ranges are found by reading the text again, which gives the same tree with places, so printing
    pays nothing for them. Parentheses that only group are not part of a range.
    """

    tree: t.Surface

    def __new__(cls, text: str, tree: t.Surface) -> Text:
        made = super().__new__(cls, text)
        made.tree = tree
        return made

    @cached_property
    def ranges(self) -> list[Range]:
        """A range for each occurrence of a node, outer before inner; computed on first use."""
        return _ranges(str(self), self.tree)

    def ranges_of(self, node: t.Surface) -> list[Range]:
        """Where this very node stands; several places if the tree holds it several times."""
        return [r for r in self.ranges if r.node is node]

    def __getnewargs__(self) -> tuple[Any, ...]:
        return str(self), self.tree


@runs_deep
def _ranges(text: str, tree: t.Surface) -> list[Range]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)

    def make(node: t.Surface, span: Span) -> Range:
        start = starts[span.line - 1] + span.column - 1
        return Range(node, span, start, starts[span.end_line - 1] + span.end_column - 1)

    read_again = _counterpart(text, tree)
    lines = text.split("\n")
    whole = Span("<text>", 1, 1, len(lines), len(lines[-1]) + 1)
    if read_again is None:
        return [make(tree, whole)]
    found = []
    work: list[tuple[Any, Any]] = [(tree, read_again)]
    while work:
        mine, other = work.pop()
        if isinstance(mine, t.Surface) and isinstance(other, t.Surface):
            found.append(make(mine, other.span or whole))
            if type(mine) is type(other):
                for name in reversed(type(mine).fields):
                    if name != "span":
                        work.append((getattr(mine, name), getattr(other, name)))
        elif type(mine) is tuple and type(other) is tuple:
            work.extend(zip(reversed(mine), reversed(other)))
    return found


def _counterpart(text: str, tree: t.Surface) -> t.Surface | None:
    """What reading the text gives in place of the tree."""
    if isinstance(tree, t.ModuleTree):
        return read(text).tree
    if isinstance(tree, t.SStmt):
        body = read(text, start="statements").tree.body
        return body[0] if len(body) == 1 else None
    if isinstance(tree, t.SExpr):
        body = read(text, start="expression").tree.body
        return body[0].value if len(body) == 1 and isinstance(body[0], t.ExprStmt) else None
    return None

"""A text together with the nodes that it shows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..errors import Span
from ..grammar.tree import ModuleTree
from .core import Printer
from .text import Text


class Shown(Text):
    """The text of a program, which knows where each node of the program stands."""

    root: Any
    constants: list[Any]
    _printer: Printer
    _marked: tuple[Any, ...]

    def __new__(
        cls, text: str, tree: ModuleTree, root: Any, printer: Printer, marked: tuple[Any, ...] = ()
    ) -> Shown:
        made = super().__new__(cls, text, tree)
        assert isinstance(made, Shown)
        made.root = root
        made._printer = printer
        made._marked = marked
        made.constants = printer.constants.arrays
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Text, (str(self), self.tree)

    @cached_property
    def nodes(self) -> list[tuple[Any, int, int]]:
        """Each node with the start and end of its text, in order of start, outer before inner.

        A node that stands at several places is listed with each of them; one that prints as nothing of
        its own is not listed.
        """
        where: dict[int, tuple[int, int]] = {}
        for r in self.ranges:
            where.setdefault(id(r.node), (r.start, r.end))
        found = []
        for node, shown in self._printer.origins or ():
            ranges = [where[id(s)] for s in shown if id(s) in where]
            if ranges:
                found.append((node, min([a for a, _ in ranges]), max([b for _, b in ranges])))
        found.sort(key=lambda item: (item[1], -item[2]))
        return found

    @cached_property
    def _by_node(self) -> dict[int, list[tuple[int, int]]]:
        table: dict[int, list[tuple[int, int]]] = {}
        for node, start, end in self.nodes:
            places = table.setdefault(id(node), [])
            if (start, end) not in places:
                places.append((start, end))
        return table

    def places(self, node: Any) -> list[tuple[int, int]]:
        """The ranges (offsets, end exclusive) at which this very node stands; none if it has no text."""
        return list(self._by_node.get(id(node), ()))

    @property
    def marks(self) -> list[tuple[int, int]]:
        """The ranges of the nodes that were to be marked."""
        return [place for node in self._marked for place in self.places(node)]

    def span(self, start: int, end: int, file: str = "<printed>") -> Span:
        """A range as lines and columns."""
        line, column = self._position(start)
        end_line, end_column = self._position(end)
        return Span(file, line, column, end_line, end_column)

    def _position(self, offset: int) -> tuple[int, int]:
        before = str(self)[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1

    def at(self, offset: int) -> Any:
        """The innermost node whose text covers this offset, or None."""
        best = None
        for node, start, end in self.nodes:
            if start <= offset < end and (best is None or end - start <= best[1]):
                best = (node, end - start)
        return None if best is None else best[0]

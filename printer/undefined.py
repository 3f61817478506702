"""Where the uses of variables lie, so that an undefined one is declared in the lowest scope around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ir import AttrStmt, BufferType, IterVar, Stmt, Var
from ..node import Node


class Places:
    """Positions of a program's statements and of each variable's uses, in one walk.

    A statement is an interval of positions and a variable the interval from its first to its last
    use; a scope covers all uses when it contains that interval.
    """

    __slots__ = ("_extent", "_launches", "_position", "_uses")

    def __init__(self, root: Any) -> None:
        self._extent: dict[int, tuple[int, int] | None] = {}
        self._uses: dict[int, tuple[int, int]] = {}
        self._launches: dict[int, int] = {}
        self._position = 0
        self._walk(root)

    def covers(self, statement: Any, var: Var) -> bool:
        """Whether all uses of the variable lie in this statement."""
        extent = self._extent.get(id(statement))
        uses = self._uses.get(id(var))
        return extent is not None and uses is not None and extent[0] <= uses[0] and uses[1] <= extent[1]

    def launches(self, var: Var) -> int:
        """How many `thread_extent` attributes bind the variable."""
        return self._launches.get(id(var), 0)

    def _walk(self, root: Any) -> None:
        stack: list[Any] = [root]
        while stack:
            node = stack.pop()
            if type(node) is _End:
                key = id(node.statement)
                whole = None if key in self._extent else (node.start, self._position)
                self._extent[key] = whole
            elif isinstance(node, Var):
                self._position += 1
                first, _ = self._uses.get(id(node), (self._position, 0))
                self._uses[id(node)] = (first, self._position)
                if isinstance(node.ty, BufferType):
                    stack.append(node.ty)
            elif isinstance(node, Node):
                if isinstance(node, Stmt):
                    self._position += 1
                    stack.append(_End(node, self._position))
                    if type(node) is AttrStmt and isinstance(node.node, IterVar):
                        var = node.node.var
                        self._launches[id(var)] = self._launches.get(id(var), 0) + 1
                for name in reversed(type(node).fields):
                    if name != "span":
                        stack.append(getattr(node, name))
            elif isinstance(node, tuple):
                stack.extend(reversed(node))
            elif isinstance(node, Mapping):
                stack.extend(node.values())


class _End:
    """Marks on the stack where a statement ends."""

    __slots__ = ("start", "statement")

    def __init__(self, statement: Stmt, start: int) -> None:
        self.statement = statement
        self.start = start

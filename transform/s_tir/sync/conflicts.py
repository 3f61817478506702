"""Whether threads must wait between two accesses."""

from __future__ import annotations

from typing import Any

from ....ir import Expr
from ...common import conjuncts
from .access import Access
from .numbers import Unknown
from .pair import Ages, Pair
from .threads import Threads


class Conflicts:
    """Answers, for pairs of accesses, whether threads must wait between them."""

    def __init__(self, threads: Threads) -> None:
        self.threads = threads
        self.alone = all(n == 1 for n in threads.axes.values())
        self.memo: dict[Any, bool | None] = {}
        self.wide: dict[int, tuple[Access, Expr | None, tuple[Expr, ...]]] = {}

    def between(self, first: Access, second: Access, ages: Ages) -> bool | None:
        """Whether different threads may meet in a cell by both, one of them writing; None where unknown.

        `ages` holds the loops that are around both and at another iteration for the first.
        """
        if self.alone or first.root is not second.root or not (first.write or second.write):
            return False
        if first.atomic and second.atomic:
            return False
        key = (id(first), id(second), tuple(sorted((id(k), v) for k, v in ages.items())))
        if key not in self.memo:
            try:
                self.memo[key] = self._meet(first, second, ages)
            except (Unknown, TypeError, ValueError):
                self.memo[key] = None
        return self.memo[key]

    def _widened(self, access: Access) -> tuple[Expr | None, tuple[Expr, ...]]:
        known = self.wide.get(id(access))
        if known is None:
            parts = [self._told(p) for g in access.guards for p in conjuncts(g)]
            guards = tuple([p for p in parts if p is not None])  # any other one may hold
            index = None if access.index is None else self._told(access.index)
            known = self.wide[id(access)] = (access, index, guards)
        return known[1], known[2]

    def _told(self, e: Expr) -> Expr | None:
        try:
            return self.threads.twins.visit(e)
        except Unknown:
            return None

    def _meet(self, first: Access, second: Access, ages: Ages) -> bool | None:
        a, b = self._widened(first), self._widened(second)
        if a[0] is None or b[0] is None:
            return None
        return Pair(self.threads, first, second, ages).meet((a[0], a[1]), (b[0], b[1]))

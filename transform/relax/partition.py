"""Which bindings of a block are fused: groups that grow toward the binding that all their users lead to.

A value is fused with its nearest post-dominator, and with all on the paths there, when the kinds of what
lies on the paths allow it.  Products, convolutions and reductions take what follows element by element;
elementwise chains take what broadcasts and moves elements, and join a product or a reduction as its input
never, except that an elementwise chain may feed a reduction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...ir.relax import OpPattern

ELEMWISE, BROADCAST, INJECTIVE = OpPattern.ELEMWISE, OpPattern.BROADCAST, OpPattern.INJECTIVE
REDUCE, PRODUCT, OPAQUE = OpPattern.COMM_REDUCE, OpPattern.OUT_FUSIBLE, OpPattern.OPAQUE


@dataclass(slots=True)
class Node:
    """A binding: its kind, the later bindings that use it, whether it is seen outside of the block."""

    pattern: OpPattern
    users: list[int] = field(default_factory=list)
    escapes: bool = False


def partition(nodes: Sequence[Node], max_depth: int) -> list[int]:
    """For each node the last node of its group: nodes of one group have the same one."""
    return _Partition(nodes, max_depth).run()


class _Partition:
    def __init__(self, nodes: Sequence[Node], max_depth: int) -> None:
        self.nodes = nodes
        self.max_depth = max_depth
        self.parent: list[int | None] = [None] * len(nodes)
        self.toward: list[OpPattern] = [OPAQUE] * len(nodes)
        self.root = list(range(len(nodes)))
        self.pattern = [n.pattern for n in nodes]
        self.anchored = [n.pattern == PRODUCT for n in nodes]
        self.count = [1] * len(nodes)

    def run(self) -> list[int]:
        self.find_dominators()
        for phase in (0, 1):
            for i in range(len(self.nodes)):
                self.consider(i, phase)
        return [self.find(i) for i in range(len(self.nodes))]

    # dominators

    def find_dominators(self) -> None:
        """The nearest node that every path from a node leads through, and the worst kind on the way."""
        depth = [0] * len(self.nodes)
        for i in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[i]
            if node.escapes or not node.users:
                continue
            meet: int | None = node.users[0]
            worst = self.nodes[node.users[0]].pattern
            for user in node.users[1:]:
                worst = max(worst, self.nodes[user].pattern)
                meet, worst = self.meet(meet, user, depth, worst)
            self.parent[i], self.toward[i] = meet, worst
            depth[i] = 1 if meet is None else depth[meet] + 1

    def meet(
        self, a: int | None, b: int | None, depth: list[int], worst: OpPattern
    ) -> tuple[int | None, OpPattern]:
        while a != b:
            if a is None or b is None:
                return None, worst
            if depth[a] < depth[b]:
                a, b = b, a
            worst = max(worst, self.toward[a])
            a = self.parent[a]
        return a, worst

    # groups

    def find(self, i: int) -> int:
        """The node that stands for the group."""
        top = i
        while self.root[top] != top:
            top = self.root[top]
        while self.root[i] != top:
            self.root[i], i = top, self.root[i]
        return top

    def consider(self, i: int, phase: int) -> None:
        """Fuse the group of a node into that of its dominator where the kinds allow it."""
        own, target = self.find(i), self.parent[i]
        kind = self.pattern[own]
        if target is None or kind in (OPAQUE, REDUCE) or own == self.find(target):
            return
        if kind == PRODUCT:
            if phase == 0 and self.toward[i] == ELEMWISE:
                self.fuse(i, target, lambda k, last: k <= BROADCAST)
        elif kind <= BROADCAST:
            if self.toward[i] <= INJECTIVE or self.toward[i] == REDUCE:
                self.fuse(i, target, lambda k, last: k <= INJECTIVE or (last and k in (REDUCE, PRODUCT)))
        elif phase == 1:
            self.fuse(i, target, lambda k, last: k <= INJECTIVE)

    def fuse(self, source: int, target: int, allowed: Callable[[OpPattern, bool], bool]) -> None:
        """Join all nodes between two into one group, unless one of them is of a kind that is not allowed."""
        between: list[int] = []
        seen = {source}
        stack = list(self.nodes[source].users)
        while stack:
            i = stack.pop()
            if i in seen:
                continue
            seen.add(i)
            if not allowed(self.pattern[self.find(i)], i == target):
                return
            between.append(i)
            if i != target:
                stack += self.nodes[i].users
        groups = {self.find(i) for i in (source, *between)}
        if sum(self.count[g] for g in groups) > self.max_depth:
            return
        into = self.find(target)
        for group in groups - {into}:
            self.root[group] = into
            self.count[into] += self.count[group]
            if self.anchored[group]:
                self.anchored[into] = True
                self.pattern[into] = max(self.pattern[into], self.pattern[group])


__all__ = ["Node", "partition"]

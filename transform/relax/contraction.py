"""Groups in a block of bindings that must not depend on each other in a circle."""

from __future__ import annotations

from typing import Any

from ...ir import Var
from ...ir.relax import DataflowBlock
from .common import operands


class Contraction:
    """The bindings of a block, some of them joined into groups; the graph of groups has no circle.

    `group_of[i]` is the number of the group of binding i, None for a binding alone.
    """

    def __init__(self, block: DataflowBlock) -> None:
        self.bindings: tuple[Any, ...] = block.bindings
        self.place: dict[Any, int] = {b.var: i for i, b in enumerate(self.bindings)}
        self.inputs = [
            [self.place[v] for v in dict.fromkeys(operands(b.value)) if v in self.place]
            for b in self.bindings
        ]
        self.group_of: list[int | None] = [None] * len(self.bindings)
        self.members: dict[int, list[int]] = {}

    def values(self) -> dict[Var, Any]:
        """What the variables of the block stand for."""
        return {b.var: b.value for b in self.bindings}

    def with_groups(self, members: set[int]) -> set[int]:
        """The bindings, and those that are in a group with one of them."""
        found = set(members)
        for i in members:
            group = self.group_of[i]
            if group is not None:
                found.update(self.members[group])
        return found

    def joinable(self, members: set[int]) -> bool:
        """Whether these bindings can be one group: nothing outside needs one of them and is needed by one."""
        whole = self.with_groups(members)
        first = min(whole)
        seen: set[int] = set()
        stack = [j for i in whole for j in self.inputs[i] if j not in whole]
        while stack:
            i = stack.pop()
            if i in seen:
                continue
            seen.add(i)
            group = self.group_of[i]
            unit = [i] if group is None else self.members[group]
            for k in unit:
                seen.add(k)
                for j in self.inputs[k]:
                    if j in whole:
                        return False
                    if j not in seen and (j > first or self.group_of[j] is not None):
                        stack.append(j)
        return True

    def join(self, members: set[int]) -> None:
        """Make one group of these bindings and of the groups that they are in."""
        whole = self.with_groups(members)
        key = max(whole)
        for i in whole:
            old = self.group_of[i]
            if old is not None:
                self.members.pop(old, None)
        self.members[key] = sorted(whole)
        for i in whole:
            self.group_of[i] = key


__all__ = ["Contraction"]

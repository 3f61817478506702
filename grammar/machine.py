"""The pushdown machine: runs a parse table over tokens that are fed by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .tables import Table
from .tokens import Place, Token

Action = Callable[[Any, list[Any], list[Place], list[Place]], Any]
"""Makes the value of a rule from the builder, the values of its symbols, and where each starts and ends."""


class Program:
    """A table with the function of each alternative; shared by all machines that run it."""

    def __init__(self, table: Table, start: str, makers: Mapping[str, Any]) -> None:
        self.actions = table.actions
        self.gotos = table.gotos
        self.rules: list[tuple[str, Action | None, int]] = [
            (r.origin, makers[r.build] if r.build else None, r.length) for r in table.rules
        ]
        self.start = table.starts[start]
        self.passed: dict[tuple[int, int, str], int] = {}


class Machine:
    """A stack of states and values. Ranges count every token, brackets that only group included."""

    def __init__(self, program: Program, builder: Any) -> None:
        self.program = program
        self.builder = builder
        self.states = [program.start]
        self.values: list[Any] = []
        self.starts: list[Place] = []
        self.ends: list[Place] = []
        self.last_end: Place = (1, 1)

    def feed(self, token: Token) -> bool:
        """Take one token; False if it does not fit. The stack may have changed even then."""
        kind, text, start, end = token
        states, values, starts, ends = self.states, self.values, self.starts, self.ends
        actions, gotos, rules = self.program.actions, self.program.gotos, self.program.rules
        while True:
            action = actions[states[-1]].get(kind)
            if action is None:
                return False
            if action >= 0:
                states.append(action)
                values.append(text)
                starts.append(start)
                ends.append(end)
                self.last_end = end
                return True
            origin, make, size = rules[-action - 1]
            if size == 1:
                if make is None:
                    states[-1] = self._pass_on(states[-2], states[-1], kind)
                else:
                    values[-1] = make(self.builder, values[-1:], starts[-1:], ends[-1:])
                    states[-1] = gotos[states[-2]][origin]
            elif size == 0:
                assert make is not None
                values.append(make(self.builder, [], [], []))
                starts.append(start)
                ends.append(self.last_end)
                states.append(gotos[states[-1]][origin])
            else:
                assert make is not None
                value = make(self.builder, values[-size:], starts[-size:], ends[-size:])
                last = ends[-1]
                del states[-size:], values[1 - size :], starts[1 - size :], ends[1 - size :]
                values[-1], ends[-1] = value, last
                states.append(gotos[states[-1]][origin])

    def _pass_on(self, below: int, top: int, kind: str) -> int:
        """The state after all rules that only pass a value on: they are most of an expression grammar."""
        key = (below, top, kind)
        program = self.program
        known = program.passed.get(key)
        if known is not None:
            return known
        while True:
            action = program.actions[top].get(kind, 0)
            if action >= 0:
                break
            origin, make, size = program.rules[-action - 1]
            if size != 1 or make is not None:
                break
            top = program.gotos[below][origin]
        program.passed[key] = top
        return top

    def save(self) -> tuple[list[int], list[Any], list[Place], list[Place], Place]:
        """A shallow copy of the stack."""
        return self.states[:], self.values[:], self.starts[:], self.ends[:], self.last_end

    def restore(self, saved: tuple[list[int], list[Any], list[Place], list[Place], Place]) -> None:
        """Go back to a saved stack, which may be restored again later."""
        states, values, starts, ends, self.last_end = saved
        self.states, self.values, self.starts, self.ends = states[:], values[:], starts[:], ends[:]

    def accepts(self, kind: str) -> bool:
        """Whether a token of this kind would fit now."""
        actions, gotos, rules = self.program.actions, self.program.gotos, self.program.rules
        depth, above = len(self.states), list[int]()
        while True:
            top = above[-1] if above else self.states[depth - 1]
            action = actions[top].get(kind)
            if action is None:
                return False
            if action >= 0:
                return True
            origin, _, size = rules[-action - 1]
            from_above = min(size, len(above))
            del above[len(above) - from_above :]
            depth -= size - from_above
            below = above[-1] if above else self.states[depth - 1]
            above.append(gotos[below][origin])

    def accepted(self) -> list[str]:
        """The kinds of token that would fit now."""
        candidates: Iterable[str] = self.program.actions[self.states[-1]]
        return [kind for kind in candidates if self.accepts(kind)]

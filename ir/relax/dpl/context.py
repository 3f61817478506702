"""Constraints between patterns, and matching several of them in a dataflow block."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....errors import Diagnostic, IRError
from ...expr import Call, Expr, Tuple, TupleGetItem, Var
from ...op import Op
from ..expr import DataflowBlock, DataflowVar
from ..relations import same_sizes
from ..types import TensorType
from .match import Matcher
from .pattern import CallPattern, Pattern

_ACTIVE = threading.local()


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """The value of `user` uses that of `source`, as argument `index` unless that is -1."""

    source: Pattern
    user: Pattern
    index: int
    only: bool


class PatternSeq:
    """Patterns of which each is used by the next one."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = list(patterns)

    def __getitem__(self, index: int) -> Pattern:
        return self.patterns[index]

    def used_by(self, other: Pattern | PatternSeq, index: int = -1) -> PatternSeq:
        """The last one is used by the other, or the first one of the others."""
        return self._extend(other, index, False)

    def only_used_by(self, other: Pattern | PatternSeq, index: int = -1) -> PatternSeq:
        """As `used_by`, and by nothing else."""
        return self._extend(other, index, True)

    def _extend(self, other: Pattern | PatternSeq, index: int, only: bool) -> PatternSeq:
        rest = other.patterns if isinstance(other, PatternSeq) else [other]
        PatternContext.current().edges.append(Edge(self.patterns[-1], rest[0], index, only))
        return PatternSeq([*self.patterns, *rest])

    __xor__ = used_by
    __rshift__ = only_used_by

    def dup(self) -> PatternSeq:
        """The same sequence of copies, with the same constraints among them."""
        copies = {p: p.dup() for p in self.patterns}
        context = PatternContext.current()
        for edge in list(context.edges):
            if edge.source in copies and edge.user in copies:
                context.edges.append(Edge(copies[edge.source], copies[edge.user], edge.index, edge.only))
        return PatternSeq(list(copies.values()))


@dataclass(slots=True)
class PatternContext:
    """Collects the constraints that are stated within `with PatternContext() as ctx:`.

    An incremental one starts with those of the context around it.
    """

    incremental: bool = False
    edges: list[Edge] = field(default_factory=list)
    same_shapes: list[tuple[Pattern, ...]] = field(default_factory=list)
    calls: list[CallPattern] = field(default_factory=list)

    def __enter__(self) -> PatternContext:
        stack = _stack()
        if self.incremental and stack:
            self.edges += stack[-1].edges
            self.same_shapes += stack[-1].same_shapes
        stack.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _stack().pop()

    @staticmethod
    def current() -> PatternContext:
        """The innermost context of this thread. Raises IRError where there is none."""
        stack = _stack()
        if not stack:
            raise IRError(
                Diagnostic(
                    "pattern-context",
                    "a constraint between patterns is stated outside of any context",
                    help=("state it within `with PatternContext() as ctx:`",),
                )
            )
        return stack[-1]

    @staticmethod
    def note(call: CallPattern) -> None:
        """A call's pattern is made: where no edge is stated, a context matches the outermost of them."""
        for context in _stack()[-1:]:
            context.calls.append(call)

    def patterns(self) -> list[Pattern]:
        """The patterns that must match, each near one before it."""
        found = dict.fromkeys(p for edge in self.edges for p in (edge.source, edge.user))
        if found:
            return list(found)
        inner = {arg for call in self.calls for arg in call.args or ()}
        return [call for call in self.calls if call not in inner]

    def match_dfb(
        self, dfb: DataflowBlock, start_hint: Var | None = None, without: Any = ()
    ) -> dict[Pattern, Var] | None:
        """The variables that the patterns match in a block, all constraints met; None where there are none.

        With a hint the first pattern matches that variable.  Variables in `without` are left out.
        """
        return _BlockMatch(self, dfb, frozenset(without)).run(start_hint)


def _stack() -> list[PatternContext]:
    found: list[PatternContext] = _ACTIVE.__dict__.setdefault("stack", [])
    return found


class _BlockMatch:
    """The search for variables that fit: pattern by pattern, each next to one that is matched already."""

    def __init__(self, context: PatternContext, block: DataflowBlock, without: frozenset[Var]) -> None:
        self.context = context
        self.without = without
        self.values: dict[Var, Expr] = {b.var: b.value for b in block.bindings}
        self.users: dict[Var, list[Var]] = {}
        for var, value in self.values.items():
            for used in dict.fromkeys(_uses(value)):
                self.users.setdefault(used, []).append(var)
        self.matcher = Matcher(self.values)
        self.chosen: dict[Pattern, Var] = {}

    def run(self, start: Var | None) -> dict[Pattern, Var] | None:
        """The variables of all patterns, or None."""
        order = self.context.patterns()
        if not order or not self.assign(order, 0, start):
            return None
        return {p: e for p, e in self.matcher.found.items() if isinstance(e, Var)}

    def assign(self, order: list[Pattern], position: int, start: Var | None) -> bool:
        """Whether variables fit for the patterns from this position on, given those before."""
        if position == len(order):
            return self.shapes_agree()
        pattern = order[position]
        for var in [start] if start is not None else list(self.candidates(pattern)):
            if var in self.without or var in self.chosen.values():
                continue
            kept = dict(self.matcher.found), dict(self.matcher.symbols)
            if self.matcher.match(pattern, var):
                self.chosen[pattern] = var
                if self.edges_hold() and self.assign(order, position + 1, None):
                    return True
                del self.chosen[pattern]
            self.matcher.found, self.matcher.symbols = kept
        return False

    def candidates(self, pattern: Pattern) -> Iterator[Var]:
        """The variables that may match, by what is chosen for the patterns beside it."""
        known = self.matcher.found.get(pattern)
        if isinstance(known, Var):
            yield known
            return
        for edge in self.context.edges:
            if edge.user is pattern and edge.source in self.chosen:
                yield from self.users.get(self.chosen[edge.source], ())
                return
            if edge.source is pattern and edge.user in self.chosen:
                yield from dict.fromkeys(_uses(self.values.get(self.chosen[edge.user])))
                return
        yield from dict.fromkeys([*self.values, *self.users])

    def edges_hold(self) -> bool:
        """Whether the constraints hold between the variables chosen so far."""
        for edge in self.context.edges:
            source, user = self.chosen.get(edge.source), self.chosen.get(edge.user)
            if source is None or user is None:
                continue
            value = self.values.get(user)
            if not self.used_at(source, value, edge.index) or (edge.only and not self.only(edge, source)):
                return False
        return True

    def used_at(self, source: Var, value: Any, index: int) -> bool:
        if index < 0:
            return source in _uses(value)
        args = _arguments(value)
        return index < len(args) and args[index] is source

    def only(self, edge: Edge, source: Var) -> bool:
        """Whether nobody uses the source but what the edge leads to."""
        escapes = source in self.values and not isinstance(source, DataflowVar)
        return not escapes and self.users.get(source, []) == [self.chosen[edge.user]]

    def shapes_agree(self) -> bool:
        """Whether values that must have the same shape have it."""
        for patterns in self.context.same_shapes:
            found = [self.matcher.found[p].ty for p in patterns if p in self.matcher.found]
            sizes = [t.sizes for t in found if isinstance(t, TensorType) and t.sizes is not None]
            if len(sizes) < len(found) or not all(same_sizes(sizes[0], s) for s in sizes[1:]):
                return False
        return True


def _arguments(value: Any) -> tuple[Expr, ...]:
    """The arguments of a call, those of the kernel or function where it is called through an operator."""
    if isinstance(value, Call):
        called = isinstance(value.op, Op) and value.op.name in _THROUGH and isinstance(value.args[1], Tuple)
        return value.args[1].fields_ if called else value.args  # type: ignore[attr-defined]
    return value.fields_ if isinstance(value, Tuple) else ()


_THROUGH = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad", "relax.call_dps_packed")


def _uses(value: Any) -> list[Var]:
    """The variables that a value uses, with repetitions."""
    found: list[Var] = []
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, Var):
            found.append(top)
        elif isinstance(top, Call):
            stack += [*reversed(top.args), top.op]
        elif isinstance(top, Tuple):
            stack += reversed(top.fields_)
        elif isinstance(top, TupleGetItem):
            stack.append(top.tuple_value)
    return found


__all__ = ["Edge", "PatternContext", "PatternSeq"]

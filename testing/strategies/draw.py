"""A source of choices for generators written as plain functions.

Hypothesis shrinks each choice toward the first alternative, so the simplest one stands first.
The strategies behind the choices are made once: making them anew would cost more than the draw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st

V = TypeVar("V")
Draw = Callable[[st.SearchStrategy[Any]], Any]


@cache
def _upto(limit: int) -> st.SearchStrategy[int]:
    return st.integers(0, limit)


@cache
def _between(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


class Source:
    """Choices drawn from Hypothesis."""

    __slots__ = ("draw",)

    def __init__(self, draw: Draw) -> None:
        self.draw = draw

    def integer(self, low: int, high: int) -> int:
        """An integer from low to high, both possible."""
        value: int = self.draw(_between(low, high))
        return value

    def pick(self, options: Sequence[V]) -> V:
        """One of the options."""
        return options[self.draw(_upto(len(options) - 1))] if len(options) > 1 else options[0]

    def chance(self, one_in: int) -> bool:
        """True in one of so many cases; shrinks to False."""
        return bool(self.draw(_upto(one_in - 1)) == one_in - 1)

    def some(self, options: Sequence[V], low: int, high: int) -> list[V]:
        """Between low and high of the options, repeats possible."""
        return [self.pick(options) for _ in range(self.integer(low, high))]

"""Drawing steps: a table of primitives, each with a function that aims a step at a program.

`@draws("name")` adds one; it gets a `Draw` and gives a step, or raises `Nothing` where the program
offers no place for it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from calls import Call, Step, call
from view import Access, Block, Loop

T = TypeVar("T")
SCOPES = ("global", "shared", "local")


class Nothing(Exception):
    """The program offers no place for the step."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Random numbers and the blocks of the program."""

    rng: random.Random
    blocks: Mapping[str, Block]

    def one(self, options: Sequence[T]) -> T:
        """One of the options. Raises Nothing where there is none."""
        if not options:
            raise Nothing
        return self.rng.choice(options)

    def chance(self, share: float) -> bool:
        """Yes in this share of cases."""
        return self.rng.random() < share

    def some(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """Some of the options, in random order."""
        if len(options) < least:
            raise Nothing
        return self.rng.sample(list(options), self.rng.randint(least, min(most, len(options))))

    def block(self, want: Callable[[Block], Any] = lambda _: True) -> Block:
        """A block that is wanted."""
        return self.one([b for b in self.blocks.values() if want(b)])

    def looped(self, want: Callable[[Block], Any] = lambda _: True) -> Block:
        """A wanted block inside a loop."""
        return self.block(lambda b: b.loops and want(b))

    def depth(self, block: Block, want: Callable[[Loop], Any] = lambda _: True) -> int:
        """The position of a wanted loop around the block."""
        return self.one([k for k, lp in enumerate(block.loops) if want(lp)])

    def loop(self, want: Callable[[Loop], Any] = lambda _: True) -> dict[str, Any]:
        """A wanted loop of any block."""
        block = self.looped(lambda b: any(want(lp) for lp in b.loops))
        return loop(block, self.depth(block, want))

    def access(self, options: Sequence[Access], want: Callable[[Access], Any] = lambda _: True) -> int:
        """The position of a wanted buffer."""
        return self.one([k for k, a in enumerate(options) if want(a)])

    def factors(self, extent: int | None, most: int = 3) -> list[int | None]:
        """Factors for a split, mostly with one None among them."""
        found: list[int | None] = [self.rng.randint(1, 4) for _ in range(self.rng.randint(1, most))]
        if extent is None or self.chance(0.8):
            found[self.rng.randrange(len(found))] = None
        return found


def block(name: str) -> dict[str, Any]:
    """The block of this name."""
    return {"block": name}


def loop(around: Block, depth: int) -> dict[str, Any]:
    """The loop at this depth around a block."""
    return {"loop": [around.name, depth]}


def plain(lp: Loop) -> bool:
    """Whether the loop is serial and has no notes."""
    return lp.plain


def reduces(b: Block) -> bool:
    """Whether the block has an initialiser."""
    return b.node.init is not None


def function(names: Sequence[str], results: Sequence[str]) -> dict[str, str]:
    """A function of these names, as text."""
    return {"map": f"lambda {', '.join(names)}: [{', '.join(results)}]"}


def rearranged(d: Draw, names: Sequence[str], order: Sequence[int], factor: int = 0) -> dict[str, str]:
    """The names in some order, one of them perhaps in two parts."""
    results: list[str] = []
    divided = d.one([None, *order]) if order else None
    by = factor or d.one([2, 2, 3])
    for k in order:
        results += [f"{names[k]} // {by}", f"{names[k]} % {by}"] if k == divided else [names[k]]
    return function(names, results)


Aim = Callable[[Draw], Step | Call]
DRAWS: dict[str, Aim] = {}
"""How to draw a step, by the name of the primitive that it is for."""


def draws(name: str) -> Callable[[Aim], Aim]:
    """Register the function below as the one that draws steps for a primitive."""

    def register(aim: Aim) -> Aim:
        DRAWS[name] = aim
        return aim

    return register


def draw(name: str, d: Draw) -> Step:
    """A step for the primitive. Raises Nothing where the program offers no place."""
    drawn = DRAWS[name](d)
    return drawn if isinstance(drawn, list) else [drawn]


__all__ = ["DRAWS", "SCOPES", "Draw", "Nothing", "block", "call", "draw", "draws", "function", "loop"]

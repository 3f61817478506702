"""Handles: what a schedule hands out to name loops, blocks and sampled numbers.

A handle names an identity (a loop's variable, a block's BlockRef), not a place, so it stays
good while the program around it is rewritten, and in copies of the schedule.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from ..ir import Expr, Var
from ..ir.stmt import BlockRef

Identity: TypeAlias = Var | BlockRef
"""What names a loop (its variable) or a block (its BlockRef)."""


class Handle:
    """Base of handles; two are equal when they name the same thing."""

    __slots__ = ("target",)
    target: Any

    def __init__(self, target: Any) -> None:
        object.__setattr__(self, "target", target)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a handle is immutable")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.target is self.target

    def __hash__(self) -> int:
        return hash((type(self), id(self.target)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self.target, 'name', self.target)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.target,)


class LoopRV(Handle):
    """A loop, or one of the places INLINE and ROOT that `sample_compute_location` may give."""

    __slots__ = ()
    target: Var | str


class SBlockRV(Handle):
    """A block."""

    __slots__ = ()
    target: BlockRef


ExprRV: TypeAlias = Expr
"""A number: an integer variable whose value the schedule knows, or an expression of such."""

INLINE = "inline"
ROOT = "root"
MARKS = (INLINE, ROOT)
"""Targets of loop handles that are no loops: leave the block to be inlined, or where it is."""


def inline_mark() -> LoopRV:
    """The handle that says: inline the block."""
    return LoopRV(INLINE)


def root_mark() -> LoopRV:
    """The handle that says: leave the block at the root."""
    return LoopRV(ROOT)

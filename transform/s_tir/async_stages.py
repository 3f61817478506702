"""Stages of software pipelines that copy in the background, and what waits for them.

The copies of a stage are parted into groups, one of each per iteration, which end in the order in which
they are made.  Who uses their data waits until at most as many groups are under way as come later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...ir import LT, AttrStmt, Call, Expr, IfThenElse, SBlock, SBlockRealize, Stmt, Var, const, seq
from ...ir.analysis.regions import WRITE, block_access_regions
from ...ir.arith import Analyzer
from ..common import is_const, minus, plus, times

SCOPE: Final = "async_scope"
COMMIT: Final = "async_commit_queue_scope"
WAIT: Final = "async_wait_queue_scope"
COUNT: Final = "async_wait_inflight_count"


@dataclass(frozen=True, eq=False)
class Part:
    """A statement of the loop, how many iterations it lags behind, and its place among the others."""

    realize: SBlockRealize
    stage: int
    order: int
    background: bool
    used: Mapping[Var, int]

    @property
    def always(self) -> bool:
        """Whether it runs in every iteration."""
        return is_const(self.realize.predicate, 1)


@dataclass(frozen=True, eq=False)
class Group:
    """Statements that follow each other; those of a background stage make one group of copies."""

    parts: tuple[Part, ...]

    @property
    def stage(self) -> int:
        """By how many iterations they lag behind."""
        return self.parts[0].stage

    @property
    def order(self) -> int:
        """The place of the first one."""
        return self.parts[0].order

    @property
    def background(self) -> bool:
        """Whether they copy in the background."""
        return self.parts[0].background


Needs = list[tuple[Group, int]]
"""Groups of copies, each with how many iterations before this one's."""


def conflicts(a: Mapping[Var, int], b: Mapping[Var, int]) -> list[Var]:
    """The buffers that both use and one of them writes."""
    return [buffer for buffer, mode in a.items() if buffer in b and (mode | b[buffer]) & WRITE]


def needed_groups(
    parts: Sequence[Part], groups: Sequence[Group], private: Collection[Var]
) -> dict[int, Needs]:
    """For each part, by its place in the order, the copies that must have ended before it starts.

    Of each stage only the latest group counts, and none that a part of the same iteration, which
    always runs, has waited for before.  Of the `private` buffers each iteration has a version or part.
    """
    found: dict[int, Needs] = {}
    waited: list[tuple[int, Group, int]] = []
    for part in sorted(parts, key=lambda p: p.order):
        latest: dict[int, tuple[Group, int]] = {}
        for group in groups:
            back = _distance(part, group, parts, private) if group.background else None
            if back is not None:
                old = latest.get(group.stage)
                if old is None or _after(group, back, *old):
                    latest[group.stage] = (group, back)
        left = [
            (group, back)
            for group, back in latest.values()
            if not any(
                stage == part.stage and g.stage == group.stage and not _after(group, back, g, b)
                for stage, g, b in waited
            )
        ]
        found[part.order] = left
        if part.always:
            waited += [(part.stage, *need) for need in left]
    return found


def _after(group: Group, back: int, other: Group, other_back: int) -> bool:
    """Whether a group of a stage ends after another one of that stage."""
    return (-back, group.order) > (-other_back, other.order)


def _distance(part: Part, group: Group, parts: Sequence[Part], private: Collection[Var]) -> int | None:
    """How many iterations before the part's own its data were copied by the group; None for never."""
    found: int | None = None
    for other in group.parts:
        shared = conflicts(part.used, other.used)
        if shared and parts.index(other) < parts.index(part):
            return 0
        if any(b not in private for b in shared):
            found = 1
    return found


@dataclass(frozen=True, eq=False)
class Moment:
    """A time of the pipeline, counted in iterations of what does not lag behind."""

    time: Expr
    extent: Expr
    ana: Analyzer

    def left(self, part: Part, group: Group, back: int, groups: Sequence[Group]) -> Expr:
        """How many groups of the stage may be under way when the part uses the data of one of them."""
        dtype = self.time.dtype
        queue = [g for g in groups if g.background and g.stage == group.stage]
        here = [g for g in queue if g.order < part.order and part not in g.parts]
        later = len([g for g in queue if g.order > group.order])
        lag = part.stage - group.stage + back
        if lag == 0:
            return const(len([g for g in here if g.order > group.order]), "int32")
        steady = const(later + (lag - 1) * len(queue) + len(here), "int32")
        goes_on = LT(minus(self.time, const(group.stage, dtype)), self.extent)
        known = self.ana.simplify(goes_on)
        if is_const(known, 1):
            return steady
        rest: Expr = const(later, "int32")
        if lag > 1 or is_const(known, 0):
            gone = minus(self.time, const(part.stage + back, dtype))
            rounds = minus(minus(self.extent, const(1, dtype)), gone)
            rest = self.ana.simplify(plus(times(rounds, const(len(queue), dtype)), const(later, dtype)))
        if is_const(known, 0):
            return rest
        return Call("prim.if_then_else", (goes_on, steady, rest), rest.ty)


def in_background(realize: SBlockRealize) -> SBlock:
    """The block with its body marked to copy in the background, under its condition."""
    body = realize.block.body
    if not is_const(realize.predicate, 1):
        body = IfThenElse(realize.predicate, body)
    return _renewed(realize.block, _marked(body, {SCOPE: const(1, "int32")}))


def waiting(block: SBlock, waits: Sequence[tuple[int, Expr]]) -> SBlock:
    """The block with its body waiting for copies: stages, and how many groups may be under way."""
    if not waits:
        return block
    body = block.body
    for stage, count in reversed(waits):
        body = _marked(body, {WAIT: const(stage, "int32"), COUNT: count})
    return block.replace(body=body)


def joined(group: Group, made: Sequence[SBlockRealize]) -> SBlockRealize:
    """The statements of a group in one block, which ends the group of copies."""
    if not group.background:
        return made[0]
    mark = {COMMIT: const(group.stage, "int32")}
    if len(made) == 1:
        block = made[0].block
        return made[0].replace(block=_renewed(block, _marked(block.body, mark)))
    bodies = [_opened(one.replace(predicate=const(1, "bool"))) for one in made]
    block = SBlock((), (), (), "", _marked(seq(bodies), mark))
    return SBlockRealize((), made[0].predicate, _renewed(block, block.body))


def _opened(realize: SBlockRealize) -> Stmt:
    """The body of a block that is nothing but its body; other blocks as they are."""
    block = realize.block
    plain = not (block.alloc_buffers or block.match_buffers or block.annotations)
    return block.body if plain else realize


def _renewed(block: SBlock, body: Stmt) -> SBlock:
    """The block with another body and the regions that this one accesses."""
    new = block.replace(body=body)
    reads, writes = block_access_regions(new)
    return new.replace(reads=reads, writes=writes)


def _marked(body: Stmt, marks: Mapping[str, Any]) -> Stmt:
    for key, value in reversed(list(marks.items())):
        body = AttrStmt(const(0, "int32"), key, value, body)
    return body

"""`tvm.s_tir.sblock_scope`: references to statements of a schedule, and who waits for whom in a scope."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from ....ir import For, SBlockRealize
from ....ir.analysis.blocks import BlockScope, DepKind
from ....ir.analysis.blocks import Dependency as _Dependency
from ....schedule.state import State
from ...adapters import lacking


class Holder(Protocol):
    """What holds the state that a reference looks into."""

    @property
    def state(self) -> State: ...


class StmtSRef:
    """A loop or block of a schedule by its identity; it follows the schedule's changes."""

    __slots__ = ("_holder", "_target")

    def __init__(self, holder: Holder, target: Any) -> None:
        self._holder = holder
        self._target = target

    @property
    def stmt(self) -> Any:
        """The loop or block as it is now; None when it is gone."""
        place = self._holder.state.places.get(self._target)
        if place is None:
            return None
        return place.node.block if isinstance(place.node, SBlockRealize) else place.node

    @property
    def parent(self) -> StmtSRef | None:
        """The loop or block around; None for the outermost."""
        place = self._holder.state.places.get(self._target)
        if place is None or place.parent is None:
            return None
        return StmtSRef(self._holder, place.parent)

    def same_as(self, other: object) -> bool:
        """Whether both name the same place of the same schedule."""
        return self == other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StmtSRef) and other._target is self._target and other._holder is self._holder

    def __hash__(self) -> int:
        return hash((id(self._holder), id(self._target)))

    def __repr__(self) -> str:
        return f"StmtSRef({self._target.name})"


def target_of(stmt: Any) -> Any:
    """What names a loop, a block or a block with its bindings."""
    if isinstance(stmt, For):
        return stmt.loop_var
    return stmt.block.ref if isinstance(stmt, SBlockRealize) else stmt.ref


class Dependency(NamedTuple):
    """`dst` must run after `src`."""

    src: StmtSRef
    dst: StmtSRef
    kind: DepKind


class SBlockScope:
    """The dependences between the blocks of a scope."""

    __slots__ = ("_holder", "_scope")

    def __init__(self, holder: Holder, scope: BlockScope) -> None:
        self._holder = holder
        self._scope = scope

    def get_deps_by_src(self, block: StmtSRef) -> list[Dependency]:
        """What waits for this block."""
        return [self._theirs(d) for d in self._scope.deps_by_src(block._target)]

    def get_deps_by_dst(self, block: StmtSRef) -> list[Dependency]:
        """What this block waits for."""
        return [self._theirs(d) for d in self._scope.deps_by_dst(block._target)]

    def _theirs(self, dep: _Dependency) -> Dependency:
        return Dependency(StmtSRef(self._holder, dep.src), StmtSRef(self._holder, dep.dst), dep.kind)


__getattr__ = lacking("tvm.s_tir.sblock_scope")

__all__ = ["DepKind", "Dependency", "SBlockScope", "StmtSRef", "target_of"]

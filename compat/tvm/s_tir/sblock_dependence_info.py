"""`tvm.s_tir.sblock_dependence_info`: dependences between the blocks of a module."""

from __future__ import annotations

from typing import Any

from ....ir import BaseFunc, IRModule
from ....schedule.state import State
from ...adapters import lacking
from .sblock_scope import SBlockScope, StmtSRef, target_of


class SBlockDependenceInfo:
    """Answers who waits for whom in the scopes of a module or function."""

    def __init__(self, mod: Any) -> None:
        self.state = State(IRModule({"main": mod}) if isinstance(mod, BaseFunc) else mod)

    def get_sref(self, block: Any) -> StmtSRef | None:
        """The reference of a block of the module; None where it is none."""
        target = target_of(block)
        return StmtSRef(self, target) if target in self.state.places else None

    def get_sblock_scope(self, block_sref: StmtSRef) -> SBlockScope:
        """The scope of the block that this is, or that is the nearest around."""
        return scope_of(self, block_sref)


def scope_of(holder: Any, sref: StmtSRef) -> SBlockScope:
    """The scope of a block; for a loop, that of the block around."""
    target = sref._target
    place = holder.state.place(target)
    while place.parent is not None and not hasattr(place.node, "block"):
        target = place.parent
        place = holder.state.place(target)
    return SBlockScope(holder, holder.state.scope(target))


__getattr__ = lacking("tvm.s_tir.sblock_dependence_info")

__all__ = ["SBlockDependenceInfo", "scope_of"]

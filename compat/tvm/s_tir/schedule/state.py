"""`tvm.s_tir.schedule.state`: the state behind a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from .....errors import InternalError
from .....ir import BaseFunc, IRModule, SBlock, SBlockRealize, renew_definitions
from .....ir.analysis.blocks import affine_binding_reason, stage_pipeline_reason
from .....ir.analysis.cover import region_cover_reason
from .....schedule.refusal import Refused
from .....schedule.state import State
from ....adapters import lacking
from ..sblock_dependence_info import scope_of
from ..sblock_scope import SBlockScope, StmtSRef, target_of


class ScheduleDebugMask(IntEnum):
    """What is verified after each step."""

    VERIFY_SREF_TREE = 1
    VERIFY_CACHED_FLAGS = 2


class CachedFlags(NamedTuple):
    """What is known of a block in its scope, and of the scope that it opens."""

    affine_binding: bool
    region_cover: bool
    stage_pipeline: bool


class ScheduleState:
    """A module in which loops and blocks can be replaced."""

    def __init__(self, mod: Any, *, debug_mask: str | int = "none", enable_check: bool = True) -> None:
        module = IRModule({"main": mod}) if isinstance(mod, BaseFunc) else mod
        self.debug_mask = {"all": 3, "none": 0}[debug_mask] if isinstance(debug_mask, str) else debug_mask
        self.enable_check = enable_check
        self.state = State(module, check=enable_check)

    @property
    def mod(self) -> IRModule:
        """The module as it is now."""
        return self.state.mod

    def get_sref(self, stmt: Any) -> StmtSRef | None:
        """The reference of a loop or block; None where it does not stand here."""
        return sref_of(self, stmt)

    def get_sblock_scope(self, block_sref: StmtSRef) -> SBlockScope:
        """The scope that a block opens."""
        return scope_of(self, block_sref)

    def _get_cached_flags(self, block_sref: StmtSRef) -> CachedFlags:
        return cached_flags(self.state, block_sref)

    def replace(
        self, src_sref: StmtSRef, tgt_stmt: Any, block_sref_reuse: Mapping[Any, Any] | None = None
    ) -> None:
        """Let `tgt_stmt` stand where the loop or block stood.

        `block_sref_reuse` maps blocks that go to blocks that take over their references.
        """
        for old, new in (block_sref_reuse or {}).items():
            renamed = new.replace(ref=old.ref)
            tgt_stmt = renamed if tgt_stmt is new else _with_block(tgt_stmt, new, renamed)
        target = src_sref._target
        try:
            self.state = self._replaced(target, tgt_stmt)
        except InternalError:
            # what stands elsewhere already comes in as a copy
            self.state = self._replaced(target, renew_definitions(tgt_stmt))

    def _replaced(self, target: Any, tgt_stmt: Any) -> State:
        node = self.state.place(target).node
        if isinstance(tgt_stmt, SBlock):
            if not isinstance(node, SBlockRealize):
                raise TypeError("a loop cannot be replaced by a block without its bindings")
            return self.state.replace_block(target, tgt_stmt)
        return self.state.replace(node, tgt_stmt)


def _with_block(stmt: Any, old: SBlock, new: SBlock) -> Any:
    from .....ir import Rewriter

    class Swap(Rewriter):
        def visit_SBlock(self, node: SBlock) -> Any:
            return new if node is old else self.visit_fields(node)

    return Swap().visit(stmt)


def sref_of(holder: Any, stmt: Any) -> StmtSRef | None:
    """The reference of a loop or block in what holds a state; None where it does not stand there."""
    target = target_of(stmt)
    return StmtSRef(holder, target) if target in holder.state.places else None


def cached_flags(state: State, sref: StmtSRef) -> CachedFlags:
    """The flags of a block."""
    target = sref._target
    inner = state.scope(target)
    pipeline = not inner.children or stage_pipeline_reason(inner) is None
    try:
        scope = state.scope_around(target)
    except Refused:
        return CachedFlags(True, True, pipeline)
    affine = affine_binding_reason(state.realize(target), state.loops(target)) is None
    return CachedFlags(affine, region_cover_reason(scope, target) is None, pipeline)


__getattr__ = lacking("tvm.s_tir.schedule.state")

__all__ = ["CachedFlags", "ScheduleDebugMask", "ScheduleState"]

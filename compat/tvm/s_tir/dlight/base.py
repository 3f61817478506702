"""`tvm.s_tir.dlight.base`: rules, their application, and steps that rules share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....dtype import DType
from .....ir import Expr, For, IntImm, IRModule, PrimFunc
from .....schedule import LoopRV, Schedule
from .....schedule.dlight import blocks
from .....schedule.dlight.gpu import gpu_machine
from .....schedule.dlight.gpu.threads import suggest_threads
from .....target import Target
from ....adapters import lacking
from .analysis import SBlockInfo, our_info


class ScheduleRule:
    """A rule for functions: subclasses override `apply`."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | list[Schedule] | None:
        """A schedule of the function, several if `tunable`; None where the rule does not know it."""
        raise NotImplementedError

    def is_target_available(self, target: Target) -> bool:
        """Whether the rule is for this target."""
        return True

    @staticmethod
    def from_callable(name: str) -> Callable[[Callable[..., Any]], ScheduleRule]:
        """Decorator: a function of PrimFunc, target and `tunable` becomes a rule of this name."""

        def enter(function: Callable[..., Any]) -> ScheduleRule:
            body = {"apply": lambda self, func, target, tunable: function(func, target, tunable)}
            made: ScheduleRule = type(name, (ScheduleRule,), body)()
            return made

        return enter


class ApplyDefaultSchedule:
    """The pass that schedules each function that is not scheduled by the first rule that knows it."""

    def __init__(self, *rules: ScheduleRule) -> None:
        self.rules = rules

    def __call__(self, mod: IRModule) -> IRModule:
        """The scheduled module; a function's target is its own, or the one in effect."""
        changed = {}
        for g, func in mod.functions.items():
            if isinstance(func, PrimFunc) and not func.attrs.get("tirx.is_scheduled"):
                made = self._scheduled(func)
                if made is not None:
                    changed[g] = made.mod["main"].with_attr("tirx.is_scheduled", True)
        return mod.replace(functions={**mod.functions, **changed}) if changed else mod

    def _scheduled(self, func: PrimFunc) -> Schedule | None:
        target: Any = func.attrs.get("target") or Target.current(allow_none=False)
        for rule in self.rules:
            made = rule.apply(func, target, False)
            if isinstance(made, list | tuple):
                if len(made) != 1:
                    raise ValueError(f"rule {type(rule).__name__} gave {len(made)} schedules, not one")
                return made[0]
            if made is not None:
                return made
        return None


def try_inline(sch: Schedule, blocks_: list[SBlockInfo]) -> list[SBlockInfo]:
    """Inline blocks into each other as far as that is possible; the others are left."""
    return _left(blocks_, blocks.inline_all(sch, [our_info(b) for b in blocks_]))


def try_inline_contiguous_spatial(sch: Schedule, block_infos: list[SBlockInfo]) -> list[SBlockInfo]:
    """The same for injective blocks that no other block parts."""
    return _left(block_infos, blocks.inline_contiguous_spatial(sch, [our_info(b) for b in block_infos]))


def _left(before: list[SBlockInfo], after: list[blocks.BlockInfo]) -> list[SBlockInfo]:
    kept = {b.rv for b in after}
    return [b for b in before if b.block_rv in kept]


def auto_vectorize(sch: Schedule, loop: LoopRV, max_vec: int) -> None:
    """Vectorise the innermost part of a loop of known extent."""
    blocks.vectorize_up_to(sch, loop, max_vec)


def get_extent(sch: Schedule, loop_rv: LoopRV) -> int | Expr:
    """The extent of a loop."""
    extent: Expr = sch.get(loop_rv).extent
    return extent.value if isinstance(extent, IntImm) else extent


def get_bytes(dtype: Any) -> int:
    """The bytes of an element."""
    return -(-DType(str(dtype)).bits // 8)


def max_threads_per_block(target: Target) -> int:
    """How many threads a block may have. Raises ValueError for what is no GPU."""
    if "gpu" not in target.keys:
        raise ValueError(f"a GPU has blocks of threads; {target} is none")
    return gpu_machine(target).threads


def suggest_threads_per_block(
    target: Target, loops: list[For], max_threads_for_dynamic_loop: int = 32
) -> list[int]:
    """How many threads to give to each of the loops."""
    sizes = [n.extent.value if isinstance(n.extent, IntImm) else None for n in loops]
    return suggest_threads(gpu_machine(target), sizes, max_threads_for_dynamic_loop)


__getattr__ = lacking("tvm.s_tir.dlight.base")

__all__ = [
    "ApplyDefaultSchedule",
    "ScheduleRule",
    "auto_vectorize",
    "get_bytes",
    "get_extent",
    "max_threads_per_block",
    "suggest_threads_per_block",
    "try_inline",
    "try_inline_contiguous_spatial",
]

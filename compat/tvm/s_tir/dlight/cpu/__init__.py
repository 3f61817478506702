"""`tvm.s_tir.dlight.cpu`: TVM's rules for processors; our own are the default, whatever the names."""

from __future__ import annotations

from collections.abc import Callable

from ......errors import ScheduleError
from ......ir import IRModule, PrimFunc
from ......schedule import Schedule
from ......schedule.dlight.cpu.tvm_gemv import tvm_gemv
from ......schedule.dlight.cpu.tvm_reduction import tvm_reduction
from ......schedule.dlight.rule import Taken
from ......target import Target
from .....adapters import lacking
from ..base import ScheduleRule


class CPUScheduleRule(ScheduleRule):
    """A rule for targets with the key `cpu`."""

    def is_target_available(self, target: Target) -> bool:
        """Whether the target is a processor."""
        return "cpu" in target.keys

    def apply_ours(
        self, rule: Callable[[Schedule], Taken | None], func: PrimFunc, target: Target
    ) -> Schedule | None:
        """The schedule of the function by a function of ours; None where that does not know it."""
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        sch = Schedule(IRModule({"main": func}), seed=1, error_render_level="none")
        try:
            return None if rule(sch) is None else sch
        except ScheduleError:
            return None


class GEMV(CPUScheduleRule):
    """Products of a matrix and a vector."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        """The schedule; None where the function is of another kind."""
        return self.apply_ours(tvm_gemv, func, target)


class Reduction(CPUScheduleRule):
    """Chains of reductions."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        """The schedule; None where the function is of another kind."""
        return self.apply_ours(tvm_reduction, func, target)


__getattr__ = lacking("tvm.s_tir.dlight.cpu")

__all__ = ["GEMV", "CPUScheduleRule", "Reduction"]

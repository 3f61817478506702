"""The peer's form of our rules for GPUs: a class whose `apply` schedules a function."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ......ir import IRModule, PrimFunc
from ......schedule import Schedule
from ......schedule.dlight.gpu import GpuRule, gpu_machine
from ......schedule.dlight.gpu.apply import apply_rule
from ......target import Target
from ..base import ScheduleRule


class GPUScheduleRule(ScheduleRule):
    """A rule for targets with the key `gpu`."""

    def is_target_available(self, target: Target) -> bool:
        """Whether the target is a GPU."""
        return "gpu" in target.keys

    def apply_ours(self, rule: GpuRule, func: PrimFunc, target: Target) -> Schedule | None:
        """The schedule of the function by a rule of ours; None where that does not know it."""
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        made = apply_rule(IRModule({"main": func}), "main", rule, gpu_machine(target))
        return None if made is None else made[0]


def wrapped(name: str, place: str) -> type[GPUScheduleRule]:
    """The class of this name for our rule, which has the name of its module."""

    def apply(self: GPUScheduleRule, func: PrimFunc, target: Target, tunable: bool) -> Any:
        module = import_module(f"......schedule.dlight.gpu.{place}", __package__)
        return self.apply_ours(getattr(module, place), func, target)

    return type(name, (GPUScheduleRule,), {"apply": apply, "__module__": "tvm.s_tir.dlight.gpu"})

"""Applying the rules for GPUs to the functions of a module."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import ScheduleError
from ....ir import AttrStmt, Call, For, ForKind, GlobalVar, IRModule, PrimFunc, walk
from ....ir.visitor import find
from ....node import Node
from ....target import Target
from ...schedule import Schedule
from ..rule import Applied, Taken
from .machine import GpuMachine, gpu_machine
from .rule import GpuRule

_HEAD = 2
"""Lines of a trace before its first step."""


def schedule_for_gpu(
    mod: IRModule,
    target: Target,
    rules: Sequence[GpuRule] | None = None,
    report: list[Applied] | None = None,
) -> IRModule:
    """The module with each function that nobody scheduled scheduled by the first rule that knows it.

    A scheduled function has the attribute `tirx.is_scheduled`.  Private functions that kernels call stay as
    they are.  The results are the same but for the order in
    which floating sums are added.
    """
    from . import GPU_RULES

    changed = {}
    helpers = _called_on_device(mod, target)
    for g, func in mod.functions.items():
        if not isinstance(func, PrimFunc) or is_bound(func) or g.name in helpers:
            continue
        own = target_of(func, target)
        if "gpu" not in own.keys:
            continue
        machine = gpu_machine(own)
        for rule in GPU_RULES if rules is None else rules:
            made = apply_rule(mod, g.name, rule, machine)
            if made is None:
                continue
            sch, taken = made
            scheduled = sch.mod[g.name]
            assert isinstance(scheduled, PrimFunc)
            changed[g] = scheduled.with_attr("tirx.is_scheduled", True)
            if report is not None:
                steps = "\n".join(str(sch.trace).splitlines()[_HEAD:])
                names = tuple([b.target.name for b in taken.blocks])
                report.append(Applied(g.name, rule.__name__, names, taken.why, steps))
            break
    return mod.replace(functions={**mod.functions, **changed}) if changed else mod


def is_bound(func: PrimFunc) -> bool:
    """Whether somebody chose the threads: by a schedule, or in the source."""
    if func.scheduled or func.attrs.get("tirx.is_scheduled"):
        return True
    return any(_is_axis(node) for node in walk(func.body))


def _is_axis(node: Node) -> bool:
    """Whether the statement binds threads."""
    if isinstance(node, For):
        return node.kind is ForKind.THREAD_BINDING
    return isinstance(node, AttrStmt) and node.attr_key == "thread_extent"


def _called_on_device(mod: IRModule, target: Target) -> set[str]:
    """The private functions that kernels call: the threads of the caller run them, each for itself."""
    called: set[GlobalVar] = set()
    for func in mod.functions.values():
        if isinstance(func, PrimFunc) and "gpu" in target_of(func, target).keys:
            parts = [node for node in walk(func.body) if _is_axis(node)] or [func.body]
            called |= {c.op for part in parts for c in find(part, Call) if isinstance(c.op, GlobalVar)}
    names = {g.name for g in called}
    return {g.name for g, f in mod.functions.items() if g.name in names and "global_symbol" not in f.attrs}


def target_of(func: PrimFunc, target: Target) -> Target:
    """Where the function runs: on the target that it names, or else on this one."""
    own = func.attrs.get("target")
    return target if own is None else Target(own)


def apply_rule(mod: IRModule, name: str, rule: GpuRule, machine: GpuMachine) -> tuple[Schedule, Taken] | None:
    """The schedule of one function by one rule; None where the rule does not know it."""
    sch = Schedule(mod, seed=1, error_render_level="none")
    sch.work_on(name)
    try:
        taken = rule(sch, machine)
    except ScheduleError:
        return None
    return None if taken is None else (sch, taken)

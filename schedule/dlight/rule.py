"""What a rule is, and how rules are applied to the functions of a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ...errors import ScheduleError
from ...ir import AttrStmt, For, ForKind, IRModule, PrimFunc, walk
from ...ir.analysis.blocks import BlockScope
from ...ir.stmt import SBlockRealize
from ...target import Target
from ..handles import SBlockRV
from ..schedule import Schedule
from .machine import Machine, machine_of

_HEAD = 2
"""Lines of a trace before its first step."""


class Taken(NamedTuple):
    """What a rule did: the blocks that it took care of (they may be gone), and why, in a sentence."""

    blocks: tuple[SBlockRV, ...]
    why: str


Rule: TypeAlias = Callable[[Schedule, SBlockRV, Machine], Taken | None]
"""A rule looks at a block, and the blocks around it, and schedules them; None where it knows none of it.

It may try: what it did to the schedule is undone where it gives None or is refused.
"""


class Applied(NamedTuple):
    """A rule that was applied: to which blocks of which function, why, and the steps as script."""

    func: str
    rule: str
    blocks: tuple[str, ...]
    why: str
    steps: str


def default_schedule(
    mod: IRModule,
    target: Target | str = "llvm",
    rules: Sequence[Any] | None = None,
    report: list[Applied] | None = None,
) -> IRModule:
    """The module with each function that nobody scheduled scheduled by the first rules that know its blocks.

    The results are the same but for the order in which floating sums are added.  `rules` stand in
    for the rules of the target's kind (`Rule`, for GPUs `gpu.GpuRule`); `report` receives what was
    applied.  The decision depends on the program and the target only.
    """
    target = Target(target)
    if "gpu" in target.keys:
        from .gpu.apply import schedule_for_gpu

        return schedule_for_gpu(mod, target, rules, report)
    from .cpu import CPU_RULES

    machine = machine_of(target)
    chosen = CPU_RULES if rules is None else tuple(rules)
    changed = {}
    for g, func in mod.functions.items():
        if isinstance(func, PrimFunc) and not is_scheduled(func) and _has_blocks(func):
            made, applied = _schedule(mod, g.name, machine, chosen)
            if applied:
                changed[g] = made
            if report is not None:
                report += applied
    return mod.replace(functions={**mod.functions, **changed}) if changed else mod


def is_scheduled(func: PrimFunc) -> bool:
    """Whether somebody chose the loops: by a schedule, or in the source by a loop that is not just serial."""
    if func.scheduled or func.attrs.get("tirx.is_scheduled"):
        return True
    for node in walk(func.body):
        if isinstance(node, For) and (node.kind is not ForKind.SERIAL or node.annotations):
            return True
        if isinstance(node, AttrStmt) and node.attr_key == "thread_extent":
            return True
    return False


def _has_blocks(func: PrimFunc) -> bool:
    return isinstance(func.body, SBlockRealize) and not func.body.block.iter_vars


def _schedule(
    mod: IRModule, name: str, machine: Machine, rules: Sequence[Rule]
) -> tuple[PrimFunc, list[Applied]]:
    sch = Schedule(mod, seed=1, error_render_level="none")
    sch.work_on(name)
    applied: list[Applied] = []
    done: set[SBlockRV] = set()
    for rule in rules:
        for block in root_blocks(sch):
            if block in done or block.target not in sch.state.places or _is_taken(sch, block):
                continue
            tried = sch.copy()
            try:
                taken = rule(tried, _found_by_name(tried, block), machine)
            except ScheduleError:
                taken = None
            if taken is None:
                continue
            names = tuple([b.target.name for b in taken.blocks])
            steps = "\n".join(str(tried.trace).splitlines()[_HEAD + len(sch.trace) :])
            applied.append(Applied(name, rule.__name__, names, taken.why, steps))
            sch = tried
            done.update(taken.blocks)
    func = sch.mod[name]
    assert isinstance(func, PrimFunc)
    return func, applied


def _is_taken(sch: Schedule, block: SBlockRV) -> bool:
    """Whether the block stands in loops that a rule chose."""
    return any(loop.kind is not ForKind.SERIAL for loop in sch.state.loops(block))


def _found_by_name(sch: Schedule, block: SBlockRV) -> SBlockRV:
    """The handle, asked for by name where that is unique, so that the steps can be replayed."""
    assert sch.func_working_on is not None
    name = block.target.name
    if len(sch.state.blocks_named(name, sch.func_working_on.name)) == 1:
        found: SBlockRV = sch.get_sblock(name)
        return found
    return block


def root_scope(sch: Schedule) -> BlockScope:
    """The blocks of the function worked on that stand directly in its root block."""
    assert sch.func_working_on is not None
    func = sch.mod[sch.func_working_on]
    assert isinstance(func, PrimFunc) and isinstance(func.body, SBlockRealize)
    ref = func.body.block.ref
    assert ref is not None
    return sch.state.scope(ref)


def root_blocks(sch: Schedule) -> list[SBlockRV]:
    """The same as handles, in program order."""
    return [SBlockRV(ref) for ref in root_scope(sch).children]

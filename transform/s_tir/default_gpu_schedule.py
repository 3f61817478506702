"""Threads for functions that nobody scheduled."""

from __future__ import annotations

from ...ir import IRModule, PrimFunc
from ...schedule.dlight.gpu.apply import schedule_for_gpu
from ...schedule.dlight.gpu.plain_grid import plain_grid
from ...target import Target
from ..registry import register_pass

_DONE = "tirx.is_scheduled"


@register_pass("s_tir.DefaultGPUSchedule")
def default_gpu_schedule(mod: IRModule) -> IRModule:
    """Each block of a function that nobody scheduled becomes a grid of threads over its independent loops.

    That is so for functions whose target, or else the current one, is a GPU.  All functions count as
    scheduled afterwards.  `schedule.default_schedule` chooses better loops. Raises TargetError where there is
    no target.

    before:
        @T.prim_func
        def f(A: T.Buffer((64,)), B: T.Buffer((64,))):
            T.func_attr({"target": T.target("cuda")})
            for i in range(64):
                with T.sblock("B"):
                    vi = T.axis.spatial(64, i)
                    B[vi] = A[vi] + 1.0

    after:
        @T.prim_func
        def f(A: T.Buffer((64,)), B: T.Buffer((64,))):
            T.func_attr({"target": T.target("cuda"), "tirx.is_scheduled": True})
            for i_0 in T.thread_binding(1, thread="blockIdx.x"):
                for i_1 in T.thread_binding(64, thread="threadIdx.x"):
                    with T.sblock("B"):
                        vi = T.axis.spatial(64, i_0 * 64 + i_1)
                        B[vi] = A[vi] + 1.0
    """
    functions = mod.functions.values()
    open_ = [f for f in functions if isinstance(f, PrimFunc) and not f.attrs.get(_DONE)]
    if not open_:
        return mod
    targets = [Target(f.attrs["target"]) for f in open_ if "target" in f.attrs]
    current = targets[0] if len(targets) == len(open_) else Target.current(allow_none=False)
    assert current is not None
    made = schedule_for_gpu(mod, current, rules=(plain_grid,))
    marked = {
        g: f.with_attr(_DONE, True)
        for g, f in made.functions.items()
        if isinstance(f, PrimFunc) and not f.attrs.get(_DONE)
    }
    return made.replace(functions={**made.functions, **marked}) if marked else made

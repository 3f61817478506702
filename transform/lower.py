"""From a scheduled program to the loops that a back end emits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ..ir import BufferType, Expr, IRModule, PrimFunc, PrimType, Var
from ..ir.visitor import walk
from ..node import runs_deep
from ..target import Target
from . import s_tir, tirx  # noqa: F401  the passes register themselves on import
from .common import refuse
from .context import PassContext
from .registry import Pass, get_pass

CPU_PIPELINE: Final[tuple[Pass, ...]] = (
    get_pass("s_tir.CanonicalizeLoop"),
    get_pass("s_tir.PlanAndUpdateBufferAllocationLocation"),
    get_pass("s_tir.LowerInitBlock"),
    get_pass("s_tir.ConvertBlocksToOpaque"),
    get_pass("s_tir.CompactBufferAllocation"),
    get_pass("s_tir.LowerMatchBuffer"),
    get_pass("s_tir.TightenLoops"),
    get_pass("s_tir.InjectSoftwarePipeline"),
    get_pass("s_tir.LowerOpaqueBlock"),
    get_pass("s_tir.InjectVirtualThread"),
    get_pass("tirx.LowerVirtualThread"),
    get_pass("s_tir.LoopPartition"),
    get_pass("tirx.RemoveHints"),
    get_pass("tirx.StmtSimplify"),
    get_pass("tirx.FlattenBuffer"),
    get_pass("s_tir.HoistIfThenElse"),
    get_pass("tirx.VectorizeLoop"),
    get_pass("tirx.HoistLoopStart"),
    get_pass("tirx.UnrollLoop"),
    get_pass("tirx.StmtSimplify"),
    get_pass("tirx.StorageRewrite", min_bytes=1024),
    get_pass("tirx.RemoveNoOp"),
)
"""What turns a program into loops for the back ends `llvm` and `python`, in order."""

Pipeline = Sequence[Callable[[IRModule], IRModule]]
"""Passes, or other functions on modules, to run in order."""


@runs_deep
def lower(mod: IRModule | PrimFunc, target: Any = None, pipeline: Pipeline | None = None) -> IRModule:
    """The module in lowered form for the target (default: the CPU), made by the passes of a pipeline.

    Afterwards there are no blocks; every access has one index, scalar or vector; loops are serial
    or parallel; parameters keep their types, and where they are accessed the body starts with flat
    aliases of them; sizes are free variables that the parameters' types define.  With a `pipeline` instead
    of `CPU_PIPELINE` this is so where its passes see to it.  For a target with the key "gpu" the module has
    host functions that launch kernels, and a function for each kernel (`transform.device`).
    Raises PassError where the program cannot be brought into that form.
    """
    if isinstance(mod, PrimFunc):
        mod = IRModule.from_expr(mod)
    for func in mod.functions.values():
        if isinstance(func, PrimFunc):
            check_sizes(func)
    context = PassContext.current()
    if context.get("tirx.disable_assert"):
        mod = get_pass("tirx.SkipAssert")(mod)
    if pipeline is None and (chosen := _gpu(target)) is not None:
        from .device import lower_for_device

        return lower_for_device(mod, chosen)
    for one in CPU_PIPELINE if pipeline is None else pipeline:
        if getattr(one, "name", "") == "tirx.FlattenBuffer" and context.get("tirx.instrument_bound_checkers"):
            mod = get_pass("s_tir.InstrumentBoundCheckers")(mod)
        mod = one(mod)
    if context.get("tirx.instrument_lwp"):
        mod = get_pass("s_tir.InstrumentProfileIntrinsics")(mod)
    return mod


def _gpu(target: Any) -> Target | None:
    """The target where it is a GPU."""
    if target is None:
        return None
    chosen = target if isinstance(target, Target) else Target(target)
    return chosen if "gpu" in chosen.keys else None


def check_sizes(func: PrimFunc) -> None:
    """Check that a call can tell every size: that each symbol is a parameter, or an extent, a stride or
    the offset of one by itself.

    Raises PassError naming a symbol that occurs in compound expressions only.
    """
    known: set[Expr] = {p for p in func.params if isinstance(p.ty, PrimType)}
    fields: list[tuple[Var, Expr]] = []
    for p in func.params:
        if isinstance(p.ty, BufferType):
            offset = [] if p.ty.elem_offset is None else [p.ty.elem_offset]
            fields += [(p, e) for e in (*p.ty.shape, *p.ty.strides, *offset)]
    known |= {e for _, e in fields if isinstance(e, Var)}
    for p, e in fields:
        for v in walk(e):
            if isinstance(v, Var) and v not in known:
                raise refuse(
                    "unbound-size",
                    f"the size `{v.name}` in the type of `{p.name}` cannot be told from the arguments",
                    p,
                    f"let `{v.name}` be an extent by itself, or a parameter",
                )

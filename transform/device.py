"""From a scheduled program to host functions that launch kernels, and the kernels."""

from __future__ import annotations

from typing import Final

from ..ir import IRModule, PrimFunc
from ..target import Target
from .registry import Pass, get_pass

GPU_PIPELINE: Final[tuple[Pass, ...]] = (
    # Blocks: what a reduction over threads is, where buffers live, one variable for each thread axis.
    get_pass("s_tir.CanonicalizeLoop"),
    get_pass("s_tir.LowerCrossThreadReduction"),
    get_pass("s_tir.LowerInitBlock"),
    get_pass("s_tir.GuardRepeatedBlocks"),
    get_pass("s_tir.PlanAndUpdateBufferAllocationLocation"),
    get_pass("s_tir.ConvertBlocksToOpaque"),
    get_pass("s_tir.HoistKernelMemory"),
    get_pass("s_tir.UnifyThreadBinding", guard=True),
    get_pass("s_tir.VerifyPrivateMemory"),
    get_pass("s_tir.MoveOnChipMemory"),
    get_pass("s_tir.ManifestSharedMemoryLocalStage"),
    get_pass("s_tir.CompactBufferAllocation"),
    get_pass("s_tir.LowerAutoCopy"),
    get_pass("s_tir.UnifyThreadBinding", guard=True),
    get_pass("s_tir.LowerMatchBuffer"),
    get_pass("s_tir.InjectPermutedLayout"),
    get_pass("s_tir.InjectSoftwarePipeline"),
    get_pass("s_tir.TransformMmaBufferLayout"),
    # Loops: blocks are gone, every access gets one index, in 32 bits where it fits.
    get_pass("s_tir.LowerOpaqueBlock"),
    get_pass("s_tir.InjectVirtualThread"),
    get_pass("s_tir.InjectDoubleBuffer"),
    get_pass("s_tir.LoopPartition"),
    get_pass("tirx.RemoveHints"),
    get_pass("tirx.StmtSimplify"),
    get_pass("tirx.FlattenBuffer"),
    get_pass("tirx.StmtSimplify", spread_casts=False),
    get_pass("s_tir.HoistIfThenElse"),
    get_pass("tirx.NarrowDataType", target_bits=32),
    get_pass("tirx.VectorizeLoop"),
    get_pass("tirx.UnrollLoop", explicit=False),
    get_pass("s_tir.InjectPTXAsyncCopy"),
    get_pass("tirx.StmtSimplify", spread_casts=False),
    get_pass("tirx.NarrowIndex"),
    # Threads: they copy ahead, reduce together, share memory, and wait for each other where they must.
    get_pass("s_tir.InferFragment"),
    get_pass("tirx.LowerWarpMemory"),
    get_pass("s_tir.LowerThreadAllreduce"),
    get_pass("s_tir.MergeSharedMemoryAllocations", static=True),
    get_pass("s_tir.ThreadSync", storage_scope=("shared", "shared.dyn", "global")),
    # Functions: large arrays of a thread share memory, limits hold, the host launches kernels.
    get_pass("tirx.StorageRewrite", min_bytes=1024),
    get_pass("tirx.StmtSimplify", spread_casts=False),
    get_pass("s_tir.InjectPTXLDG32", enable=None),
    get_pass("tirx.RemoveNoOp"),
    get_pass("tirx.VerifyMemory"),
    get_pass("s_tir.VerifyDeviceLimits"),
    get_pass("tirx.SplitHostDevice"),
)
"""What turns a program into host functions that launch kernels, for targets with the key "gpu", in order."""


def lower_for_device(mod: IRModule, target: Target) -> IRModule:
    """Host functions and kernels for the target, whose host is `llvm` where it names none.

    Raises PassError where the program cannot be brought into that form.
    """
    bound = target if target.host is not None else target.with_host("llvm")
    for one in (get_pass("tirx.BindTarget", target=bound), *GPU_PIPELINE):
        mod = one(mod)
    return mod


def kernels_of(mod: IRModule) -> dict[str, PrimFunc]:
    """The kernels of a lowered module by name."""
    found: dict[str, PrimFunc] = {}
    for name, func in mod.functions.items():
        if isinstance(func, PrimFunc) and func.attrs.get("calling_conv") == 2:
            found[name.name] = func
    return found


__all__ = ["GPU_PIPELINE", "kernels_of", "lower_for_device"]

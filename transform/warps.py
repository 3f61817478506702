"""Warps: threads of a block that run in step, and how targets name them."""

from __future__ import annotations

from typing import Any, Final

from ..dtype import DType
from ..ir import LT, Add, Call, Expr, IntImm, Mul, PrimType, Select, Var, const
from ..target import Target
from .common import cast_to, is_const

_MASKED: Final = ("cuda", "cuda-sim", "nvptx")
"""Kinds of targets whose shuffles name the lanes that take part."""
_SHUFFLES: Final = (*_MASKED, "rocm", "metal")

Axes = dict[str, tuple[Var, Expr]]
"""The axes of a kernel by tag: variable and extent."""


def warp_size(target: Any) -> int:
    """How many threads shuffle values among themselves; 1 where the target cannot, 32 without a target."""
    if not isinstance(target, Target):
        return 32
    if target.kind == "webgpu":
        return 32 if target.get("supports_subgroups") else 1
    return int(target.get("thread_warp_size", 1)) if target.kind in _SHUFFLES else 1


def warp_mask(target: Any, axes: Axes) -> Expr:
    """All lanes of the warp at hand, of which the last one of a block has fewer; 0 where nobody asks."""
    if isinstance(target, Target) and target.kind not in _MASKED:
        return const(0, "int32")
    warp = warp_size(target)
    thread: Expr = const(0, "int32")
    total = 1
    for tag in ("threadIdx.x", "threadIdx.y", "threadIdx.z"):
        if tag in axes:
            var, extent = axes[tag]
            if not isinstance(extent, IntImm):
                return Call("tirx.tvm_warp_activemask", (), "uint32")
            thread = digit(thread, cast_to(var, PrimType(DType("int32"))), total)
            total *= extent.value
    full, rest = const((1 << warp) - 1, "uint32"), const((1 << total % warp) - 1, "uint32")
    if total % warp == 0:
        return full
    return rest if total < warp else Select(LT(thread, const(total // warp * warp, "int32")), full, rest)


def digit(low: Expr, var: Expr, weight: int) -> Expr:
    """`var * weight + low`."""
    term = var if weight == 1 else Mul(var, const(weight, "int32"))
    return term if is_const(low, 0) else Add(term, low)

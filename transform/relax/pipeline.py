"""Pipelines over graphs: which passes run, in order.

`get_pipeline(name)` gives one as a function on modules; the tuples hold the passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...errors import Diagnostic, PassError, suggest
from ...ir import IRModule
from ..registry import Pass, get_pass, sequential

ZERO: Final[tuple[str, ...]] = (
    "relax.LegalizeOps",
    "relax.AnnotateTIROpPattern",
    "relax.FoldConstant",
    "relax.FuseOps",
    "relax.FuseTIR",
)
"""Operators become kernels, constants are computed, kernels are fused."""

LOWERING: Final[tuple[str, ...]] = (
    "relax.LambdaLift",
    "relax.RewriteDataflowReshape",
    "relax.ToNonDataflow",
    "relax.RemovePurityChecking",
    "relax.CallTIRRewrite",
    "relax.StaticPlanBlockMemory",
    "relax.LowerAllocTensor",
    "relax.KillAfterLastUse",
    "relax.LowerRuntimeBuiltin",
    "relax.ComputePrimValue",
    "relax.VMShapeLower",
    "relax.AttachGlobalSymbol",
)
"""From kernels in graphs to what bytecode can say."""

DISPATCH: Final[tuple[str, ...]] = ("relax.DispatchSampling", "relax.DispatchSortScan")

DEFAULT_BUILD: Final[tuple[str, ...]] = (*DISPATCH, "relax.NameSizes", "relax.LegalizeOps", *LOWERING)
"""Lowering without fusion."""

CPU: Final[tuple[str, ...]] = (
    *DISPATCH,
    "relax.NameSizes",
    "relax.LegalizeOps",
    "relax.CanonicalizeBindings",
    "relax.DeadCodeElimination",
    *ZERO[1:],
    "relax.PackConstants",
    *LOWERING,
)
"""What `build` runs for the CPU: kernels that take constants get their schedules before the others."""

GPU: Final[tuple[str, ...]] = tuple([name for name in CPU if name != "relax.PackConstants"])
"""What `build` runs for devices, which take constants as they are."""

PIPELINES: Final[dict[str, tuple[str, ...]]] = {
    "zero": ZERO,
    "default_build": DEFAULT_BUILD,
    "cpu": CPU,
    "gpu": GPU,
}
"""Every pipeline by its name; `default` is that of the target."""


def passes_of(name: str, target: Any = None) -> tuple[Pass, ...]:
    """The passes of a pipeline. Raises PassError with near names when there is none."""
    if name == "default":
        return tuple([_pass(n, target) for n in _for_target(target)])
    if name not in PIPELINES:
        known = ["default", *PIPELINES]
        text = f"there is no pipeline `{name}`"
        raise PassError(
            Diagnostic(
                "unknown-pass", text, notes=(f"pipelines: {', '.join(known)}",), help=suggest(name, known)
            )
        )
    return tuple([get_pass(n) for n in PIPELINES[name]])


def get_pipeline(name: str = "zero") -> Callable[[IRModule], IRModule]:
    """A pipeline as one function on modules. Raises PassError with near names when there is none."""
    return sequential(*passes_of(name))


def get_default_pipeline(target: Any = None) -> Callable[[IRModule], IRModule]:
    """The pipeline of a target. Raises PassError for a target without one."""
    return sequential(*passes_of("default", target))


def _pass(name: str, target: Any) -> Pass:
    found = get_pass(name)
    return found if target is None or name != "relax.PackConstants" else found.with_options(target=target)


def _for_target(target: Any) -> tuple[str, ...]:
    from ...target import Target

    if target is None:
        return CPU
    found = Target(target)
    if found.kind in ("llvm", "c"):
        return CPU
    if "gpu" in found.keys:
        return GPU
    text = f"there is no pipeline for the target kind `{found.kind}`"
    raise PassError(Diagnostic("unsupported-target", text))


__all__ = [
    "CPU",
    "DEFAULT_BUILD",
    "GPU",
    "LOWERING",
    "PIPELINES",
    "ZERO",
    "get_default_pipeline",
    "get_pipeline",
    "passes_of",
]

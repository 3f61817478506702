"""`tvm.relax.pipeline`: the parts of the default pipeline of a target, as lists of passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ....errors import PassError
from ....ir import IRModule
from ....transform import Pass, get_pass
from ....transform.relax import pipeline as _pipeline
from ....transform.relax.pipeline import get_pipeline
from ...adapters import lacking

_PLAN = _pipeline.LOWERING.index("relax.StaticPlanBlockMemory")


class TargetError(PassError, ValueError):
    """A target has no pipeline; the peer's programs expect a ValueError."""


def get_default_pipeline(target: Any = None) -> Callable[[IRModule], IRModule]:
    """The pipeline of a target. Raises TargetError for a target without one."""
    try:
        return _pipeline.get_default_pipeline(target)
    except PassError as err:
        told = [replace(d, message=f"{d.message}: not yet supported") for d in err.diagnostics]
        raise TargetError(*told) from None


def library_dispatch_passes(target: Any) -> list[Pass]:
    """Operators that have better kernels for this target are replaced."""
    return _known(target, _pipeline.DISPATCH)


def legalize_passes(target: Any) -> list[Pass]:
    """Operators become kernels, and these are fused."""
    return _known(target, _pipeline.ZERO)


def dataflow_lower_passes(target: Any) -> list[Pass]:
    """Graphs become bindings that run in order."""
    return _known(target, _pipeline.LOWERING[:_PLAN])


def finalize_passes(target: Any) -> list[Pass]:
    """Memory is planned, and the rest is said in what bytecode has."""
    return _known(target, _pipeline.LOWERING[_PLAN:])


def _known(target: Any, names: tuple[str, ...]) -> list[Pass]:
    get_default_pipeline(target)
    return [get_pass(name) for name in names]


__getattr__ = lacking("tvm.relax.pipeline")

__all__ = [
    "dataflow_lower_passes",
    "finalize_passes",
    "get_default_pipeline",
    "get_pipeline",
    "legalize_passes",
    "library_dispatch_passes",
]

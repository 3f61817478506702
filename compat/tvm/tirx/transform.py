"""`tvm.tirx.transform`: passes by the peer's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ir import IRModule, PrimFunc
from ....target import Target
from ..passes import factory, finder


def Apply(ftransform: Callable[[PrimFunc], PrimFunc]) -> Callable[[IRModule], IRModule]:
    """A pass that applies a function to each PrimFunc."""
    return lambda mod: mod.map_prim_funcs(ftransform)


def BindTarget(target: Any) -> Callable[[IRModule], IRModule]:
    """A pass that sets the attribute `target` of each function that has none."""
    chosen = target if isinstance(target, Target) else Target(target)

    def bind(func: PrimFunc) -> Any:
        return func if "target" in func.attrs else func.with_attr("target", chosen)

    return lambda mod: mod.map_prim_funcs(bind)


__getattr__ = finder("tvm.tirx.transform", "tirx.")

__all__ = ["Apply", "BindTarget", "factory"]

"""`tvm.s_tir.transform`: passes by the peer's names."""

from __future__ import annotations

from typing import Any

from ....transform.s_tir import FOR_DEVICES
from ....transform.s_tir.hoist_expression import HoistedConditionals, HoistedLetBindings
from ...adapters import lacking
from ..passes import finder

_find = finder("tvm.s_tir.transform", "s_tir.")


def __getattr__(name: str) -> Any:
    """The pass of this name. Raises AttributeError for those we lack."""
    if name in FOR_DEVICES:
        return lacking("tvm.s_tir.transform", "it comes with the targets that need it")(name)
    return _find(name)


__all__ = ["HoistedConditionals", "HoistedLetBindings"]

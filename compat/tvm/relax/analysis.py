"""`tvm.relax.analysis`: what is computed about graphs."""

from __future__ import annotations

from typing import Any

from ....errors import LoopwrightError
from ....ir.analysis import check_well_formed as _check
from ....ir.relax import analysis as _analysis
from ....ir.relax.analysis import *  # noqa: F403  the names are the peer's
from ...adapters import lacking


def well_formed(program: Any, check_ty: bool = True) -> None:
    """Raises IllFormed for an ill-formed module or function, with every finding."""
    found = _faults(program)
    if found:
        raise IllFormed(*found)


def check_well_formed(program: Any, check_ty: bool = True) -> bool:
    """Whether a module or function is well formed."""
    return not _faults(program)


def _faults(program: Any) -> list[Any]:
    return [d for d in _check(program) if d.severity == "error"]


class IllFormed(LoopwrightError, ValueError):
    """A module or function is ill formed."""


__getattr__ = lacking("tvm.relax.analysis")

__all__ = [*_analysis.__all__, "check_well_formed", "well_formed"]

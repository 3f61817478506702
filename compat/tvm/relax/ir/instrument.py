"""`tvm.relax.ir.instrument`: checks between passes."""

from __future__ import annotations

from typing import Any

from .....ir.analysis import check_well_formed
from .....transform import Instrument
from ....adapters import lacking

MENDS = ("relax.Normalize", "relax.NormalizeGlobalVar")
"""Passes that make modules well formed."""


class WellFormedInstrument(Instrument):
    """Checks the module before and after each pass."""

    def __init__(self, validate_before_transform: bool = True) -> None:
        self.before = validate_before_transform

    def run_before_pass(self, mod: Any, one: Any) -> None:
        """Raises AssertionError for an ill-formed module that goes in."""
        if self.before and one.name not in MENDS:
            self._check(mod, "before", one)

    def run_after_pass(self, mod: Any, one: Any) -> None:
        """Raises AssertionError for an ill-formed module that came out."""
        if one.name not in MENDS:
            self._check(mod, "after", one)

    def _check(self, mod: Any, when: str, one: Any) -> None:
        found = [d for d in check_well_formed(mod) if d.severity == "error"]
        assert not found, f"{when} {one.name}: {found[0].message}"


__getattr__ = lacking("tvm.relax.ir.instrument")

__all__ = ["WellFormedInstrument"]

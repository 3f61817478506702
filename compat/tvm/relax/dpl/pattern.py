"""`tvm.relax.dpl.pattern`: patterns."""

from __future__ import annotations

from .....ir.relax.dpl import pattern as _pattern
from .....ir.relax.dpl.pattern import *  # noqa: F403  the names are the peer's
from ....adapters import lacking

__getattr__ = lacking("tvm.relax.dpl.pattern")

__all__ = [*_pattern.__all__]

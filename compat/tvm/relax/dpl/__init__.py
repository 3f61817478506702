"""`tvm.relax.dpl`: the pattern language of graphs."""

from __future__ import annotations

from .....ir.relax import dpl as _dpl
from .....ir.relax.dpl import *  # noqa: F403  the names are the peer's
from ....adapters import lacking
from . import pattern

__getattr__ = lacking("tvm.relax.dpl")

__all__ = [*_dpl.__all__, "pattern"]

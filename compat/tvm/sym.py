"""`tvm.sym` (once `tvm.arith`): integer arithmetic."""

from __future__ import annotations

from ...ir.arith import Analyzer, ModularSet
from ...ir.arith import Bound as ConstIntBound
from ..adapters import lacking

__getattr__ = lacking("tvm.sym")

__all__ = ["Analyzer", "ConstIntBound", "ModularSet"]

"""`tvm.ir.op`: operators."""

from __future__ import annotations

from ....ir import Op
from ...adapters import lacking

__getattr__ = lacking("tvm.ir.op", "operators are records, see loopwright.ir.register_op")

__all__ = ["Op"]

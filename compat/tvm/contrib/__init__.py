"""`tvm.contrib`: the little of it that programs of the dialect mention."""

from __future__ import annotations

from ...adapters import lacking
from . import cblas, thrust, tvmjs

__getattr__ = lacking("tvm.contrib")

__all__ = ["cblas", "thrust", "tvmjs"]

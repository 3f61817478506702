"""`tvm.contrib`: the little of it that programs of the dialect mention."""

from __future__ import annotations

from ...adapters import lacking
from . import cblas

__getattr__ = lacking("tvm.contrib")

__all__ = ["cblas"]

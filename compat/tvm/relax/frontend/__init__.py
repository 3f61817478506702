"""`tvm.relax.frontend`: models in Python; importers of other formats are not part of it."""

from __future__ import annotations

from ....adapters import lacking
from . import nn

__getattr__ = lacking("tvm.relax.frontend")

__all__ = ["nn"]

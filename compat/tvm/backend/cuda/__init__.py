"""`tvm.backend.cuda`: CUDA."""

from __future__ import annotations

from ....adapters import lacking
from . import op

__getattr__ = lacking("tvm.backend.cuda")

__all__ = ["op"]

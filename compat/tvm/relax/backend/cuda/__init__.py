"""`tvm.relax.backend.cuda`: libraries of a vendor, none of which is supported."""

from __future__ import annotations

from .....adapters import lacking
from . import cublas, cutlass
from .vendor import VendorLibrary

__getattr__ = lacking("tvm.relax.backend.cuda", "no vendor's library is supported")

__all__ = ["VendorLibrary", "cublas", "cutlass"]

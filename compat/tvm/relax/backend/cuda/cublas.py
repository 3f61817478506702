"""`tvm.relax.backend.cuda.cublas`."""

from __future__ import annotations

from .....adapters import lacking
from .vendor import VendorLibrary

partition_for_cublas = VendorLibrary("partition_for_cublas")

__getattr__ = lacking("tvm.relax.backend.cuda.cublas", "no vendor's library is supported")

__all__ = ["partition_for_cublas"]

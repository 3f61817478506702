"""`tvm.relax.backend.cuda.cutlass`."""

from __future__ import annotations

from .....adapters import lacking
from .vendor import VendorLibrary

partition_for_cutlass = VendorLibrary("partition_for_cutlass")

__getattr__ = lacking("tvm.relax.backend.cuda.cutlass", "no vendor's library is supported")

__all__ = ["partition_for_cutlass"]

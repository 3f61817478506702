"""`tvm_ffi.access_path`: places inside a node."""

from __future__ import annotations

from ..access import AccessPath
from ..adapters import lacking

__getattr__ = lacking("tvm_ffi.access_path")

__all__ = ["AccessPath"]

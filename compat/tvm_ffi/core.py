"""`tvm_ffi.core`: the types of values, as Python has them."""

from __future__ import annotations

from ..adapters import lacking

String = str

__getattr__ = lacking("tvm_ffi.core")

__all__ = ["String"]

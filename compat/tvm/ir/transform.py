"""`tvm.ir.transform`: another name of `tvm.transform`."""

from __future__ import annotations

from ...adapters import lacking
from ..transform import Pass, PassContext, Sequential, module_pass

__getattr__ = lacking("tvm.ir.transform")

__all__ = ["Pass", "PassContext", "Sequential", "module_pass"]

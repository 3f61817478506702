"""`tvm.tirx.transform`: passes by the peer's names."""

from __future__ import annotations

from ...passes import finder
from .function_pass import PrimFuncPass, prim_func_pass

__getattr__ = finder("tvm.tirx.transform", "tirx.")

__all__ = ["PrimFuncPass", "prim_func_pass"]

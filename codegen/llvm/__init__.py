"""The CPU back end: lowered tirx to LLVM assembly, object code, and Python callables."""

from __future__ import annotations

from .build import Compiled, compile_module
from .jit import host

__all__ = ["Compiled", "compile_module", "host"]

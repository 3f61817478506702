"""`tvm.ir.module`: modules."""

from __future__ import annotations

from typing import Any

from .... import ir
from ...adapters import adapts, lacking


@adapts(ir.IRModule)
def IRModule(functions: Any = None, attrs: Any = None, global_infos: Any = None) -> Any:
    """A module; without arguments an empty one."""
    return ir.IRModule(functions or {}, attrs or {}, global_infos or {})


__getattr__ = lacking("tvm.ir.module")

__all__ = ["IRModule"]

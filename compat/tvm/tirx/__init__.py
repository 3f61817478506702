"""`tvm.tirx`: loop programs. Nodes and operators with the peer's signatures."""

from __future__ import annotations

from typing import Any

from ....ir import BufferType as _BufferType
from ....ir import PrimFunc, TensorMapType, decl_buffer
from ...adapters import lacking
from . import analysis, buffer, expr, function, op, stmt, transform
from .analysis import undefined_vars
from .buffer import (
    Buffer,
    BufferAccessKind,
    BufferRegionType,
    BufferType,
    buffer_data,
    buffer_data_pointer_type,
    is_buffer_var,
)
from .expr import *  # noqa: F403  the peer's names of expression nodes
from .function import IndexMap
from .op import find_operator
from .stmt import *  # noqa: F403  the peer's names of statement nodes

del _BufferType
_missing = lacking("tvm.tirx")


def __getattr__(name: str) -> Any:
    """Operators by name. Raises AttributeError for what is not there yet."""
    if name == "build":
        from ..driver import build

        return build
    found = find_operator(name)
    return found if found is not None else _missing(name)


__all__ = [
    "Buffer",
    "BufferAccessKind",
    "BufferRegionType",
    "BufferType",
    "IndexMap",
    "PrimFunc",
    "TensorMapType",
    "analysis",
    "buffer",
    "buffer_data",
    "buffer_data_pointer_type",
    "decl_buffer",
    "expr",
    "function",
    "is_buffer_var",
    "op",
    "stmt",
    "transform",
    "undefined_vars",
]

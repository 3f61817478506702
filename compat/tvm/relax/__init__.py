"""`tvm.relax`: the graph dialect comes with its own issue; the types that both dialects share are there."""

from __future__ import annotations

from ....ir import (
    DummyGlobalInfo,
    ExternFunc,
    FuncType,
    StringImm,
    Tuple,
    TupleGetItem,
    TupleType,
    VDevice,
)
from ...adapters import lacking

__getattr__ = lacking("tvm.relax", "the graph dialect comes with its own issue")

__all__ = [
    "DummyGlobalInfo",
    "ExternFunc",
    "FuncType",
    "StringImm",
    "Tuple",
    "TupleGetItem",
    "TupleType",
    "VDevice",
]

"""`tvm.te.operation`: what makes tensors."""

from __future__ import annotations

from ....te import (
    compute,
    create_prim_func,
    extern,
    extern_primfunc,
    placeholder,
    reduce_axis,
    scan,
    size_var,
    thread_axis,
    var,
)
from ...adapters import lacking

__getattr__ = lacking("tvm.te.operation")

__all__ = [
    "compute",
    "create_prim_func",
    "extern",
    "extern_primfunc",
    "placeholder",
    "reduce_axis",
    "scan",
    "size_var",
    "thread_axis",
    "var",
]

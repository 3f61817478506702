"""`tvm.te.tensor`: tensors and operations."""

from __future__ import annotations

from ....te import ComputeOp, ExternOp, Operation, PlaceholderOp, ScanOp, Tensor, TensorSlice
from ...adapters import lacking

__getattr__ = lacking("tvm.te.tensor")

__all__ = ["ComputeOp", "ExternOp", "Operation", "PlaceholderOp", "ScanOp", "Tensor", "TensorSlice"]

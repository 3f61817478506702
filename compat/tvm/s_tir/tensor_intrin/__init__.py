"""`tvm.s_tir.tensor_intrin`: the names of tensor intrinsics; those of processors and of CUDA are there."""

from __future__ import annotations

from .....schedule.tensor_intrin import TensorIntrin
from ....adapters import lacking
from . import arm_cpu, cuda, x86

__getattr__ = lacking("tvm.s_tir.tensor_intrin", "intrinsics of other accelerators come with their targets")

__all__ = ["TensorIntrin", "arm_cpu", "cuda", "x86"]

"""`tvm.s_tir.dlight.gpu`: our rules for GPUs by the peer's names."""

from __future__ import annotations

from .....adapters import lacking
from .low_batch_gemv import LowBatchGEMV
from .wrap import GPUScheduleRule, wrapped

Matmul = wrapped("Matmul", "matmul")
GEMV = wrapped("GEMV", "gemv")
Reduction = wrapped("Reduction", "reduction")
GeneralReduction = wrapped("GeneralReduction", "general_reduction")
RMSNorm = wrapped("RMSNorm", "rms_norm")
Transpose = wrapped("Transpose", "transpose")
Fallback = wrapped("Fallback", "fallback")

__getattr__ = lacking("tvm.s_tir.dlight.gpu")

__all__ = [
    "GEMV",
    "Fallback",
    "GPUScheduleRule",
    "GeneralReduction",
    "LowBatchGEMV",
    "Matmul",
    "RMSNorm",
    "Reduction",
    "Transpose",
]

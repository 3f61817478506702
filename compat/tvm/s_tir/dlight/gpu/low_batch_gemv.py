"""`tvm.s_tir.dlight.gpu.low_batch_gemv`: products of a few vectors with a matrix."""

from __future__ import annotations

from ......ir import PrimFunc
from ......schedule import Schedule
from ......target import Target
from .....adapters import lacking
from ..analysis import is_broadcast_epilogue
from .wrap import GPUScheduleRule


class LowBatchGEMV(GPUScheduleRule):
    """As `GEMV`, for a symbolic or small number of vectors; `bucket` of them are taken at once."""

    def __init__(self, bucket: int = 4) -> None:
        self.bucket = bucket

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        """The schedule; None where the function is of another kind."""
        from ......schedule.dlight.gpu.low_batch_gemv import low_batch_gemv

        return self.apply_ours(low_batch_gemv(self.bucket, is_broadcast_epilogue), func, target)


__getattr__ = lacking("tvm.s_tir.dlight.gpu.low_batch_gemv")

__all__ = ["LowBatchGEMV", "is_broadcast_epilogue"]

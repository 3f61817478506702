"""Default schedules for GPUs."""

from __future__ import annotations

from typing import Final

from .convolution import convolution
from .elementwise import elementwise
from .fallback import fallback
from .gemv import gemv
from .general_reduction import general_reduction
from .low_batch_gemv import low_batch_gemv
from .machine import GpuMachine, gpu_machine
from .matmul import matmul
from .piecewise import piecewise
from .plain_grid import plain_grid
from .reduction import reduction
from .rms_norm import rms_norm
from .rule import GpuRule
from .transpose import transpose

GPU_RULES: Final[tuple[GpuRule, ...]] = (
    gemv,
    low_batch_gemv(unknown=False),
    matmul,
    convolution,
    general_reduction,
    transpose,
    elementwise,
    piecewise,
)
"""The rules for targets with the key `gpu`, in the order in which they are tried."""

__all__ = [
    "GPU_RULES",
    "GpuMachine",
    "GpuRule",
    "convolution",
    "elementwise",
    "fallback",
    "gemv",
    "general_reduction",
    "gpu_machine",
    "low_batch_gemv",
    "matmul",
    "piecewise",
    "plain_grid",
    "reduction",
    "rms_norm",
    "transpose",
]

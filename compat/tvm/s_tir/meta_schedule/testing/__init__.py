"""`tvm.s_tir.meta_schedule.testing`: workloads."""

from __future__ import annotations

from .....adapters import lacking
from . import te_workload

__getattr__ = lacking("tvm.s_tir.meta_schedule.testing")

__all__ = ["te_workload"]

"""`tvm.s_tir.meta_schedule`: tuning comes with its own issue; the workloads of its tests are there."""

from __future__ import annotations

from ....adapters import lacking
from . import testing

__getattr__ = lacking("tvm.s_tir.meta_schedule", "automatic tuning comes with its own issue")

__all__ = ["testing"]

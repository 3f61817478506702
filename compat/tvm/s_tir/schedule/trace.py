"""`tvm.s_tir.schedule.trace`: traces."""

from __future__ import annotations

from .....schedule import Trace
from ....adapters import lacking

__getattr__ = lacking("tvm.s_tir.schedule.trace")

__all__ = ["Trace"]

"""`tvm.s_tir.schedule`: schedules come with their own issue."""

from __future__ import annotations

from ....adapters import lacking

__getattr__ = lacking("tvm.s_tir.schedule", "schedules come with their own issue")

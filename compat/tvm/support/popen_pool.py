"""`tvm.support.popen_pool`: worker processes come with tuning."""

from __future__ import annotations

from ...adapters import lacking

__getattr__ = lacking("tvm.support.popen_pool", "worker processes come with automatic tuning")

"""`tvm.support`: helpers around other programs."""

from __future__ import annotations

from ...adapters import lacking

__getattr__ = lacking("tvm.support")

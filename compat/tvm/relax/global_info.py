"""`tvm.relax.global_info`: global infos."""

from __future__ import annotations

from ....ir import DummyGlobalInfo, VDevice
from ...adapters import lacking

__getattr__ = lacking("tvm.relax.global_info")

__all__ = ["DummyGlobalInfo", "VDevice"]

"""`tvm.topi`: the operator library stands on tensor expressions, which come with their own issue."""

from __future__ import annotations

from ..adapters import lacking

__getattr__ = lacking("tvm.topi", "it stands on tensor expressions, which come with their own issue")

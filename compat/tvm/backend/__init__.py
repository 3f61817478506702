"""`tvm.backend`: what belongs to one target."""

from __future__ import annotations

from ...adapters import lacking

__getattr__ = lacking("tvm.backend")

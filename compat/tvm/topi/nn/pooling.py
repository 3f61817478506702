"""`tvm.topi.nn.pooling`."""

from __future__ import annotations

from ..missing import missing

__getattr__ = missing("topi.nn.pooling")

__all__: list[str] = []

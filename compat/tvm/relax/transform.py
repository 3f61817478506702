"""`tvm.relax.transform`: passes over graphs by the peer's names."""

from __future__ import annotations

from ..passes import finder

__getattr__ = finder("tvm.relax.transform", "relax.")

__all__: list[str] = []

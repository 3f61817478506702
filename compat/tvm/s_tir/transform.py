"""`tvm.s_tir.transform`: passes by the peer's names."""

from __future__ import annotations

from ..passes import finder

__getattr__ = finder("tvm.s_tir.transform", "s_tir.")

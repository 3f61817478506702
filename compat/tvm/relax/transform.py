"""`tvm.relax.transform`: passes over graphs by the peer's names."""

from __future__ import annotations

from ....transform.relax.fuse_by_pattern import FusionPattern, PatternCheckContext
from ..passes import finder

__getattr__ = finder("tvm.relax.transform", "relax.")

__all__ = ["FusionPattern", "PatternCheckContext"]

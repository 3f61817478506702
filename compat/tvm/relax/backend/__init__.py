"""`tvm.relax.backend`: patterns of external libraries by their names, and passes that choose kernels."""

from __future__ import annotations

from ...passes import finder
from . import pattern_registry
from .pattern_registry import get_pattern, get_patterns_with_prefix, register_patterns

__getattr__ = finder("tvm.relax.backend", "relax.")

__all__ = ["get_pattern", "get_patterns_with_prefix", "pattern_registry", "register_patterns"]

"""Source text for devices: what CUDA, HIP and OpenCL share, and the function that makes it."""

from __future__ import annotations

from . import rules_math, rules_memory, rules_outside, rules_packed  # noqa: F401  the rules register themselves on import
from .emit import dialect_of, emit

__all__ = ["dialect_of", "emit"]

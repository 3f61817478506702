"""The operators of tirx, one family a file; importing this package registers them all."""

from __future__ import annotations

from . import calls, control, cuda, debug, gpu, math, memory, unspelled, vector, waiting

__all__ = ["calls", "control", "cuda", "debug", "gpu", "math", "memory", "unspelled", "vector", "waiting"]

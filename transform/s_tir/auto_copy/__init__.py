"""Blocks that copy, made into what threads, vectors and matrix instructions do."""

from __future__ import annotations

from . import lower

__all__ = ["lower"]

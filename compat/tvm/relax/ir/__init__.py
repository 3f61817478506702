"""`tvm.relax.ir`: what looks at graph passes."""

from __future__ import annotations

from . import instrument

__all__ = ["instrument"]

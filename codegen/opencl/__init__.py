"""OpenCL: the words of the language, rules for its operators."""

from __future__ import annotations

from .dialect import OpenCL

__all__ = ["OpenCL"]

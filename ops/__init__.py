"""The operators of the graph dialect, a family a file; importing a file registers its records."""

from __future__ import annotations

from . import unary

__all__ = ["unary"]

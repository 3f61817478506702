"""The command line: `python -m loopwright check|format|show|run|doctor`."""

from __future__ import annotations

from .main import main

__all__ = ["main"]

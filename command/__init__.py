"""The command line: `python -m loopwright check|format|show|explain|timeline|run|doctor`."""

from __future__ import annotations

from .main import main

__all__ = ["main"]

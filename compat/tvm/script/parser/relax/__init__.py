"""`tvm.script.parser.relax`: the graph dialect comes with its own issue."""

from __future__ import annotations

from typing import Any

from ......script import relax as _words
from . import entry


def __getattr__(name: str) -> Any:
    """A word of the graph dialect."""
    return getattr(_words, name)


__all__ = ["entry"]

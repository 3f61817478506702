"""`tvm.topi.math`: elementwise mathematics."""

from __future__ import annotations

from typing import Any

from .elemwise import UNARY, cast, clip, identity, negative, sign
from .missing import missing

_missing = missing("topi.math")


def __getattr__(name: str) -> Any:
    """Operators by name; one that is not there fails when it is called."""
    found = UNARY.get(name)
    return found if found is not None else _missing(name)


__all__ = ["cast", "clip", "identity", "negative", "sign"]

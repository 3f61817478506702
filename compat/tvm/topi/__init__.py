"""`tvm.topi`: the operators that are there; others import and say when they are called that they are not."""

from __future__ import annotations

from typing import Any

from . import elemwise, nn, transform
from .elemwise import BINARY, UNARY, cast, identity, negative
from .missing import missing
from .transform import reshape, transpose

_missing = missing("topi")


def __getattr__(name: str) -> Any:
    """Operators by name; one that is not there fails when it is called."""
    found = UNARY.get(name) or BINARY.get(name)
    return found if found is not None else _missing(name)


__all__ = ["cast", "elemwise", "identity", "negative", "nn", "reshape", "transform", "transpose"]

"""`tvm.topi`: the operators that are there; others import and say when they are called that they are not."""

from __future__ import annotations

from typing import Any

from . import elemwise, image, nn, reduction, transform
from .elemwise import BINARY, UNARY, cast, clip, full, full_like, identity, logical_not, negative, sign
from .missing import missing
from .reduction import REDUCTIONS
from .transform import broadcast_to, concatenate, expand_dims, flip, reshape, squeeze, stack, transpose

_missing = missing("topi")


def __getattr__(name: str) -> Any:
    """Operators by name; one that is not there fails when it is called."""
    found = UNARY.get(name) or BINARY.get(name) or REDUCTIONS.get(name)
    return found if found is not None else _missing(name)


__all__ = [
    "broadcast_to",
    "cast",
    "clip",
    "concatenate",
    "elemwise",
    "expand_dims",
    "flip",
    "full",
    "full_like",
    "identity",
    "image",
    "logical_not",
    "negative",
    "nn",
    "reduction",
    "reshape",
    "sign",
    "squeeze",
    "stack",
    "transform",
    "transpose",
]

"""`tvm.contrib.thrust`: a vendor's library, which is never there."""

from __future__ import annotations

from typing import Any

from ...adapters import lacking


def can_use_thrust(target: Any, func_name: str) -> bool:
    """Whether the library has this function for the target: it is not supported."""
    return False


__getattr__ = lacking("tvm.contrib.thrust")

__all__ = ["can_use_thrust"]

"""`tvm.te`: tensor expressions."""

from __future__ import annotations

from typing import Any

from .... import te as _te
from ....te import *  # noqa: F403  the names are the peer's
from ....te import __all__ as _NAMES
from ...adapters import lacking
from . import operation, tag, tensor

_missing = lacking("tvm.te")


def __getattr__(name: str) -> Any:
    """Functions of values by name. Raises AttributeError for what is not there yet."""
    if not name.startswith("__") and hasattr(_te, name):
        return getattr(_te, name)
    from ..tirx.op import find_operator

    found = find_operator(name) if name in ("isfinite", "isinf", "trace", "select") else None
    return found if found is not None else _missing(name)


__all__ = [*_NAMES, "operation", "tag", "tensor"]

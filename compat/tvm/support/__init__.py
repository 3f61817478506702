"""`tvm.support`: helpers around other programs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...adapters import lacking

_missing = lacking("tvm.support")
_MODULES = ("cc", "clang", "popen_pool", "utils")


def __getattr__(name: str) -> Any:
    """Modules that are loaded on first use. Raises AttributeError for what is not there yet."""
    return import_module(f".{name}", __name__) if name in _MODULES else _missing(name)

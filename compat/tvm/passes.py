"""Our passes under the peer's names: a name is a function that makes the pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import PassError
from ...transform import get_pass, list_passes
from ..adapters import lacking


def factory(name: str) -> Callable[..., Any]:
    """The function that makes a registered pass, with its options."""

    def make(**options: Any) -> Any:
        return get_pass(name, **options)

    make.__name__ = name.rpartition(".")[2]
    make.__doc__ = get_pass(name).__doc__
    return make


def finder(module: str, prefix: str) -> Callable[[str], Any]:
    """A module's `__getattr__` that finds passes. Raises AttributeError for those we lack."""
    missing = lacking(module)

    def find(name: str) -> Any:
        if name.startswith("__"):
            return missing(name)
        for full in (prefix + name, *[p for p in list_passes() if p.endswith(f".{name}")]):
            try:
                return factory(full)
            except PassError:
                continue
        return missing(name)

    return find

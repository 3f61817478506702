"""Our passes under the peer's names: a name is a function that makes the pass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...errors import PassError
from ...ir import IRModule
from ...transform import Pass, get_pass, list_passes
from ..adapters import lacking


class RefusedError(PassError, RuntimeError):
    """A pass refuses the program; the peer's programs expect a RuntimeError."""


class TheirPass(Pass):
    """One of our passes that refuses with the peer's kind of error."""

    def __call__(self, mod: IRModule, **options: Any) -> IRModule:
        """The module after the pass. Raises RefusedError where the pass refuses it."""
        try:
            return super().__call__(mod, **options)
        except PassError as err:
            raise RefusedError(*err.diagnostics) from err


def factory(name: str) -> Callable[..., Any]:
    """The function that makes a registered pass, with its options by position or name."""
    one = get_pass(name)
    names = list(inspect.signature(getattr(one.function, "__wrapped__", one.function)).parameters)[1:]

    def make(*values: Any, **options: Any) -> Any:
        if len(values) > len(names):
            raise TypeError(f"{make.__name__} takes {len(names)} options, not {len(values)}")
        found = get_pass(name, **dict(zip(names, values)), **options)
        return TheirPass(found.name, found.function, found.options)

    make.__name__ = name.rpartition(".")[2]
    make.__doc__ = one.__doc__
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

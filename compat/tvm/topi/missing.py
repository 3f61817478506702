"""Names of the operator library that have no operator of ours yet: they import, and say so when called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import Diagnostic, UnsupportedError


class Missing:
    """An operator that is not there yet. Calling it raises UnsupportedError."""

    __slots__ = ("__name__",)

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise UnsupportedError(
            Diagnostic("unsupported", f"the operator `{self.__name__}` is not supported yet")
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self.__name__}.{name}")

    def __repr__(self) -> str:
        return f"<operator {self.__name__}, not supported yet>"


def missing(module: str) -> Callable[[str], Any]:
    """A module's `__getattr__` that gives such a name for every public name."""

    def find(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        return Missing(f"{module}.{name}")

    return find

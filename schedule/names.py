"""Names of handles in a trace: b0, l1, v2, ..., numbered together in the order of creation."""

from __future__ import annotations

from typing import Any

from ..ir import Expr
from .handles import LoopRV, SBlockRV


class Names:
    """Gives each handle a name and finds handles by name."""

    __slots__ = ("_by_id", "by_name")

    def __init__(self) -> None:
        self._by_id: dict[int, str] = {}
        self.by_name: dict[str, Any] = {}

    def add(self, handle: Any, name: str | None = None) -> str:
        """Name a new handle: as given, or the next number."""
        if name is None:
            prefix = "b" if isinstance(handle, SBlockRV) else "l" if isinstance(handle, LoopRV) else "v"
            name = f"{prefix}{len(self.by_name)}"
        self._by_id[id(handle)] = name
        self.by_name[name] = handle
        return name

    def of(self, handle: Any) -> str | None:
        """The name of a handle; None for one that has none."""
        return self._by_id.get(id(handle))


def is_handle(value: Any) -> bool:
    """Whether this is a handle, or an expression (which may mention sampled numbers)."""
    return isinstance(value, LoopRV | SBlockRV | Expr)

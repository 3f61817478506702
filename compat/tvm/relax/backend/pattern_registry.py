"""`tvm.relax.backend.pattern_registry`: the patterns that programs register, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....adapters import lacking

_PATTERNS: dict[str, Any] = {}


def register_patterns(patterns: Sequence[Any]) -> None:
    """Keep patterns: `(name, pattern)` with functions behind, or what FuseOpsByPattern takes."""
    for one in patterns:
        _PATTERNS[_name(one)] = one


def get_patterns_with_prefix(prefix: str) -> list[Any]:
    """The patterns whose names start so, the last registered first."""
    return [p for name, p in reversed(_PATTERNS.items()) if name.startswith(prefix)]


def get_pattern(name: str) -> Any:
    """The pattern of this name, or None."""
    return _PATTERNS.get(name)


def _name(pattern: Any) -> str:
    return str(pattern.name if hasattr(pattern, "name") else pattern[0])


__getattr__ = lacking("tvm.relax.backend.pattern_registry")

__all__ = ["get_pattern", "get_patterns_with_prefix", "register_patterns"]

"""Passes over graphs: `relax.Name`, each a function from IRModule to IRModule.

None is loaded before a graph pass is asked for.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules


def load_all() -> None:
    """Load every module of this package: the passes register themselves."""
    for found in iter_modules(__path__):
        import_module(f".{found.name}", __name__)


__all__ = ["load_all"]

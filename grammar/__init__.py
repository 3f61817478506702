"""The concrete language: the surface tree and its readers.

What is seldom needed (the small languages, reading again after edits) is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .reader import read, read_python
from .reading import Reading
from .same import same_tree
from .spelling import spelling

if TYPE_CHECKING:
    from .incremental import Reader
    from .small import (
        IndexMapText,
        Step,
        read_index_map,
        read_pattern,
        read_pipeline,
        read_shape_symbol,
        read_target_string,
    )

__all__ = [
    "IndexMapText",
    "Reader",
    "Reading",
    "Step",
    "read",
    "read_index_map",
    "read_pattern",
    "read_pipeline",
    "read_python",
    "read_shape_symbol",
    "read_target_string",
    "same_tree",
    "spelling",
]


def __getattr__(name: str) -> object:
    """Load a name from the module that defines it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{'incremental' if name == 'Reader' else 'small'}"), name)
    globals()[name] = value
    return value

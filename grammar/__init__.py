"""The concrete language: the surface tree and its readers."""

from __future__ import annotations

from .reader import read, read_python
from .reading import Reading
from .same import same_tree
from .spelling import spelling

__all__ = ["Reading", "read", "read_python", "same_tree", "spelling"]

"""`tvm.script.parser.core.doc_core`: the tree of a source, which is Python's own."""

from __future__ import annotations

import ast
from typing import Any

from .....adapters import lacking

AST = ast.AST

_missing = lacking("tvm.script.parser.core.doc_core")


def __getattr__(name: str) -> Any:
    """A class of Python's syntax tree. Raises AttributeError for other names."""
    found = None if name.startswith("__") else getattr(ast, name, None)
    return found if isinstance(found, type) else _missing(name)


__all__ = ["AST"]

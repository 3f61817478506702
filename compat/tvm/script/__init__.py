"""`tvm.script`: parsing, and the dialects' namespaces, which are ours."""

from __future__ import annotations

import types
from typing import Any

from ....script import ir as ir
from ....script import relax as relax
from ....script import tirx as tirx
from ....script.ir import ir_module as ir_module
from ...adapters import lacking
from . import highlight, ir_builder, parser
from .parser import parse

tir = tirx
from_source = parse

_missing = lacking("tvm.script")


def __getattr__(name: str) -> Any:
    """Says what is lacking. Raises AttributeError, naming it."""
    return _missing(name)


def register_dialect(name: str, module_path: str) -> types.ModuleType:
    """Dialects of one's own are not possible. Raises AttributeError, naming it."""
    found: types.ModuleType = _missing("register_dialect")
    return found


__all__ = [
    "from_source",
    "highlight",
    "ir",
    "ir_builder",
    "ir_module",
    "parse",
    "parser",
    "register_dialect",
    "relax",
    "tir",
    "tirx",
]

"""`tvm.script.parser.core`: sources of programs."""

from __future__ import annotations

from .....adapters import lacking
from . import diagnostics, doc_core

__getattr__ = lacking("tvm.script.parser.core")

__all__ = ["diagnostics", "doc_core"]

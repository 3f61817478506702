"""`tvm.target`: targets."""

from __future__ import annotations

from ....target import Target, list_tags, register_tag
from ...adapters import lacking
from . import codegen

__getattr__ = lacking("tvm.target")

__all__ = ["Target", "codegen", "list_tags", "register_tag"]

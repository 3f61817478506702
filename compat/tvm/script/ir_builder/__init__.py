"""`tvm.script.ir_builder`: programs built by Python calls instead of source text."""

from __future__ import annotations

from ....adapters import lacking
from . import base, ir, relax, tirx
from .base import IRBuilder

__getattr__ = lacking("tvm.script.ir_builder")

__all__ = ["IRBuilder", "base", "ir", "relax", "tirx"]

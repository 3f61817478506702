"""`tvm.rpc`: running on other machines comes with its own issue; the keys of clients are there."""

from __future__ import annotations

from ...adapters import lacking
from . import base

__getattr__ = lacking("tvm.rpc", "running on other machines comes with its own issue")

__all__ = ["base"]

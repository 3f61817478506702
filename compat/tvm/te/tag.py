"""`tvm.te.tag`: tags of operations."""

from __future__ import annotations

from ....te import TagScope, tag_scope
from ...adapters import lacking

__getattr__ = lacking("tvm.te.tag")

__all__ = ["TagScope", "tag_scope"]

"""`tvm.relax.binding_rewrite`: changing the bindings of one dataflow block."""

from __future__ import annotations

from ....ir.relax.binding_rewrite import DataflowBlockRewrite
from ...adapters import lacking

__getattr__ = lacking("tvm.relax.binding_rewrite")

__all__ = ["DataflowBlockRewrite"]

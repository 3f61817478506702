"""`tvm.relax.expr_functor`: visitors and mutators of graphs."""

from __future__ import annotations

from ....ir.relax.functors import PyExprMutator, PyExprVisitor, mutator, visitor
from ...adapters import lacking

__getattr__ = lacking("tvm.relax.expr_functor")

__all__ = ["PyExprMutator", "PyExprVisitor", "mutator", "visitor"]

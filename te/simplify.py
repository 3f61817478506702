"""Simplifying what a tensor expression stores, without changing a value that wraps around."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir import GE, GT, LE, LT, Add, BufferLoad, Expr, IterVar, LShift, Mul, PrimType, Rewriter, Sub
from ..ir.arith import Analyzer
from ..ir.visitor import children


class Simplifier:
    """Simplifies expressions over the axes of one operation.

    Indices and extents are index arithmetic, which does not overflow.  A stored value is data, whose
    integer arithmetic wraps around; where the ranges of the axes show that it never does, the stronger
    rules of index arithmetic serve too.  The ranges serve for nothing else, so that a comparison with
    a bound stays as it was written.
    """

    def __init__(self) -> None:
        self._rules = Analyzer()
        self._ranges = Analyzer(data=True)

    def bind(self, axes: Iterable[IterVar]) -> None:
        """Make the ranges of these axes known."""
        for axis in axes:
            if axis.dom is not None:
                self._ranges.bind(axis.var, axis.dom)

    def index(self, e: Expr) -> Expr:
        """An index or extent, simpler."""
        return self._rules.simplify(e)

    def value(self, e: Expr) -> Expr:
        """A stored value, simpler; comparisons are by `<` and `<=`."""
        turned: Expr = _Turn()(self._rules.simplify(e, data=not self._never_wraps(e)))
        return turned

    def _never_wraps(self, e: Expr) -> bool:
        stack = [e]
        while stack:
            node = stack.pop()
            if isinstance(node, BufferLoad):
                continue
            if isinstance(node, Add | Sub | Mul | LShift) and _is_integer(node):
                if isinstance(node, LShift) or not self._ranges.is_exact(node):
                    return False
            stack += [n for n in children(node) if isinstance(n, Expr)]
        return True


class _Turn(Rewriter):
    """Turns a > b into b < a, and a >= b into b <= a."""

    def visit_GT(self, e: GT) -> Expr:
        """b < a"""
        return LT(self.visit(e.b), self.visit(e.a), e.span)

    def visit_GE(self, e: GE) -> Expr:
        """b <= a"""
        return LE(self.visit(e.b), self.visit(e.a), e.span)


def _is_integer(e: Expr) -> bool:
    return isinstance(e.ty, PrimType) and e.ty.dtype.is_integral

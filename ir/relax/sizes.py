"""Replacing symbols in types, with the sizes simplified: `n + 1` is 8 where n is 7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ...node import Node, runs_deep
from ..arith import Analyzer
from ..expr import Expr, IntImm, Var
from ..visitor import Rewriter, Substitution
from .expr import ShapeExpr
from .types import ShapeType

N = TypeVar("N", bound=Node)


class SimplifiesSizes(Rewriter):
    """A rewriter that simplifies the sizes which it changes."""

    def visit_ShapeExpr(self, shape: ShapeExpr) -> Any:
        """The shape, changed sizes simplified."""
        values = self.visit_tuple(shape.values)
        return shape if values is shape.values else ShapeExpr(_simplified(values, shape.values), shape.span)

    def visit_ShapeType(self, ty: ShapeType) -> Any:
        """The type, changed sizes simplified."""
        if ty.values is None:
            return ty
        values = self.visit_tuple(ty.values)
        return ty if values is ty.values else ShapeType(_simplified(values, ty.values))


def _simplified(new: tuple[Expr, ...], old: tuple[Expr, ...]) -> list[Expr]:
    analyzer = Analyzer()
    return [a if a is b or isinstance(a, IntImm | Var) else analyzer.simplify(a) for a, b in zip(new, old)]


class _Substitution(SimplifiesSizes, Substitution):
    pass


@runs_deep
def substitute_sizes(node: N, mapping: Mapping[Var, Any]) -> N:
    """The node with the variables replaced, as `substitute` does, and changed sizes simplified."""
    if not mapping:
        return node
    made: N = _Substitution(mapping).visit(node)
    return made


__all__ = ["SimplifiesSizes", "substitute_sizes"]

"""Affine iterator maps as values: marks, splits of marks, sums of splits.

A mark is an iterator that takes each of the values 0 to extent - 1.  A split is
`mark // lower_factor % extent * scale`, a sum adds splits and a base.
"""

from __future__ import annotations

from typing import Annotated, Any

from ...errors import Span
from ...node import DERIVED, IGNORED, Node, runs_deep
from ..equal import structural_equal
from ..expr import Add, Expr, FloorDiv, FloorMod, IntImm, Mul, Sub, as_expr, const
from ..types import PrimType, Type
from .analyzer import Analyzer
from .sizes import Sizes


class IterMapExpr(Expr):
    """Base of splits and sums: expressions of the iterator form, which hold marks."""

    __slots__ = ()


class IterMark(Node):
    """An iterator: `source` (an expression, or a sum of splits) takes each value below `extent` once."""

    source: Expr
    extent: Expr
    span: Annotated[Span | None, IGNORED] = None

    @staticmethod
    def _coerce(source: Any, extent: Any) -> tuple[Any, Any]:
        source = as_expr(source)
        return source, as_expr(extent, like=source)


class IterSplitExpr(IterMapExpr):
    """A part of a mark: `source // lower_factor % extent * scale`."""

    source: IterMark
    lower_factor: Expr
    extent: Expr
    scale: Expr
    ty: Annotated[Type, DERIVED]
    span: Annotated[Span | None, IGNORED] = None

    @staticmethod
    def _coerce(source: Any, lower_factor: Any, extent: Any, scale: Any) -> tuple[Any, ...]:
        like = source.source
        return source, as_expr(lower_factor, like=like), as_expr(extent, like=like), as_expr(scale, like=like)

    def _derive(self) -> Type:
        return self.source.source.ty


class IterSumExpr(IterMapExpr):
    """A sum of splits and a base, the splits from the outermost to the innermost."""

    args: tuple[IterSplitExpr, ...]
    base: Expr
    ty: Annotated[Type, DERIVED]
    span: Annotated[Span | None, IGNORED] = None

    @staticmethod
    def _coerce(args: Any, base: Any) -> tuple[Any, Any]:
        args = tuple(args)
        return args, as_expr(base, like=args[0] if args else None)

    def _derive(self) -> Type:
        return self.base.ty


@runs_deep
def normalize_iter_map_to_expr(e: Expr) -> Expr:
    """The plain expression of an iterator form; other expressions come back as they are."""
    return _plain(e, Sizes(Analyzer()))


def _plain(e: Expr, sizes: Sizes) -> Expr:
    if isinstance(e, IterSumExpr):
        result: Expr | None = None
        for split in e.args:
            result = _joined(result, _plain(split, sizes))
        if result is None:
            return e.base
        inner = _whole_sum(e)
        if inner is not None:
            return _plain(inner, sizes)
        if isinstance(e.base, IntImm) and e.base.value == 0:
            return result
        return Add(result, e.base)
    if isinstance(e, IterSplitExpr):
        return _split(e, sizes)
    return e


def _whole_sum(e: IterSumExpr) -> IterSumExpr | None:
    """The sum behind the one mark that this sum is, with both constants in one."""
    if len(e.args) != 1 or not isinstance(e.base, IntImm) or e.base.value == 0:
        return None
    split = e.args[0]
    inner = split.source.source
    if not isinstance(inner, IterSumExpr) or not isinstance(inner.base, IntImm) or split.ty is not inner.ty:
        return None
    for part, wanted in ((split.lower_factor, 1), (split.scale, 1)):
        if not isinstance(part, IntImm) or part.value != wanted:
            return None
    if not structural_equal(split.extent, split.source.extent):
        return None
    return IterSumExpr(inner.args, const(inner.base.value + e.base.value, e.dtype))


def _joined(total: Expr | None, e: Expr) -> Expr:
    if total is None:
        return e
    if isinstance(e, Mul) and isinstance(e.b, IntImm) and e.b.value < 0 and e.b.value > e.dtype.min_value:
        positive = -e.b.value
        return Sub(total, e.a if positive == 1 else Mul(e.a, const(positive, e.dtype)))
    return Add(total, e)


def _split(e: IterSplitExpr, sizes: Sizes) -> Expr:
    value = _plain(e.source.source, sizes)
    extent, lower, scale = sizes.of(e.extent), sizes.of(e.lower_factor), sizes.of(e.scale)
    whole = sizes.of(e.source.extent)
    if extent == 1 and whole != 1:
        return const(0, e.dtype)
    end = sizes.mul(lower, extent)
    reaches = end == whole or (isinstance(end, int) and isinstance(whole, int) and end >= whole)
    ty = e.ty
    if not reaches and isinstance(ty, PrimType):
        reaches = sizes.ceil(whole, lower, ty.dtype) == extent
    if not reaches:
        value = FloorMod(value, e.extent if lower == 1 else sizes.expr(end, e.dtype))
    if lower != 1:
        value = FloorDiv(value, e.lower_factor)
    return value if scale == 1 else Mul(value, e.scale)

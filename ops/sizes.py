"""Arithmetic on sizes and indices: simplified, with symbols known to be sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .. import ir
from ..ir import INT64, Expr, IntImm, Var, free_vars
from ..ir.arith import Analyzer
from .infer import Sizes


def size(value: int) -> Expr:
    """A constant size."""
    return IntImm(INT64, value)


def analyzer(*exprs: Expr) -> Analyzer:
    """An analyzer that knows that the symbols in these expressions are sizes: never negative."""
    found = Analyzer()
    for var in {v: None for e in exprs for v in free_vars(e)}:
        found.bind_bound(var, low=0)
    return found


def simplify(e: Any) -> Expr:
    """The size in fewer words."""
    if isinstance(e, int):
        return size(e)
    if isinstance(e, IntImm | Var):
        return e
    return analyzer(e).simplify(e)


def product(sizes: Iterable[Expr]) -> Expr:
    """How many elements a shape holds."""
    total: Any = size(1)
    for s in sizes:
        total = ir.mul(total, s)
    return simplify(total)


def total(sizes: Iterable[Expr]) -> Expr:
    """The sum of sizes."""
    found: Any = size(0)
    for s in sizes:
        found = ir.add(found, s)
    return simplify(found)


def is_zero(e: Expr) -> bool:
    """Whether it is the constant 0."""
    return isinstance(e, IntImm) and e.value == 0


def ravel(indices: Sequence[Any], sizes: Sizes) -> Expr:
    """The place of an element in memory order."""
    flat: Any = size(0)
    for i, s in zip(indices, sizes):
        flat = ir.add(_times(flat, s), i)
    return flat


def _times(a: Any, b: Any) -> Any:
    """The product, factor by factor."""
    return _times(_times(a, b.a), b.b) if isinstance(b, ir.Mul) else ir.mul(a, b)


def unravel(flat: Any, sizes: Sizes) -> list[Any]:
    """The indices of the element at a place in memory order; zeros in a tensor without elements."""
    if any(is_zero(s) for s in sizes):
        return [size(0) for _ in sizes]
    found: list[Any] = []
    stride: Any = size(1)
    for s in reversed(sizes):
        found.append(ir.floormod(ir.floordiv(flat, stride), s))
        stride = ir.mul(stride, s)
    return found[::-1]


def slice_of(
    begin: Any, end: Any, stride: int, extent: Any, assume_inbound: bool = False
) -> tuple[Expr, Expr]:
    """First index and length of `begin:end:stride` in a dimension, as Python counts.

    Negative ends count from the back; unless they are assumed to be inside, ends beyond the dimension mean
    its ends.  An end that is not proven to be negative counts as not negative.
    """
    last = extent if stride > 0 else ir.sub(extent, 1)
    first, stop = [_place(e, extent, last, stride > 0, assume_inbound) for e in (begin, end)]
    span = ir.sub(stop, first) if stride > 0 else ir.sub(first, stop)
    step = abs(stride)
    length = ir.floordiv(ir.add(span, step - 1), step)
    known = analyzer(length)
    length = known.simplify(length)
    if isinstance(length, IntImm):
        length = size(max(length.value, 0))
    elif not assume_inbound and not known.can_prove(ir.greater_equal(length, size(0))):
        length = known.simplify(ir.max_(length, size(0)))
    return simplify(first), length


def _place(index: Any, extent: Any, last: Any, forward: bool, assume_inbound: bool) -> Any:
    """An end of a slice counted from the front and within the dimension."""
    known = analyzer(ir.as_expr(index), ir.as_expr(extent))
    low = size(0 if forward else -1)
    if known.can_prove(ir.less(index, size(0))):
        index = ir.add(index, extent)
        if not assume_inbound and not known.can_prove(ir.greater_equal(index, low)):
            index = ir.max_(index, low)
    if not assume_inbound and not known.can_prove(ir.less_equal(index, last)):
        index = ir.min_(index, last)
    return known.simplify(ir.as_expr(index))


__all__ = [
    "analyzer",
    "is_zero",
    "product",
    "ravel",
    "simplify",
    "size",
    "slice_of",
    "total",
    "unravel",
]

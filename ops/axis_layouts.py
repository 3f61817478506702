"""Rules of layout conversion of the operators that reduce, insert, remove, join or cut dimensions.

They take the terms of `layout_rules`.  Where a dimension is split, and where an operator's indices count the
dimensions as the program has them, the tensors become plain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .layout_rules import Choice, Layout, plain, whole_dimensions

Rule = Callable[..., Choice]


def order_of(layout: Layout) -> list[int] | None:
    """Which dimension of the program stands at each place; None for no layout and for split dimensions."""
    if not isinstance(layout, str) or not all(c.isupper() for c in layout):
        return None
    return [ord(c) - ord("A") for c in layout]


def text_of(order: Sequence[int]) -> Layout:
    """The layout that keeps the dimensions of the program in this order."""
    return "".join([chr(ord("A") + d) for d in order])


def renumbered(order: Sequence[int], gone: Sequence[int]) -> list[int]:
    """The order without some dimensions, those behind them counted anew."""
    return [d - sum(g < d for g in gone) for d in order if d not in gone]


def made_plain(layout: Layout) -> Layout:
    """The plain layout of the same rank."""
    if isinstance(layout, tuple):
        return tuple([made_plain(part) for part in layout])
    return None if layout is None else plain(len(whole_dimensions(layout)))


def keep_plain(result_rank: Callable[[Mapping[str, Any]], int]) -> Rule:
    """Of operators whose operands mean dimensions as the program has them: all becomes plain."""

    def rule(values: Mapping[str, Any], layouts: Sequence[Layout], desired: Any = None) -> Choice:
        return Choice(tuple([made_plain(x) for x in layouts]), plain(result_rank(values)))

    return rule


def first_rank(values: Mapping[str, Any]) -> int:
    """The rank of the first operand."""
    ndim: int = getattr(next(iter(values.values())).ty, "ndim", -1)
    return ndim


def _moved(order: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """Where axes of the program stand."""
    return tuple([list(order).index(a % len(order)) for a in axes])


def reduction(values: Mapping[str, Any], layouts: Sequence[Layout], desired: Any = None) -> Choice:
    """Of reductions: the layout stays, the axes move along; what is left keeps its order."""
    layout, axis, keepdims = made_or_same(layouts[0]), values["axis"], values["keepdims"]
    order = order_of(layout)
    if order is None:
        return Choice(tuple(layouts), None)
    if axis is None:
        return Choice((layout,), layout if keepdims else "")
    gone = [a % len(order) for a in axis]
    result = order if keepdims else renumbered(order, gone)
    return Choice((layout,), text_of(result), {"axis": tuple(sorted(_moved(order, gone)))})


def made_or_same(layout: Layout) -> Layout:
    """The layout, plain where dimensions are split."""
    return layout if order_of(layout) is not None else made_plain(layout)


def one_axis(values: Mapping[str, Any], layouts: Sequence[Layout], desired: Any = None) -> Choice:
    """Of operators along one axis, all tensors of one rank: they take the first one's layout."""
    first = made_or_same(layouts[0])
    order = order_of(first)
    if order is None or any(x is None or len(whole_dimensions(x)) != len(order) for x in layouts):
        return Choice(tuple([made_plain(x) for x in layouts]), made_plain(first))
    if values["axis"] is None:
        return Choice(tuple([made_plain(x) for x in layouts]), "A")
    (axis,) = _moved(order, [values["axis"]])
    return Choice((first,) * len(layouts), first, {"axis": axis})


def concatenation(values: Mapping[str, Any], layouts: Sequence[Layout], desired: Any = None) -> Choice:
    """Of concat: all tensors take the layout of the first one, the axis moves along."""
    (parts,) = layouts
    if not isinstance(parts, tuple) or not parts:
        return Choice(tuple(layouts), None)
    found = one_axis({"axis": values["axis"] or 0}, parts)
    return Choice((found.operands,), found.result, found.attrs)


def division(values: Mapping[str, Any], layouts: Sequence[Layout], desired: Any = None) -> Choice:
    """Of split: the pieces keep the layout, the axis moves along."""
    parts = values["indices_or_sections"]
    count = parts if isinstance(parts, int) else len(parts) + 1
    found = one_axis(values, layouts)
    result = found.result if count == 1 else (found.result,) * count
    return Choice(found.operands, result, found.attrs)


def _with_new(order: Sequence[int], new: Sequence[int]) -> list[int]:
    """The order with new dimensions in front of all, the others counted anew."""
    rest = [d for d in range(len(order) + len(new)) if d not in new]
    return [*new, *[rest[d] for d in order]]


def insertion(values: Mapping[str, Any], layouts: Sequence[Layout], desired: Any = None) -> Choice:
    """Of expand_dims: in a plain tensor the axes stay, else the new dimensions are kept in front."""
    layout = made_or_same(layouts[0])
    order = order_of(layout)
    if order is None:
        return Choice(tuple(layouts), None)
    rank = len(order) + len(values["axis"])
    if layout == plain(len(order)):
        return Choice((layout,), plain(rank))
    new = sorted([a % rank for a in values["axis"]])
    return Choice((layout,), text_of(_with_new(order, new)), {"axis": tuple(range(len(new)))})


def stacking(values: Mapping[str, Any], layouts: Sequence[Layout], desired: Any = None) -> Choice:
    """Of stack: all tensors take the layout of the first one, the new dimension is kept in front."""
    (parts,) = layouts
    if not isinstance(parts, tuple) or not parts or order_of(made_or_same(parts[0])) is None:
        return Choice(tuple(layouts), None)
    layout = made_or_same(parts[0])
    order = order_of(layout) or []
    if layout == plain(len(order)):
        return Choice(((layout,) * len(parts),), plain(len(order) + 1))
    new = values["axis"] % (len(order) + 1)
    return Choice(((layout,) * len(parts),), text_of(_with_new(order, [new])), {"axis": 0})


def removal(values: Mapping[str, Any], layouts: Sequence[Layout], desired: Any = None) -> Choice:
    """Of squeeze: the rest keeps its order. Where the dimensions are not known the tensor becomes plain."""
    from .reshape import dropped

    layout, sizes = made_or_same(layouts[0]), values["x"].ty.sizes
    order = order_of(layout)
    if order is None or sizes is None:
        return Choice(tuple([made_plain(x) for x in layouts]), None)
    gone = dropped(sizes, values["axis"])
    result = text_of(renumbered(order, gone))
    return Choice((layout,), result, {"axis": tuple(sorted(_moved(order, gone)))})


def permutation(values: Mapping[str, Any], layouts: Sequence[Layout], desired: Any = None) -> Choice:
    """Of permute_dims: the result is plain; its axes count the places in the layout."""
    layout = made_or_same(layouts[0])
    order = order_of(layout)
    if order is None:
        return Choice(tuple(layouts), None)
    axes = values["axes"]
    wanted = range(len(order))[::-1] if axes is None else axes
    attrs = {} if layout == plain(len(order)) else {"axes": _moved(order, wanted)}
    return Choice((layout,), plain(len(order)), attrs)


def repetition(values: Mapping[str, Any], layouts: Sequence[Layout], desired: Any = None) -> Choice:
    """Of tile: the counts move along with their dimensions."""
    layout, repeats = made_or_same(layouts[0]), tuple(values["repeats"])
    order = order_of(layout)
    if order is None:
        return Choice(tuple(layouts), None)
    if len(repeats) > len(order):
        return Choice((plain(len(order)),), plain(len(repeats)))
    counts = (1,) * (len(order) - len(repeats)) + repeats
    return Choice((layout,), layout, {"repeats": tuple([counts[d] for d in order])})


__all__ = [
    "concatenation",
    "division",
    "first_rank",
    "insertion",
    "keep_plain",
    "one_axis",
    "permutation",
    "reduction",
    "removal",
    "repetition",
    "stacking",
]

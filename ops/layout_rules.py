"""Rules of layout conversion that operators share.

In the terms of a rule, a layout says in which order the dimensions of a tensor are kept: a text in which "A"
is its first dimension as the program has it, "B" its second, and so on; "ABCD" is the plain layout of four
dimensions, "ACDB" keeps the second one last, "ABCD16b" splits sixteen neighbours of it off.  None stands for
an operand that has no layout (a shape, a scalar, a tensor of unknown rank); the layouts of a tuple are a
tuple.

A rule gets the values of the call by parameter name, the layouts of the operands in order, and what the user
desires for this operator, if anything.  It gives a `Choice`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from .layout import find_layout

Layout: TypeAlias = Any
"""A text, a tuple of layouts, or None."""


class Choice(NamedTuple):
    """What a rule decides: the layouts that operands are brought to, that of the result, new attributes."""

    operands: tuple[Layout, ...]
    result: Layout
    attrs: Mapping[str, Any] = {}


def plain(ndim: int) -> Layout:
    """The layout as the program has it; None for an unknown rank."""
    return None if ndim < 0 else "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:ndim]


def follow(values: Mapping[str, Any], layouts: Sequence[Layout], desired: Any = None) -> Choice:
    """Of operators on elements: the first layout that is not plain, among the operands of the highest rank.

    All become plain where operands have other ranks than that and 0, or cannot be split as the layout does.
    """
    found = [layout for layout in layouts if isinstance(layout, str)]
    if not found or len(found) != len([x for x in layouts if x is not None]):
        return Choice(tuple(layouts), layouts[0] if layouts else None)
    ranks = [len(whole_dimensions(x)) for x in found]
    whole = plain(max(ranks))
    first = next((x for x, rank in zip(found, ranks) if rank == max(ranks) and x != whole), whole)
    if any(rank not in (0, max(ranks)) for rank in ranks) or not _splits(values, first):
        kept = tuple([None if x is None else plain(len(whole_dimensions(x))) for x in layouts])
        return Choice(kept, whole)
    return Choice(tuple([first if x else x for x in layouts]), first)


def _splits(values: Mapping[str, Any], text: str) -> bool:
    """Whether the operands have known sizes that the split dimensions of a layout divide."""
    layout = find_layout(text)
    if layout is None or layout.is_plain:
        return True
    letters = whole_dimensions(plain(len(whole_dimensions(text))))
    parts = {letter for letter, part in layout.axes if part is not None}
    for operand in values.values():
        sizes = getattr(getattr(operand, "ty", None), "sizes", None)
        if sizes:
            table = dict(zip(letters, sizes))
            if not all(hasattr(table[x], "value") for x in parts) or not layout.divides(table):
                return False
    return True


def along_axis(values: Mapping[str, Any], layouts: Sequence[Layout], desired: Any = None) -> Choice:
    """Of operators that treat the axis `axis` of the first operand apart: its layout, the axis moved along.

    Other operands keep theirs.  Where the dimension is split, the operand becomes plain.
    """
    layout, *others = layouts
    if not isinstance(layout, str):
        return Choice(tuple(layouts), layout)
    whole = plain(len(whole_dimensions(layout)))
    letter = whole[values["axis"] % len(whole)]
    if letter.lower() in layout:
        layout = whole
    return Choice((layout, *others), layout, {"axis": dimensions(layout).index(letter)})


def dimensions(layout: str) -> list[str]:
    """The letters of a layout in order; a small one is a part of the dimension of its capital."""
    return [c for c in layout if c.isalpha()]


def whole_dimensions(layout: str) -> list[str]:
    """The dimensions that a layout tells apart, without the parts of split ones."""
    return [c for c in layout if c.isupper()]


__all__ = ["Choice", "Layout", "along_axis", "dimensions", "follow", "plain", "whole_dimensions"]

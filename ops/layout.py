"""Layouts: which dimension of a tensor is which, as in "NCHW" or, with a split one, "NCHW16c".

A capital letter stands for a dimension.  A number with a small letter stands for a part of a dimension of
its own: in "NCHW16c" the last dimension counts 16 neighbouring channels, "C" counts such groups.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .faults import shape_fault


class Layout(NamedTuple):
    """The dimensions in order: a letter, and the size where it is a part of the letter's dimension."""

    text: str
    axes: tuple[tuple[str, int | None], ...]

    @property
    def ndim(self) -> int:
        """How many dimensions a tensor of this layout has."""
        return len(self.axes)

    @property
    def letters(self) -> str:
        """The dimensions that it tells apart, in order."""
        return "".join([letter for letter, part in self.axes if part is None])

    @property
    def is_plain(self) -> bool:
        """Whether no dimension is split."""
        return all(part is None for _, part in self.axes)

    def axis(self, letter: str) -> int:
        """Where the dimension stands; of a split one, where its groups stand."""
        return self.axes.index((letter, None))

    def gather(self, values: Sequence[Any]) -> dict[str, Any]:
        """The size of each whole dimension, from those of the axes; parts have the sizes of the layout."""
        whole = {letter: value for (letter, part), value in zip(self.axes, values) if part is None}
        for letter, part in self.axes:
            if part is not None:
                whole[letter] = whole[letter] * part
        return whole

    def join(self, indices: Sequence[Any]) -> dict[str, Any]:
        """The index in each whole dimension of the element at these indices."""
        whole: dict[str, Any] = {}
        for (letter, part), index in sorted(zip(self.axes, indices), key=lambda pair: pair[0][1] is not None):
            whole[letter] = index if part is None else whole[letter] * part + index
        return whole

    def sizes(self, whole: Mapping[str, Any]) -> list[Any]:
        """The size of each axis, from those of the whole dimensions."""
        return [
            whole[letter] // self._below(k) if part is None else part
            for k, (letter, part) in enumerate(self.axes)
        ]

    def indices(self, whole: Mapping[str, Any]) -> list[Any]:
        """The indices of the element that has these indices in the whole dimensions."""
        found = []
        for k, (letter, part) in enumerate(self.axes):
            index = whole[letter] // self._below(k)
            found.append(index if part is None else index % part)
        return found

    def _below(self, k: int) -> int:
        """How many elements of the dimension one step along the axis is."""
        letter, part = self.axes[k]
        step = 1
        for j, (other, size) in enumerate(self.axes):
            if other == letter and size is not None and (part is None or j > k):
                step *= size
        return step

    def divides(self, whole: Mapping[str, Any]) -> bool:
        """Whether the parts of split dimensions fill these sizes, as far as these are known."""
        return all(
            getattr(whole[letter], "value", 0) % self._below(k) == 0
            for k, (letter, part) in enumerate(self.axes)
            if part is None
        )


def find_layout(text: str) -> Layout | None:
    """The layout that a text names, or None when it names none."""
    axes: list[tuple[str, int | None]] = []
    if not re.fullmatch(r"([A-Z]|[1-9]\d*[a-z])+", text):
        return None
    for word in re.findall(r"[A-Z]|\d+[a-z]", text):
        axes.append((word[-1].upper(), int(word[:-1]) if len(word) > 1 else None))
    whole = [letter for letter, part in axes if part is None]
    if len(set(whole)) != len(whole) or any(letter not in whole for letter, _ in axes):
        return None
    return Layout(text, tuple(axes))


def layout_of(op: str, text: str, letters: str, name: str) -> Layout:
    """The layout of exactly these dimensions. Raises a ValueError for another one."""
    found = find_layout(text)
    if found is None or sorted(found.letters) != sorted(letters):
        shape_fault(op, f'`{name}` is "{text}", which is no order of the dimensions "{letters}"')
    return found


def whole_sizes(
    op: str, layout: Layout, ndim: int, sizes: Sequence[Any] | None, name: str
) -> dict[str, Any] | None:
    """The sizes of the whole dimensions of an operand, None where its shape is not known.

    Raises a ValueError for another rank, or another size of a part, than the layout has.
    """
    if ndim not in (-1, layout.ndim):
        shape_fault(op, f'`{name}` has {ndim} dimensions, its layout "{layout.text}" has {layout.ndim}')
    if sizes is None:
        return None
    for (_, part), size in zip(layout.axes, sizes):
        if part is not None and getattr(size, "value", part) != part:
            shape_fault(
                op, f'`{name}` has {size.value} elements in a part, its layout "{layout.text}" {part}'
            )
    return layout.gather(sizes)


def to_plain(array: Any, layout: str, letters: str) -> Any:
    """A numpy array of a layout with its dimensions whole and in the order of the letters."""
    found = find_layout(layout)
    assert found is not None
    sizes = found.gather(array.shape)
    return array.transpose(_order(found, letters)).reshape([sizes[letter] for letter in letters])


def from_plain(array: Any, letters: str, layout: str) -> Any:
    """The array in a layout, from one whose whole dimensions are in the order of the letters."""
    found = find_layout(layout)
    assert found is not None
    whole = dict(zip(letters, array.shape))
    split, order = found.sizes(whole), _order(found, letters)
    back = [order.index(k) for k in range(found.ndim)]
    return array.reshape([split[k] for k in order]).transpose(back)


def _order(layout: Layout, letters: str) -> list[int]:
    """The axes of each letter in turn, groups before parts."""
    axes = range(layout.ndim)
    return sorted(axes, key=lambda k: (letters.index(layout.axes[k][0]), layout.axes[k][1] is not None))


__all__ = ["Layout", "find_layout", "from_plain", "layout_of", "to_plain", "whole_sizes"]

"""Operators of the library that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir import operators as op
from ....te import Tensor, compute


def _axes(rank: int) -> list[str]:
    return [f"ax{i}" for i in range(rank)]


def reshape(a: Tensor, newshape: Any) -> Any:
    """The same elements in row-major order, in another shape."""
    shape = tuple(newshape) if isinstance(newshape, list | tuple) else (newshape,)

    def element(*indices: Any) -> Any:
        flat: Any = 0
        for index, size in zip(indices, shape):
            flat = op.add(op.mul(flat, size), index)
        return a(*unravel(flat, a.shape))

    return compute(shape, element, "T_reshape", "injective", varargs_names=_axes(len(shape)))


def unravel(flat: Any, shape: Sequence[Any]) -> list[Any]:
    """The indices of an element of this row-major place."""
    places: list[Any] = []
    for size in reversed(shape):
        places.append(op.floormod(flat, size))
        flat = op.floordiv(flat, size)
    return places[::-1]


def transpose(a: Tensor, axes: Any = None) -> Any:
    """The tensor with its dimensions in another order, reversed where none is given."""
    order = list(range(a.ndim))[::-1] if axes is None else [int(x) % a.ndim for x in axes]

    def element(*indices: Any) -> Any:
        places: list[Any] = [None] * a.ndim
        for index, axis in zip(indices, order):
            places[axis] = index
        return a(*places)

    shape = [a.shape[axis] for axis in order]
    return compute(shape, element, "T_transpose", "injective", varargs_names=_axes(a.ndim))

"""Recognising products: `C[b, i, j] += A[b, i, k] * B[b, k, j]` in any order of the dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....ir import Add, BufferLoad, BufferStore, Cast, Expr, IntImm, Mul, Var, structural_equal
from ..program import Facts, uses


class Contraction(NamedTuple):
    """A sum of products, its axes by where they occur.

    In each group axes of one iteration come first, then those of the result in its order.
    `batch` axes occur in both operands and the result, `row` axes in `left` and the result, `column`
    axes in `right` and the result, `depth` axes in both operands only.
    """

    left: BufferLoad
    right: BufferLoad
    batch: tuple[Var, ...]
    row: tuple[Var, ...]
    column: tuple[Var, ...]
    depth: tuple[Var, ...]

    def exchanged(self) -> Contraction:
        """The same with the operands, and so rows and columns, exchanged."""
        return Contraction(self.right, self.left, self.batch, self.column, self.row, self.depth)


def contraction(found: Facts, numbers: bool = False) -> Contraction | None:
    """A product of matrices: both operands indexed by axes alone; `right` has the result's last axis.

    With `numbers`, indices may be constants as well.
    """
    made = _products(found, numbers)
    if made is None or not _are_axes((*made.left.indices, *made.right.indices), numbers):
        return None
    store = found.store
    assert store is not None
    axes = [i for i in store.indices if isinstance(i, Var)]
    last = next((i for i in reversed(axes) if found.size(i) != 1), axes[-1] if axes else None)
    if last in made.row:
        made = made.exchanged()
    return made if last in made.column else None


def window(found: Facts, numbers: bool = False) -> Contraction | None:
    """A convolution: `right` is the kernel, indexed by axes alone, `left` what it moves over.

    With `numbers`, indices may be constants as well.
    """
    made = _products(found, numbers)
    if made is None:
        return None
    if _are_axes(made.left.indices, numbers):
        made = made.exchanged()
    plain = _are_axes(made.right.indices, numbers)
    return made if plain and not _are_axes(made.left.indices, numbers) else None


def _are_axes(indices: Sequence[Expr], numbers: bool) -> bool:
    return all(isinstance(i, Var) or (numbers and isinstance(i, IntImm)) for i in indices)


def _products(found: Facts, numbers: bool) -> Contraction | None:
    """The block as a sum of products of two arrays; None for other blocks."""
    store = found.store
    if store is None or not found.is_reduction or not isinstance(store.value, Add) or not store.indices:
        return None
    total = store.value
    own, term = (total.a, total.b) if _is_own(total.a, store) else (total.b, total.a)
    if not _is_own(own, store) or not isinstance(term, Mul):
        return None
    a, b = _operand(term.a), _operand(term.b)
    if a is None or b is None or a.buffer is b.buffer or not _are_axes(store.indices, numbers):
        return None
    axes = [v.var for v in found.block.iter_vars]
    places = [store.indices, a.indices, b.indices]
    kinds = {v: tuple([any(uses(i, v) for i in indices) for indices in places]) for v in axes}
    axes.sort(key=lambda v: (found.size(v) != 1, _place(v, store)))
    by = {
        key: tuple([v for v in axes if kinds[v] == key])
        for key in ((True, True, True), (True, True, False), (True, False, True), (False, True, True))
    }
    if sum(len(part) for part in by.values()) != len(axes):
        return None
    return Contraction(a, b, *by.values())


def _place(axis: Var, store: BufferStore) -> int:
    """Where the axis indexes the result; axes of the sum come first, in their order."""
    return next((k for k, i in enumerate(store.indices) if i is axis), -1)


def _is_own(e: Expr, store: BufferStore) -> bool:
    return (
        isinstance(e, BufferLoad)
        and e.buffer is store.buffer
        and all(map(structural_equal, e.indices, store.indices))
    )


def _operand(e: Expr) -> BufferLoad | None:
    while isinstance(e, Cast):
        e = e.value
    return e if isinstance(e, BufferLoad) else None

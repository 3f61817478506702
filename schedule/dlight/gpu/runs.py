"""In which order a block reads and writes memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

from ....ir import BufferLoad, BufferStore, BufferType, Expr, FloorMod, IntImm, Var
from ..program import Facts, extent, uses

WIDEST = 16
"""Bytes that a thread moves at once."""


class Run(NamedTuple):
    """Elements that follow each other in memory: along an axis, and how many may be accessed as a vector."""

    axis: Var
    lanes: int


def read_run(found: Facts) -> Run:
    """How the block reads most of what it reads: by the load that depends on the most axes.

    Vectors are possible where it reads nothing else.
    """
    axes = [v.var for v in found.block.iter_vars]
    loads = found.loads()
    main = max(loads, key=lambda x: sum(any(uses(i, v) for i in x.indices) for v in axes))
    run = _run(main, axes)
    return run if len(loads) == 1 else run._replace(lanes=1)


def write_run(found: Facts) -> Run:
    """How the block writes its results."""
    store = found.store
    assert store is not None
    return _run(store, [v.var for v in found.block.iter_vars])


def _run(access: BufferLoad | BufferStore, axes: Sequence[Var]) -> Run:
    inner = access.indices[-1]
    axis = next((v for v in axes if uses(inner, v)), axes[-1])
    ty = access.buffer.ty
    assert isinstance(ty, BufferType)
    size = extent(ty.shape[-1])
    if size is None or ty.strides or not _is_plain(inner, axis, size):
        return Run(axis, 1)
    return Run(axis, gcd(size, max(1, WIDEST * 8 // ty.dtype.bits)))


def _is_plain(inner: Expr, axis: Var, size: int) -> bool:
    """Whether the last index is the axis, or its remainder by the length of a row."""
    if isinstance(inner, FloorMod) and isinstance(inner.b, IntImm) and inner.b.value == size:
        inner = inner.a
    return inner is axis

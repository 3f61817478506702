"""What kernels do with their buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...arith import Analyzer
from ...expr import BufferLoad, Expr, IntImm, Var, as_index
from ...function import PrimFunc, buffer_params
from ...operators import add, mul
from ...promote import convert
from ...stmt import BufferStore, SBlock, SBlockRealize
from ...types import INT64, BufferType
from ...visitor import find


def has_reshape_pattern(func: PrimFunc) -> bool:
    """Whether the kernel copies its first buffer to its last one, element by element in row-major order.

    Such a copy is another view of the same memory.  What cannot be proven counts as no.
    """
    buffers = buffer_params(func)
    if len(buffers) != 2:
        return False
    source, target = buffers
    blocks = [r.block for r in find(func.body, SBlockRealize) if r.block.iter_vars]
    stores = find(func.body, BufferStore)
    if len(blocks) != 1 or len(stores) != 1 or not _covers(blocks[0], target):
        return False
    store = stores[0]
    load = store.value
    if store.buffer is not target or not isinstance(load, BufferLoad) or load.buffer is not source:
        return False
    analyzer = Analyzer()
    for size in _shape(target):
        if isinstance(size, Var):
            analyzer.bind_bound(size, low=1)  # where an element is copied, no size is 0
    for axis in blocks[0].iter_vars:
        if axis.dom is None:
            return False
        analyzer.bind(axis.var, axis.dom)
    return analyzer.can_prove_equal(
        _place(target, store.indices), _place(source, load.indices)
    ) and Analyzer().can_prove_equal(_count(target), _count(source))


def _covers(block: SBlock, target: Var) -> bool:
    """Whether the axes of a block go over the buffer's whole shape; its places are the axes themselves."""
    stores = find(block.body, BufferStore)
    axes = {axis.var: axis.dom for axis in block.iter_vars}
    analyzer = Analyzer()
    for index, size in zip(stores[0].indices, _shape(target)):
        dom = axes.get(index) if isinstance(index, Var) else None
        if dom is None:
            if not (isinstance(index, IntImm) and isinstance(size, IntImm) and size.value == 1):
                return False
        elif not analyzer.can_prove_equal(dom.extent, convert(size, dom.extent.dtype)):
            return False
    return True


def _shape(buffer: Var) -> tuple[Expr, ...]:
    assert isinstance(buffer.ty, BufferType)
    return buffer.ty.shape


def _place(buffer: Var, indices: Sequence[Expr]) -> Expr:
    """The place of an element in row-major order."""
    sizes = _shape(buffer)
    place: Any = indices[0] if indices else 0
    for index, size in zip(indices[1:], sizes[1:]):
        place = add(mul(place, convert(size, index.dtype)), index)
    return as_index(place)


def _count(buffer: Var) -> Expr:
    count: Expr = IntImm(INT64, 1)
    for size in _shape(buffer):
        count = mul(count, convert(size, INT64.dtype))
    return count


__all__ = ["has_reshape_pattern"]

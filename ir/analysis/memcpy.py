"""Loops that only copy: whether a loop nest moves one contiguous stretch of memory to another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...node import runs_deep
from ..arith import Analyzer, IntervalSet, detect_iter_map, eval_set
from ..arith.intset import extent_of
from ..arith.iter_nodes import IterSumExpr
from ..equal import structural_equal
from ..expr import Add, BufferLoad, BufferRegion, Expr, IntImm, Mul, Range, Var, const
from ..stmt import BufferStore, For
from ..types import BufferType


class Memcpy(NamedTuple):
    """`dest` receives the elements of `source` in the order of memory."""

    source: BufferRegion
    dest: BufferRegion


@runs_deep
def identify_memcpy(loop: For) -> Memcpy | str:
    """The copy that a loop nest does; a sentence saying why it is none.

    Each element of a stretch of the one buffer's memory goes to the element at the same place of a
    stretch of the other's, in any order.
    """
    loops: dict[Var, Range] = {}
    body = loop
    while isinstance(body, For):
        loops[body.loop_var] = Range(body.min, body.extent)
        body = body.body  # type: ignore[assignment]
    if not isinstance(body, BufferStore):
        return f"Expected innermost loop to have BufferStore body, but it is a {type(body).__name__}"
    if not isinstance(body.value, BufferLoad):
        return f"Expected BufferStore's value to be BufferLoad, but it is a {type(body.value).__name__}"
    return _Copy(loops, body.value, body).result()


class _Copy:
    def __init__(self, loops: Mapping[Var, Range], load: BufferLoad, store: BufferStore) -> None:
        self.loops, self.load, self.store = loops, load, store
        self.ana = Analyzer()
        for var, dom in loops.items():
            self.ana.bind(var, dom)

    def result(self) -> Memcpy | str:
        """The copy, or why it is none."""
        sums = []
        for name, buffer, indices in self.sides():
            found = detect_iter_map([_flat(buffer, indices)], self.loops, True, "bijective", True, self.ana)
            if not found.indices:
                why = "; ".join(found.errors)
                return f"The index of the {name} does not form a bijective transform of the loops: {why}"
            sums.append(found.indices[0])
        one, other = sums
        if not _same_source(one, other):
            return "The source and the destination have different source iterators in their indices"
        steps = 1
        for dom in self.loops.values():
            steps *= dom.extent.value if isinstance(dom.extent, IntImm) else 0
        for short, total in (("src", one), ("dst", other)):
            touched = _touched(total)
            if touched != steps:
                counts = f"loop iterations ({steps}) and number of {short} indices touched ({touched})"
                return f"Mismatch between {counts}"
        source, dest = (self.region(buffer, indices) for _, buffer, indices in self.sides())
        return Memcpy(source, dest)

    def sides(self) -> list[tuple[str, Var, tuple[Expr, ...]]]:
        """Source and destination."""
        return [
            ("source", self.load.buffer, self.load.indices),
            ("destination", self.store.buffer, self.store.indices),
        ]

    def region(self, buffer: Var, indices: tuple[Expr, ...]) -> BufferRegion:
        """The box that the indices go through."""
        domain = {v: IntervalSet.of_range(dom, self.ana) for v, dom in self.loops.items()}
        outside = Analyzer()
        dims = []
        for index in indices:
            found = eval_set(index, domain, outside)
            extent = extent_of(outside, found)
            low = found.min if found.min is not None else index
            dims.append(Range(low, extent if extent is not None else const(1, index.dtype)))
        return BufferRegion(buffer, dims)


def _flat(buffer: Var, indices: tuple[Expr, ...]) -> Expr:
    """The place in memory, in elements."""
    ty = buffer.ty
    assert isinstance(ty, BufferType)
    if ty.strides:
        total: Expr | None = None
        for index, stride in zip(indices, ty.strides, strict=True):
            part = Mul(index, stride)
            total = part if total is None else Add(total, part)
        return const(0) if total is None else total
    total = None
    for index, extent in zip(indices, ty.shape, strict=True):
        total = index if total is None else Add(Mul(total, extent), index)
    return const(0) if total is None else total


def _same_source(a: IterSumExpr, b: IterSumExpr) -> bool:
    if len(a.args) != len(b.args):
        return False
    for x, y in zip(a.args, b.args, strict=True):
        if not structural_equal(x.source, y.source):
            return False
    return True


def _touched(total: IterSumExpr) -> int:
    reach = 0
    for split in total.args:
        if isinstance(split.extent, IntImm) and isinstance(split.scale, IntImm):
            reach += (split.extent.value - 1) * abs(split.scale.value)
    return reach + 1


__all__ = ["Memcpy", "identify_memcpy"]

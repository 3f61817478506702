"""Copying a part of a buffer: which part, and the loops and block that copy it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..ir import (
    LT,
    Add,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    IntImm,
    IterVar,
    Range,
    SBlock,
    SBlockRealize,
    Stmt,
    Sub,
    Var,
    const,
    structural_equal,
    walk,
)
from ..ir.analysis.blocks import ChildBlock
from ..ir.analysis.cover import relaxed_region
from ..ir.arith import Analyzer
from ..ir.arith.intset import IntervalSet, extent_of, union
from ..ir.expr import LE
from ..ir.stmt import BlockRef
from .buffers import Move, MoveRegion, buffer_type, one_type, region_at
from .rewrite import both, is_const, serial_loops
from .state import block_ref


class Part(NamedTuple):
    """A box of a buffer: its ranges, and what must hold of an index for it to be inside the buffer.

    `limits` has for each dimension whether the range may pass the lower and the upper end.
    """

    ranges: tuple[Range, ...]
    limits: tuple[tuple[bool, bool], ...]

    @property
    def inside(self) -> bool:
        """Whether the box certainly lies in the buffer."""
        return not any(low or high for low, high in self.limits)


def whole(buffer: Var) -> Part:
    """All of a buffer."""
    shape = buffer_type(buffer).shape
    return Part(tuple([Range(const(0, n.dtype), n) for n in shape]), ((False, False),) * len(shape))


def part_of(buffer: Var, box: Sequence[IntervalSet], ana: Analyzer, *, clip: bool) -> Part:
    """The part of a buffer that a box of index sets is.

    Where the box may pass the ends of the buffer, or has none, it becomes all of the dimension
    (`clip` False: only where it has none, and limits say what to check).
    """
    ranges: list[Range] = []
    limits: list[tuple[bool, bool]] = []
    for s, size in zip(box, buffer_type(buffer).shape):
        low, high = _inside(s, size, ana)
        extent = extent_of(ana, s)
        if s.min is None or extent is None or (clip and not (low and high)):
            ranges.append(Range(const(0, size.dtype), size))
            limits.append((False, False))
        else:
            ranges.append(Range(*one_type(s.min, extent)))
            limits.append((not low, not high))
    return Part(tuple(ranges), tuple(limits))


def _inside(s: IntervalSet, size: Expr, ana: Analyzer) -> tuple[bool, bool]:
    """Whether the set certainly keeps to the lower and to the upper end of a dimension."""
    if s.min is None or s.max is None:
        return False, False
    low = ana.can_prove(LE(const(0, s.min.dtype), s.min))
    high = ana.can_prove(LT(*one_type(s.max, size)))
    return low, high


def relaxed(
    child: ChildBlock, regions: Sequence[BufferRegion], level: int, ana: Analyzer
) -> list[IntervalSet]:
    """The box of what a block accesses by these regions, of one buffer, inside the loops from `level` on."""
    box: list[IntervalSet] = []
    for region in regions:
        made = relaxed_region(child, region, level, ana)
        box = made if not box else [union(ana, a, b) for a, b in zip(box, made)]
    return box


def holds(ana: Analyzer, outer: Sequence[Range], inner: Sequence[IntervalSet]) -> bool:
    """Whether ranges certainly hold a box."""
    for r, s in zip(outer, inner):
        if s.min is None or s.max is None:
            return False
        low, first = one_type(r.min, s.min)
        if not ana.can_prove(LE(low, first)):
            return False
        end, last = one_type(Add(r.min, r.extent), s.max)
        if not ana.can_prove(LT(last, end)):
            return False
    return True


class Copy(NamedTuple):
    """A copy: its statement and its block."""

    stmt: Stmt
    ref: BlockRef


def copy_part(source: Var, target: Var, part: Part, *, cropped: Var | None, name: str) -> Copy:
    """Loops and a block that copy a part of `source` to the same part of `target`.

    `cropped` is the one of the two, if any, that holds just the part and so starts at its first element.
    """
    loops: list[Var] = []
    axes: list[IterVar] = []
    values: list[Expr] = []
    predicate: Expr = const(1, "bool")
    shape = buffer_type(source if cropped is not source else target).shape
    for k, (r, size) in enumerate(zip(part.ranges, shape)):
        loop = Var(f"ax{k}", r.extent.ty)
        at = _plus(r.min, loop)
        predicate = within(at, size, part.limits[k], predicate)
        full = r.extent if cropped is not None else one_type(size, at)[0]
        axis = Var(f"v{k}", (loop if cropped is not None else at).ty)
        axes.append(IterVar(Range(const(0, axis.dtype), full), axis, IterVar.DATA_PAR))
        loops.append(loop)
        values.append(loop if cropped is not None else at)
    plain = [a.var for a in axes]
    moved = [_plus(r.min, v) for r, v in zip(part.ranges, plain)] if cropped is not None else plain
    read = plain if source is cropped else moved
    written = plain if target is cropped else moved
    block = copy_block(name, axes, source, read, target, written)
    realize = SBlockRealize(values, predicate, block)
    return Copy(serial_loops(loops, [r.extent for r in part.ranges], realize), block_ref(block))


def copy_block(
    name: str,
    axes: Sequence[IterVar],
    source: Var,
    read: Sequence[Expr],
    target: Var,
    written: Sequence[Expr],
) -> SBlock:
    """A block that copies one element in each iteration."""
    return SBlock(
        axes,
        [region_at(source, read)],
        [region_at(target, written)],
        name,
        BufferStore(target, BufferLoad(source, read), written),
    )


def _plus(low: Expr, v: Expr) -> Expr:
    if is_const(low, 0):
        return v
    return Add(*one_type(low, v))


def within(at: Expr, size: Expr, limits: tuple[bool, bool], also: Expr) -> Expr:
    """A condition, and that an index keeps to the ends that it might pass."""
    if limits[0]:
        also = both(also, LE(const(0, at.dtype), at))
    if limits[1]:
        also = both(also, LT(*one_type(at, size)))
    return also


def bounds_condition(indices: Sequence[Expr], buffer: Var, ana: Analyzer) -> Expr:
    """That these indices are inside the buffer; parts that are certain are left out."""
    result: Expr = const(1, "bool")
    for index, size in zip(indices, buffer_type(buffer).shape):
        low = LE(const(0, index.dtype), index)
        high = LT(*one_type(index, size))
        for c in (low, high):
            if not ana.can_prove(c):
                result = both(result, c)
    return result


Moves = tuple[Move, MoveRegion]


def offset_move(part: Part, buffer: Var, ana: Analyzer) -> Moves | tuple[None, None]:
    """How indices and ranges become those of a buffer of just this part; (None, None) for all of it."""
    if same_shape(part, buffer):
        return None, None
    lows = [r.min for r in part.ranges]

    def move(indices: Sequence[Expr]) -> list[Expr]:
        return [_minus(i, low, ana) for i, low in zip(indices, lows)]

    def move_region(ranges: Sequence[Range]) -> list[Range]:
        return [Range(*one_type(_minus(r.min, low, ana), r.extent)) for r, low in zip(ranges, lows)]

    return move, move_region


def _minus(e: Expr, low: Expr, ana: Analyzer) -> Expr:
    return e if is_const(low, 0) else ana.simplify(Sub(*one_type(e, low)))


def same_shape(part: Part, buffer: Var) -> bool:
    """Whether the part is all of the buffer, as it is written."""
    for r, size in zip(part.ranges, buffer_type(buffer).shape):
        if not is_const(r.min, 0) or not structural_equal(r.extent, size):
            return False
    return True


def known_extents(part: Part, buffer: Var, allowed: frozenset[Var]) -> Part:
    """The part with dimensions whose size cannot be known where the buffer is allocated made whole."""
    ranges, limits = list(part.ranges), list(part.limits)
    for k, (r, size) in enumerate(zip(part.ranges, buffer_type(buffer).shape)):
        if isinstance(r.extent, IntImm) or structural_equal(r.extent, size):
            continue
        if not all(v in allowed for v in walk(r.extent) if isinstance(v, Var)):
            ranges[k], limits[k] = Range(const(0, size.dtype), size), (False, False)
    return Part(tuple(ranges), tuple(limits))

"""The blocks of a function in a form that rules for whole functions can read: a loop for each axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import ScheduleError
from ...ir import BufferRegion, Expr, IntImm, PrimFunc, SBlock, Var, const, walk
from ...ir.analysis.blocks import is_reduction, is_spatial
from ...ir.stmt import SBlockRealize
from ..handles import LoopRV, SBlockRV
from ..schedule import Schedule
from .rule import root_blocks


class Axis(NamedTuple):
    """An axis of a block: its kind (`S` spatial, `R` reduced, `O` other), its extent, its loop."""

    kind: str
    var: Var
    extent: Expr
    loop: LoopRV

    @property
    def size(self) -> int | None:
        """The extent where it is a number; None where that is known at run time only."""
        return self.extent.value if isinstance(self.extent, IntImm) else None


class BlockInfo(NamedTuple):
    """A block with its axes in order, outermost first."""

    rv: SBlockRV
    name: str
    axes: tuple[Axis, ...]
    is_reduction: bool

    @property
    def kinds(self) -> str:
        """The kinds of the axes, a letter each."""
        return "".join([a.kind for a in self.axes])

    @property
    def is_injective(self) -> bool:
        """Whether its iterations are independent of each other."""
        return all(a.kind == "S" for a in self.axes)


def block_info(sch: Schedule, rv: SBlockRV) -> BlockInfo:
    """The block as it stands now; the last loops around it bind its axes, in their order."""
    node = sch.get(rv)
    loops = sch.get_loops(rv)
    loops = loops[len(loops) - len(node.iter_vars) :]
    axes = tuple(
        Axis("S" if is_spatial(v) else "R" if is_reduction(v) else "O", v.var, v.dom.extent, loop)
        for v, loop in zip(node.iter_vars, loops)
    )
    reduces = node.init is not None and any(a.kind == "R" for a in axes)
    return BlockInfo(rv, node.name_hint, axes, reduces)


def normalize(sch: Schedule) -> list[BlockInfo] | None:
    """Each innermost block gets a loop for each axis that has more than one value, in the order of axes.

    A block without a spatial axis gets one of a single iteration in front; one without loops stays as it is
    and counts as one without axes.  None where a block cannot have this form; then part of it may be done.
    """
    if not has_root(sch):
        return None
    made = []
    for rv in [leaf for root in root_blocks(sch) for leaf in _leaves(sch, root)]:
        if not sch.get_loops(rv):
            made.append(BlockInfo(rv, sch.get(rv).name_hint, (), False))
        elif normalize_block(sch, rv):
            made.append(block_info(sch, rv))
        else:
            return None
    return made


def has_root(sch: Schedule) -> bool:
    """Whether the body of the function is a block without axes, in which all others stand."""
    assert sch.func_working_on is not None
    func = sch.mod[sch.func_working_on]
    body = func.body if isinstance(func, PrimFunc) else None
    return isinstance(body, SBlockRealize) and not body.block.iter_vars


def _leaves(sch: Schedule, rv: SBlockRV) -> list[SBlockRV]:
    inner = sch.get_child_blocks(rv)
    return [leaf for part in inner for leaf in _leaves(sch, part)] if inner else [rv]


def normalize_block(sch: Schedule, rv: SBlockRV) -> bool:
    """Whether the block could be given a loop for each axis that has more than one value."""
    node = sch.get(rv)
    wide = [not is_one(v.dom.extent) for v in node.iter_vars]
    lead = any(w and is_spatial(v) for w, v in zip(wide, node.iter_vars))

    def kept(*axes: Var) -> list[Expr]:
        chosen: list[Expr] = [a for a, w in zip(axes, wide) if w]
        return chosen if lead else [const(0, "int64"), *chosen]

    try:
        sch.transform_block_layout(rv, kept)
    except ScheduleError:
        return False
    return True


def inline_all(sch: Schedule, blocks: Sequence[BlockInfo]) -> list[BlockInfo]:
    """Put blocks where they are read, or into what they read, one after another; gives those left."""
    left = list(blocks)
    while (gone := _inlined(sch, left)) is not None:
        left.remove(gone)
    return [block_info(sch, b.rv) for b in left]


def _inlined(sch: Schedule, blocks: Sequence[BlockInfo]) -> BlockInfo | None:
    for inline in (sch.compute_inline, sch.reverse_compute_inline):
        for block in blocks:
            try:
                inline(block.rv)
            except ScheduleError:
                continue
            return block
    return None


def inline_contiguous_spatial(sch: Schedule, blocks: Sequence[BlockInfo]) -> list[BlockInfo]:
    """As `inline_all`, but injective blocks join only each other: never across a block between them."""
    left: list[BlockInfo] = []
    run: list[BlockInfo] = []
    for block in blocks:
        if block.is_injective:
            run.append(block)
        else:
            left += [*inline_all(sch, run), block]
            run = []
    left += inline_all(sch, run)
    return [block_info(sch, b.rv) for b in left]


def axes_in(block: SBlock, region: BufferRegion) -> set[Var]:
    """The axes of the block of more than one value that a region depends on."""
    wide = _wide_axes(block)
    return {n for r in region.region for n in walk(r.min) if isinstance(n, Var) and n in wide}


def _wide_axes(block: SBlock) -> set[Var]:
    return {v.var for v in block.iter_vars if v.dom is None or not is_one(v.dom.extent)}


def is_one(extent: Expr) -> bool:
    """Whether this is the number 1."""
    return isinstance(extent, IntImm) and extent.value == 1


def dominant_read(block: SBlock) -> BufferRegion:
    """What the block reads by the most axes; the first of several."""
    return max(block.reads, key=lambda r: len(axes_in(block, r)))


def is_broadcast_epilogue(sch: Schedule, block: SBlockRV, epilogue: SBlockRV) -> bool:
    """Whether some axis of the epilogue repeats what it reads of the block's results."""
    written = {r.buffer for r in sch.get(block).writes}
    node = sch.get(epilogue)
    count = len(_wide_axes(node))
    return any(len(axes_in(node, r)) < count for r in node.reads if r.buffer in written)


def extent_of(sch: Schedule, loop: LoopRV) -> int | None:
    """How far the loop runs; None where that is known at run time only."""
    extent = sch.get(loop).extent
    return extent.value if isinstance(extent, IntImm) else None


def vectorize_up_to(sch: Schedule, loop: LoopRV, lanes: int) -> None:
    """The innermost part of the loop, of at most so many iterations, runs as lanes of vectors.

    A loop whose extent is known at run time only stays as it is.
    """
    size = extent_of(sch, loop)
    if size is not None:
        sch.vectorize(loop if size <= lanes else sch.split(loop, [None, lanes])[-1])


__all__ = [
    "Axis",
    "BlockInfo",
    "axes_in",
    "block_info",
    "dominant_read",
    "extent_of",
    "has_root",
    "inline_all",
    "inline_contiguous_spatial",
    "is_broadcast_epilogue",
    "normalize",
    "normalize_block",
    "vectorize_up_to",
]

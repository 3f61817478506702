"""Recognising products of a matrix and a vector in a function, and bringing their loops into one order."""

from __future__ import annotations

from typing import NamedTuple

from ...ir import BufferStore, IntImm, SBlock, Var, walk
from ...ir.arith import normalize_to_iter_sum
from ..handles import LoopRV, SBlockRV
from ..schedule import Schedule
from .blocks import BlockInfo, axes_in, dominant_read, inline_contiguous_spatial, normalize


class VectorProduct(NamedTuple):
    """A block that sums up products of `matrix` and `vectors`, and one that goes on with the results, if any.

    `vectors` holds what is read by axes of the sum, but not by all axes; there may be none.
    """

    info: BlockInfo
    matrix: Var
    vectors: tuple[Var, ...]
    epilogue: SBlockRV | None

    @property
    def block(self) -> SBlockRV:
        """The block of the sum."""
        return self.info.rv


class Arranged(NamedTuple):
    """The loops of a product, outermost first: two over its results, two over the terms of a result.

    `group` is what a compressed matrix packs together: within it the matrix is read at one place; of extent 1
    otherwise.  `inner` says that terms of one result lie side by side in the matrix.
    """

    batch: LoopRV
    rows: LoopRV
    terms: LoopRV
    group: LoopRV
    inner: bool


def vector_product(sch: Schedule) -> VectorProduct | None:
    """The product that a function computes; producers of its operands are part of its block then.

    None where the function has other blocks that stay, or computes something else.
    """
    infos = normalize(sch)
    if infos is None:
        return None
    infos = inline_contiguous_spatial(sch, infos)
    if not 1 <= len(infos) <= 2 or not infos[0].is_reduction:
        return None
    info, *rest = infos
    if any(not e.is_injective for e in rest):
        return None
    node = sch.get(info.rv)
    if not isinstance(node.body, BufferStore) or len(node.writes) != 1 or not _is_product(node):
        return None
    summed = {a.var for a in info.axes if a.kind == "R"}
    used = [(r.buffer, axes_in(node, r)) for r in node.reads]
    vectors = [buffer for buffer, vs in used if vs & summed and len(vs) < len(info.axes)]
    return VectorProduct(info, dominant_read(node).buffer, tuple(vectors), rest[0].rv if rest else None)


def _is_product(node: SBlock) -> bool:
    """Whether some operand is read by all axes of the block, and another one by some of them only."""
    used = {len(axes_in(node, r)) for r in node.reads} - {0}
    return len(node.iter_vars) in used and len(used) > 1 and bool(axes_in(node, node.writes[0]))


def arrange(sch: Schedule, info: BlockInfo) -> Arranged | None:
    """Four loops around the block in place of those of its axes.  None where the matrix is indexed otherwise.

    The order follows the matrix: axes with the largest strides are outermost in their group.
    """
    node = sch.get(info.rv)
    main = dominant_read(node)
    place = main.buffer.offset_of([r.min for r in main.region])[0]
    access = normalize_to_iter_sum(place, {v.var: v.dom for v in node.iter_vars})
    axes = {a.var: a for a in info.axes}
    if not access.args or any(n in axes for n in walk(access.base)):
        return None
    used = [axes_in(node, r) for r in (*node.writes, *node.reads)]
    batch: list[LoopRV] = []
    rows: list[LoopRV] = []
    terms: list[LoopRV] = []
    group: LoopRV | None = None
    seen: set[Var] = set()
    for part in access.args:
        var = part.source.source
        if not isinstance(var, Var) or var not in axes or var in seen:
            return None
        seen.add(var)
        axis = axes[var]  # in the end that of neighbouring elements
        loop = axis.loop
        if not (isinstance(part.lower_factor, IntImm) and part.lower_factor.value == 1):
            if group is not None or axis.kind != "R" or not isinstance(part.lower_factor, IntImm):
                return None
            loop, group = sch.split(loop, [None, part.lower_factor.value])
        if axis.kind == "R":
            terms.append(loop)
        elif all(var in vs for vs in used):
            batch.append(loop)
        else:
            rows.append(loop)
    if len(seen) != len(axes) or not rows or not terms:
        return None
    inner = axis.kind == "R"
    if group is None:
        group = sch.add_unit_loop(info.rv)
    if not batch:
        batch = [sch.add_unit_loop(info.rv)]
    sch.reorder(*batch, *rows, *terms, group)
    return Arranged(sch.fuse(*batch), sch.fuse(*rows), sch.fuse(*terms), group, inner)

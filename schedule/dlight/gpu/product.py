"""Products in one form: `C[s, i, j] += A[s, i, k] * B[s, j, k]`, copies before and after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ....ir import Expr, Var
from ...handles import SBlockRV
from ...schedule import Schedule
from ..blocks import normalize
from ..cpu.contraction import Contraction, contraction, window
from ..program import Facts, facts, is_plain
from ..rule import root_blocks
from .common import attempt


class Product(NamedTuple):
    """The blocks of a product.

    `left` and `right` copy its operands, computing them on the way; `finish` takes its results, computing
    from them what follows.  `block` runs over a batch, where `batch` says so, rows, columns and the sum, the
    copies over the batch, rows or columns, and the sum, `finish` over batch, rows and columns.  `rest` are
    other blocks, none of which combines values.
    """

    block: SBlockRV
    left: SBlockRV
    right: SBlockRV
    finish: SBlockRV
    rest: tuple[SBlockRV, ...]
    batch: bool

    def sizes(self, sch: Schedule) -> tuple[int | None, int | None, int | None]:
        """Rows, columns and length of the sum; None for what is known at run time only."""
        found = facts(sch, self.block)
        rows, columns, depth = [found.size(v.var) for v in found.block.iter_vars[-3:]]
        return rows, columns, depth


def find_product(sch: Schedule, moving: bool) -> tuple[Facts, Contraction] | None:
    """The one block of the function that combines values, where it is a product of matrices.

    With `moving` it is a convolution instead: one operand is indexed by sums of axes.
    """
    blocks = normalize(sch)
    if blocks is None:
        return None
    known = [facts(sch, info.rv) for info in blocks]
    combining = [f for f in known if f.reduced]
    if len(combining) != 1 or any(len(f.spatial) + len(f.reduced) != len(f.block.iter_vars) for f in known):
        return None
    found = combining[0]
    made = (window if moving else contraction)(found, numbers=True)
    if made is None or not (made.row and made.column and made.depth) or not is_plain(sch, found):
        return None
    return found, made


def common_form(sch: Schedule, found: Facts, made: Contraction) -> Product:
    """Bring the product into its form; what can be computed on the way no longer stands alone."""
    block = found.rv
    axes = [v.var for v in found.block.iter_vars]
    sizes = {v.var: v.dom.extent for v in found.block.iter_vars if v.dom is not None}
    groups = [g for g in (made.batch, made.row, made.column, made.depth) if g]
    sch.transform_block_layout(block, _joined(axes, groups, sizes))
    sides = []
    for load in (made.left, made.right):
        number = [r.buffer for r in facts(sch, block).block.reads].index(load.buffer)
        sides.append(sch.reindex(block, ("read", number)))
    finish = sch.reindex(block, ("write", 0))
    _take_consumers(sch, finish)
    kept = (block, *sides, finish)
    rest = tuple([rv for rv in root_blocks(sch) if rv not in kept and not attempt(sch.compute_inline, rv)])
    return Product(block, sides[0], sides[1], finish, rest, bool(made.batch))


def _take_consumers(sch: Schedule, finish: SBlockRV) -> None:
    """Compute on the way what is computed from the results alone, each from the one at its own place."""
    while len(readers := sch.get_consumers(finish)) == 1:
        order = {rv: k for k, rv in enumerate(root_blocks(sch))}
        for needed in sch.get_producers(readers[0]):
            if order.get(needed, -1) > order[finish]:
                attempt(sch.compute_inline, needed)
        if not attempt(sch.reverse_compute_inline, readers[0]):
            return


def _joined(
    axes: Sequence[Any], groups: Sequence[tuple[Any, ...]], sizes: dict[Any, Expr]
) -> Callable[..., list[Expr]]:
    """An index map that joins the axes of each group to one."""

    def index_map(*values: Var) -> list[Expr]:
        value = dict(zip(axes, values))
        made = []
        for first, *others in groups:
            joined: Expr = value[first]
            for v in others:
                joined = joined * sizes[v] + value[v]
            made.append(joined)
        return made

    return index_map


def padded(sch: Schedule, found: Product, multiples: tuple[int, int, int]) -> Product:
    """The product with rows, columns and sum running to multiples of these; more results go nowhere."""
    block = found.block
    sch.pad_einsum(block, [1] * found.batch + list(multiples))
    for copy in (found.left, found.right):
        if block not in sch.get_consumers(copy):
            sch.compute_inline(copy)
    if found.finish not in sch.get_consumers(block):
        for copy in sch.get_consumers(block):
            sch.compute_inline(copy)
    by_buffer = {facts(sch, rv).block.writes[0].buffer: rv for rv in sch.get_producers(block)}
    made = contraction(facts(sch, block))
    assert made is not None
    sides = [by_buffer[load.buffer] for load in (made.left, made.right)]
    return found._replace(left=sides[0], right=sides[1])

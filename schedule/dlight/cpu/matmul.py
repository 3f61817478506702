"""Products of matrices: tiles of the result in registers, the right operand in panels."""

from __future__ import annotations

from typing import NamedTuple

from ....ir import Var
from ...handles import LoopRV, SBlockRV
from ...schedule import Schedule
from ..machine import Machine
from ..program import Facts, extent, facts, is_plain, uses
from ..rule import Taken, root_scope
from .contraction import Contraction, contraction
from .tile import Tile, tile_of


def matmul(sch: Schedule, block: SBlockRV, machine: Machine) -> Taken | None:
    """A product of matrices, or a batch of them.

    The result is computed in tiles that stay in registers for the whole sum; the operand whose rows the
    vectors run along is copied to panels as wide as a tile, so that the sum reads memory in order.
    Where tiles do not fill the result, the operands are padded and what is too much is not written.
    What is computed from the result alone follows while the tile is there.

    before:
        for i, j, k in T.grid(128, 128, 128):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    """
    made = tiled(sch, block, machine)
    if made is None:
        return None
    if made.loops.batch is not None:
        sch.compute_at(made.panels, made.loops.batch)
    if machine.cores > 1:
        _share(sch, machine, made.loops, made.panels)
    sch.decompose_reduction(block, made.loops.depth)
    return Taken((block, made.finish, made.panels), made.why)


class Tiled(NamedTuple):
    """A product in tiles: its loops, the copy of the right operand, what takes finished tiles."""

    loops: Loops
    panels: SBlockRV
    finish: SBlockRV
    why: str


def tiled(sch: Schedule, block: SBlockRV, machine: Machine) -> Tiled | None:
    """Compute a product in tiles, on one core, panels before all; None for what is no such product."""
    found = facts(sch, block)
    product = contraction(found)
    if product is None or not product.row or not is_plain(sch, found):
        return None
    if any(found.loop_of(v.var) is None for v in found.block.iter_vars):
        return None
    tile = choose(found, product, machine)
    if tile is None:
        return None
    if tile.padded:
        pad(sch, found, edges(product, tile))
        found = facts(sch, block)
        product = contraction(found)
        assert product is not None
    panels = panels_of(sch, found, product, tile)
    finish = finish_of(sch, found)
    loops = _tiles(sch, found, product, tile)
    sch.reverse_compute_at(finish, loops.group)
    sch.unroll(loops.row)
    if loops.step is not None:
        sch.unroll(loops.step)
    sch.vectorize(loops.lane)
    write_tile(sch, found, finish, loops.group, product.column[-1])
    return Tiled(loops, panels, finish, f"a product: tiles of {tile.rows} by {tile.columns} in registers")


def choose(found: Facts, product: Contraction, machine: Machine) -> Tile | None:
    """The tile for a product; None for products with a vector, where each element is used once."""
    rows, columns = found.size(product.row[-1]), found.size(product.column[-1])
    lanes = machine.lanes(found.block.writes[0].buffer.dtype.bits)
    others = [found.size(v) for v in product.row[:-1]]
    if all(n == 1 for n in others) and rows is not None and rows < 4:
        return None
    if columns is not None and columns * 4 < lanes:
        return None
    return tile_of(rows, columns, found.size(product.depth[-1]), lanes, machine)


def edges(product: Contraction, tile: Tile) -> dict[Var, int]:
    """The axes that tiles do not fill, with what they have to be multiples of."""
    rows = {product.row[-1]: tile.rows} if tile.pad_rows else {}
    return {**rows, product.column[-1]: tile.columns} if tile.pad_columns else rows


def pad(sch: Schedule, found: Facts, multiples: dict[Var, int]) -> None:
    """Let axes run to multiples: beyond the edges the operands are zero, and results go nowhere."""
    temporary = root_scope(sch).allocates(found.block.writes[0].buffer)
    sch.pad_einsum(found.rv, [multiples.get(v.var, 1) for v in found.block.iter_vars])
    if temporary and any(v in multiples for v in found.store.indices):  # type: ignore[union-attr]
        for copy in sch.get_consumers(found.rv):
            sch.compute_inline(copy)


def panels_of(sch: Schedule, found: Facts, product: Contraction, tile: Tile) -> SBlockRV:
    """The right operand copied to panels of a tile's columns, the steps of the sum in order."""
    block, right = found.rv, product.right
    number = [r.buffer for r in found.block.reads].index(right.buffer)
    panels: SBlockRV = sch.cache_read(block, number, "global")
    if tile.pad_columns:
        for copy in sch.get_producers(panels):
            sch.compute_inline(copy)
    width, place = tile.columns, {v: k for k, v in enumerate(right.indices)}
    batch = [place[v] for v in product.batch]
    depth = [place[v] for v in product.depth]
    column = [place[v] for v in product.column]

    def layout(*index: Var) -> list[object]:
        last = index[column[-1]]
        outer = [index[k] for k in column[:-1]]
        return [*[index[k] for k in batch], *outer, last // width, *[index[k] for k in depth], last % width]

    sch.transform_layout(block, ("read", number), layout)
    loops = sch.get_loops(panels)
    panel, lane = sch.split(loops[column[-1]], [None, width])
    order = [*[loops[k] for k in batch], *[loops[k] for k in column[:-1]], panel]
    sch.reorder(*order, *[loops[k] for k in depth], lane)
    sch.vectorize(lane)
    return panels


def finish_of(sch: Schedule, found: Facts, scope: str = "local") -> SBlockRV:
    """The block that takes finished tiles: what alone reads the result at its own place, or a copy to it."""
    root = root_scope(sch)
    result = found.block.writes[0].buffer
    readers = root.consumers(found.rv.target)
    if root.allocates(result) and len(readers) == 1:
        other = facts(sch, SBlockRV(readers[0]))
        loads = [load for load in other.loads() if load.buffer is result]
        axes = [v.var for v in other.block.iter_vars]
        store = other.store
        late = any(root.order[p] > root.order[found.rv.target] for p in root.producers(readers[0]))
        if store is not None and not other.reduced and not late and is_plain(sch, other):
            at_place = all(list(x.indices) == axes for x in loads) and list(store.indices) == axes
            if at_place:
                return other.rv
    copy: SBlockRV = sch.cache_write(found.rv, 0, scope)
    return copy


def write_tile(sch: Schedule, found: Facts, finish: SBlockRV, group: LoopRV, column: Var) -> None:
    """Write out the loops of the finishing block below `group`: registers cannot be indexed at run time."""
    store, last = facts(sch, found.rv).store, facts(sch, finish)
    assert store is not None
    load = next(x for x in last.loads() if x.buffer is store.buffer)
    axis = load.indices[list(store.indices).index(column)]
    value = next(v for a, v in zip(last.block.iter_vars, last.realize.iter_values) if a.var is axis)
    loops: list[LoopRV] = sch.get_loops(finish)
    loops = loops[loops.index(group) + 1 :]
    lane = next((rv for rv in loops if isinstance(rv.target, Var) and uses(value, rv.target)), None)
    rest = [rv for rv in loops if rv is not lane]
    if lane is not None:
        sch.reorder(*rest, lane)
        sch.vectorize(lane)
    for rv in rest:
        sch.unroll(rv)


class Loops(NamedTuple):
    """The loops of a tiled product, outer ones first; None for those that there is no need of."""

    batch: LoopRV | None
    block: LoopRV | None
    column: LoopRV
    group: LoopRV
    depth: LoopRV
    step: LoopRV | None
    row: LoopRV
    lane: LoopRV


def _tiles(sch: Schedule, found: Facts, product: Contraction, tile: Tile) -> Loops:
    """Order the loops: batch, blocks of rows, columns, tiles of a block, the sum, a tile's rows and lanes."""
    of = dict(zip([n.loop_var for n in found.loops], sch.get_loops(found.rv)))

    def loops(axes: tuple[Var, ...]) -> list[LoopRV]:
        return [of[n.loop_var] for v in axes if (n := found.loop_of(v)) is not None]

    batch, rows, columns, sums = map(loops, (product.batch, product.row, product.column, product.depth))
    tiles, row = sch.split(rows[-1], [None, tile.rows])
    panels, lane = sch.split(columns[-1], [None, tile.columns])
    rows, columns = [*rows[:-1], tiles], [*columns[:-1], panels]
    sch.reorder(*batch, *rows, *columns, *sums, row, lane)
    block, group = None, _fused(sch, rows)
    if tile.block is not None:
        block, group = sch.split(group, [None, tile.block])
    column, depth, step = _fused(sch, columns), _fused(sch, sums), None
    if tile.steps > 1:
        depth, step = sch.split(depth, [None, tile.steps])
    sch.reorder(*[rv for rv in (block, column, group, depth, step, row, lane) if rv is not None])
    return Loops(_fused(sch, batch) if batch else None, block, column, group, depth, step, row, lane)


def _fused(sch: Schedule, loops: list[LoopRV]) -> LoopRV:
    fused: LoopRV = sch.fuse(*loops) if len(loops) > 1 else loops[0]
    return fused


def _share(sch: Schedule, machine: Machine, loops: Loops, panels: SBlockRV) -> None:
    """Divide batches, or blocks of rows, or tiles among the cores, and the copying too."""
    if loops.batch is not None and (extent(sch.get(loops.batch).extent) or machine.cores) >= machine.cores:
        sch.parallel(loops.batch)
        return
    sch.parallel(sch.get_loops(panels)[0 if loops.batch is None else 1])
    if loops.block is None:
        sch.parallel(loops.column)
    elif (extent(sch.get(loops.block).extent) or 0) >= machine.cores:
        sch.parallel(loops.block)
    else:
        sch.parallel(sch.fuse(loops.block, loops.column))

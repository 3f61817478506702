"""Convolutions: neighbouring results of many output channels in registers."""

from __future__ import annotations

from ....ir import Var
from ...handles import LoopRV, SBlockRV
from ...schedule import Schedule
from ..machine import Machine
from ..program import Facts, extent, facts, is_plain
from ..rule import Taken
from .contraction import Contraction, window
from .matmul import finish_of, pad, panels_of, write_tile
from .tile import IN_FLIGHT, Tile


def convolution(sch: Schedule, block: SBlockRV, machine: Machine) -> Taken | None:
    """A convolution whose kernel has output channels: these become the lanes of vectors.

    The kernel is copied so that its channels lie side by side; a tile of some neighbouring results of
    as many channels as two vectors hold stays in registers for the whole sum.

    before:
        for o, x, c, k in T.grid(32, 16, 8, 3):
            with T.sblock("C"):
                vo, vx, vc, vk = T.axis.remap("SSRR", [o, x, c, k])
                with T.init():
                    C[vo, vx] = 0.0
                C[vo, vx] = C[vo, vx] + A[vc, vx + vk] * W[vo, vc, vk]
    """
    found = facts(sch, block)
    product = window(found)
    if product is None or len(product.column) != 1 or not product.row or not is_plain(sch, found):
        return None
    if any(found.loop_of(v.var) is None for v in found.block.iter_vars):
        return None
    tile = _choose(found, product, machine)
    if tile is None:
        return None
    if tile.padded:
        pad(sch, found, {product.column[0]: tile.columns})
        found = facts(sch, block)
        product = window(found)
        assert product is not None
    store = found.store
    assert store is not None
    at = list(store.indices).index(product.column[0])
    panels = panels_of(sch, found, product, tile)
    finish = finish_of(sch, found)
    done: SBlockRV = sch.cache_write(block, 0, "local")
    for rv in (done, block):
        _channels_last(sch, rv, at)
    of = {n.loop_var: rv for n, rv in zip(found.loops, sch.get_loops(block))}

    def loop(axis: Var) -> LoopRV:
        node = found.loop_of(axis)
        assert node is not None
        return of[node.loop_var]

    outer = [loop(v) for v in (*product.batch, *product.row[:-1])]
    depth = [loop(v) for v in product.depth]
    group, row = sch.split(loop(product.row[-1]), [None, tile.rows])
    column, lane = sch.split(loop(product.column[0]), [None, tile.columns])
    sch.reorder(column, *outer, group, *depth, row, lane)
    sch.reverse_compute_at(done, group)
    sch.reverse_compute_at(finish, group)
    sch.unroll(row)
    sch.vectorize(lane)
    write_tile(sch, found, done, group, product.column[0])
    if machine.cores > 1:
        sch.parallel(sch.fuse(column, *outer) if outer else column)
        sch.parallel(sch.get_loops(panels)[0])
    sch.decompose_reduction(block, depth[0])
    why = f"a convolution: tiles of {tile.rows} results of {tile.columns} channels in registers"
    return Taken((block, finish, panels), why)


def _channels_last(sch: Schedule, block: SBlockRV, at: int) -> None:
    """Let the channels, at this place of the block's results, lie side by side."""
    if at + 1 < len(facts(sch, block).block.writes[0].region):
        sch.transform_layout(block, ("write", 0), lambda *i: [*i[:at], *i[at + 1 :], i[at]])


def _choose(found: Facts, product: Contraction, machine: Machine) -> Tile | None:
    """The rows and channels of a tile; rows divide what there is, channels may be too many."""
    node, across = found.loop_of(product.row[-1]), found.loop_of(product.column[0])
    assert node is not None and across is not None
    rows, channels = extent(node.extent), extent(across.extent)
    if rows is None or channels is None:
        return None
    lanes = machine.lanes(found.block.writes[0].buffer.dtype.bits)
    if channels * 2 < lanes or not rows:
        return None
    best: tuple[tuple[float, int], Tile] | None = None
    for vectors in (1, 2, 4):
        wide = vectors * lanes
        most = max(1, (machine.registers - vectors - 1) // vectors)
        high = max(n for n in range(1, min(most, rows) + 1) if rows % n == 0)
        gain = min(high * vectors, IN_FLIGHT) * channels / (-(-channels // wide) * wide), high * vectors
        tile = Tile(high, wide, 1, 1, False, channels % wide != 0)
        if best is None or gain >= best[0]:
            best = (gain, tile)
    return None if best is None else best[1]

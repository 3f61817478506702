"""Products of matrices of bytes, by instructions that sum up four products at once."""

from __future__ import annotations

from typing import Final

from ....ir import Var
from ...handles import SBlockRV
from ...schedule import Schedule
from ..machine import Machine
from ..program import Facts, extent, facts, is_plain
from ..rule import Taken
from .contraction import Contraction, contraction
from .matmul import choose, edges, finish_of, pad, write_tile

LANES: Final = 16
TERMS: Final = 4
INTRINSIC: Final = "dot_16x4_i8i8i32_vnni"


def byte_product(sch: Schedule, block: SBlockRV, machine: Machine) -> Taken | None:
    """A product of int8 matrices summed up in int32, where the processor has AVX512-VNNI.

    The right operand is copied to panels in which four terms of a column lie side by side; the sum is
    padded to fours of terms.

    before:
        for i, j, k in T.grid(64, 64, 64):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
    """
    found = facts(sch, block)
    product = contraction(found)
    if product is None or "avx512vnni" not in machine.features or not _fits(found, product):
        return None
    tile = choose(found, product, machine) if is_plain(sch, found) else None
    if tile is None or tile.block is None:
        return None
    size = found.size(product.depth[0])
    rest = {} if size is not None and size % TERMS == 0 else {product.depth[0]: TERMS}
    multiples = {**edges(product, tile), **rest}
    if multiples:
        pad(sch, found, multiples)
        found = facts(sch, block)
        product = contraction(found)
        assert product is not None
    panels = _panels(sch, found, product, tile.columns, bool(rest) or tile.pad_columns)
    finish = finish_of(sch, found, "global")
    of = dict(zip([n.loop_var for n in found.loops], sch.get_loops(block)))
    row, column, depth = [
        of[n.loop_var]
        for v in (product.row[-1], product.column[-1], product.depth[0])
        if (n := found.loop_of(v))
    ]
    others = [rv for rv in of.values() if rv not in (row, column, depth)]
    part, group, high = sch.split(row, [None, tile.block, tile.rows])
    panel, vector, lane = sch.split(column, [None, tile.columns // LANES, LANES])
    step, term = sch.split(depth, [None, TERMS])
    sch.reorder(*others, part, panel, group, step, high, vector, lane, term)
    sch.reverse_compute_at(finish, group)
    sch.unroll(high)
    sch.unroll(vector)
    write_tile(sch, found, finish, group, product.column[-1])
    if machine.cores > 1:
        outer = [*others, part]
        if (extent(sch.get(part).extent) or 0) < machine.cores:
            outer.append(panel)
        sch.parallel(sch.fuse(*outer) if len(outer) > 1 else part)
        sch.parallel(sch.get_loops(panels)[0])
    start = sch.decompose_reduction(block, step)
    sch.vectorize(sch.get_loops(start)[-1])
    sch.tensorize(lane, INTRINSIC)
    return Taken(
        (block, finish, panels),
        f"a product of bytes: tiles of {tile.rows} by {tile.columns}, four terms at once",
    )


def _fits(found: Facts, product: Contraction) -> bool:
    """Whether the types are those of the instruction, and terms of a row lie side by side."""
    if found.block.writes[0].buffer.dtype != "int32" or len(product.depth) != 1 or not product.row:
        return False
    if any(found.loop_of(v.var) is None for v in found.block.iter_vars):
        return False
    left, right = product.left, product.right
    return left.dtype == right.dtype == "int8" and left.indices[-1] is product.depth[0]


def _panels(sch: Schedule, found: Facts, product: Contraction, width: int, padded: bool) -> SBlockRV:
    """The right operand copied: for each panel of columns, fours of terms of each column."""
    block, right = found.rv, product.right
    number = [r.buffer for r in found.block.reads].index(right.buffer)
    panels: SBlockRV = sch.cache_read(block, number, "global")
    if padded:
        for copy in sch.get_producers(panels):
            sch.compute_inline(copy)
    place = {v: k for k, v in enumerate(right.indices)}
    column, depth = place[product.column[-1]], place[product.depth[0]]

    def layout(*index: Var) -> list[object]:
        outer = [i for k, i in enumerate(index) if k not in (column, depth)]
        j, k = index[column], index[depth]
        return [*outer, j // width, k // TERMS, j % width, k % TERMS]

    sch.transform_layout(block, ("read", number), layout)
    loops = sch.get_loops(panels)
    panel, lane = sch.split(loops[column], [None, width])
    step, term = sch.split(loops[depth], [None, TERMS])
    outer = [rv for k, rv in enumerate(loops) if k not in (column, depth)]
    sch.reorder(*outer, panel, step, lane, term)
    return panels

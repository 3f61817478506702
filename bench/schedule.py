"""How fast schedules are applied: a packed matrix product, and a long chain of inlined blocks."""

from __future__ import annotations

from typing import Any

from common import Row, seconds
from language import chain_of_blocks

MATMUL = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((1024, 1024)), B: T.Buffer((1024, 1024)), C: T.Buffer((1024, 1024))):
    for i, j, k in T.grid(1024, 1024, 1024):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def pack(sch: Any) -> None:
    """The packed matrix product: tiles in registers, the right operand in panels of 16 columns."""
    block = sch.get_sblock("C")
    panels = sch.cache_read(block, 1, "global")
    tile = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    rows, row_tiles, row = sch.split(i, [None, 16, 4])
    columns, column = sch.split(j, [None, 16])
    steps, step = sch.split(k, [None, 4])
    sch.reorder(rows, columns, row_tiles, steps, step, row, column)
    sch.reverse_compute_at(tile, row_tiles)
    sch.transform_layout(block, ("read", 1), lambda p, q: (q // 16, p, q % 16))
    inner, outer = sch.get_loops(panels)
    panel, lane = sch.split(outer, [None, 16])
    sch.reorder(panel, inner, lane)
    for loop in (lane, column):
        sch.vectorize(loop)
    for loop in (row, step):
        sch.unroll(loop)
    for loop in (panel, rows):
        sch.parallel(loop)
    write_row, write_column = sch.get_loops(tile)[-2:]
    sch.unroll(write_row)
    sch.vectorize(write_column)
    sch.decompose_reduction(block, steps)


def rows() -> list[Row]:
    """Applying the steps to a module that is there; parsing and printing are not counted."""
    import loopwright

    matmul, count = loopwright.parse(MATMUL), 1000
    chain = loopwright.parse(chain_of_blocks(count))

    def packed() -> Any:
        sch = loopwright.Schedule(matmul)
        pack(sch)
        return sch

    def inlined() -> None:
        sch = loopwright.Schedule(chain)
        for k in range(count - 1):
            sch.compute_inline(f"b{k}")

    steps = len([s for s in packed().trace.insts if not s.kind.name.startswith("Get")])
    return [
        Row("packed matrix product", seconds(packed, 9) * 1e3, "ms", 40, note=f"{steps} primitives"),
        Row("inline 1,000 blocks", seconds(inlined, 1) * 1e3, "ms", 3000, note="one by one"),
    ]

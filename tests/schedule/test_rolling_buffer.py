"""Buffers folded to the window that moves over them."""

from __future__ import annotations

from typing import Any

import pytest

from loopwright.errors import ScheduleError
from loopwright.schedule import Schedule
from loopwright.script import parse
from loopwright.testing.results import assert_same_results

ROWS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({rows} + 4, 12), "int32"), C: T.Buffer(({rows}, 8), "int32")):
    B = T.sblock_alloc_buffer(({rows} + 2, 10), "int32")
    for i, j, k in T.grid({rows} + 2, 10, 3):
        with T.sblock("B"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi, vj] = 0
            B[vi, vj] = B[vi, vj] + A[vi + vk, vj + vk]
    for i, j, k in T.grid({rows}, 8, 3):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = T.max(C[vi, vj], B[vi + vk, vj + 2 - vk])
"""


def tiled(rows: int, first: int, second: int) -> tuple[Any, Schedule]:
    """The consumer in tiles, the producer computed inside the loops over the tiles."""
    func: Any = parse(ROWS.format(rows=rows))
    sch = Schedule(func, debug_mask="all")
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, first])
    j0, j1 = sch.split(j, [None, second])
    sch.reorder(i0, j0, i1, j1, k)
    sch.compute_at("B", j0)
    return func, sch


@pytest.mark.parametrize("rows", [4, 6])
@pytest.mark.parametrize(("first", "second"), [(2, 8), (4, 4), (3, 2), (1, 3), (6, 4)])
def test_rolling_keeps_results(rows: int, first: int, second: int) -> None:
    func, sch = tiled(rows, first, second)
    if first >= rows and second >= 8:
        return
    sch.rolling_buffer("B", 0)
    small = sch.get(sch.get_sblock("B")).writes[0].buffer.ty.shape
    assert small[0].value * small[1].value < (rows + 2) * 10
    assert_same_results(func, sch.mod["main"])


def test_order_counts_from_then_on() -> None:
    _, sch = tiled(8, 4, 8)
    loops = sch.get_loops("C")
    sch.rolling_buffer("B", 0)
    for name in ("parallel", "vectorize"):
        with pytest.raises(ScheduleError):
            getattr(sch, name)(loops[0])
    with pytest.raises(ScheduleError):
        sch.reorder(loops[1], loops[0])


def refused(sch: Schedule, block: str, index: int = 0) -> str:
    before = sch.mod
    with pytest.raises(ScheduleError) as caught:
        sch.rolling_buffer(block, index)
    assert sch.mod is before
    return caught.value.code


def test_what_cannot_roll() -> None:
    func: Any = parse(ROWS.format(rows=8))
    sch = Schedule(func)
    assert refused(sch, "B") == "no-common-loop"
    assert refused(sch, "B", 1) == "buffer-index"
    assert refused(sch, "C") == "output-block"
    _, sch = tiled(8, 8, 8)
    assert refused(sch, "B") == "no-window"
    _, sch = tiled(8, 4, 8)
    sch.parallel(sch.get_loops("C")[0])
    assert refused(sch, "B") == "loop-not-plain"

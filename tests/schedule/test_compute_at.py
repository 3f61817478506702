"""Moving a block under a loop of its consumers or producers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.errors import ScheduleError
from loopwright.schedule import Schedule
from loopwright.script import parse
from loopwright.testing.results import assert_same_results
from loopwright.testing.schedules import check_sequence
from loopwright.testing.strategies.all_steps import steps
from loopwright.testing.strategies.scheduled import program, programs

FAMILY = ("compute_at", "reverse_compute_at", "compute_at", "reverse_compute_at", "split", "fuse", "reorder")

TWO = """
@T.prim_func(s_tir=True)
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n + 4,))
    C = T.match_buffer(c, (n,))
    B = T.sblock_alloc_buffer((n + 4,))
    for i in range(n + 4):
        with T.sblock("B"):
            vi = T.axis.spatial(n + 4, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(n):
        with T.sblock("C"):
            vi = T.axis.spatial(n, i)
            T.reads({reads})
            T.writes(C[vi])
            C[vi] = {value}
"""


def refused(sch: Schedule, name: str, *arguments: Any) -> str:
    before = sch.mod
    with pytest.raises(ScheduleError) as caught:
        getattr(sch, name)(*arguments)
    assert sch.mod is before
    return caught.value.code


def same_for_sizes(func: Any, sch: Schedule) -> None:
    import numpy as np

    for n in (1, 2, 3, 4, 5, 8, 9, 31):
        a = np.arange(n + 4, dtype="float32")
        assert_same_results(func, sch.mod["main"], a, np.zeros(n, "float32"))


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), programs())
def test_moving_blocks_keeps_results(data: Any, func: Any) -> None:
    check_sequence(func, data.draw(st.lists(steps(FAMILY), min_size=2, max_size=5)), data.draw)


@pytest.mark.parametrize(
    ("reads", "value"),
    [
        ("B[vi]", "B[vi]"),
        ("B[vi + 4]", "B[vi + 4]"),
        ("B[vi:vi + 5]", "B[vi] + B[vi + 4]"),
        ("B[0:n + 4]", "B[n - vi] + B[vi]"),
    ],
)
@pytest.mark.parametrize("factor", [1, 3, 4])
def test_dynamic_sizes(reads: str, value: str, factor: int) -> None:
    func: Any = parse(TWO.format(reads=reads, value=value))
    sch = Schedule(func, debug_mask="all")
    (i,) = sch.get_loops("C")
    i0, _ = sch.split(i, [None, factor])
    sch.compute_at("B", i0)
    same_for_sizes(func, sch)


def test_dynamic_consumer() -> None:
    func: Any = parse(TWO.format(reads="B[vi]", value="B[vi] + T.float32(1)"))
    sch = Schedule(func, debug_mask="all")
    (i,) = sch.get_loops("B")
    i0, _ = sch.split(i, [None, 4])
    sch.reverse_compute_at("C", i0)
    assert "T.where" in sch.mod.script()
    same_for_sizes(func, sch)


def test_windows_across_iterations_are_refused() -> None:
    sch = Schedule(parse(TWO.format(reads="B[vi:vi + 5]", value="B[vi] + B[vi + 4]")))
    (i,) = sch.get_loops("B")
    assert refused(sch, "reverse_compute_at", "C", i) == "region-cover"


TREE = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "float32"), D: T.Buffer((8, 8), "float32")):
    B = T.sblock_alloc_buffer((8, 8))
    C = T.sblock_alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i in range(8):
        for j in range(8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + T.float32(1)
        for j in range(8):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = B[vi, vj] * C[vi, 7 - vj]
"""


@pytest.mark.parametrize(("index", "at"), [(-1, 1), (-2, 0), (0, 0), (1, 1)])
def test_position_in_the_loop(index: int, at: int) -> None:
    func: Any = parse(TREE)
    sch = Schedule(func, debug_mask="all")
    loop = sch.get_loops("D")[0]
    sch.compute_at("B", loop, index=index)
    below = [b.target.name for b in sch.get_child_blocks(loop)]
    assert below == (["B", "C", "D"] if at == 0 else ["C", "B", "D"])
    assert_same_results(func, sch.mod["main"])


def test_position_out_of_range() -> None:
    sch = Schedule(parse(TREE))
    assert refused(sch, "compute_at", "B", sch.get_loops("D")[0], False, 2) == "insert-position"


def test_where_it_cannot_go() -> None:
    sch = Schedule(parse(TREE))
    b, d = sch.get_loops("B")[0], sch.get_loops("D")[0]
    assert refused(sch, "compute_at", "D", d) == "loop-is-ancestor"
    assert refused(sch, "compute_at", "D", b) == "output-block"
    assert refused(sch, "reverse_compute_at", "D", b) == "not-below-loop"
    assert refused(sch, "compute_at", "C", b) == "not-below-loop"
    assert refused(sch, "reverse_compute_at", "B", d) == "no-producer"


def test_unit_loops() -> None:
    func = program("elementwise", n=1, m=4)
    for keep, count in ((True, 3), (False, 1)):
        sch = Schedule(func, debug_mask="all")
        i, _ = sch.get_loops("C")
        sch.compute_at("B", i, preserve_unit_loops=keep)
        assert len(sch.get_loops("B")) - 1 == count - (1 if keep else 0)
        assert_same_results(func, sch.mod["main"])


def test_guarded_consumers_are_not_thinned_out() -> None:
    text = TWO.replace("for i in range(n):", "for i in range(n + 8):").replace("(n,)", "(n + 8,)")
    text = text.replace("spatial(n, i)", "spatial(n + 8, i)")
    value = "T.if_then_else(vi < n + 4, B[vi], T.float32(7))"
    sch = Schedule(parse(text.format(reads="B[vi]", value=value)))
    assert refused(sch, "reverse_compute_at", "C", sch.get_loops("B")[0]) == "region-cover"


def test_reductions_move_whole() -> None:
    func = program("row_sum", n=6, m=5)
    sch = Schedule(func, debug_mask="all")
    (i,) = sch.get_loops("C")
    i0, _ = sch.split(i, [None, 4])
    sch.compute_at("B", i0)
    assert len(sch.get_loops("B")) == 3
    assert_same_results(func, sch.mod["main"])


FLAT = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 6)), C: T.Buffer((24,))):
    X = T.sblock_alloc_buffer((24,))
    for i, j0, j1 in T.grid(4, 4, 2):
        with T.sblock("X"):
            vi = T.axis.spatial(4, i)
            vj = T.axis.spatial(6, j0 * 2 + j1)
            T.where(j0 * 2 + j1 < 6)
            X[vi * 6 + vj] = A[vi, vj] + 1.0
    for i, j in T.grid(4, 6):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi * 6 + vj] = X[vi * 6 + vj] * 2.0
"""


def test_what_a_guard_leaves_out_of_a_flat_buffer_is_the_next_row() -> None:
    func: Any = parse(FLAT)
    sch = Schedule(func)
    _, j0, _ = sch.get_loops("X")
    assert refused(sch, "reverse_compute_at", "C", j0) == "block-predicate"


TAIL = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, {n})), C: T.Buffer((4,))):
    for i, k in T.grid(4, {n}):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
"""


@pytest.mark.parametrize("n", [8, 9, 11, 20])
def test_predicates_over_axes_go_along(n: int) -> None:
    func: Any = parse(TAIL.format(n=n))
    sch = Schedule(func, debug_mask="all")
    _, k = sch.get_loops("C")
    partial = sch.rfactor(sch.split(k, [None, 8])[1], 0)
    sch.compute_at(partial, sch.get_loops("C")[0])
    assert_same_results(func, sch.mod["main"])

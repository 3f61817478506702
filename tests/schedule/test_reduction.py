"""Taking reductions apart: initialisers, partial results, epilogues."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright import build
from loopwright.errors import ScheduleError
from loopwright.schedule import Schedule
from loopwright.script import parse
from loopwright.testing.results import assert_same_results
from loopwright.testing.schedules import check_sequence
from loopwright.testing.strategies.all_steps import steps
from loopwright.testing.strategies.scheduled import program, programs

FAMILY = ("decompose_reduction", "rfactor", "fuse_reduction_epilogue", "split", "fuse", "reorder")

SUM = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((3, {n}), "{dtype}"), B: T.Buffer((3,), "{dtype}")):
    for i, k in T.grid(3, {n}):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = {start}
            B[vi] = {update}
"""

ARGMAX = """
@T.prim_func(s_tir=True)
def main(V: T.Buffer((3, 12), "int32"), I: T.Buffer((3,), "int32"), M: T.Buffer((3,), "int32")):
    for i, k in T.grid(3, 12):
        with T.sblock("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                I[vi] = -1
                M[vi] = T.min_value("int32")
            x: T.let[T.int32] = T.Select(
                M[vi] > V[vi, vk] or M[vi] == V[vi, vk] and I[vi] < vk, I[vi], vk
            )
            y: T.let[T.int32] = T.Select(M[vi] > V[vi, vk], M[vi], V[vi, vk])
            I[vi] = x
            M[vi] = y
"""


def sums(n: int, update: str = "B[vi] + A[vi, vk]", start: str = "0", dtype: str = "int32") -> Any:
    return parse(SUM.format(n=n, update=update, start=start, dtype=dtype))


def refused(sch: Schedule, name: str, *arguments: Any) -> str:
    before = sch.mod
    with pytest.raises(ScheduleError) as caught:
        getattr(sch, name)(*arguments)
    assert sch.mod is before
    return caught.value.code


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), programs())
def test_taking_apart_keeps_results(data: Any, func: Any) -> None:
    check_sequence(func, data.draw(st.lists(steps(FAMILY), min_size=2, max_size=5)), data.draw)


@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 10])
@pytest.mark.parametrize("factors", [[None, 4], [2, None], [2, 5], [4, 4]])
@pytest.mark.parametrize("which", [0, 1])
def test_rfactor_under_guards(n: int, factors: list[int | None], which: int) -> None:
    func = sums(n)
    sch = Schedule(func, debug_mask="all")
    _, k = sch.get_loops("B")
    if None not in factors and factors[0] * factors[1] < n:  # type: ignore[operator]
        return
    sch.rfactor(sch.split(k, factors)[which], which)
    assert_same_results(func, sch.mod["main"])


@pytest.mark.parametrize(
    ("update", "start"),
    [
        ("B[vi] + A[vi, vk]", "0"),
        ("A[vi, vk] + B[vi]", "0"),
        ("B[vi] * A[vi, vk]", "1"),
        ("T.max(B[vi], A[vi, vk] * 3)", "T.min_value('int32')"),
        ("T.min(A[vi, vk], B[vi])", "T.max_value('int32')"),
    ],
)
def test_reducers(update: str, start: str) -> None:
    func = sums(6, update, start)
    sch = Schedule(func, debug_mask="all")
    _, k = sch.get_loops("B")
    k0, _ = sch.split(k, [2, 3])
    block = sch.rfactor(k0, -1)
    assert sch.get(block).name_hint == "B_rf"
    assert_same_results(func, sch.mod["main"])


@pytest.mark.parametrize(
    ("update", "start"),
    [("B[vi] - A[vi, vk]", "0"), ("B[vi] + A[vi, vk]", "1"), ("B[vi] + A[vi, vk] * B[vi]", "0")],
)
def test_unknown_reducers(update: str, start: str) -> None:
    sch = Schedule(sums(6, update, start))
    assert refused(sch, "rfactor", sch.get_loops("B")[1], 0) == "unknown-reducer"


def test_rfactor_of_an_argmax() -> None:
    func: Any = parse(ARGMAX)
    sch = Schedule(func, debug_mask="all")
    _, k = sch.get_loops("M")
    sch.rfactor(sch.split(k, [None, 4])[1], 1)
    assert_same_results(func, sch.mod["main"])


FIRST = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((3, 13)), P: T.Buffer((3,), "int32"), M: T.Buffer((3,))):
    for i, k in T.grid(3, 13):
        with T.sblock("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                P[vi] = 0
                M[vi] = T.min_value("float32")
            better: T.let[T.bool] = A[vi, vk] > M[vi]
            place: T.let[T.int32] = T.Select(better, vk, P[vi])
            value: T.let[T.float32] = T.Select(better, A[vi, vk], M[vi])
            P[vi] = place
            M[vi] = value
"""


@pytest.mark.parametrize("which", [0, 1])
def test_the_first_of_equal_places_stays_the_first(which: int) -> None:
    func: Any = parse(FIRST)
    sch = Schedule(func, debug_mask="all")
    _, k = sch.get_loops("M")
    sch.rfactor(sch.split(k, [None, 4])[which], 0)
    rows = np.array([[1, 5, 2, 5, 5, 0, 5] + [4] * 6, [np.nan, 1, 1] + [np.nan] * 10, [-np.inf] * 13])
    for run in (func.interpret, sch.mod["main"].interpret, build(sch.mod)["main"]):
        place, value = np.zeros(3, np.int32), np.zeros(3, np.float32)
        run(rows.astype(np.float32), place, value)
        assert place.tolist() == [1, 1, 0] and value[:2].tolist() == [5, 1]


def test_rfactor_says_what_is_wrong() -> None:
    sch = Schedule(sums(6))
    i, k = sch.get_loops("B")
    assert refused(sch, "rfactor", i, 0) == "loop-feeds"
    assert refused(sch, "rfactor", k, 2) == "factor-axis"
    sch.unroll(k)
    assert refused(sch, "rfactor", k, 0) == "loop-not-plain"


def test_handles_after_rfactor_name_the_second_step() -> None:
    sch = Schedule(sums(6))
    block = sch.get_sblock("B")
    i, k = sch.get_loops(block)
    k0, k1 = sch.split(k, [2, 3])
    sch.rfactor(k1, 0)
    assert sch.get(block).name_hint == "B" and sch.get_loops(block) == [i, k1]
    with pytest.raises(ScheduleError, match="consumed it"):
        sch.get(k0)


@pytest.mark.parametrize("n", [4, 5])
def test_decompose_under_a_guard(n: int) -> None:
    func = sums(n)
    for depth in (0, 1, 2):
        sch = Schedule(func, debug_mask="all")
        _, k = sch.get_loops("B")
        sch.split(k, [None, 2])
        block = sch.get_sblock("B")
        init = sch.decompose_reduction(block, sch.get_loops(block)[0 if depth == 2 else depth])
        assert sch.get(block).name_hint == "B_update" and sch.get(init).name_hint == "B_init"
        assert_same_results(func, sch.mod["main"])


def test_decompose_keeps_what_runs_again_together() -> None:
    sch = Schedule(program("halo", n=4))
    assert refused(sch, "decompose_reduction", "B", sch.get_loops("B")[0]) == "repeated-reduction"
    sch = Schedule(sums(4))
    i, k = sch.get_loops("B")
    sch.reorder(k, i)
    assert refused(sch, "decompose_reduction", "B", i) == "reduction-loop-outside"


EPILOGUE = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((3, 6), "int32"), B: T.Buffer((3,), "int32"), D: T.Buffer((3,), "int32")):
    C = T.sblock_alloc_buffer((3,), "int32")
    for i, k in T.grid(3, 6):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
    for i in range(3):
        with T.sblock("D"):
            vi = T.axis.spatial(3, i)
            D[vi] = {value}
"""


@pytest.mark.parametrize(
    "value",
    ["C[vi] + B[vi]", "T.max(C[vi] + B[vi], 0)", "T.min(T.max(C[vi], -2), 2)", "T.max(-2, T.min(2, C[vi]))"],
)
def test_epilogues_keep_results_in_any_order(value: str) -> None:
    func: Any = parse(EPILOGUE.format(value=value))
    sch = Schedule(func, debug_mask="all")
    sch.fuse_reduction_epilogue("C", "D")
    i, k = sch.get_loops("C")
    k0, k1 = sch.split(k, [None, 4])
    sch.reorder(k1, k0, i)
    assert_same_results(func, sch.mod["main"])


@pytest.mark.parametrize("value", ["C[vi] * 2 + B[vi]", "C[vi] + C[vi]", "C[2 - vi] + B[vi] * C[vi]"])
def test_other_epilogues(value: str) -> None:
    sch = Schedule(parse(EPILOGUE.format(value=value)))
    assert refused(sch, "fuse_reduction_epilogue", "C", "D") in ("epilogue-pattern", "load-pattern")

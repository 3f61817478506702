"""Inlining a block into its consumers or its producer."""

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
from loopwright.testing.strategies.scheduled import programs

FAMILY = ("compute_inline", "reverse_compute_inline", "split", "fuse", "reorder")

CHAIN = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({size}, 8), "float32"), C: T.Buffer({out}, "float32")):
    B = T.sblock_alloc_buffer(({size}, 8))
    for i, j in T.grid({size}, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = {first}
    for {loops} in T.grid({extents}):
        with T.sblock("C"):
            {axes} = T.axis.remap("{kinds}", [{loops}])
            C[{axes}] = {second}
"""

FLAT: dict[str, Any] = {"size": 8, "first": "A[vi, vj] * T.float32(2)", "out": "(64,)"}
SQUARE: dict[str, Any] = {
    **FLAT,
    "out": "(8, 8)",
    "loops": "i, j",
    "extents": "8, 8",
    "axes": "vi, vj",
    "kinds": "SS",
}


def chain(**parts: Any) -> Any:
    return parse(CHAIN.format(**parts))


def refused(sch: Schedule, name: str, block: str, code: str) -> ScheduleError:
    before = sch.mod
    with pytest.raises(ScheduleError) as caught:
        getattr(sch, name)(block)
    assert sch.mod is before and caught.value.code == code, caught.value
    return caught.value


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), programs())
def test_inlining_keeps_results(data: Any, func: Any) -> None:
    check_sequence(func, data.draw(st.lists(steps(FAMILY), min_size=2, max_size=5)), data.draw)


@pytest.mark.parametrize(
    "second",
    [
        "B[vi, vj] + B[vi, 7 - vj]",
        "T.if_then_else(vi < 4, B[vi, vj], B[vj, vi])",
        "T.Select(B[vi, vj] > T.float32(0), B[vj, vi], A[vi, vj])",
    ],
)
def test_inline_into_several_reads(second: str) -> None:
    func = chain(**SQUARE, second=second)
    sch = Schedule(func, debug_mask="all")
    sch.compute_inline("B")
    assert len(sch.get_child_blocks(sch.get_sblock("root"))) == 1
    assert_same_results(func, sch.mod["main"])


@pytest.mark.parametrize(
    ("loops", "extents", "axes", "kinds", "out", "second"),
    [
        ("f", "64", "vf", "S", "(64,)", "B[vf // 8, vf % 8] + T.float32(1)"),
        ("i, j, k", "8, 2, 4", "vi, vj, vk", "SSS", "(8, 2, 4)", "B[vi, vj * 4 + vk]"),
        ("i, j", "7, 8", "vi, vj", "SS", "(8, 8)", "B[vi, 7 - vj] * B[vi, 7 - vj]"),
        ("j, i", "8, 5", "vj, vi", "SS", "(8, 5)", "B[vi + 2, vj]"),
    ],
)
def test_reverse_inline_inverts_affine_reads(
    loops: str, extents: str, axes: str, kinds: str, out: str, second: str
) -> None:
    parts = {"loops": loops, "extents": extents, "axes": axes, "kinds": kinds, "second": second}
    func = chain(**{**FLAT, "out": out}, **parts)
    sch = Schedule(func, debug_mask="all")
    sch.reverse_compute_inline("C")
    assert_same_results(func, sch.mod["main"])


@pytest.mark.parametrize(
    ("second", "code"),
    [
        ("B[vi, vj] + B[vj, vi]", "load-pattern"),
        ("B[vi, vi]", "load-pattern"),
        ("T.if_then_else(vi < 4, B[vi, vj], T.float32(0))", None),
    ],
)
def test_reverse_inline_of_other_reads(second: str, code: str | None) -> None:
    func = chain(**SQUARE, second=second)
    sch = Schedule(func, debug_mask="all")
    if code is None:
        sch.reverse_compute_inline("C")
        assert_same_results(func, sch.mod["main"])
    else:
        refused(sch, "reverse_compute_inline", "C", code)


def test_a_consumer_larger_than_its_producer_stays() -> None:
    parts = {**SQUARE, "out": "(16, 8)", "extents": "16, 8"}
    func = chain(**parts, second="T.if_then_else(vi >= 8, B[vi - 8, vj], T.float32(0))")
    refused(Schedule(func), "reverse_compute_inline", "C", "region-cover")


def test_outputs_are_not_inlined() -> None:
    sch = Schedule(chain(**SQUARE, second="B[vi, vj]"))
    assert "C" in str(refused(sch, "compute_inline", "C", "output-block"))
    refused(sch, "reverse_compute_inline", "B", "several-producers")


OVERWRITTEN = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.sblock_alloc_buffer((8,))
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.sblock("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = T.float32(3)
    for i in range(8):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + T.float32(1)
"""


def test_inputs_that_change_before_the_consumer_runs() -> None:
    error = refused(Schedule(parse(OVERWRITTEN)), "compute_inline", "B", "order-dependence")
    assert "`A`" in str(error)


PARTIAL = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    S = T.sblock_alloc_buffer((4,))
    B = T.sblock_alloc_buffer((4, 8))
    for i in range(4):
        for k in range(8):
            with T.sblock("S"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + A[vi, vk]
            with T.sblock("B"):
                vi, vk = T.axis.remap("SS", [i, k])
                B[vi, vk] = S[vi]
        for k in range(8):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SS", [i, k])
                C[vi, vk] = B[vi, vk]
"""


def test_running_sums_are_not_read_later() -> None:
    refused(Schedule(parse(PARTIAL)), "compute_inline", "B", "partial-reduction")

"""Copies with padding, and padding what a block reads."""

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

FAMILY = ("decompose_padding", "pad_einsum", "decompose_padding", "pad_einsum", "split", "compute_inline")

PAD = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((6, 5), "float32"), B: T.Buffer((9, 8), "float32")):
    for i, j in T.grid(9, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = {value}
"""
INSIDE = "T.if_then_else({}, A[vi - 2, vj - 1], T.float32({}))"
BOUNDS = "2 <= vi and vi < 8 and vj >= 1 and 6 > vj"


def refused(sch: Schedule, name: str, *arguments: Any) -> str:
    before = sch.mod
    with pytest.raises(ScheduleError) as caught:
        getattr(sch, name)(*arguments)
    assert sch.mod is before
    return caught.value.code


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), programs())
def test_padding_keeps_results(data: Any, func: Any) -> None:
    check_sequence(func, data.draw(st.lists(steps(FAMILY), min_size=2, max_size=5)), data.draw)


@pytest.mark.parametrize(
    "bounds", [BOUNDS, BOUNDS + " and vi + vj < 9", "vj < 6 and vj > 0 and vi - 2 >= 0 and vi < 8"]
)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_fill_and_copy(bounds: str, depth: int) -> None:
    func: Any = parse(PAD.format(value=INSIDE.format(bounds, 3)))
    sch = Schedule(func, debug_mask="all")
    i, _ = sch.get_loops("B")
    sch.split(i, [None, 4])
    loops = sch.get_loops("B")
    assert sch.can_decompose_padding("B", loops[depth])
    filled = sch.decompose_padding("B", loops[depth])
    assert sch.get(filled).name_hint == "B_pad_const"
    assert_same_results(func, sch.mod["main"])


@pytest.mark.parametrize(
    "value",
    ["A[vi % 6, vj % 5]", "T.if_then_else(vi < 6 and vj < 5, A[vi, vj], A[0, 0])", "T.Cast('float32', vi)"],
)
def test_no_padding(value: str) -> None:
    sch = Schedule(parse(PAD.format(value=value)))
    loop = sch.get_loops("B")[0]
    assert refused(sch, "decompose_padding", "B", loop) == "no-padding"
    assert not sch.can_decompose_padding("B", loop)


@pytest.mark.parametrize("sizes", [[4, 4, 4], [1, 3, 1], [5, 1, 2]])
def test_pad_a_product(sizes: list[int]) -> None:
    func = program("matmul_relu", n=5, m=3, k=6)
    sch = Schedule(func, debug_mask="all")
    sch.pad_einsum("C", sizes)
    assert_same_results(func, sch.mod["main"])


def test_pad_a_dynamic_sum() -> None:
    import numpy as np

    func = program("symbolic_sum")
    sch = Schedule(func, debug_mask="all")
    sch.pad_einsum("C", [4, 8])
    for n, m in ((1, 1), (3, 8), (4, 9)):
        a = np.arange(n * m, dtype="float32").reshape(n, m)
        assert_same_results(func, sch.mod["main"], a, np.zeros(n, "float32"))


EXP = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((5, 6), "float32"), S: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32")):
    for i, k in T.grid(5, 6):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = {update}
"""


@pytest.mark.parametrize(
    "update", ["B[vi] + T.exp(A[vi, vk])", "T.max(B[vi], A[vi, vk])", "B[vi] + A[vi, vk] * S[vi]"]
)
def test_terms_that_zeros_would_change(update: str) -> None:
    func: Any = parse(EXP.format(update=update))
    sch = Schedule(func, debug_mask="all")
    assert refused(sch, "pad_einsum", "B", [1, 4]) == "not-a-sum"
    sch.pad_einsum("B", [4, 1])
    assert_same_results(func, sch.mod["main"])


def test_pad_says_what_is_wrong() -> None:
    sch = Schedule(program("matmul", n=5, m=5, k=5))
    assert refused(sch, "pad_einsum", "C", [4, 4]) == "padding"
    assert refused(sch, "pad_einsum", "C", [4, 4, 0]) == "padding"
    i, j, _ = sch.get_loops("C")
    sch.fuse(i, j)
    assert refused(sch, "pad_einsum", "C", [4, 1, 1]) == "binding-not-loops"
    assert refused(Schedule(program("shared_loop", n=3, m=3)), "pad_einsum", "B", [2, 2]) == "several-blocks"

"""What must be accepted although it looks doubtful: the smallest example of each kind, and its limit."""

from __future__ import annotations

from typing import Any

import pytest

from loopwright.errors import ScheduleError
from loopwright.ir import PrimFunc
from loopwright.schedule import Schedule
from loopwright.script import parse
from loopwright.testing.results import assert_same_results


def scheduled(text: str) -> Schedule:
    made: Any = parse("@T.prim_func(s_tir=True)\n" + text)
    assert isinstance(made, PrimFunc)
    return Schedule(made, debug_mask="all", error_render_level="fast")


def check(text: str, sch: Schedule) -> str:
    """The program still computes what it did; gives its text."""
    assert_same_results(scheduled(text).mod["main"], sch.mod["main"])  # type: ignore[arg-type]
    return sch.mod.script()


def refusal(step: Any) -> str:
    """The code with which a step is refused."""
    with pytest.raises(ScheduleError) as info:
        step()
    return str(info.value.code)


ROWS = """
def main(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    B = T.sblock_alloc_buffer((4, 6))
    for i in range(4):
        for j in range(6):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for j in range(6):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = {value}
"""


def test_what_a_loop_has_written_is_staged_in_it() -> None:
    text = ROWS.format(value="B[vi, 5 - vj]")
    sch = scheduled(text)
    sch.read_at(sch.get_loops("C")[0], "C", 0, "shared")
    assert "B_shared" in check(text, sch)
    sch = scheduled(ROWS.format(value="B[vi, vj] + B[0, vj]"))
    assert refusal(lambda: sch.read_at(sch.get_loops("C")[0], "C", 0, "shared")) == "uninitialized-read"


BRANCHES = """
def main(A: T.Buffer((4, 6), "float32"), n: T.int32, C: T.Buffer((4, 6), "float32")):
    B = T.sblock_alloc_buffer((4, 6))
    for i, j in T.grid(4, 6):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    if n > 0:
        for i, j in T.grid(4, 6):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + 1.0
    else:
        for i, j in T.grid(4, 6):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj]
"""


def test_blocks_under_conditions_read_copies() -> None:
    sch = scheduled(BRANCHES)
    sch.reindex("D", ("read", 0))
    sch.reindex("C", ("read", 0))
    sch.reindex_cache_read("D", 0, "shared", lambda i, j: (j, i))
    sch.compute_inline("B")
    assert "A_reindex" in check(BRANCHES, sch)
    assert refusal(lambda: sch.reindex("D", ("write", 0))) == "bare-statement"


def test_what_is_computed_under_a_condition_stays_there() -> None:
    text = BRANCHES.replace(
        '    for i, j in T.grid(4, 6):\n        with T.sblock("B")',
        '    if n < 4:\n      for i, j in T.grid(4, 6):\n        with T.sblock("B")',
        1,
    )
    sch = scheduled(text)
    assert refusal(lambda: sch.compute_inline("B")) == "bare-statement"
    assert refusal(lambda: sch.reindex("C", ("read", 0))) == "bare-statement"
    text = BRANCHES.replace("if n > 0", "if B[0, 0] > 0.0")
    sch = scheduled(text)
    assert refusal(lambda: sch.compute_inline("B")) == "bare-statement"


PARTS = """
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.sblock_alloc_buffer((3, 3))
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            B[vi // 3, vi % 3] = A[vi] * 2.0
    for i in range(8):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi // 3, vi % 3] + A[7 - vi]
"""


def test_different_cells_are_written_in_a_layout_with_gaps() -> None:
    sch = scheduled(PARTS)
    sch.parallel(sch.get_loops("B")[0])
    assert "T.parallel" in check(PARTS, sch)
    sch = scheduled(PARTS.replace("vi % 3] = A", "0] = A").replace("vi % 3]", "0]"))
    assert refusal(lambda: sch.parallel(sch.get_loops("B")[0])) == "write-conflict"


def test_a_block_gets_plain_loops_whatever_it_had() -> None:
    sch = scheduled(PARTS)
    loop = sch.get_loops("C")[0]
    sch.bind(loop, "threadIdx.x")
    sch.annotate(loop, "note", 1)
    sch.transform_block_layout("C", lambda i: [i // 4, i % 4])
    text = check(PARTS, sch)
    assert "thread" not in text and "note" not in text


def test_outputs_are_judged_by_the_block_around() -> None:
    sch = scheduled(PARTS)
    sch.blockize(sch.get_loops("B")[0])
    assert [sch.get(b).name_hint for b in sch.get_output_blocks("root")] == ["B", "C"]


def test_blocks_that_write_a_buffer_one_after_the_other_are_staged_one_by_one() -> None:
    text = """
def main(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.sblock("init"):
            vi = T.axis.spatial(4, i)
            C[vi] = 0.0
        for k in range(6):
            with T.sblock("add"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + A[vi, vk]
"""
    sch = scheduled(text)
    sch.write_at(sch.get_loops("init")[0], "init", 0, "local")
    check(text, sch)
    assert refusal(lambda: sch.write_at(sch.get_loops("add")[0], "add", 0, "local")) == "in-place"


LATER = """
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.sblock_alloc_buffer((8,))
    for i in range(1, 8):
        with T.sblock("B"):
            vi = T.axis.spatial((1, 8), i)
            B[vi] = A[vi] * 2.0
    for i in range(1, 8):
        with T.sblock("C"):
            vi = T.axis.spatial((1, 8), i)
            C[vi] = B[vi] + A[vi - 1]
"""


def test_a_part_that_is_written_is_staged_though_the_rest_never_is() -> None:
    sch = scheduled(LATER)
    sch.read_at(sch.get_loops("C")[0], "C", 0, "local")
    check(LATER, sch)


def test_axes_that_begin_later_index_a_copy() -> None:
    sch = scheduled(LATER)
    sch.reindex("B", ("read", 0))
    sch.reindex("C", ("write", 0))
    assert "C_reindex = T.sblock_alloc_buffer((8,))" in check(LATER, sch)


def test_what_is_read_in_a_layout_with_gaps_was_written_in_it() -> None:
    text = """
def main(A: T.Buffer((9,), "float32"), C: T.Buffer((3, 3), "float32")):
    P = T.sblock_alloc_buffer((3, 3))
    B = T.sblock_alloc_buffer((9,))
    for i, k in T.grid(3, 3):
        with T.sblock("P"):
            vi = T.axis.spatial(9, i * 2 + k)
            P[vi // 3, vi % 3] = A[vi]
    for i, k in T.grid(3, 3):
        with T.sblock("B"):
            vi = T.axis.spatial(9, i * 2 + k)
            B[vi] = P[vi // 3, vi % 3] + 1.0
    for i, k in T.grid(3, 3):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi, vk] = B[vi * 2 + vk]
"""
    sch = scheduled(text)
    sch.compute_at("B", sch.get_loops("C")[1])
    check(text, sch)
    sch = scheduled(text.replace("B[vi] = P[vi // 3, vi % 3]", "B[vi] = P[vi % 3, vi // 3]"))
    assert refusal(lambda: sch.compute_at("B", sch.get_loops("C")[1])) == "stage-pipeline"


def test_what_is_stored_in_another_layout_is_inlined() -> None:
    sch = scheduled(PARTS)
    sch.compute_inline("B")
    assert "A[vi] * T.float32(2.0)" in check(PARTS, sch)
    sch = scheduled(PARTS.replace("vi % 3] = A", "0] = A").replace("vi % 3]", "0]"))
    assert refusal(lambda: sch.compute_inline("B")) == "store-pattern"


IN_PLACE = """
def main(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
    for i, j in T.grid(4, 6):
        with T.sblock("init"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(4, 6):
        with T.sblock("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[{cell}] = B[{cell}] + A[3 - vi, vj]
"""


@pytest.mark.parametrize("depth", [0, 1])
def test_nests_that_write_the_same_cells_in_each_iteration_are_merged(depth: int) -> None:
    text = IN_PLACE.format(cell="vi, vj")
    sch = scheduled(text)
    sch.merge(sch.get_loops("init")[depth], sch.get_loops("add")[depth])
    assert "i_m" in check(text, sch)
    sch = scheduled(IN_PLACE.format(cell="3 - vi, vj"))
    assert (
        refusal(lambda: sch.merge(sch.get_loops("init")[depth], sch.get_loops("add")[depth]))
        == "order-dependence"
    )


SUMS = """
def main(A: T.Buffer((4, 5), "float32"), C: T.Buffer((4,), "float32")):
    B = T.sblock_alloc_buffer((4,))
    for i in range(4):
        for k in range(5):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + A[vi, vk]
        with T.sblock("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi] * 3.0
"""


def test_a_sum_is_padded_beside_other_blocks() -> None:
    sch = scheduled(SUMS)
    sch.pad_einsum("B", [1, 4])
    assert "A_pad = T.sblock_alloc_buffer((4, 8))" in check(SUMS, sch)
    sch = scheduled(SUMS)
    assert refusal(lambda: sch.pad_einsum("B", [3, 4])) == "several-blocks"


def test_what_is_stored_counts_where_the_signature_says_more() -> None:
    text = PARTS.replace(
        "vi = T.axis.spatial(8, i)\n",
        "vi = T.axis.spatial(8, i)\n            T.reads(A[vi])\n            T.writes(B[0:3, 0:3])\n",
        1,
    )
    sch = scheduled(text)
    sch.parallel(sch.get_loops("B")[0])
    check(text, sch)


def test_a_block_that_stores_one_cell_in_a_loop_of_one_step_is_reindexed() -> None:
    text = """
def main(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    for i, j in T.grid(4, 6):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            for a in range({n}):
                C[vi, vj + a] = A[vi, vj + a] * 2.0
"""
    sch = scheduled(text.format(n=1))
    sch.reindex_cache_write("C", 0, "local", lambda i, j: (j, i))
    check(text.format(n=1), sch)
    sch = Schedule(parse("@T.prim_func(s_tir=True)\n" + text.format(n=2)), error_render_level="fast")
    assert refusal(lambda: sch.reindex_cache_write("C", 0, "local", lambda i, j: (j, i))) == "access-pattern"

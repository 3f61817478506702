"""Reading and writing through copies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.errors import ScheduleError
from loopwright.ir import IRModule, PrimFunc, structural_equal
from loopwright.schedule import Schedule, Trace, replay
from loopwright.script import parse
from loopwright.testing.results import assert_same_results
from loopwright.testing.schedules import check_sequence
from loopwright.testing.strategies.all_steps import steps
from loopwright.testing.strategies.scheduled import programs

DATA_STEPS = (
    "cache_read",
    "cache_write",
    "cache_inplace",
    "cache_index",
    "reindex",
    "reindex_cache_read",
    "reindex_cache_write",
    "read_at",
    "write_at",
    "set_scope",
    "storage_align",
    "transform_layout",
    "transform_block_layout",
    "annotate_buffer_access",
)


def program(text: str) -> PrimFunc:
    made: Any = parse("@T.prim_func(s_tir=True)\n" + text)
    assert isinstance(made, PrimFunc)
    return made


def scheduled(func: PrimFunc) -> Schedule:
    return Schedule(func, debug_mask="all", error_render_level="fast")


def check(func: PrimFunc, sch: Schedule) -> str:
    """The laws of a schedule hold; gives its text."""
    assert_same_results(func, sch.mod["main"])
    assert structural_equal(replay(sch.trace, func).mod, sch.mod)
    back = Trace.from_json(sch.trace.as_json())
    assert structural_equal(replay(back, func).mod, sch.mod)
    return sch.mod.script()


def refused(sch: Schedule, step: Any) -> str:
    """The code of the refusal; nothing has changed."""
    before: IRModule = sch.mod
    with pytest.raises(ScheduleError) as info:
        step(sch)
    assert sch.mod is before
    return str(info.value.code)


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), programs(), st.lists(steps(DATA_STEPS), max_size=4))
def test_steps_keep_results(data: Any, func: PrimFunc, chosen: list[Any]) -> None:
    check_sequence(func, chosen, data.draw)


TILED = """
def main(A: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32")):
    B = T.sblock_alloc_buffer((10,))
    for i in range(3):
        for j in range(4):
            with T.sblock("B"):
                vi = T.axis.spatial(10, i * 4 + j)
                T.where(i * 4 + j < 10)
                B[vi] = A[vi] + 1.0
        for j in range(4):
            with T.sblock("C"):
                vi = T.axis.spatial(10, i * 4 + j)
                T.where(i * 4 + j < 10)
                C[vi] = B[vi] * 2.0
"""


@pytest.mark.parametrize("step", ["read", "write"])
def test_the_last_tile_stays_inside(step: str) -> None:
    func = program(TILED)
    sch = scheduled(func)
    if step == "read":
        sch.cache_read("C", 0, "shared")
    else:
        sch.cache_write("B", 0, "shared")
    assert "T.where(i * 4 + ax0 < 10)" in check(func, sch)


STRIDED = """
def main(A: T.Buffer((4, 4), "float32"), C: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(4, 4):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi + 2, vj * 2] = A[vi, vj] + 1.0
"""


def test_elements_between_those_written_are_not_overwritten() -> None:
    sch = scheduled(program(STRIDED))
    assert refused(sch, lambda s: s.cache_write("C", 0, "local")) == "partial-write"


def test_a_write_under_a_condition_is_not_copied_back() -> None:
    func = program("""
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            if vi < 5:
                C[vi] = A[vi]
""")
    assert refused(scheduled(func), lambda s: s.cache_write("C", 0, "local")) == "partial-write"
    assert refused(scheduled(func), lambda s: s.reindex("C", ("write", 0))) == "partial-write"


IN_PLACE = """
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = A[vi] + 1.0
"""


def test_blocks_that_work_in_place() -> None:
    func = program(IN_PLACE)
    sch = scheduled(func)
    assert refused(sch, lambda s: s.cache_read("A", 0, "local")) == "in-place"
    assert refused(sch, lambda s: s.cache_write("A", 0, "local")) == "in-place"
    assert refused(sch, lambda s: s.reindex("A", ("read", 0))) == "in-place"
    before, after = sch.cache_inplace("A", "A", "local")
    assert sch.get(before).name_hint == sch.get(after).name_hint == "A_local"
    check(func, sch)


WRITTEN_INSIDE = """
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.sblock_alloc_buffer((4,))
    with T.sblock("outer"):
        T.reads(A[0:4], B[0:4])
        T.writes(B[0:4], C[0:4])
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] + 1.0
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = B[vi] * 2.0
"""


def test_cache_inplace_copies_nothing_undefined() -> None:
    sch = scheduled(program(WRITTEN_INSIDE))
    assert refused(sch, lambda s: s.cache_inplace("outer", "B", "local")) == "uninitialized-read"
    sch = scheduled(program(WRITTEN_INSIDE))
    sch.blockize([sch.get_sblock("outer")])
    assert refused(sch, lambda s: s.cache_inplace("outer", "B", "local")) == "uninitialized-read"


def test_only_blocks_that_change_a_buffer_take_cache_inplace() -> None:
    assert refused(scheduled(program(STRIDED)), lambda s: s.cache_inplace("C", 0, "local")) == "not-in-place"


NESTED = """
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((18,), "float32")):
    for o in range(2):
        with T.sblock("O"):
            vo = T.axis.spatial(2, o)
            T.reads(A[vo * 9 - 1:vo * 9 + 8])
            T.writes(C[vo * 9:vo * 9 + 9])
            for i in range(9):
                with T.sblock("C"):
                    vi = T.axis.spatial(9, i)
                    C[vo * 9 + vi] = T.if_then_else(
                        vo * 9 + vi >= 1 and vo * 9 + vi < 17, A[vo * 9 + vi - 1], T.float32(0)
                    )
"""


def test_a_declared_region_beyond_the_buffer_is_read_inside_only() -> None:
    func = program(NESTED)
    sch = scheduled(func)
    sch.cache_read("C", 0, "shared")
    text = check(func, sch)
    assert "A_shared = T.sblock_alloc_buffer((9,)" in text and "T.where(" in text


def test_a_declared_region_that_is_too_small_is_not_used() -> None:
    func = program(NESTED.replace("A[vo * 9 - 1:vo * 9 + 8]", "A[vo * 9:vo * 9 + 3]"))
    sch = scheduled(func)
    sch.cache_read("C", 0, "shared")
    assert "A_shared = T.sblock_alloc_buffer((16,)" in check(func, sch)


SEVERAL = """
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    B = T.sblock_alloc_buffer((8,))
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2.0
    for i in range(8):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + A[vi]
    for i in range(8):
        with T.sblock("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = B[7 - vi]
"""


@pytest.mark.parametrize("consumers", [None, ["C"], ["D"], ["C", "D"]])
def test_consumers_are_those_given(consumers: list[str] | None) -> None:
    func = program(SEVERAL)
    sch = scheduled(func)
    copy = sch.cache_read("C", 0, "shared", consumers)
    assert [sch.get(b).name_hint for b in sch.get_consumers(copy)] == (consumers or ["C", "D"])
    check(func, sch)
    sch = scheduled(func)
    copy = sch.cache_write("B", 0, "shared", consumers)
    left = [n for n in "CD" if n not in (consumers or [])]
    assert [sch.get(b).name_hint for b in sch.get_consumers(copy)] == left
    check(func, sch)


def test_consumers_that_are_none_are_named() -> None:
    sch = scheduled(program(SEVERAL))
    assert refused(sch, lambda s: s.cache_read("D", 0, "shared", ["B"])) == "no-consumer"
    assert refused(sch, lambda s: s.cache_write("B", 0, "shared", ["B"])) == "no-consumer"


TWO_WRITERS = """
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.sblock_alloc_buffer((8,))
    for i in range(4):
        with T.sblock("B0"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi]
    for i in range(4):
        with T.sblock("B1"):
            vi = T.axis.spatial(4, i)
            B[vi + 4] = A[vi + 4]
    for i in range(8):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]
"""


def test_several_writers_are_refused() -> None:
    sch = scheduled(program(TWO_WRITERS))
    assert refused(sch, lambda s: s.cache_read("C", 0, "local")) == "several-producers"
    assert refused(sch, lambda s: s.cache_write("B0", 0, "local")) == "several-producers"


VIEW = """
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.sblock_alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i in range(4):
        with T.sblock("C"):
            vi = T.axis.spatial(4, i)
            T.reads(B[vi * 2:vi * 2 + 2, 0:8])
            T.writes(C[vi * 2:vi * 2 + 2, 0:8])
            B0 = T.match_buffer(B[vi * 2:vi * 2 + 2, 0:8], (2, 8), offset_factor=1)
            for k, j in T.grid(2, 8):
                C[vi * 2 + k, j] = B0[k, j] + 1.0
"""


def test_views_follow_the_copy() -> None:
    func = program(VIEW)
    sch = scheduled(func)
    sch.cache_read("C", "B", "shared")
    assert 'scope="shared", offset_factor=1' in check(func, sch)


IN_PART = """
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((2,), "float32")):
    B = T.sblock_alloc_buffer((2, 2))
    for i in range(2):
        with T.sblock("B"):
            vi = T.axis.spatial(2, i)
            T.reads(A[vi:vi + 3])
            T.writes(B[0:2, 0:2])
            for k in range(3):
                B[(vi + k) // 2, (vi + k) % 2] = A[vi + k]
        with T.sblock("C"):
            vi = T.axis.spatial(2, i)
            T.reads(B[0:2, 0:2])
            T.writes(C[vi])
            C[vi] = B[vi // 2, vi % 2] + B[(vi + 2) // 2, (vi + 2) % 2]
"""


@pytest.mark.parametrize("name", ["read_at", "cache_read"])
def test_a_copy_does_not_read_what_is_written_in_later_iterations(name: str) -> None:
    sch = scheduled(program(IN_PART))
    block = sch.get_sblock("C")
    if name == "read_at":
        assert refused(sch, lambda s: s.read_at(s.get_loops(block)[0], block, 0, "local")) == (
            "uninitialized-read"
        )
    else:
        assert refused(sch, lambda s: s.cache_read(block, 0, "local")) == "partial-write"


THROUGH_A_VIEW = """
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi], C[vi])
            T.writes(C[vi])
            V = T.match_buffer(C[vi], (1,), offset_factor=1)
            V[0] = V[0] + A[vi]
"""


def test_what_a_view_reads_counts() -> None:
    func = program(THROUGH_A_VIEW)
    sch = scheduled(func)
    assert refused(sch, lambda s: s.cache_write("C", 0, "local")) == "in-place"
    sch.cache_inplace("C", "C", "local")
    check(func, sch)


def test_a_layout_that_views_cannot_follow_is_refused() -> None:
    sch = scheduled(program(VIEW))
    assert (
        refused(sch, lambda s: s.transform_layout("B", ("write", 0), lambda i, j: (j, i))) == "opaque-access"
    )


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (lambda s: s.cache_read("C", 5, "shared"), "buffer-index"),
        (lambda s: s.cache_read("C", -1, "shared"), "buffer-index"),
        (lambda s: s.cache_read("C", True, "shared"), "buffer-index"),
        (lambda s: s.cache_read("C", "Z", "shared"), "buffer-index"),
        (lambda s: s.cache_read("C", 0, "nowhere"), "storage-scope"),
        (lambda s: s.cache_read("C", 0, 3), "storage-scope"),
        (lambda s: s.cache_write("C", 1, "shared"), "buffer-index"),
        (lambda s: s.cache_read("root", 0, "shared"), "buffer-index"),
        (lambda s: s.cache_index("C", "local", "x"), "cse-thresh"),
    ],
)
def test_bad_arguments(step: Any, code: str) -> None:
    assert refused(scheduled(program(SEVERAL)), step) == code


def test_sizes_may_be_symbols() -> None:
    func = program("""
def main(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, T.int64(4)))
    C = T.match_buffer(c, (n, T.int64(4)))
    for i_0, i_1, j in T.grid((n + T.int64(3)) // T.int64(4), T.int64(4), T.int64(4)):
        with T.sblock("C"):
            vi = T.axis.spatial(n, i_0 * T.int64(4) + i_1)
            vj = T.axis.spatial(T.int64(4), j)
            T.where(i_0 * T.int64(4) + i_1 < n)
            C[vi, vj] = A[vi, vj] + 1.0
""")
    sch = scheduled(func)
    sch.cache_read("C", 0, "shared")
    sch.cache_write("C", 0, "local")
    text = check(func, sch)
    assert "C_local = T.sblock_alloc_buffer((n, T.int64(4))" in text


def test_indices_are_computed_beforehand() -> None:
    func = program("""
def main(A: T.Buffer((9,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi // 2 + vi % 2] + A[(vi // 2 + vi % 2) * 1] + A[vi // 2]
""")
    for thresh, count in ((0, 3), (1, 3), (2, 1), (9, 0)):
        sch = scheduled(func)
        assert len(sch.cache_index("C", "local", thresh)) == count
        check(func, sch)


def test_the_initialiser_of_a_block_runs_at_times_only() -> None:
    func = program("""
def main(A: T.Buffer((4, 4), "float32"), Z: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for k in range(4):
        with T.sblock("outer"):
            vk = T.axis.reduce(4, k)
            T.reads(A[0:4, vk], Z[0:4])
            T.writes(C[0:4])
            with T.init():
                for i in range(4):
                    with T.sblock("C_init"):
                        vi = T.axis.spatial(4, i)
                        C[vi] = Z[vi]
            for i in range(4):
                with T.sblock("C"):
                    vi = T.axis.spatial(4, i)
                    C[vi] = C[vi] + A[vi, vk]
""")
    sch = scheduled(func)
    assert refused(sch, lambda s: s.cache_read("C_init", 0, "local")) == "in-initialiser"
    assert refused(sch, lambda s: s.reindex("C_init", "Z")) == "in-initialiser"
    sch.cache_read("C", "A", "local")
    check(func, sch)

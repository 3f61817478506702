"""What random sequences of primitives found: the smallest example of each kind."""

from __future__ import annotations

from typing import Any

import pytest

from loopwright.errors import ScheduleError
from loopwright.ir import Cast, FloorMod, IndexMap, Var, const
from loopwright.schedule import Schedule, Trace
from loopwright.script import parse
from loopwright.testing.results import assert_same_results
from loopwright.testing.schedules import check_trace
from loopwright.testing.strategies.scheduled import program


def check(func: Any, sch: Schedule) -> str:
    """The program computes what it did, and its trace replays; gives its text."""
    assert_same_results(func, sch.mod["main"])  # type: ignore[arg-type]
    check_trace(sch, func)
    return sch.mod.script()


def scheduled(func: Any) -> Schedule:
    return Schedule(func, debug_mask="all", error_render_level="fast")


def test_merged_nests_keep_their_order() -> None:
    func = program("in_place")
    sch = scheduled(func)
    sch.merge(sch.get_loops("B_add")[1], sch.get_loops("B_init")[1])
    check(func, sch)


def test_stated_regions_may_name_sizes_and_axes_around() -> None:
    func = program("symbolic")
    sch = scheduled(func)
    sch.blockize(sch.get_loops("B")[1])
    block = sch.get_sblock("B")
    outer = sch.get(sch.get_sblock("B_o")).iter_vars[0].var
    size = func.params[0].ty.shape[1]
    sch.annotate_buffer_access(block, 0, "read", lambda vj: [(outer, outer + 1), (0, size)])
    assert "T.reads(A[vi_o, 0:m])" in check(func, sch)


def test_a_moved_block_finds_its_inputs_written() -> None:
    """The copy would run for cells that the loop around has not yet written."""
    func = program("conv_pad", n=8)
    sch = scheduled(func)
    block = sch.get_sblock("P")
    sch.compute_at(block, sch.get_loops("C")[0])
    copy = sch.write_at(sch.get_loops(block)[-1], block, 0, "local")
    with pytest.raises(ScheduleError) as info:
        sch.compute_at(copy, sch.get_loops("C")[1])
    assert info.value.code == "region-cover"


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("keep", [False, True])
def test_blocks_of_axes_that_do_not_begin_at_zero(depth: int, keep: bool) -> None:
    func = program("offset", n=8)
    sch = scheduled(func)
    block = sch.get_sblock("C")
    if depth < 2:
        sch.blockize(block if depth else sch.get_loops(block)[0], preserve_unit_iters=keep)
    else:
        parsed: Any = parse(OFFSET_TILES)
        func = parsed
        sch = scheduled(func)
        sch.blockize(sch.get_loops("C")[1], preserve_unit_iters=keep)
    check(func, sch)


OFFSET_TILES = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for i, j in T.grid(2, 4):
        with T.sblock("C"):
            vi = T.axis.spatial((3, 11), i * 4 + j + 3)
            C[vi] = A[vi] * T.float32(2)
"""


def test_maps_of_other_names_come_back_from_text() -> None:
    line = (
        'sch.annotate_buffer_access(block=b0, buffer_index=0, buf_type="read", '
        "gen_new_ranges=lambda: (vi_o, vi_o + 1, T.Sub(0, 0), T.Sub(0, 0) + 1,))"
    )
    text = f'b0 = sch.get_sblock(name="B", func_name="main")\n{line}'
    assert Trace.from_python(text).as_python()[1].strip() == line


PARTS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((2, 3), "float32"), C: T.Buffer((1,), "float32")):
    for x in range(2):
        with T.sblock("outer"):
            T.reads(A[x, 0:3])
            T.writes(C[0])
            for y in range(3):
                with T.sblock("C"):
                    vx, vy = T.axis.remap("RR", [x, y])
                    with T.init():
                        C[0] = T.float32(0)
                    C[0] = C[0] + A[vx, vy]
"""


@pytest.mark.parametrize("name", ["rfactor", "decompose_reduction"])
def test_a_reduction_that_goes_on_outside_of_its_scope(name: str) -> None:
    func: Any = parse(PARTS)
    sch = scheduled(func)
    [loop] = sch.get_loops("C")
    with pytest.raises(ScheduleError) as info:
        sch.rfactor(loop, 0) if name == "rfactor" else sch.decompose_reduction("C", loop)
    assert info.value.code == "reduction-loop-outside"


def test_a_plain_pad_value_comes_back_in_any_type() -> None:
    func = program("long")
    sch = scheduled(func)
    sch.unsafe_set_dtype("B", 0, "int32")
    sch.transform_layout("B", ("write", 0), lambda i, j: (i // 3, i % 3, j), 5)
    check(func, sch)


def test_the_type_of_the_indices_of_a_pad_map_comes_back() -> None:
    func = program("long")
    sch = scheduled(func)
    i, j, k = [Var(name, "int64") for name in "ijk"]
    pad = IndexMap([i, j, k], [Cast("float32", FloorMod(i, const(3, "int64")))])
    sch.transform_layout("B", ("write", 0), lambda i, j: (i // 4, i % 4, j), pad)
    check(func, sch)


GUARDED_COPY = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((6,)), C: T.Buffer((8,))):
    for i in range(8):
        with T.sblock("outer"):
            vo = T.axis.spatial(8, i)
            T.reads(A[0:6])
            T.writes(C[vo])
            B = T.sblock_alloc_buffer((1, 1))
            for j, k in T.grid(1, 1):
                with T.sblock("B"):
                    vj, vk = T.axis.remap("SS", [j, k])
                    T.where(vo + k < 6)
                    B[vj, vk] = A[vo + vk]
            with T.sblock("C"):
                C[vo] = T.if_then_else(vo < 6, B[0, 0], 0.0)
"""


@pytest.mark.parametrize("name", ["write_at", "cache_write"])
def test_a_guard_on_a_loop_of_one_iteration_asks_about_the_loops_around(name: str) -> None:
    sch = scheduled(parse(GUARDED_COPY))
    with pytest.raises(ScheduleError) as info:
        if name == "write_at":
            sch.write_at(sch.get_loops("B")[0], "B", 0, "global")
        else:
            sch.cache_write("B", 0, "global")
    assert info.value.code == "partial-write"

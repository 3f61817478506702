"""Steps on loops of which some iterations are left out, or that run once, as kernels for GPUs need them."""

from __future__ import annotations

from loopwright.ir import PrimFunc
from loopwright.schedule import Schedule
from loopwright.script import tirx as T
from loopwright.testing.results import assert_same_results


@T.prim_func(s_tir=True)
def rows(a: T.Buffer((5, 6), "float32"), c: T.Buffer((5,), "float32")):
    for i, k in T.grid(5, 6):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                c[vi] = T.float32(0)
            c[vi] = c[vi] + a[vi, vk]


def text(func: PrimFunc, part: str) -> str:
    return next(line.strip() for line in func.script().splitlines() if part in line)


def test_sums_of_fewer_terms_than_threads_are_taken_apart_twice() -> None:
    sch = Schedule(rows)
    i, k = sch.get_loops("C")
    sch.split(i, [None, 4])
    _, thread = sch.split(k, [None, 8])
    partial = sch.rfactor(thread, 0)
    block = sch.get_sblock("C")
    thread, _ = sch.split(sch.get_loops(block)[-1], [8, None])
    sums = sch.rfactor(thread, 0)
    grid = sch.get_loops(partial)[0]
    sch.reverse_compute_at(sums, grid, preserve_unit_loops=True)
    sch.reverse_compute_at(block, grid, preserve_unit_loops=True)
    assert_same_results(rows, sch.mod)


def test_a_copy_under_a_guard_is_covered_where_its_reader_runs() -> None:
    sch = Schedule(rows)
    _, k = sch.get_loops("C")
    step, lane = sch.split(k, [None, 4])
    copy = sch.cache_read("C", 0, "local")
    sch.compute_at(copy, lane, preserve_unit_loops=True)
    sch.bind(sch.get_loops("C")[0], "threadIdx.x")
    assert_same_results(rows, sch.mod)
    assert "T.where" in sch.mod.script()


def test_loops_that_run_once_do_not_stay_in_regions() -> None:
    sch = Schedule(rows)
    i, k = sch.get_loops("C")
    grid, once = sch.split(i, [None, 1])
    copy = sch.cache_read("C", 0, "local")
    sch.compute_at(copy, once, preserve_unit_loops=True)
    assert text(sch.mod["main"], "v0 = T.axis.spatial(5") == "v0 = T.axis.spatial(5, i_0 + ax0)"
    assert_same_results(rows, sch.mod)


@T.prim_func(s_tir=True)
def packed(a: T.Buffer((4, 8), "float32"), b: T.Buffer((4, 8, 8), "float32")):
    for i, j, k in T.grid(4, 8, 8):
        with T.sblock("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            b[vi, vj, vk] = a[vi, (vj * 8 + vk) // 8]


def test_reads_of_a_copy_have_simple_indices() -> None:
    sch = Schedule(packed)
    sch.cache_read("B", 0, "local")
    assert text(sch.mod["main"], "b[vi, vj, vk] =") == "b[vi, vj, vk] = a_local[vi, vk // 8 + vj]"
    assert_same_results(packed, sch.mod)


@T.prim_func(s_tir=True)
def wide(a: T.Buffer((4, T.int64(6)), "float32"), b: T.Buffer((4, T.int64(6)), "float32")):
    for i in range(4):
        for j in range(T.int64(6)):
            with T.sblock("B"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(T.int64(6), j)
                b[vi, vj] = a[vi, vj] + T.float32(1)


def test_loops_of_two_integer_types_fuse_into_the_wider_one() -> None:
    sch = Schedule(wide)
    fused = sch.fuse(*sch.get_loops("B"))
    assert str(sch.get(fused).loop_var.dtype) == "int64"
    assert_same_results(wide, sch.mod)


@T.prim_func(s_tir=True)
def gathered(a: T.Buffer((8, 4), "float32"), at: T.Buffer((1,), "int32"), b: T.Buffer((4,), "float32")):
    with T.sblock("outer"):
        T.reads(a[at[0], 0:4], at[0])
        T.writes(b[0:4])
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.spatial(4, i)
                b[vi] = a[at[0], vi] * T.float32(2)


def test_a_row_that_is_read_in_any_case_is_copied_without_a_guard() -> None:
    sch = Schedule(gathered)
    sch.cache_read("B", 0, "local")
    assert "T.where" not in sch.mod.script()

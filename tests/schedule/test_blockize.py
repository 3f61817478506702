"""Blocks around blocks, and tensor intrinsics in their place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.errors import ScheduleError
from loopwright.schedule import Schedule
from loopwright.schedule.tensor_intrin import TensorIntrin
from loopwright.script import parse
from loopwright.testing.results import assert_same_results
from loopwright.testing.schedules import check_sequence
from loopwright.testing.strategies.all_steps import steps
from loopwright.testing.strategies.scheduled import program, programs

FAMILY = ("blockize", "blockize", "decompose_reduction", "split", "fuse", "reorder")

PRODUCT = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16, 16), "{a}"), B: T.Buffer((16, 16), "{b}"), C: T.Buffer((16, 16), "{c}")):
    for i, j, k in T.grid(16, 16, 16):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = {zero}
            C[vi, vj] = C[vi, vj] + {term}
"""


def refused(sch: Schedule, name: str, *arguments: Any) -> str:
    before = sch.mod
    with pytest.raises(ScheduleError) as caught:
        getattr(sch, name)(*arguments)
    assert sch.mod is before
    return caught.value.code


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), programs())
def test_blocks_around_blocks_keep_results(data: Any, func: Any) -> None:
    check_sequence(func, data.draw(st.lists(steps(FAMILY), min_size=2, max_size=5)), data.draw)


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("unit", [True, False])
def test_blockize_a_reduction(depth: int, unit: bool) -> None:
    func = program("matmul", n=4, m=1, k=6)
    sch = Schedule(func, debug_mask="all")
    block = sch.get_sblock("C")
    i, j, k = sch.get_loops(block)
    outer = sch.blockize([i, j, k][depth], preserve_unit_iters=unit)
    assert sch.get(outer).name_hint == "C_o" and sch.get(block).name_hint == "C"
    assert sch.get(outer).init is not None and sch.get(block).init is None
    assert sch.get(i) is not None and sch.get(k) is not None
    assert_same_results(func, sch.mod["main"])


GUARDED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((10, 4), "float32"), C: T.Buffer((10, 4), "float32")):
    for i, j in T.grid(12, 6):
        with T.sblock("C"):
            vi = T.axis.spatial(10, i)
            vj = T.axis.spatial(4, j)
            T.where(i < 9 and j < 4)
            C[vi, vj] = A[vi, vj] * T.float32(2)
"""


def test_guards_are_kept() -> None:
    func: Any = parse(GUARDED)
    for depth in (0, 1):
        sch = Schedule(func, debug_mask="all")
        sch.blockize(sch.get_loops("C")[depth])
        assert_same_results(func, sch.mod["main"])
    sch = Schedule(program("elementwise", n=10))
    _, i1 = sch.split(sch.get_loops("C")[0], [None, 4])
    assert refused(sch, "blockize", i1) == "predicate-not-divisible"


def test_several_blocks() -> None:
    func = program("shared_loop", n=4, m=3)
    sch = Schedule(func, debug_mask="all")
    i = sch.get_loops("B")[0]
    assert refused(sch, "blockize", i) == "several-blocks"
    assert sch.copy().blockize("B") is not None
    both = sch.blockize([sch.get_sblock("B"), sch.get_sblock("C")])
    assert sch.get(both).name_hint == "outer_B_C_"
    assert_same_results(func, sch.mod["main"])
    assert refused(sch, "blockize", []) == "no-blocks"


CAST = 'T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj, vk])'


@pytest.mark.parametrize(
    ("name", "types", "term", "tiles"),
    [
        ("dot_4_f32", "fff", "A[vi, vk] * B[vj, vk]", {"k": 4}),
        ("dot_8_f32", "fff", "B[vj, vk] * A[vi, vk]", {"k": 8}),
        ("outer_4x4_f32", "fff", "A[vk, vi] * B[vk, vj]", {"i": 4, "j": 4}),
        ("outer_8x8_f32", "fff", "A[vk, vi] * B[vk, vj]", {"i": 8, "j": 8}),
        ("dot_4x4_i8i8i32", "bbi", CAST, {"j": 4, "k": 4}),
        ("dot_8x4_u8i8i32", "ubi", CAST, {"j": 8, "k": 4}),
    ],
)
def test_tensorize_on_the_processor(name: str, types: str, term: str, tiles: dict[str, int]) -> None:
    kinds = {"f": "float32", "b": "int8", "u": "uint8", "i": "int32"}
    a, b, c = [kinds[t] for t in types]
    zero = "T.float32(0)" if c == "float32" else "0"
    func: Any = parse(PRODUCT.format(a=a, b=b, c=c, zero=zero, term=term))
    sch = Schedule(func, debug_mask="all")
    loops = dict(zip("ijk", sch.get_loops("C")))
    outer: list[Any] = []
    inner: list[Any] = []
    for axis, loop in loops.items():
        parts = sch.split(loop, [None, tiles[axis]]) if axis in tiles else [loop]
        outer.append(parts[0])
        inner += parts[1:]
    sch.reorder(*outer, *inner)
    sch.decompose_reduction("C", outer[-1])
    sch.tensorize(inner[0], name)
    assert_same_results(func, sch.mod["main"])


def test_tensorize_compares() -> None:
    func: Any = parse(
        PRODUCT.format(
            a="float32", b="float32", c="float32", zero="T.float32(0)", term="A[vi, vk] * B[vj, vk]"
        )
    )
    sch = Schedule(func)
    block = sch.get_sblock("C")
    k = sch.get_loops(block)[2]
    k0, k1 = sch.split(k, [None, 4])
    sch.decompose_reduction(block, k0)
    assert refused(sch, "tensorize", k1, "dot_8_f32") == "no-match"
    assert refused(sch, "tensorize", k1, "dot_4x4_i8i8i32") == "no-match"
    with pytest.raises(ValueError, match="dot_4_f32"):
        sch.tensorize(k1, "dot_4_f23")
    sch.tensorize(k1, "dot_4_f32")


def test_rows_that_are_apart_are_no_register() -> None:
    func: Any = parse(PRODUCT.format(a="uint8", b="int8", c="int32", zero="0", term=CAST))
    sch = Schedule(func)
    _, j, k = sch.get_loops("C")
    j0, j1 = sch.split(j, [None, 16])
    k0, k1 = sch.split(k, [None, 4])
    sch.reorder(j0, k0, j1, k1)
    sch.decompose_reduction("C", k0)
    assert refused(sch, "tensorize", j1, "dot_16x4_vnni") == "not-contiguous"


def test_registry() -> None:
    found = TensorIntrin.get("dot_4x4_i8i8s32_sdot")
    assert found is not None and "sdot" in found.impl.script()
    assert TensorIntrin.get("nothing", allow_missing=True) is None
    with pytest.raises(ValueError, match="already"):
        TensorIntrin.register("dot_4_f32", found.desc, found.impl)
    other = TensorIntrin.get("outer_4x4_f32")
    assert other is not None
    with pytest.raises(ValueError, match="differs"):
        TensorIntrin.register("mixed", found.desc, other.impl)

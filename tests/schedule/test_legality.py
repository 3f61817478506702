"""What is refused because results would change, and what is not."""

from __future__ import annotations

import pytest

from loopwright.errors import ScheduleError
from loopwright.ir.analysis.blocks import (
    affine_binding_reason,
    complete_reason,
    reduction_reason,
    stage_pipeline_reason,
)
from loopwright.schedule import Schedule
from loopwright.script import parse
from loopwright.testing.results import assert_same_results
from loopwright.testing.strategies.scheduled import program

PADDED_TILES = """
@T.prim_func(s_tir=True)
def main(X: T.Buffer((16,), "float32"), Y: T.Buffer((16,), "float32")):
    P = T.sblock_alloc_buffer((16,))
    for t in range(4):
        for a in range(6):
            with T.sblock("P"):
                h = T.axis.spatial(16, t * 4 - 1 + a)
                T.where(1 <= t * 4 + a and t * 4 + a < 17)
                P[h] = X[h]
        for i, k in T.grid(4, 3):
            with T.sblock("Y"):
                h = T.axis.spatial(16, t * 4 + i)
                r = T.axis.reduce(3, k)
                with T.init():
                    Y[h] = T.float32(0)
                Y[h] = Y[h] + T.if_then_else(1 <= h + r and h + r < 17, P[h + r - 1], T.float32(0))
"""

THREADS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.sblock_alloc_buffer((8, 8), scope="{scope}")
    for t in T.thread_binding(8, thread="threadIdx.x"):
        for j in range(8):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [t, j])
                B[vi, vj] = A[vi, vj]
        for j in range(8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [t, j])
                C[vi, vj] = B[vj, vi]
"""


def refused(sch: Schedule, name: str, *arguments: object) -> str:
    with pytest.raises(ScheduleError) as caught:
        getattr(sch, name)(*arguments)
    return caught.value.code


def test_loops_of_a_fused_reduction_keep_their_order() -> None:
    """After fusing j with the reduction, another order would begin sums in the middle."""
    sch = Schedule(program("matmul", n=2, m=3, k=8))
    outer, middle, inner = sch.split(sch.fuse(*sch.get_loops("C")), [4, 3, 4])
    assert refused(sch, "reorder", middle, inner, outer) == "reduction-order"
    sch = Schedule(program("matmul", n=2, m=3, k=8))
    i, j, k = sch.get_loops("C")
    fused = sch.fuse(j, k)
    sch.reorder(fused, i)
    assert_same_results(program("matmul", n=2, m=3, k=8), sch.mod["main"])


def test_a_reduction_computed_twice_stays_in_one_iteration() -> None:
    """The tiles overlap in B: only what is private to an iteration may run at the same time."""
    func = program("halo", n=3, k=4)
    sch = Schedule(func)
    i, j, k = sch.get_loops("B")
    sch.parallel(i)
    assert refused(sch, "reorder", k, i) == "loop-not-only-child"
    sch.reorder(k, j)
    assert_same_results(func, sch.mod["main"])
    text = func.script().replace("C[vi] = B[vi] + B[vi + 2]", "C[vi] = B[vi] + B[vi + 2] + B[0]")
    shared = Schedule(parse(text.replace("T.reads(B[vi:vi + 3])", "T.reads(B[0:16])")))
    assert refused(shared, "parallel", shared.get_loops("B")[0]) == "order-dependence"


def test_blocks_that_wait_for_other_iterations_are_not_reordered() -> None:
    text = program("shared_loop").script().replace("range(4)", "range(4)")
    sch = Schedule(parse(text))
    i, *_ = sch.get_loops("B")
    sch.parallel(i)
    sch = Schedule(program("in_place"))
    sch.reorder(*reversed(sch.get_loops("B_add")))
    assert refused(sch, "parallel", sch.get_loops("B_add")[0]) == "block-kind"


def test_statements_outside_blocks_are_in_the_way() -> None:
    sch = Schedule(
        parse("""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
    for i, j in T.grid(4, 4):
        A[i, j] = B[i]
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] + B[vi]
""")
    )
    assert refused(sch, "reorder", *reversed(sch.get_loops("B"))) == "bare-statement"


def test_a_padded_tile_covers_what_its_consumer_reads() -> None:
    state = Schedule(parse(PADDED_TILES)).state
    root = state.scope(state.blocks_named("root", "main")[0].block.ref)  # type: ignore[arg-type]
    assert stage_pipeline_reason(root) is None
    smaller = Schedule(parse(PADDED_TILES.replace("range(6)", "range(5)"))).state
    root = smaller.scope(smaller.blocks_named("root", "main")[0].block.ref)  # type: ignore[arg-type]
    assert "may read parts of `P` not yet written" in str(stage_pipeline_reason(root))


@pytest.mark.parametrize(("scope", "covered"), [("shared", True), ("local", False), ("global", False)])
def test_threads_share_what_lies_in_shared_memory(scope: str, covered: bool) -> None:
    state = Schedule(parse(THREADS.format(scope=scope))).state
    root = state.scope(state.blocks_named("root", "main")[0].block.ref)  # type: ignore[arg-type]
    assert (stage_pipeline_reason(root) is None) == covered


def test_kinds_of_blocks() -> None:
    state = Schedule(program("matmul_relu")).state
    root = state.scope(state.blocks_named("root", "main")[0].block.ref)  # type: ignore[arg-type]
    product, relu = root.children
    assert reduction_reason(root, product) is None and "not data-parallel" in str(
        complete_reason(root, product)
    )
    assert complete_reason(root, relu) is None and "no initialiser" in str(reduction_reason(root, relu))
    assert root.producers(relu) == [product] and root.consumers(product) == [relu]
    for child in root.children.values():
        assert affine_binding_reason(child.realize, child.loops) is None


MIXED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8, 12))):
    for i, j, k, u in T.grid(8, 8, 4, 2):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            vk = T.axis.spatial(12, k * 3 + u)
            T.where(i + k < 5 and j + u < 3)
            A[vi, vj, vk] = 0.0
"""


def test_conditions_that_mix_axes() -> None:
    """Two conditions, each on a plain axis and on a loop of an axis with gaps: no map of the loops."""
    state = Schedule(parse(MIXED)).state
    root = state.scope(state.blocks_named("root", "main")[0].block.ref)  # type: ignore[arg-type]
    [child] = root.children.values()
    assert "no affine map" in str(affine_binding_reason(child.realize, child.loops))

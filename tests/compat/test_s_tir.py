"""`tvm.s_tir`: schedules, references to statements, traces, analyses, workloads."""

from __future__ import annotations

import importlib
import pickle
import types
from collections.abc import Iterator

import pytest

import loopwright.compat

KERNEL = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.sblock_alloc_buffer((16,), "float32")
    for i in range(16):
        with T.sblock("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(16):
        with T.sblock("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] + T.float32(1)
"""


@pytest.fixture
def tvm() -> Iterator[types.ModuleType]:
    loopwright.compat.install()
    try:
        yield importlib.import_module("tvm")
    finally:
        loopwright.compat.uninstall()


def test_references_follow_the_schedule(tvm):
    sch = tvm.s_tir.Schedule(tvm.script.from_source(KERNEL))
    block = sch.get_sblock("B")
    (loop,) = sch.get_loops(block)
    ref = sch.get_sref(loop)
    assert ref.stmt.same_as(sch.get(loop)) and ref == sch.get_sref(sch.get(loop))
    assert sch.get_sref(block).parent.same_as(ref)
    outer, _ = sch.split(loop, factors=[4, 4])
    assert ref.stmt is None and ref.parent is None
    with pytest.raises(IndexError, match="consumed"):
        sch.get_sref(loop)
    assert sch.get_sref(outer).stmt.extent.value == 4
    assert sch.get_sref(block) != sch.copy().get_sref(block)


def test_a_state_replaces_statements(tvm):
    state = tvm.s_tir.ScheduleState(tvm.script.from_source(KERNEL), debug_mask="all")
    first = state.mod["main"].body.block.body[0]
    ref = state.get_sref(first)
    state.replace(ref, first.replace(annotations={"k": 1}))
    assert dict(state.mod["main"].body.block.body[0].annotations) == {"k": 1}
    assert ref.stmt is not None
    flags = importlib.import_module("tvm.s_tir.schedule.state").CachedFlags
    block = state.get_sref(ref.stmt.body.block)
    assert state._get_cached_flags(block) == flags(True, True, True)
    scope = state.get_sblock_scope(state.get_sref(state.mod["main"].body.block))
    (dep,) = scope.get_deps_by_src(block)
    assert dep.kind == tvm.s_tir.schedule.DepKind.RAW and dep.dst.stmt.name_hint == "C"
    assert scope.get_deps_by_dst(dep.dst)[0].src == block


def test_dependences_of_a_module(tvm):
    func = tvm.script.from_source(KERNEL)
    info = tvm.s_tir.SBlockDependenceInfo(func)
    block = func.body.block.body[0].body.block
    ref = info.get_sref(block)
    assert ref.stmt is block
    assert [d.dst.stmt.name_hint for d in info.get_sblock_scope(ref.parent).get_deps_by_src(ref)] == ["C"]


def test_traces_are_made_by_hand(tvm):
    room = tvm.s_tir.schedule
    block, loop = room.SBlockRV(), room.LoopRV()
    assert isinstance(block, room.SBlockRV) and not block.same_as(room.SBlockRV())
    get = room.Instruction(room.InstructionKind.get("GetSBlock"), [], ["C", "main"], [block])
    loops = room.Instruction(room.InstructionKind.get("GetLoops"), [block], [], [loop])
    assert str(loops) == "_, = sch.get_loops(block=_)"
    assert loops.kind.same_as(room.InstructionKind.get("GetLoops"))
    split = room.Instruction(
        room.InstructionKind.get("Split"),
        [loop, None, tvm.tirx.IntImm("int32", 4)],
        [tvm.tirx.IntImm("bool", 1), tvm.tirx.IntImm("bool", 0)],
        [room.LoopRV(), room.LoopRV()],
    )
    trace = room.Trace([get, loops, split], {})
    assert str(trace).splitlines()[:2] == [
        "# from tvm import s_tir",
        "def apply_trace(sch: s_tir.Schedule) -> None:",
    ]
    sch = tvm.s_tir.Schedule(tvm.script.from_source(KERNEL))
    trace.apply_to_schedule(sch, remove_postproc=False)
    assert [str(sch.get(lp).extent) for lp in sch.get_loops("C")] == ["4", "4"]
    testing = importlib.import_module("tvm.s_tir.schedule.testing")
    testing.verify_trace_roundtrip(sch, tvm.script.from_source(KERNEL))


def test_analyses_by_the_names_of_the_peer(tvm):
    analysis = tvm.s_tir.analysis
    func = tvm.script.from_source(KERNEL)
    assert analysis.estimate_tir_flops(tvm.IRModule({"main": func})) == 32
    assert not analysis.is_pure_function(func)
    with pytest.raises(AssertionError, match="not pure"):
        analysis.assert_pure_function(func)
    block = func.body.block.body[1].body.block
    reads, writes, opaque = analysis.get_sblock_access_region(
        block, {r.buffer: r.buffer for r in block.reads}
    )
    tvm.ir.assert_structural_equal(reads, list(block.reads))
    assert writes == opaque == []
    bad = tvm.script.from_source(KERNEL.replace("A[vi]", "A[vi + 1]").replace("T.reads", "#"))
    with pytest.raises(tvm.s_tir.ScheduleError, match="buffer A at index 16"):
        analysis.OOBChecker()(tvm.IRModule({"main": bad}))
    assert tvm.tirx.analysis.verify_ssa(func)


def test_ill_formed_programs_say_the_sentence_of_the_peer(tvm):
    x = tvm.tirx.Var("x", "int32")
    twice = tvm.tirx.SeqStmt([tvm.tirx.Bind(x, 1), tvm.tirx.Bind(x, 2)])
    func = tvm.tirx.PrimFunc([], twice)
    assert not tvm.tirx.analysis.verify_well_formed(func, assert_mode=False)
    with pytest.raises(ValueError, match="ill-formed, due to multiple nested definitions of variable x"):
        tvm.tirx.analysis.verify_well_formed(func)


@pytest.mark.parametrize(
    "name", ["C1D", "C2D", "CAP", "DEP", "DIL", "GRP", "T2D", "CBR", "TBG", "NRM", "SFM"]
)
def test_workloads_are_programs(tvm, name):
    work = importlib.import_module("tvm.s_tir.meta_schedule.testing.te_workload")
    func = work.create_te_workload(name, 0)
    assert tvm.tirx.analysis.verify_well_formed(func)
    assert tvm.s_tir.analysis.estimate_tir_flops(tvm.IRModule({"main": func})) > 1e5


def test_intrinsics_have_their_names(tvm):
    x86 = importlib.import_module("tvm.s_tir.tensor_intrin.x86")
    assert tvm.s_tir.TensorIntrin.get(x86.VNNI_DOT_16x4_INTRIN).desc is x86.dot_product_16x4_u8i8i32_desc
    with pytest.raises(ModuleNotFoundError, match=r"tensor_intrin\.rocm"):
        importlib.import_module("tvm.s_tir.tensor_intrin.rocm")


def test_nodes_keep_their_state(tvm):
    func = tvm.script.from_source(KERNEL)
    block = func.body.block
    block.__setstate__(block.__getstate__())
    with pytest.raises(TypeError, match="immutable"):
        block.__setstate__((1,))
    assert func.__name__ == "main"
    tvm.ir.assert_structural_equal(pickle.loads(pickle.dumps(func)), func)


def test_a_symbol_made_outside_is_no_value(tvm):
    from tvm import te
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def strided(a: T.handle):
        start = te.var("start")
        A = T.match_buffer(a, (4,), "float32", elem_offset=start)
        T.evaluate(start + A.shape[0])

    assert "T.evaluate(A.elem_offset + 4)" in strided.script()


def test_maps_move_tensors_and_refusals_are_runtime_errors(tvm):
    fold = tvm.tirx.IndexMap.from_func(lambda i: [i // 4, i % 4])
    moved = fold.map_tensor(tvm.runtime.tensor([0, 1, 2, 3, 4, 5, 6, 7]))
    assert moved.numpy().tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    with pytest.raises(RuntimeError, match="no block"):
        tvm.s_tir.Schedule(tvm.script.from_source(KERNEL)).get_sblock("D")

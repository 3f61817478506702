"""Traces as text and JSON, ours and the peer's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopwright.errors import ScheduleError, ScriptError
from loopwright.ir import IndexMap, structural_equal
from loopwright.schedule import Schedule, Trace, replay
from loopwright.schedule.trace_peer import node_of_peer
from loopwright.testing.strategies.scheduled import program

PEER_TEXT = """
# from tvm import s_tir
def apply_trace(sch: s_tir.Schedule) -> None:
  b0 = sch.get_sblock(name="C", func_name="main")
  l1, l2, l3 = sch.get_loops(block=b0)
  v4, v5 = sch.sample_perfect_tile(loop=l3, n=2, max_innermost_factor=16, decision=[4, 2])
  l6, l7 = sch.split(loop=l3, factors=[v4, v5], preserve_unit_iters=True, disable_predication=False)
  sch.reorder(l6, l2, l7)
  l8 = sch.fuse(l6, l2, preserve_unit_iters=True)
  sch.annotate(block_or_loop=l8, ann_key="note", ann_val=[1, "a", {"b": 2.5}])
  b9 = sch.get_sblock(name="root", func_name="main")
  b10, = sch.get_child_blocks(b9)
  b11, = sch.get_output_blocks(block=b9)
  sch.enter_postproc()
  sch.unroll(loop=l7)
"""

PEER_JSON: list[Any] = [
    [
        ["GetSBlock", [], ["C", "main"], ["b0"]],
        ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
        ["SamplePerfectTile", ["l3"], [2, 16], ["v4", "v5"]],
        ["Split", ["l3", "v4", "v5"], [1, 0], ["l6", "l7"]],
        ["Reorder", ["l6", "l2", "l7"], [], []],
        ["Fuse", ["l6", "l2"], [1], ["l8"]],
        ["Annotate", ["l8", [1, '"a"', {"b": 2.5}]], ["note"], []],
        ["Split", ["l7", "None", 1], [True, False], ["l9", "l10"]],
        ["EnterPostproc", [], [], []],
        ["Unroll", ["l10"], [], []],
    ],
    [[2, [4, 2]]],
]

PEER_MAP = {
    "root_index": 10,
    "nodes": [
        {"type": "None"},
        {"type": "ir.PrimType", "data": {"span": 0, "dtype": "int32"}},
        {"type": "ffi.String", "data": "i"},
        {"type": "ir.Var", "data": {"span": 0, "ty": 1, "name": 2}},
        {"type": "ffi.Array", "data": [3]},
        {"type": "int", "data": 4},
        {"type": "ir.IntImm", "data": {"span": 0, "ty": 1, "value": 5}},
        {"type": "prim.FloorDiv", "data": {"span": 0, "ty": 1, "a": 3, "b": 6}},
        {"type": "prim.FloorMod", "data": {"span": 0, "ty": 1, "a": 3, "b": 6}},
        {"type": "ffi.Array", "data": [7, 8]},
        {"type": "tirx.IndexMap", "data": {"initial_indices": 4, "final_indices": 9, "inverse_index_map": 0}},
    ],
}


def scheduled() -> Schedule:
    sch = Schedule(program("matmul", n=8, m=8, k=8), seed=1)
    i, j, k = sch.get_loops("C")
    a, b = sch.sample_perfect_tile(k, 2)
    k0, k1 = sch.split(k, [a, b])
    sch.get_child_blocks("root")
    sch.annotate(k0, "twice", b * 2)
    sch.reorder(k0, j, k1)
    sch.enter_postproc()
    sch.unroll(k1)
    return sch


def test_text_and_json_come_back() -> None:
    sch = scheduled()
    text = str(sch.trace)
    assert str(Trace.from_python(text)) == text
    assert str(Trace.from_json(json.dumps(sch.trace.as_json()))) == text
    assert str(Trace.from_python("\n".join(sch.trace.as_python()))) == text


def test_replay_gives_the_same_program() -> None:
    sch = scheduled()
    func = program("matmul", n=8, m=8, k=8)
    for trace in (sch.trace, Trace.from_python(str(sch.trace)), Trace.from_json(sch.trace.as_json())):
        again = replay(trace, func)
        assert structural_equal(again.mod, sch.mod)
        assert str(again.trace) == str(sch.trace)


def test_simplified_drops_what_nobody_uses() -> None:
    trace = scheduled().trace
    kinds = [i.kind.name for i in trace.simplified(remove_postproc=True).insts]
    assert "GetChildBlocks" not in kinds and "Unroll" not in kinds and kinds[0] == "GetSBlock"
    assert kinds.count("GetSBlock") == 1
    assert structural_equal(
        replay(trace.simplified(False), program("matmul", n=8, m=8, k=8)).mod, scheduled().mod
    )


def test_decisions_can_be_changed() -> None:
    sch = scheduled()
    inst = next(i for i in sch.trace.insts if i.kind.name == "SamplePerfectTile")
    other = sch.trace.with_decision(inst, [2, 4], remove_postproc=False)
    again = replay(other, program("matmul", n=8, m=8, k=8))
    assert again.trace.get_decision(again.trace.insts[2]) == [2, 4]
    asked: list[Any] = []

    def provider(inst: Any, inputs: Any, attrs: Any, decision: Any) -> Any:
        asked.append((attrs, decision))
        return [1, 8]

    third = Schedule(program("matmul", n=8, m=8, k=8))
    sch.trace.apply_to_schedule(third, False, provider)
    assert asked[0][0] == [2, 16] and third.trace.get_decision(third.trace.insts[2]) == [1, 8]


def test_pop_and_append() -> None:
    trace = scheduled().trace.copy()
    last = trace.pop()
    assert last is not None and last.kind.name == "Unroll"
    trace.append(last)
    assert trace.insts[-1] is last and Trace().pop() is None


def test_the_peers_text_is_read() -> None:
    sch = replay(Trace.from_python(PEER_TEXT), program("matmul", n=8, m=8, k=8))
    assert [lp.loop_var.name for lp in sch.state.loops(sch.get_sblock("C"))] == ["i", "k_0_j_fused", "k_1"]


def test_the_peers_json_is_read() -> None:
    sch = replay(Trace.from_json(PEER_JSON), program("matmul", n=8, m=8, k=8))
    loops = sch.state.loops(sch.get_sblock("C"))
    assert [lp.loop_var.name for lp in loops] == ["i", "k_0_j_fused", "k_1_0", "k_1_1"]
    assert loops[1].annotations["note"] == (1, "a", {"b": 2.5})
    made = node_of_peer(PEER_MAP)
    assert isinstance(made, IndexMap) and len(made.final_indices) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sch.splitt(loop=l0)", "did you mean `split`"),
        ("sch.split(loop=l0, factors=[1])", "not a result of an earlier step"),
        ("x = 3", "a step is a call"),
        ("while True: pass", "no step of a trace"),
        ("sch.get_sblock(name=", "."),
        ("sch.unroll(loop=[__import__('os')])", "__import__"),
    ],
)
def test_bad_text(text: str, message: str) -> None:
    with pytest.raises(Exception, match=message) as caught:
        Trace.from_python(text)
    assert isinstance(caught.value, ScriptError | ScheduleError)


def test_bad_json() -> None:
    for obj in ([], [[["NoSuchKind", [], [], []]], []], [[["Unroll", [], [], []]], []], 3):
        with pytest.raises(ScheduleError):
            Trace.from_json(obj)

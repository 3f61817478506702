"""Passes that move data on devices keep what programs compute; copies in the background are waited for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.errors import ExecutionError, PassError
from loopwright.ir import Call, IRModule, check_well_formed, walk
from loopwright.script import parse
from loopwright.testing.results import assert_same_results
from loopwright.transform import get_pass

AFTER_BLOCKS = ("s_tir.LowerOpaqueBlock", "tirx.StmtSimplify", "tirx.FlattenBuffer", "tirx.VectorizeLoop")


def module(lines):
    found = parse("\n".join(lines))
    return found if isinstance(found, IRModule) else IRModule.from_expr(found)


def run(mod, *names):
    for name in names:
        mod = get_pass(name)(mod)
        assert check_well_formed(mod) == []
    return mod


def names_of(mod):
    return [getattr(n.op, "name", "") for n in walk(mod) if isinstance(n, Call)]


@st.composite
def pipelines(draw):
    """A loop that copies to shared memory, computes in steps and stores, with stages drawn for each."""
    copies = draw(st.integers(1, 3))
    steps = draw(st.integers(1, 2))
    count = copies + steps
    stages = sorted(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    if draw(st.booleans()):
        order = list(range(count))
    else:
        order = list(draw(st.permutations(range(count))))
    background = sorted(draw(st.sets(st.sampled_from(stages))))
    extent = draw(st.sampled_from(["1", "2", "5", "n"]))
    start = draw(st.sampled_from([0, 0, 3]))
    lanes = draw(st.sampled_from([1, 4]))
    marks = {
        "software_pipeline_stage": stages,
        "software_pipeline_order": order,
        "software_pipeline_async_stages": background,
    }
    guarded = draw(st.booleans())
    lines = [
        "@T.prim_func(s_tir=True)",
        "def main(A: T.Buffer((3, 12, 4), 'float32'), C: T.Buffer((12, 4), 'float32'), n: T.int32):",
        f"    for i in T.serial({start}, {start} + {extent}, annotations={marks}):",
        "        with T.sblock(''):",
    ]
    lines += [f"            S{k} = T.sblock_alloc_buffer((4,), scope='shared')" for k in range(copies)]
    lines += ["            L = T.sblock_alloc_buffer((4,), scope='local')"]
    for k in range(copies):
        value = f"A[{k}, i, j]"
        if guarded:
            value = f"T.if_then_else(i < 4, {value}, T.float32(0))"
        loop = "T.vectorized(4)" if lanes == 4 else "range(4)"
        lines += [f"            for j in {loop}:", f"                with T.sblock('copy{k}'):"]
        lines += [f"                    S{k}[j] = {value}"]
    total = " + ".join(f"S{k}[3 - j]" for k in range(copies))
    target = "C[i, j]" if steps == 1 else "L[j]"
    lines += ["            for j in range(4):", "                with T.sblock('use'):"]
    lines += [f"                    {target} = {total}"]
    if steps == 2:
        lines += ["            for j in range(4):", "                with T.sblock('store'):"]
        lines += ["                    C[i, j] = L[j] * T.float32(2)"]
    return module(lines)


def arguments(n=4):
    return np.arange(144, dtype="float32").reshape(3, 12, 4), np.zeros((12, 4), "float32"), n


@settings(max_examples=25)
@given(pipelines(), st.integers(0, 6))
def test_pipelines_wait_for_their_copies(mod, n):
    try:
        new = run(mod, "s_tir.InjectSoftwarePipeline")
    except PassError as err:
        assert err.code == "software-pipeline"
        return
    assert_same_results(mod, new, *arguments(n))
    lowered = run(new, *AFTER_BLOCKS, "s_tir.InjectPTXAsyncCopy")
    assert_same_results(mod, lowered, *arguments(n))
    assert "async_scope" not in lowered.script()


TWO_STAGES = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((3, 12, 4), 'float32'), C: T.Buffer((12, 4), 'float32'), n: T.int32):
    for i in T.serial(12, annotations={
        "software_pipeline_stage": [0, 0, 3],
        "software_pipeline_order": [0, 2, 1],
        "software_pipeline_async_stages": [0],
    }):
        with T.sblock(''):
            S = T.sblock_alloc_buffer((4,), scope='shared')
            R = T.sblock_alloc_buffer((4,), scope='shared')
            for j in T.vectorized(4):
                with T.sblock('a'):
                    S[j] = A[0, i, j]
            for j in T.vectorized(4):
                with T.sblock('b'):
                    R[j] = A[1, i, j]
            for j in range(4):
                with T.sblock('c'):
                    C[i, j] = S[j] + R[j]
"""


def test_groups_of_copies_are_counted_from_the_start():
    mod = module(TWO_STAGES.split("\n"))
    new = run(mod, "s_tir.InjectSoftwarePipeline", *AFTER_BLOCKS, "s_tir.InjectPTXAsyncCopy")
    assert_same_results(mod, new, *arguments())
    counts = [
        n.args[0].value
        for n in walk(new)
        if isinstance(n, Call) and n.op.name == "tirx.ptx.cp_async_wait_group"
    ]
    assert sorted(counts) == [0, 2, 4, 5]


@pytest.mark.parametrize("least", [0, 1])
def test_the_oracle_finds_a_missing_wait(least):
    text = f"""
@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    S = T.alloc_buffer((4,), scope="shared")
    T.s_tir.cp_async_raw("float32", S.data, 0, A.data, 0, 16)
    T.ptx.cp.async_.commit_group()
    T.ptx.cp.async_.wait_group({least})
    for i in range(4):
        C[i] = S[i]
"""
    func = parse(text)
    a, c = np.ones(4, "float32"), np.zeros(4, "float32")
    if least:
        with pytest.raises(ExecutionError, match="S"):
            func.interpret(a, c)
    else:
        func.interpret(a, c)
        assert c.tolist() == [1, 1, 1, 1]


def test_copies_run_at_once_where_the_target_has_no_others():
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    T.func_attr({"target": T.target(TARGET)})
    S = T.alloc_buffer((8,), scope="shared")
    with T.attr({"async_commit_queue_scope": 0, "async_scope": 1}):
        S[T.Ramp(0, 1, 4)] = A[T.Ramp(0, 1, 4)]
        S[T.Ramp(1, 1, 4)] = A[T.Ramp(0, 1, 4)]
        S[T.Ramp(0, 2, 4)] = A[T.Ramp(0, 1, 4)]
    with T.attr({"async_wait_queue_scope": 0, "async_wait_inflight_count": 0}):
        C[0] = S[0]
"""
    for target, copies in (('"cuda"', 1), ('{"kind": "cuda", "arch": "sm_75"}', 0), ('"opencl"', 0)):
        new = run(module(text.replace("TARGET", target).split("\n")), "s_tir.InjectPTXAsyncCopy")
        found = names_of(new)
        assert found.count("tirx.s_tir.cp_async_raw") == copies, "only the aligned copy of a row can be one"
        assert found.count("tirx.ptx.cp_async_wait_group") == copies


def pipeline(stage, order, more="", body=("B[0] = A[i]", "C[i] = B[0]")):
    lines = [
        "@T.prim_func(s_tir=True)",
        "def main(A: T.Buffer((8,), 'int32'), C: T.Buffer((8,), 'int32')):",
        f"    for i in T.serial(8, annotations={{{stage}{order}{more}}}):",
        "        with T.sblock(''):",
        "            B = T.sblock_alloc_buffer((1,), 'int32')",
    ]
    for text in body:
        lines += ["            with T.sblock('s'):", f"                {text}"]
    return module(lines)


@st.composite
def nested_pipelines(draw):
    """A pipeline in a pipeline: the inner one counts as what starts it, its loop, and what ends it."""
    outer = sorted(draw(st.lists(st.integers(0, 2), min_size=4, max_size=4)))
    order = list(draw(st.permutations(range(4))) if draw(st.booleans()) else range(4))
    inner = draw(st.sampled_from([[0, 1], [0, 2], [0, 0]]))
    background = sorted(draw(st.sets(st.sampled_from(outer))))
    extents = draw(st.sampled_from([(3, 4), (1, 2), (5, 1), ("n", 4)]))
    count = 4 if max(inner) else 2
    marks = {
        "software_pipeline_stage": outer[:count],
        "software_pipeline_order": sorted(order[:count]) if count == 2 else order,
        "software_pipeline_async_stages": [s for s in background if s in outer[:count]],
    }
    steps = {"software_pipeline_stage": inner, "software_pipeline_order": [0, 1]}
    return module(
        f"""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((6, 4), 'float32'), C: T.Buffer((6, 4), 'float32'), n: T.int32):
    for i in T.serial({extents[0]}, annotations={marks}):
        with T.sblock(''):
            S = T.sblock_alloc_buffer((4,), scope='shared')
            for k in T.vectorized(4):
                with T.sblock('copy'):
                    S[k] = A[i, k]
            for j in T.serial({extents[1]}, annotations={steps}):
                with T.sblock(''):
                    L = T.sblock_alloc_buffer((1,), scope='local')
                    with T.sblock('load'):
                        L[0] = S[3 - j] + T.float32(1)
                    with T.sblock('use'):
                        C[i, j] = L[0] * T.float32(2)
""".split("\n")
    )


@settings(max_examples=25)
@given(nested_pipelines(), st.integers(0, 6))
def test_pipelines_in_pipelines_keep_what_loops_compute(mod, n):
    try:
        new = run(mod, "s_tir.InjectSoftwarePipeline")
    except PassError as err:
        assert err.code == "software-pipeline"
        return
    data = np.arange(24, dtype="float32").reshape(6, 4), np.zeros((6, 4), "float32"), n
    assert_same_results(mod, new, *data)
    lowered = run(new, *AFTER_BLOCKS, "s_tir.InjectPTXAsyncCopy")
    assert_same_results(mod, lowered, *data)


STAGE, ORDER = "'software_pipeline_stage': ", "'software_pipeline_order': "


@pytest.mark.parametrize(
    "stage, order, more, message",
    [
        (STAGE + "[0, 1],", "", "", "no annotation `software_pipeline_order`"),
        ("", ORDER + "[0, 1],", "", "no annotation `software_pipeline_stage`"),
        (STAGE + "[0, 1],", ORDER + "[1, 1],", "", "same place in the order"),
        (STAGE + "[0, 1],", ORDER + "[0, 1, 2],", "", "for each of 2 statements"),
        (STAGE + "[1, 0],", ORDER + "[0, 1],", "", "both use `B`"),
        (STAGE + "[0, -1],", ORDER + "[0, 1],", "", "start at 0"),
        (STAGE + "[0, 1],", ORDER + "[0, 1],", "'software_pipeline_async_stages': [2]", "no statement"),
    ],
)
def test_stages_and_orders_that_do_not_fit_are_refused_at_the_loop(stage, order, more, message):
    with pytest.raises(PassError, match=message) as info:
        get_pass("s_tir.InjectSoftwarePipeline")(pipeline(stage, order, more))
    assert info.value.code == "software-pipeline"
    assert info.value.diagnostics[0].span.line == 3


def test_pointers_of_buffers_with_versions_move_with_them():
    mod = module(
        """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 4), 'float32'), C: T.Buffer((8,), 'float32')):
    for i in T.serial(8, annotations={
        "software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1],
    }):
        with T.sblock(''):
            B = T.sblock_alloc_buffer((4,), scope="shared")
            with T.sblock('load'):
                T.reads(A[i, 0:4])
                T.writes(B[0:4])
                T.s_tir.cp_async_raw("float32", B.data, 0, A.data, i * 4, 16)
                T.ptx.cp.async_.commit_group()
                T.ptx.cp.async_.wait_group(0)
            with T.sblock('use'):
                T.reads(B[0:4])
                T.writes(C[i])
                C[i] = B[0] + B[3]
""".split("\n")
    )
    new = run(mod, "s_tir.InjectSoftwarePipeline")
    assert_same_results(mod, new, np.arange(32, dtype="float32").reshape(8, 4), np.zeros(8, "float32"))


@given(st.integers(1, 6), st.booleans(), st.integers(-2, 6))
def test_guarded_loads_keep_what_is_computed(extent, other, n):
    mod = module(
        f"""
@T.prim_func
def main(A: T.Buffer((8,), 'float32'), C: T.Buffer((8,), 'float32'), n: T.int32):
    T.func_attr({{"target": T.target("cuda")}})
    for i in range({extent}):
        C[i] = T.if_then_else(i < n, A[i + 1], T.float32({3 if other else 0}))
        C[7 - i] = T.if_then_else(C[i] > T.float32(2), A[i], C[i])
""".split("\n")
    )
    new = run(mod, "s_tir.InjectPTXLDG32")
    assert names_of(new).count("tirx.s_tir.ldg32") == 1
    assert_same_results(mod, new, np.arange(8, dtype="float32"), np.zeros(8, "float32"), n)


@pytest.mark.parametrize("place, fits", [("i", True), ("7 - i", False), ("i // 2", False), ("0", False)])
def test_buffers_outside_are_shared_by_iterations_that_use_parts_of_their_own(place, fits):
    mod = module(
        f"""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    with T.sblock("root"):
        B = T.sblock_alloc_buffer((8,), "int32")
        for i in T.serial(8, annotations={{
            "software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1],
        }}):
            with T.sblock("load"):
                B[{place}] = A[i]
            with T.sblock("use"):
                C[i] = B[{place}]
""".split("\n")
    )
    if not fits:
        with pytest.raises(PassError, match="both use `B`"):
            get_pass("s_tir.InjectSoftwarePipeline")(mod)
        return
    new = run(mod, "s_tir.InjectSoftwarePipeline")
    assert "T.sblock_alloc_buffer((8,)" in new.script()
    assert_same_results(mod, new, np.arange(8, dtype="int32"), np.zeros(8, "int32"))


def test_pointers_without_an_offset_are_refused():
    mod = module(
        """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), 'float32'), C: T.Buffer((8,), 'float32')):
    for i in T.serial(8, annotations={
        "software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1],
    }):
        with T.sblock(''):
            B = T.sblock_alloc_buffer((1,), scope="shared")
            with T.sblock('load'):
                B[0] = A[i]
            with T.sblock('use'):
                T.reads(B[0])
                T.writes(C[i])
                C[i] = T.call_extern("float32", "f", B.data)
""".split("\n")
    )
    with pytest.raises(PassError, match="`B` needs copies, but its pointer is used"):
        get_pass("s_tir.InjectSoftwarePipeline")(mod)

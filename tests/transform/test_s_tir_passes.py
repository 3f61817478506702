"""Each pass that knows blocks keeps what programs compute, wherever in lowering it runs."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.errors import ExecutionError, PassError, ScheduleError
from loopwright.ir import (
    AllocBuffer,
    Call,
    For,
    ForKind,
    IfThenElse,
    IRModule,
    Rewriter,
    SBlock,
    check_well_formed,
    find,
    structural_equal,
)
from loopwright.schedule import Schedule
from loopwright.script import parse
from loopwright.testing.results import assert_same_results, sample_arguments
from loopwright.testing.strategies import all_steps as _all_steps  # noqa: F401  registers every step
from loopwright.testing.strategies import prim_funcs
from loopwright.testing.strategies.scheduled import programs
from loopwright.testing.strategies.steps import steps
from loopwright.transform import CPU_PIPELINE, PassContext, get_pass, list_passes, lower
from loopwright.transform.s_tir import FOR_DEVICES

OTHER_MEANING = {
    "s_tir.LowerCrossThreadReduction",
    "s_tir.MoveOnChipMemory",
    "s_tir.RemoveWeightLayoutRewriteBlock",
    "s_tir.UnifyThreadBinding",
}
"""Passes whose result computes something else, or does so where threads are run one after another."""

NEED_MORE = {"s_tir.DefaultGPUSchedule", "s_tir.ThreadSync"}
"""Passes that need a target in scope, or an option."""

PASSES = sorted({name for name in list_passes() if name.startswith("s_tir.")} - OTHER_MEANING - NEED_MORE)

GROWING = {"s_tir.InstrumentBoundCheckers", "s_tir.InstrumentProfileIntrinsics", "s_tir.LoopPartition"}
"""Passes that may find something to do each time they run."""

HINT = "pragma_loop_partition_hint"


class Hints(Rewriter):
    """Marks loops and conditions for the passes that look for marks."""

    def __init__(self, draw):
        super().__init__()
        self.draw = draw

    def visit_For(self, loop):
        loop = self.visit_fields(loop)
        if not self.draw(st.booleans()):
            return loop
        return loop.replace(annotations={**loop.annotations, HINT: 1})

    def visit_IfThenElse(self, stmt):
        stmt = self.visit_fields(stmt)
        mark = self.draw(st.sampled_from([None, None, "prim.likely", "tirx.ignore_loop_partition"]))
        return stmt if mark is None else stmt.replace(condition=Call(mark, (stmt.condition,), "bool"))


def settings_of(draw):
    """Settings of the passes."""
    flags = st.booleans()
    return {
        "s_tir.LoopPartition": {
            "partition_const_loop": draw(flags),
            "no_unroll_loop_with_extent_one": draw(flags),
            "unroll_loop_with_partition_hint_no_interval": draw(flags),
        },
        "s_tir.HoistIfThenElse": {"support_block_scope_hoisting": draw(flags)},
        "s_tir.HoistExpression": {
            "hoisted_conditionals": draw(st.integers(0, 15)),
            "hoisted_let_bindings": draw(st.integers(0, 7)),
        },
    }


def check(draw, mod, name, arguments):
    """Lower a little, run one pass, and compare; running it again changes no more."""
    for one in CPU_PIPELINE[: draw(st.integers(0, len(CPU_PIPELINE)))]:
        try:
            mod = one(mod)
        except PassError as err:
            assert err.code == "thread-on-cpu"
            return
    chosen = get_pass(draw(st.sampled_from(PASSES)))
    with PassContext(config=settings_of(draw)):
        try:
            new = chosen(mod)
        except PassError:
            return
        assert check_well_formed(new) == [], f"{chosen}\n{mod.script()}\n{new.script()}"
        if new is not mod:
            assert not structural_equal(new, mod), f"{chosen} makes an equal copy of\n{mod.script()}"
            assert_same_results(mod, new, *arguments, name=name)
        if chosen.name not in GROWING:
            again = chosen(new)
            assert structural_equal(again, new), f"{chosen}\n{new.script()}\n{again.script()}"


@given(prim_funcs(executable=True), st.data())
def test_a_pass_keeps_what_generated_programs_compute(func, data):
    mod = IRModule.from_expr(Hints(data.draw)(func))
    check(data.draw, mod, next(iter(mod)).name, sample_arguments(func))


@given(programs(), st.data())
def test_a_pass_keeps_what_scheduled_programs_compute(func, data):
    sch = Schedule(func, seed=1)
    for step in data.draw(st.lists(steps(), min_size=1, max_size=5)):
        try:
            step(data.draw, sch)
        except ScheduleError:
            continue
    mod = IRModule({"main": Hints(data.draw)(sch.mod["main"])})
    check(data.draw, mod, "main", sample_arguments(func))


@st.composite
def guarded_loops(draw):
    """Two loops, the first one hinted, around branches on sums of their variables and a size."""
    number = st.integers(-6, 20)

    def test():
        terms = [
            f"i * {draw(st.integers(-3, 3))}",
            f"j * {draw(st.integers(-3, 3))}",
            "n * 2",
            "(i * 2 + j) // 3",
        ]
        left = " + ".join(draw(st.lists(st.sampled_from(terms), min_size=1, max_size=3)))
        text = f"{left} {draw(st.sampled_from(['<', '<=', '>', '>=', '==', '!=']))} {draw(number)}"
        return f"T.likely({text})" if draw(st.booleans()) else text

    first = draw(st.sampled_from(["8", "8", "n"]))
    inner = str(draw(st.integers(1, 8)))
    if draw(st.booleans()):
        inner = f"T.min({inner}, {draw(st.integers(0, 16))} - i * {draw(st.integers(1, 3))})"
    lines = [
        "@T.prim_func",
        "def main(A: T.Buffer((16, 8), 'int32'), n: T.int32):",
        f"    for i in T.serial({draw(st.integers(0, 2))}, {first}, annotations={{'{HINT}': 1}}):",
        f"        for j in range({inner}):",
    ]
    for k in range(draw(st.integers(1, 3))):
        lines += [f"            if {test()} and {test()}:", f"                A[i, j] = A[i, j] + {k + 1}"]
        if draw(st.booleans()):
            lines += ["            else:", f"                A[i, j] = A[i, j] * {k + 2}"]
    return parse("\n".join(lines))


@given(guarded_loops(), st.integers(0, 8), st.booleans(), st.booleans())
def test_parting_loops_keeps_what_they_compute(func, n, single, unroll):
    options = {
        "partition_const_loop": True,
        "no_unroll_loop_with_extent_one": single,
        "unroll_loop_with_partition_hint_no_interval": unroll,
    }
    with PassContext(config={"s_tir.LoopPartition": options}):
        new = get_pass("s_tir.LoopPartition")(IRModule.from_expr(func))
    assert check_well_formed(new) == []
    assert_same_results(func, new, np.arange(128, dtype="int32").reshape(16, 8), n)


@st.composite
def pipelines(draw):
    """A loop that loads, computes in steps, and stores, with stages and an order for its statements."""
    count = draw(st.integers(2, 4))
    stages = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    order = draw(st.permutations(range(count)))
    extent = draw(st.sampled_from(["1", "2", "5", "n"]))
    marks = f"{{'software_pipeline_stage': {stages}, 'software_pipeline_order': {list(order)}}}"
    lines = [
        "@T.prim_func(s_tir=True)",
        "def main(A: T.Buffer((8,), 'int32'), C: T.Buffer((8,), 'int32'), n: T.int32):",
        f"    for i in T.serial({extent}, annotations={marks}):",
        "        with T.sblock(''):",
    ]
    lines += [f"            B{k} = T.sblock_alloc_buffer((2,), 'int32')" for k in range(count - 1)]
    for k in range(count):
        source = "A[i]" if k == 0 else f"B{draw(st.integers(0, k - 1))}[1]"
        target = "C[i]" if k == count - 1 else f"B{k}[1]"
        lines += [f"            with T.sblock('s{k}'):", f"                {target} = {source} * 2 + {k}"]
    return parse("\n".join(lines))


@given(pipelines(), st.integers(0, 6))
def test_pipelines_keep_what_loops_compute(func, n):
    try:
        new = get_pass("s_tir.InjectSoftwarePipeline")(IRModule.from_expr(func))
    except PassError as err:
        assert err.code == "software-pipeline"
        return
    assert check_well_formed(new) == []
    arrays = [np.arange(8, dtype="int32"), np.zeros(8, "int32")]
    assert_same_results(func, new, *arrays, n)
    assert_same_results(func, lower(func), *arrays, n)


@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 2), st.booleans())
def test_double_buffers_keep_what_loops_compute(extent, factor, start, more):
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((8, 4), "int32"), C: T.Buffer((8, 4), "int32")):
    for i in range({start}, {start + extent}):
        B = T.alloc_buffer((4,), "int32")
        with T.attr(B.data, "double_buffer_scope", 1):
            for j in range(4):
                B[j] = A[i, j] + {"C[i - 1, j]" if more and start else "1"}
        for j in range(4):
            C[i, j] = B[j] * 2
""")
    with PassContext(config={"s_tir.InjectDoubleBuffer": {"split_loop": factor}}):
        new = get_pass("s_tir.InjectDoubleBuffer")(IRModule.from_expr(func))
    assert (new["main"] is func) == (extent == 1 or (more and start > 0))
    assert check_well_formed(new) == []
    assert_same_results(func, new)


def module(text):
    """The function as a module."""
    return IRModule.from_expr(parse(text))


def test_the_main_part_of_a_hinted_loop_has_no_guard():
    mod = module(f"""
@T.prim_func
def f(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i in T.serial(13, annotations={{"{HINT}": 1}}):
        for j in T.vectorized(8):
            if i * 8 + j < 100:
                B[i * 8 + j] = A[i * 8 + j]
""")
    new = get_pass("s_tir.LoopPartition")(mod)["f"]
    main, tail = new.body.seq
    assert main.extent.value == 12 and not find(main, IfThenElse)
    assert find(tail, IfThenElse)


def test_a_symbolic_loop_is_parted_at_run_time():
    mod = module("""
@T.prim_func
def main(A: T.Buffer((64,), "int32"), n: T.int32):
    for i in range((n + 7) // 8):
        for j in range(8):
            if T.likely(i * 8 + j < n):
                A[i * 8 + j] = i
""")
    new = get_pass("s_tir.LoopPartition")(mod)
    assert not find(new["main"].body.seq[0], IfThenElse)
    for n in (0, 1, 8, 63, 64):
        assert_same_results(mod, new, np.zeros(64, "int32"), n)


def test_a_hint_of_a_schedule_parts_the_loop_where_tiles_and_padding_end():
    sch = Schedule(
        parse("""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((100,), "int32"), C: T.Buffer((100,), "int32")):
    for i in range(100):
        with T.sblock("C"):
            vi = T.axis.spatial(100, i)
            C[vi] = T.if_then_else(1 <= vi, A[vi - 1], 0)
""")
    )
    outer, _ = sch.split(sch.get_loops(sch.get_sblock("C"))[0], [None, 8])
    sch.annotate(outer, HINT, 1)
    lowered = lower(sch.mod)
    main = max(find(lowered["main"], For), key=lambda loop: loop.extent.value)
    assert main.extent.value == 11
    assert not find(main, (IfThenElse, Call))
    assert_same_results(sch.mod, lowered)


def test_strides_follow_storage_align():
    sch = Schedule(
        parse("""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.sblock_alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(8, 8):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vj, vi] = B[vi, vj]
""")
    )
    sch.storage_align(sch.get_sblock("B"), 0, axis=0, factor=4, offset=1)
    mod = get_pass("s_tir.CompactBufferAllocation")(sch.mod)
    (buffer,) = find(mod["main"], SBlock)[0].alloc_buffers
    assert [s.value for s in buffer.ty.strides] == [9, 1]
    assert_same_results(sch.mod, mod)
    assert_same_results(sch.mod, lower(sch.mod))


def test_compaction_grows_a_buffer_only_where_asked():
    mod = module("""
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "float32")):
    with T.sblock("b"):
        B = T.sblock_alloc_buffer((7,))
        for i in range(8):
            B[i] = A[i]
""")
    compact = get_pass("s_tir.CompactBufferAllocation")
    for strict, size in ((True, 7), (False, 8)):
        (block,) = [b for b in find(compact(mod, is_strict=strict)["f"], SBlock) if b.alloc_buffers]
        assert block.alloc_buffers[0].ty.shape[0].value == size


PRODUCER_CONSUMER = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    B = T.sblock_alloc_buffer((4, 8), "int32")
    for i in range(4):
        for j in range(8):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
            with T.sblock("C"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.opaque(8, j)
                C[vi, vj] = B[vi, vj] + {read}
"""


@pytest.mark.parametrize(
    ("read", "inside"),
    [
        ("T.if_then_else(0 < vj, B[vi, vj - 1], 0)", True),
        ("T.if_then_else(1 < vj, B[vi, vj - 2], 0)", True),
        ("T.if_then_else(0 < vi, B[vi - 1, vj], 0)", False),
    ],
)
def test_what_earlier_iterations_wrote_counts_where_the_loop_is_inside(read, inside):
    mod = module(PRODUCER_CONSUMER.replace("{read}", read))
    new = get_pass("s_tir.PlanAndUpdateBufferAllocationLocation")(mod)
    moved = not any(b.alloc_buffers for b in find(new["main"], SBlock) if b.name_hint == "root")
    assert moved == inside
    assert check_well_formed(new) == []
    assert_same_results(mod, new)
    assert_same_results(mod, lower(mod))


def test_a_block_that_only_declares_a_moved_buffer_does_not_name_it():
    mod = module("""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "int32")):
    B = T.sblock_alloc_buffer((4,), "int32")
    for i in range(4):
        with T.sblock("only"):
            B[i] = 1
            A[i] = B[i]
    for i in range(4):
        with T.sblock("declares"):
            T.reads(B[i])
            T.writes(A[i])
            A[i] = A[i] + 1
""")
    new = get_pass("s_tir.PlanAndUpdateBufferAllocationLocation")(mod)
    assert check_well_formed(new) == []
    assert_same_results(mod, new)


def test_a_view_whose_type_says_something_else_is_refused():
    mod = module("""
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8, 8), "float32"), m: T.int32):
    for i in range(8):
        with T.sblock("b"):
            T.reads()
            T.writes(A[i, 0:4])
            B = T.match_buffer(A[i, 0:4], (4,), strides=[m], offset_factor=1)
            B[0] = T.float32(1)
""")
    with pytest.raises(PassError, match="has `m` in its type"):
        get_pass("s_tir.LowerMatchBuffer")(mod)


def test_bound_checkers_raise_before_the_access():
    mod = module("""
@T.prim_func
def f(A: T.Buffer((8,), "int32"), n: T.int32):
    for i in range(8):
        A[i] = T.if_then_else(i + n < 8, A[i + n], 0)
    A[n * 2] = 5
""")
    checked = get_pass("s_tir.InstrumentBoundCheckers")(mod)
    array = np.arange(8, dtype="int32")
    checked["f"].interpret(array, 2)
    assert array.tolist() == [2, 3, 4, 5, 5, 7, 0, 0]
    with pytest.raises((ExecutionError, IndexError), match="index of `A`"):
        checked["f"].interpret(array, 4)
    with PassContext(config={"tirx.instrument_bound_checkers": True}):
        lowered = lower(mod)
    with pytest.raises((ExecutionError, IndexError), match="index of `A`"):
        lowered["f"].interpret(array, 4)


def test_a_check_does_not_define_a_name_twice():
    mod = module("""
@T.prim_func
def f(A: T.Buffer((8,), "int32"), n: T.int32):
    x = T.int32()
    A[T.Let(x + n, where={x: n})] = 1
""")
    checked = get_pass("s_tir.InstrumentBoundCheckers")(mod)
    assert checked is not mod and check_well_formed(checked) == []


def test_a_profiled_program_computes_the_same():
    mod = module("""
@T.prim_func
def main(A: T.Buffer((4, 4), "int32")):
    for i in range(4):
        for j in range(4):
            A[i, j] = i
        for j in range(4):
            A[i, j] = A[i, j] + j
""")
    with PassContext(config={"tirx.instrument_lwp": True}):
        lowered = lower(mod)
    assert lowered.script().count("start_profile_intrinsic") == 3
    assert_same_results(mod, lowered)


def test_virtual_threads_are_unrolled_where_they_are_few():
    text = """
@T.prim_func
def f(A: T.Buffer(({n},), "int32")):
    for i in T.thread_binding({n}, thread="vthread.x"):
        A[i] = i
"""
    for n, kind in ((4, ForKind.UNROLLED), (40, ForKind.SERIAL)):
        mod = get_pass("s_tir.LowerOpaqueBlock")(module(text.replace("{n}", str(n))))
        (loop,) = find(get_pass("s_tir.InjectVirtualThread")(mod)["f"], For)
        assert loop.kind is kind


def test_a_pass_for_devices_is_named():
    for name in FOR_DEVICES:
        with pytest.raises(PassError, match=f"{name}` is not there yet"):
            get_pass(f"s_tir.{name}")


def test_allocations_say_what_their_buffers_say_of_memory():
    mod = module("""
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "int32")):
    with T.sblock("b"):
        B = T.sblock_alloc_buffer((4,), "int32", align=128)
        B[0] = 1
        A[0] = B[0]
""")
    (alloc,) = find(get_pass("s_tir.LowerOpaqueBlock")(mod)["f"], AllocBuffer)
    assert alloc.annotations["buffer_data_alignment"] == 128


ASSUMING = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32"), n: T.int32):
    for k, i in T.grid({outer}, 16):
        with T.sblock("assume"):
            vi = T.axis.spatial(16, i)
            T.assume({assumed})
    for i in range(16):
        with T.sblock("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = {value}
"""


@pytest.mark.parametrize(
    ("assumed", "value", "goes"),
    [
        ("vi < 14 or A[vi] == T.float32(0)", "T.if_then_else(vi < 14, A[vi] * 2.0, 0.0)", True),
        ("A[vi] == T.float32(0) or vi < 14", "T.if_then_else(14 <= vi, 0.0, A[vi] * 2.0)", True),
        ("vi < 14 or A[vi] == T.float32(0)", "T.if_then_else(vi < 15, A[vi] * 2.0, 0.0)", True),
        (
            "not (vi == 3 or vi == 5) or A[vi] == 1.0",
            "T.if_then_else(vi == 3 or vi == 5, 3.0, A[vi] + 2.0)",
            True,
        ),
        ("vi < 14 or A[vi] == T.float32(0)", "T.if_then_else(vi < 13, A[vi] * 2.0, 0.0)", False),
        ("vi < 14 or A[vi] == T.float32(0)", "T.if_then_else(vi < 14, A[vi] + 2.0, 0.0)", False),
        ("vi < 14 or A[vi] == T.float32(0)", "T.if_then_else(vi < 14, A[vi] + C[vi], C[vi])", False),
        ("vi < 14 or A[vi] == T.float32(0)", "T.if_then_else(vi < 14, A[vi + 1], 0.0)", False),
    ],
)
def test_assumptions_about_padding_make_branches_superfluous(assumed, value, goes):
    use = get_pass("s_tir.UseAssumeToReduceBranches")
    texts = {
        k: ASSUMING.replace("{assumed}", assumed).replace("{value}", value).replace("{outer}", k)
        for k in ("2", "n")
    }
    mod = module(texts["2"])
    new = use(mod)
    assert ("if_then_else" not in new.script()) == goes
    assert (new is not mod) == goes
    perhaps = module(texts["n"])
    assert use(perhaps) is perhaps
    if goes:
        array = np.arange(1, 17, dtype="float32")
        array[14:] = 0
        array[[3, 5]] = 1
        assert_same_results(mod, new, array, np.zeros(16, "float32"), 1)


def chain(count):
    """A function of as many blocks one after another, each with a buffer."""
    lines = ["@T.prim_func(s_tir=True)", "def main(A: T.Buffer((4,), 'int32'), Z: T.Buffer((4,), 'int32')):"]
    lines += [f"    B{k} = T.sblock_alloc_buffer((4,), 'int32')" for k in range(count)]
    for k in range(count + 1):
        source = "A" if k == 0 else f"B{k - 1}"
        target = "Z" if k == count else f"B{k}"
        lines += [
            f"    for i{k} in range(4):",
            f"        with T.sblock('b{k}'):",
            f"            v{k} = T.axis.spatial(4, i{k})",
            f"            {target}[v{k}] = {source}[v{k}] + 1",
        ]
    return IRModule.from_expr(parse("\n".join(lines)))


@pytest.mark.slow
def test_lowering_takes_time_in_proportion_to_the_program():
    def seconds(count):
        mod = chain(count)
        start = time.process_time()
        lower(mod)
        return time.process_time() - start

    seconds(20)
    small, large = (min(seconds(n) for _ in range(2)) for n in (250, 1000))
    assert large < 8 * small

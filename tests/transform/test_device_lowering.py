"""Programs for devices: kernels lowered and run thread by thread, launches, limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from loopwright.errors import PassError
from loopwright.ir import IRModule, check_well_formed, structural_equal
from loopwright.script import parse
from loopwright.testing.phases import Block, barriers_of
from loopwright.transform import get_pass, lower
from loopwright.transform.device import kernels_of
from loopwright.transform.registry import example_of


def function(text):
    return parse(text)


def run_first_block(func, target, *arrays):
    """Run the only kernel of the lowered function in one block."""
    mod = lower(func.with_attr("global_symbol", "f"), target)
    assert not check_well_formed(mod)
    (kernel,) = kernels_of(mod).values()
    given_ = {p.name: a for p, a in zip(func.params, arrays)}
    arguments = {p: given_[p.name.removesuffix("_data")].reshape(-1) for p in kernel.params}
    Block(kernel, arguments).run()
    return kernel


SUM = """
@T.prim_func
def f(A: T.Buffer(({rows}, {serial}, {threads}), "int32"), B: T.Buffer(({rows},), "int32")):
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for i in T.thread_binding({rows}, thread="threadIdx.{row_axis}"):
            for s in range({serial}):
                for k in T.thread_binding({threads}, thread="threadIdx.{axis}"):
                    with T.sblock("sum"):
                        vi, vs, vk = T.axis.remap("SRR", [i, s, k])
                        {where}
                        with T.init():
                            B[vi] = {start}
                        B[vi] = {combine}
"""


@settings(max_examples=20)
@given(
    st.sampled_from([1, 2, 3, 5]),
    st.sampled_from([1, 2]),
    st.sampled_from([1, 2, 5, 8, 12, 32, 33, 64, 96]),
    st.sampled_from(["xy", "yx"]),
    st.sampled_from(["cuda", "opencl", "rocm"]),
    st.sampled_from(["sum", "max"]),
    st.booleans(),
)
def test_threads_reduce_together(rows, serial, threads, axes, target, kind, guarded):
    assume(rows * threads <= 256)  # what an OpenCL device has at least
    start, combine = {
        "sum": ("0", "B[vi] + A[vi, vs, vk]"),
        "max": ('T.min_value("int32")', "T.max(B[vi], A[vi, vs, vk])"),
    }[kind]
    least = max(threads - 1, 1) if guarded else threads
    func = function(
        SUM.format(
            rows=rows,
            serial=serial,
            threads=threads,
            axis=axes[0],
            row_axis=axes[1],
            start=start,
            combine=combine,
            where=f"T.where(k < {least})" if guarded else "",
        )
    )
    a = np.random.default_rng(threads).integers(-50, 50, (rows, serial, threads)).astype("int32")
    b, want = np.zeros(rows, "int32"), np.zeros(rows, "int32")
    func.interpret(a, want)
    run_first_block(func, target, a, b)
    np.testing.assert_array_equal(b, want)


@pytest.mark.parametrize("where", ["k < m and b * 4 + i < n", "k < m and (b * 4 + i) * m + k < n * m"])
@pytest.mark.parametrize("serial", ["", "for s in range(1):"])
def test_a_sum_of_nothing_is_stored_where_there_is_a_result(where, serial):
    func = function(
        f"""
@T.prim_func
def f(A: T.Buffer(("n", "m"), "int32"), B: T.Buffer(("n",), "int32")):
    n = T.int32()
    m = T.int32()
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for i in T.thread_binding(4, thread="threadIdx.y"):
            for k in T.thread_binding(8, thread="threadIdx.x"):
                {serial or "if True:"}
                    with T.sblock("sum"):
                        vi = T.axis.spatial(n, b * 4 + i)
                        vk = T.axis.reduce(m, {"s * 8 + k" if serial else "k"})
                        T.where({where})
                        with T.init():
                            B[vi] = 0
                        B[vi] = B[vi] + A[vi, vk]
"""
    )
    (kernel,) = kernels_of(lower(func.with_attr("global_symbol", "f"), "cuda")).values()
    for m in (0, 5):
        a, b = np.arange(3 * m, dtype="int32"), np.full(4, 99, "int32")
        given_ = {"A_data": a, "B_data": b, "n": 3, "m": m}
        Block(kernel, {p: given_[p.name] for p in kernel.params}).run()
        np.testing.assert_array_equal(b, [*a.reshape(3, m).sum(1), 99])


ARGMAX = """
@T.prim_func
def f(A: T.Buffer((3, 24), "int32"), I: T.Buffer((3,), "int32"), V: T.Buffer((3,), "int32")):
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for i in T.thread_binding(3, thread="threadIdx.y"):
            for k in T.thread_binding(24, thread="threadIdx.x"):
                with T.sblock("argmax"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        I[vi] = -1
                        V[vi] = T.min_value("int32")
                    new_i: T.let = T.Select(V[vi] >= A[vi, vk], I[vi], vk)
                    new_v: T.let = T.Select(V[vi] >= A[vi, vk], V[vi], A[vi, vk])
                    I[vi] = new_i
                    V[vi] = new_v
"""


@pytest.mark.parametrize("target", ["cuda", "opencl"])
def test_the_first_of_equal_values_wins(target):
    func = function(ARGMAX)
    a = np.random.default_rng(1).integers(0, 4, (3, 24)).astype("int32")
    index, value = np.zeros(3, "int32"), np.zeros(3, "int32")
    run_first_block(func, target, a, index, value)
    np.testing.assert_array_equal(index, a.argmax(1))
    np.testing.assert_array_equal(value, a.max(1))


LOCAL_RESULT = """
@T.prim_func
def f(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
    C = T.sblock_alloc_buffer((1,), "int32", scope="{scope}")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for k in T.thread_binding(64, thread="threadIdx.x"):
            with T.sblock("sum"):
                vk = T.axis.reduce(64, k)
                with T.init():
                    C[0] = 0
                C[0] = C[0] + A[vk]
        for k in T.thread_binding(64, thread="threadIdx.x"):
            with T.sblock("use"):
                vk = T.axis.spatial(64, k)
                B[vk] = A[vk] - C[0]
"""


@pytest.mark.parametrize(("scope", "barriers"), [("local", 1), ("shared", 2)])
def test_a_result_reaches_all_threads(scope, barriers):
    func = function(LOCAL_RESULT.format(scope=scope))
    a, b = np.arange(64, dtype="int32"), np.zeros(64, "int32")
    kernel = run_first_block(func, "cuda", a, b)
    np.testing.assert_array_equal(b, a - a.sum())
    assert len(list(barriers_of(kernel))) == barriers


STAGED = """
@T.prim_func
def f(A: T.Buffer((4, 32), "int32"), B: T.Buffer((4, 32), "int32")):
    S = T.sblock_alloc_buffer((4, 32), "int32", scope="{scope}")
    R = T.sblock_alloc_buffer((4, 32), "int32", scope="{scope}")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for k in range(4):
            for t in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("in"):
                    vk, vt = T.axis.remap("SS", [k, t])
                    S[vk, vt] = A[vk, vt]
            for t in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("mid"):
                    vk, vt = T.axis.remap("SS", [k, t])
                    R[vk, vt] = S[vk, 31 - vt] * 2
            for t in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("out"):
                    vk, vt = T.axis.remap("SS", [k, t])
                    B[vk, vt] = R[vk, (vt + 1) % 32]
"""


@pytest.mark.parametrize("scope", ["shared", "shared.dyn"])
def test_shared_memory_is_as_large_as_one_iteration_needs(scope):
    func = function(STAGED.format(scope=scope))
    a, b, want = (
        np.arange(128, dtype="int32").reshape(4, 32),
        np.zeros((4, 32), "int32"),
        np.zeros((4, 32), "int32"),
    )
    func.interpret(a, want)
    kernel = run_first_block(func, "cuda", a, b)
    np.testing.assert_array_equal(b, want)
    text = kernel.script()
    assert ("alloc_buffer((256,), " if scope == "shared.dyn" else "alloc_shared((32,)") in text


def test_masked_accesses_of_merged_memory_are_shifted():
    func = function(
        """
@T.prim_func
def f(A: T.Buffer((16,), "int32"), B: T.Buffer((9,), "int32")):
    S = T.sblock_alloc_buffer((16,), "int32", scope="shared.dyn")
    R = T.sblock_alloc_buffer((9,), "int32", scope="shared.dyn")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for t in T.thread_binding(8, thread="threadIdx.x"):
            for v in T.vectorized(2):
                with T.sblock("S"):
                    i = T.axis.spatial(16, t * 2 + v)
                    S[i] = A[i]
        for t in T.thread_binding(8, thread="threadIdx.x"):
            for v in T.vectorized(2):
                with T.sblock("R"):
                    i = T.axis.spatial(9, t * 2 + v)
                    T.where(t * 2 + v < 9)
                    R[i] = B[i]
        for t in T.thread_binding(8, thread="threadIdx.x"):
            with T.sblock("A"):
                i = T.axis.spatial(8, t)
                A[i] = S[15 - i] + R[8 - i]
"""
    )
    a, b = np.arange(16, dtype="int32"), np.arange(9, dtype="int32") * 100
    got = a.copy()
    kernel = run_first_block(func, "cuda", got, b)
    np.testing.assert_array_equal(got[:8], a[15:7:-1] + b[8:0:-1])
    assert "masked_store" in kernel.script()
    assert len(list(barriers_of(kernel))) == 1


def test_sizes_of_a_launch_come_from_the_arguments():
    func = function(
        """
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "float32", offset_factor=1)
    for b in T.thread_binding((n + 127) // 128, thread="blockIdx.x"):
        S = T.alloc_buffer((n,), "float32", scope="shared.dyn")
        for t in T.thread_binding(128, thread="threadIdx.x"):
            for k in range(n):
                S[k] = A[k]
            if b * 128 + t < n:
                A[b * 128 + t] = S[b * 128 + t]
"""
    )
    mod = lower(func.with_attr("global_symbol", "f"), "cuda")
    host = mod["f"].script()
    assert "(n + 127) // 128, 128, n * 4, launch_params=" in host
    assert '"tirx.use_dyn_shared_memory"' in host


def test_several_kernels_share_memory_of_the_host():
    func = function(
        """
@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    C = T.sblock_alloc_buffer((64,))
    for t in T.thread_binding(64, thread="threadIdx.x"):
        with T.sblock("C"):
            v = T.axis.spatial(64, t)
            C[v] = A[v] + T.float32(1)
    for t in T.thread_binding(64, thread="threadIdx.x"):
        with T.sblock("B"):
            v = T.axis.spatial(64, t)
            B[v] = C[63 - v]
"""
    )
    mod = lower(func.with_attr("global_symbol", "f"), "cuda")
    assert len(kernels_of(mod)) == 2
    assert "C = T.alloc_buffer((64,)" in mod["f"].script()


def test_what_stands_outside_of_an_axis_is_done_once():
    func = function(
        """
@T.prim_func
def f(A: T.Buffer((8,), "int32")):
    for b in T.thread_binding(1, thread="blockIdx.x"):
        A[0] = A[0] + 1
        for t in T.thread_binding(8, thread="threadIdx.x"):
            A[t] = A[t] * 2
"""
    )
    mod = get_pass("s_tir.UnifyThreadBinding")(IRModule.from_expr(func), guard=True)
    assert "if threadIdx_x == 0:" in mod["f"].script()


def test_memory_of_a_warp_is_dealt_to_its_lanes():
    func = function(
        """
@T.prim_func
def f(A: T.Buffer((2, 32, 4), "int32"), B: T.Buffer((2, 32, 4), "int32")):
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for y in T.thread_binding(2, thread="threadIdx.y"):
            for t in T.thread_binding(32, thread="threadIdx.x"):
                W = T.alloc_buffer((256,), "int32", scope="warp")
                for k in range(2):
                    for v in T.vectorized(4):
                        W[k * 128 + t * 4 + v] = A[y, t, v] + k
                for v in range(4):
                    B[y, t, v] = W[128 + (t + 5) % 32 * 4 + v] + W[t * 4 + 3 - v]
"""
    )
    a, b = np.arange(256, dtype="int32").reshape(2, 32, 4), np.zeros((2, 32, 4), "int32")
    kernel = run_first_block(func, "cuda", a, b)
    np.testing.assert_array_equal(b, np.roll(a, -5, 1) + 1 + a[:, :, ::-1])
    assert not list(barriers_of(kernel))


def test_memory_that_kernels_allocate_is_the_threads_own():
    func = function(
        """
@T.prim_func
def f(A: T.Buffer((8, 4), "int32"), n: T.int32):
    for b in T.thread_binding(8, thread="blockIdx.x"):
        B = T.alloc_buffer((n,), "int32")
        for t in T.thread_binding(4, thread="threadIdx.x"):
            C = T.alloc_buffer((2,), "int32")
            C[0] = A[b, t]
            B[t] = C[0]
        for t in T.thread_binding(4, thread="threadIdx.x"):
            A[b, t] = B[3 - t]
"""
    )
    mod = lower(func.with_attr("global_symbol", "f"), "cuda")
    (kernel,) = kernels_of(mod).values()
    assert "B = T.alloc_buffer((32,)" in mod["f"].script()
    assert "C" not in mod["f"].script()
    assert len(list(barriers_of(kernel))) == 1


def test_small_memory_of_the_only_thread_stays_in_the_kernel():
    func = function(
        """
@T.prim_func
def f(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    for t in T.thread_binding(1, thread="threadIdx.x"):
        L = T.alloc_buffer((16,), "int32")
        for i in range(16):
            L[i] = A[i]
        for i in range(16):
            C[i] = L[15 - i]
"""
    )
    a, c = np.arange(16, dtype="int32"), np.zeros(16, "int32")
    kernel = run_first_block(func, "opencl", a, c)
    np.testing.assert_array_equal(c, a[::-1])
    assert [p.name for p in kernel.params] == ["A_data", "C_data"]


PASSES = [
    "s_tir.LowerCrossThreadReduction",
    "s_tir.LowerThreadAllreduce",
    "s_tir.MergeSharedMemoryAllocations",
    "s_tir.MoveOnChipMemory",
    "s_tir.HoistKernelMemory",
    "s_tir.VerifyDeviceLimits",
    "tirx.LowerWarpMemory",
    "tirx.NarrowIndex",
]


@pytest.mark.parametrize("name", PASSES)
def test_a_second_run_changes_nothing(name):
    example = example_of(get_pass(name))
    assert example is not None
    once = get_pass(name)(IRModule.from_expr(parse(example[0])))
    assert structural_equal(get_pass(name)(once), once)


BAD = {
    "device-limit": """
    for t in T.thread_binding(64, thread="threadIdx.x"):
        for y in T.thread_binding(32, thread="threadIdx.y"):
            A[t] = y
""",
    "thread-extent": """
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for t in T.thread_binding(8, thread="threadIdx.x"):
            A[t] = 0
        for t in T.thread_binding(4, thread="threadIdx.x"):
            A[t] = 1
""",
    "host-access": """
    for i in range(8):
        A[i] = A[i] + 1
""",
    "on-chip-memory": """
    S = T.alloc_buffer((8,), "int32", scope="local")
    for i in range(8):
        S[i] = n
""",
    "device-scope": """
    for t in T.thread_binding(8, thread="threadIdx.x"):
        S = T.alloc_buffer((8,), "int32", scope="metal.simdgroup")
        S[t] = t
        A[t] = S[t]
""",
    "private-memory": """
    L = T.alloc_buffer((8,), "int32", scope="local")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for t in T.thread_binding(8, thread="threadIdx.x"):
            L[t] = A[t]
        for t in T.thread_binding(8, thread="threadIdx.x"):
            A[t] = L[7 - t]
""",
    "kernel-memory": """
    for t in T.thread_binding(8, thread="threadIdx.x"):
        for i in range(4):
            B = T.alloc_buffer((i + 1,), "int32")
            B[0] = A[t]
            A[t] = B[0]
""",
    "warp-memory": """
    for t in T.thread_binding(32, thread="threadIdx.x"):
        W = T.alloc_buffer((32,), "int32", scope="warp")
        W[31 - t] = A[t]
        A[t] = W[t]
""",
    "divergent-barrier": """
    for t in T.thread_binding(8, thread="threadIdx.x"):
        S = T.alloc_buffer((8,), "int32", scope="shared")
        while A[t] < n:
            S[t] = A[t]
            A[t] = S[7 - t] + 1
""",
}


@pytest.mark.parametrize("code", BAD)
def test_bad_programs_are_refused_at_their_place(code):
    func = function(f'@T.prim_func\ndef f(A: T.Buffer((64,), "int32"), n: T.int32):{BAD[code]}')
    with pytest.raises(PassError) as caught:
        lower(func.with_attr("global_symbol", "f"), "cuda")
    (fault,) = caught.value.diagnostics
    assert fault.code == code
    assert fault.span is not None
    if code == "device-limit":
        assert "`f`" in fault.message
        assert "2048" in fault.message
        assert "1024" in fault.message
    if code == "thread-extent":
        assert "8 and 4" in fault.message


def test_too_much_shared_memory_names_both_kinds():
    text = """
@T.prim_func
def f(A: T.Buffer((64,), "float32")):
    for t in T.thread_binding(64, thread="threadIdx.x"):
        S = T.alloc_buffer(({size},), scope="{scope}")
        for i in range({size} // 64):
            S[i * 64 + t] = A[t]
        A[t] = S[{size} - 1 - t]
"""
    lower(function(text.format(size=12288, scope="shared")), "cuda -arch=sm_80")
    with pytest.raises(PassError, match="49408 bytes of shared memory"):
        lower(function(text.format(size=12352, scope="shared")), "cuda -arch=sm_80")
    lower(function(text.format(size=40960, scope="shared.dyn")), "cuda -arch=sm_80")
    with pytest.raises(PassError, match="shared memory"):
        lower(function(text.format(size=42048, scope="shared.dyn")), "cuda -arch=sm_80")


def test_indices_are_as_narrow_as_is_safe():
    func = function(
        """
@T.prim_func
def f(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n", 4096), "float32")):
    n = T.int32()
    for b in T.thread_binding((n + 31) // 32, thread="blockIdx.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            if b * 32 + t < n:
                for k in range(4096):
                    B[b * 32 + t, k] = A[b * 32 + t]
"""
    )
    text = next(iter(kernels_of(lower(func.with_attr("global_symbol", "f"), "cuda")).values())).script()
    assert "A[blockIdx_x * 32 + threadIdx_x]" in text
    assert 'T.Cast("int64", blockIdx_x * 32 + threadIdx_x) * T.int64(4096)' in text

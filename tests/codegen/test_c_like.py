"""C-like sources: how they read, what they refuse, and the operators of devices in the simulator and on OpenCL."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright
from loopwright import ir
from loopwright.codegen.c_like import dialect_of, emit
from loopwright.codegen.c_like.text import Unit
from loopwright.codegen.cuda.compile import compile_cuda, has_compiler
from loopwright.errors import CodegenError, MissingDependencyError, UnsupportedError
from loopwright.ir import AttrStmt, BufferType, IterVar, PrimFunc, Range, SeqStmt, Var, const
from loopwright.ir.op import all_records
from loopwright.runtime import tensor
from loopwright.script import ir as I
from loopwright.script import tirx as T
from loopwright.target import Target
from loopwright.transform import PassContext, lower
from loopwright.transform.device import kernels_of

ARCHES = ("sm_80", "sm_90")


def source(func: Any, target: str = "cuda") -> str:
    """The source of a function's kernels."""
    return emit(kernels_of(lower(func, target)), target).text


def compiles(*texts: str) -> None:
    """NVRTC or nvcc takes the sources for the devices that we promise, as one source."""
    if has_compiler():
        for arch in ARCHES:
            for text in texts:
                assert compile_cuda(text, arch)


def run(target: str, func: Any, *args: Any) -> None:
    """Run a function in the simulator or by OpenCL."""
    name = func.attrs["global_symbol"]
    try:
        if target == "cuda-sim":
            loopwright.build(func, target)[name](*args)
            return
        given = [tensor(a, device="opencl") if isinstance(a, np.ndarray) else a for a in args]
        loopwright.build(func, target)[name](*given)
    except MissingDependencyError as err:
        pytest.skip(str(err))
    for a, t in zip(args, given):
        if isinstance(a, np.ndarray):
            a[...] = t.numpy()


def simulate(func: Any, *args: Any) -> None:
    """Run a function in the simulator."""
    run("cuda-sim", func, *args)


def on_opencl(func: Any, *args: Any) -> None:
    """Run a function by OpenCL."""
    run("opencl", func, *args)


# How sources read


@T.prim_func
def scaled(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), factor: T.float32):
    n = T.int32()
    for bx in T.thread_binding((n + 127) // 128, thread="blockIdx.x"):
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            if bx * 128 + tx < n:
                B[bx * 128 + tx] = T.max(A[bx * 128 + tx], T.float32(0)) * factor


def body(text: str) -> list[str]:
    """The lines of the kernels of a source, without indentation and numbers of script lines."""
    found = text.strip().split("\n")
    first = next(k for k, line in enumerate(found) if "_kernel(" in line)
    return [line.strip().split(".py:")[0] for line in found[first:]]


def test_cuda_reads_well() -> None:
    assert body(source(scaled)) == [
        'extern "C" __global__ void __launch_bounds__(128) scaled_kernel('
        "const float* __restrict__ A, float* __restrict__ B, float factor, int n) {",
        "const int blockIdx_x = (int)blockIdx.x;",
        "const int threadIdx_x = (int)threadIdx.x;",
        "// test_c_like",
        "if (blockIdx_x * 128 + threadIdx_x < n) {",
        "// test_c_like",
        "B[blockIdx_x * 128 + threadIdx_x] = lw_max_f32(A[blockIdx_x * 128 + threadIdx_x], 0.0f) * factor;",
        "}",
        "}",
    ]
    assert "return a > b ? a : b;" in source(scaled)


def test_opencl_reads_well() -> None:
    text = body(source(scaled, "opencl"))
    assert text[0] == (
        "__kernel void __attribute__((reqd_work_group_size(128, 1, 1))) scaled_kernel("
        "__global const float* restrict A, __global float* restrict B, float factor, int n) {"
    )
    assert text[1:3] == [
        "const int blockIdx_x = (int)get_group_id(0);",
        "const int threadIdx_x = (int)get_local_id(0);",
    ]


def test_hip_is_cuda_with_its_own_header() -> None:
    hip = source(scaled, "rocm")
    assert hip.startswith("#include <hip/hip_runtime.h>\n")
    assert body(hip) == body(source(scaled))


def test_comments_name_the_files_of_the_script() -> None:
    made = emit(kernels_of(lower(scaled, "cuda")), "cuda")
    assert made.files == {"test_c_like.py": __file__}
    unit = Unit(dialect_of(Target("cuda")), fast=False)
    assert [unit.file(f) for f in ("/a/x.py", "/b/x.py", "/a/x.py", "x y.py")] == [
        "x.py",
        "b/x.py",
        "x.py",
        "x y.py",
    ]


def test_opencl_waits_before_loops_with_barriers() -> None:
    @T.prim_func
    def f(A: T.Buffer((32,), "float32")):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            S = T.alloc_buffer((32,), "float32", scope="shared")
            for k in range(4):
                S[tx] = A[tx]
                A[tx] = S[31 - tx] + T.Cast("float32", k)

    text = body(source(f, "opencl"))
    first = next(k for k, line in enumerate(text) if line.startswith("for ("))
    assert any(line.startswith("barrier(CLK_LOCAL_MEM_FENCE);  //") for line in text[first - 3 : first])
    assert source(f).count("__syncthreads") == 2


def test_names_that_the_language_takes() -> None:
    @T.prim_func
    def f(float: T.Buffer((8,), "int32"), half: T.Buffer((8,), "int32"), größe: T.int32):
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            exp: T.let[T.int32] = half[tx] * größe
            float[tx] = exp * exp

    text = source(f)
    assert "int* __restrict__ float_1, const int* __restrict__ half_1, int gr__e" in text
    compiles(text)
    float_, half = np.zeros(8, np.int32), np.arange(8, dtype=np.int32)
    for target in ("cuda-sim", "opencl"):
        run(target, f, float_, half, 3)
        assert (float_ == 9 * half**2).all()


def test_fast_mathematics_only_when_asked() -> None:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            A[tx] = T.exp(A[tx]) + T.pow(A[tx], A[tx]) + T.sin(A[tx])

    assert "expf(A[threadIdx_x]) + powf" in source(f) and "__expf" not in source(f)
    with PassContext(config={"tirx.enable_fast_math": True}):
        fast = source(f)
        assert "native_exp(" in source(f, "opencl")
    assert all(name in fast for name in ("__expf(", "__powf(", "__sinf("))
    compiles(fast)


# Operators without a rule

HOST_ONLY = """
    call_llvm_intrin call_llvm_pure_intrin tvm_call_packed tvm_call_cpacked tvm_call_packed_lowered
    tvm_call_cpacked_lowered tvm_call_trace_packed tvm_call_trace_packed_lowered call_ffi_kernel print_buffer
    tvm_stack_alloca tvm_stack_make_shape tvm_stack_make_array tvm_struct_get tvm_struct_set tvm_tuple
    tvm_throw_last_error lookup_param TVMBackendAllocWorkspace TVMBackendFreeWorkspace anylist_getitem
    anylist_resetitem anylist_setitem_call_packed anylist_setitem_call_cpacked breakpoint tvm_context_id
    tvm_static_handle TVMBackendAnyListMoveFromPackedReturn TVMBackendAnyListSetPackedArg
""".split()
"""What only hosts can do."""
OTHER_DEVICES = """
    cooperative_tensor_fill cooperative_tensor_load cooperative_tensor_store
    cooperative_tensor_multiply_accumulate call_spirv_pure_glsl450 texture2d_load texture2d_store
    nd_mem_alloc_with_scope dma_copy dma_wait dma_start_group dma_end_group tvm_bmma_sync vscale
""".split()
LOWERED = """
    filter selector break_loop continue_loop thread_return tvm_thread_allreduce tensor_load buffer_offset
    tvm_global_barrier_kinit cuda.grid_sync
""".split()
"""What is gone before, or a statement of its own, or needs a launch of its own."""
PTX_ONLY = """
    tvm_load_matrix_sync tvm_store_matrix_sync tvm_mma_sync tvm_fill_fragment s_tir.cp_async_raw
    ptx.cp_async_commit_group ptx.cp_async_wait_group ptx_legacy.mma ptx_legacy.ldmatrix cuda.warpgroup_sync
    cuda.cluster_sync cuda.nano_sleep cuda.cvta_generic_to_shared cuda.elect_sync mma_fill mma_fill_legacy
    mma_store mma_store_legacy cuda.reduce_add_sync_u32 cuda.reduce_min_sync_u32
""".split()
WARPS = """
    cuda.warp_sync cuda.any_sync cuda.ballot_sync cuda.syncthreads_and cuda.syncthreads_or cuda.__activemask
    cuda.__shfl_sync cuda.__shfl_up_sync cuda.__shfl_down_sync cuda.__shfl_xor_sync cuda.warp_reduce
    cuda.cta_reduce cuda.fdividef cuda.clock64 cuda.trap_when_assert_failed cuda.mov_sreg cuda.ldg
    tvm_warp_activemask
""".split()
NOWHERE = {*HOST_ONLY, *OTHER_DEVICES, *LOWERED}
WITHOUT = {"cuda": NOWHERE, "rocm": NOWHERE | {*PTX_ONLY}, "opencl": NOWHERE | {*PTX_ONLY, *WARPS}}


@pytest.mark.parametrize("target", list(WITHOUT))
def test_operators_without_a_rule_are_known(target: str) -> None:
    dialect = dialect_of(Target(target))
    names = [r.name.partition(".")[2] for r in all_records() if not r.name.startswith("relax.")]
    assert {n for n in names if dialect.find_rule(n) is None} == WITHOUT[target]


# What is refused


def refused(target: str, make: Any, code: str = "unsupported-codegen") -> str:
    """The message with which a kernel of one store is refused, at its place."""

    @T.prim_func
    def f(A: T.Buffer((32,), "float32")):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            A[tx] = make(A, tx)

    with pytest.raises(CodegenError) as found:
        source(f, target)
    diagnostic = found.value.diagnostics[0]
    assert diagnostic.code == code
    assert diagnostic.span is not None and diagnostic.span.file == __file__
    return diagnostic.message


def test_refusals_name_operator_and_target() -> None:
    assert refused("cuda", lambda A, tx: T.call_llvm_pure_intrin("float32", "llvm.sqrt", A[tx])) == (
        "the cuda back end does not support the operator `tirx.call_llvm_pure_intrin` (in `f_kernel`)"
    )
    assert "the opencl back end does not support the operator `tirx.cuda.warp_reduce`" in refused(
        "opencl", lambda A, tx: T.cuda.warp_reduce(A[tx], "sum")
    )
    assert "`tirx.tvm_warp_shuffle_xor` without the extension `cl_khr_subgroup_shuffle`" in refused(
        "opencl", lambda A, tx: T.tvm_warp_shuffle_xor(T.uint32(0), A[tx], 1, 32, 32)
    )
    assert "by `product` of `float32`" in refused("cuda", lambda A, tx: T.cuda.warp_reduce(A[tx], "product"))


def test_targets_without_a_language() -> None:
    with pytest.raises(UnsupportedError, match="no source can be made for the target `metal`"):
        emit({}, "metal")


# Operators of CUDA

ALL_LANES = 0xFFFFFFFF


@T.prim_func
def votes(A: T.Buffer((64,), "int32"), O: T.Buffer((13, 64), "int64")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        scratch = T.alloc_buffer((2,), "int32", scope="shared")
        O[0, tx] = T.Cast("int64", T.cuda.ballot_sync(T.uint32(ALL_LANES), A[tx] > 0))
        O[1, tx] = T.Cast("int64", T.cuda.any_sync(T.uint32(ALL_LANES), A[tx] > 50))
        O[2, tx] = T.cuda.syncthreads_and(A[tx] > -1000)
        O[3, tx] = T.cuda.syncthreads_or(A[tx] > 1000)
        O[4, tx] = T.Cast("int64", T.cuda.reduce_add_sync_u32(T.uint32(ALL_LANES), T.Cast("uint32", tx)))
        O[5, tx] = T.Cast("int64", T.cuda.reduce_min_sync_u32(T.uint32(ALL_LANES), T.Cast("uint32", tx)))
        O[6, tx] = T.Cast("int64", T.cuda.thread_rank())
        O[7, tx] = T.Cast("int64", T.cuda.warp_reduce(A[tx], "max", 8))
        O[8, tx] = T.Cast("int64", T.cuda.cta_reduce(A[tx], "min", 2, T.address_of(scratch[0])))
        O[9, tx] = T.Cast("int64", T.cuda.ffs_u32(T.Cast("uint32", tx * 4)))
        O[10, tx] = T.Cast("int64", T.cuda.__shfl_xor_sync(T.uint32(ALL_LANES), A[tx], 1, 32))
        O[11, tx] = T.Cast("int64", T.cuda.mov_sreg(32, "laneid"))
        O[12, tx] = T.Cast(
            "int64", T.tvm_warp_shuffle_down(T.uint32(ALL_LANES), T.Cast("int8", A[tx]), 3, 32, 32)
        )


@T.prim_func
def conversions(S: T.Buffer((16,), "float32"), H: T.Buffer((16,), "float16"), R: T.Buffer((16,), "float32")):
    for _ in T.thread_binding(1, thread="threadIdx.x"):
        T.cuda.float8tohalf8(T.address_of(S[0]), T.address_of(H[0]))
        T.cuda.float22half2(T.address_of(H[8]), T.address_of(S[8]))
        T.cuda.half8tofloat8(T.address_of(H[0]), T.address_of(R[0]))
        R[8] = T.cuda.uint_as_float(T.cuda.float_as_uint(S[8]))
        R[9] = T.cuda.float2_y(
            T.cuda.fadd2_rn(T.cuda.make_float2(S[0], S[1]), T.cuda.make_float2(S[2], S[3]))
        )
        R[10] = T.cuda.float2_x(T.cuda.bfloat1622float2(T.cuda.float22bfloat162_rn(S[1], S[2])))
        R[11] = T.cuda.half2float(T.Cast("float16", S[3]))
        R[12] = T.Cast(
            "float32", T.cuda.fp8x4_e4m3_from_float4(S[0], T.float32(0), T.float32(0), T.float32(0))
        )
        R[13] = T.cuda.float2_y(
            T.cuda.fmul2_rn(T.cuda.make_float2(S[0], S[1]), T.cuda.make_float2(S[2], S[3]))
        )


@T.prim_func
def foreign(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        B[tx] = T.cuda.func_call(
            "twice",
            T.cuda.ldg(T.address_of(A[tx]), "float32"),
            source_code="__device__ float twice(float x) { return 2.0f * x; }",
            return_type="float32",
        ) + T.call_pure_extern("float32", "fmaxf", A[tx], T.float32(3))
        T.cuda.thread_fence()
        T.cuda.nano_sleep(T.uint32(10))
        T.cuda.trap_when_assert_failed(A[tx] < T.float32(1000))
        T.cuda.warp_sync()
        T.cuda.cta_sync()
        B[tx] = B[tx] + T.cuda.fdividef(T.float32(6), T.float32(3))


def test_votes_and_reductions_of_cuda() -> None:
    A = np.random.default_rng(0).integers(-60, 60, 64).astype(np.int32)
    O = np.zeros((13, 64), np.int64)
    simulate(votes, A, O)
    lanes, warps = np.arange(64), A.reshape(2, 32)
    ballots = [sum(1 << k for k in range(32) if w[k] > 0) for w in warps]
    down = [w[k + 3] if k + 3 < 32 else w[k] for w in warps for k in range(32)]
    want = [
        *(np.repeat(ballots, 32), np.repeat((warps > 50).any(1), 32), np.ones(64), np.zeros(64)),
        *(np.repeat([496, 1520], 32), np.repeat([0, 32], 32), lanes, np.repeat(A.reshape(8, 8).max(1), 8)),
        *(
            np.full(64, A.min()),
            [(4 * k & -4 * k).bit_length() for k in range(64)],
            A[lanes ^ 1],
            lanes % 32,
            down,
        ),
    ]
    for k, row in enumerate(want):
        assert (O[k] == row).all(), k


def test_conversions_of_cuda() -> None:
    for run_it in (simulate, on_opencl):
        S, H, R = np.arange(16, dtype=np.float32) + 0.5, np.zeros(16, np.float16), np.zeros(16, np.float32)
        run_it(conversions, S, H, R)
        assert (H[:10] == S[:10]).all() and (R[:8] == S[:8]).all()
        assert R[8:14].tolist() == [8.5, 5.0, 1.5, 3.5, 48.0, 5.25]


def test_source_of_ones_own() -> None:
    A, B = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    simulate(foreign, A, B)
    assert (B == 2 * A + np.maximum(A, 3) + 2).all()


# Tensor cores


@T.prim_func
def product(
    A: T.Buffer((16, 16), "float16"), B: T.Buffer((8, 16), "float16"), C: T.Buffer((16, 8), "float32")
):
    for _ in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            As = T.alloc_buffer((16, 16), "float16", scope="shared")
            Bs = T.alloc_buffer((8, 16), "float16", scope="shared")
            a = T.alloc_buffer((8,), "float16", scope="local")
            b = T.alloc_buffer((4,), "float16", scope="local")
            c = T.alloc_buffer((4,), "float32", scope="local")
            T.ptx_cp_async("float16", As.data, tx * 8, A.data, tx * 8, 16)
            T.ptx_cp_async("float16", Bs.data, tx * 4, B.data, tx * 4, 8, tx < 32)
            T.ptx_commit_group()
            T.ptx_wait_group(0)
            T.tvm_storage_sync("shared")
            for i in T.unroll(4):
                c[i] = T.float32(0)
            T.ptx_ldmatrix(
                "float16", T.bool(False), 4, ".b16", a.data, 0, As.data, tx % 16 * 16 + tx // 16 * 8
            )
            T.ptx_ldmatrix(
                "float16", T.bool(False), 2, ".b16", b.data, 0, Bs.data, tx % 8 * 16 + tx % 16 // 8 * 8
            )
            T.ptx_mma(
                "float32",
                "m16n8k16",
                "row",
                "col",
                "fp16",
                "fp16",
                "fp32",
                a.data,
                0,
                b.data,
                0,
                c.data,
                0,
                False,
            )
            for i in T.unroll(4):
                C[i // 2 * 8 + tx // 4, tx % 4 * 2 + i % 2] = c[i]


@T.prim_func
def fragments(
    A: T.Buffer((16, 16), "float16"), B: T.Buffer((16, 16), "float16"), C: T.Buffer((16, 16), "float32")
):
    for _ in T.thread_binding(1, thread="blockIdx.x"):
        for _ in T.thread_binding(32, thread="threadIdx.x"):
            a = T.alloc_buffer((256,), "float16", scope="wmma.matrix_a")
            b = T.alloc_buffer((256,), "float16", scope="wmma.matrix_b")
            c = T.alloc_buffer((256,), "float32", scope="wmma.accumulator")
            T.tvm_fill_fragment(c.data, 16, 16, 16, 0, T.float32(1))
            T.tvm_load_matrix_sync(a.data, 16, 16, 16, 0, T.address_of(A[0, 0]), 16, "row_major")
            T.tvm_load_matrix_sync(b.data, 16, 16, 16, 0, B.access_ptr("r"), 16, "col_major")
            T.tvm_mma_sync(c.data, 0, a.data, 0, b.data, 0, c.data, 0)
            T.tvm_store_matrix_sync(c.data, 16, 16, 16, 0, T.address_of(C[0, 0]), 16, "row_major")


@pytest.mark.parametrize(("func", "columns", "more"), [(product, 8, 0), (fragments, 16, 1)])
def test_tensor_cores(func: PrimFunc, columns: int, more: int) -> None:
    rng = np.random.default_rng(0)
    A, B = (rng.integers(-4, 5, (n, 16)).astype(np.float16) for n in (16, columns))
    C = np.zeros((16, columns), np.float32)
    simulate(func, A, B, C)
    assert (C == A.astype(np.float32) @ B.T.astype(np.float32) + more).all()


def test_devices_take_these_sources() -> None:
    compiles(*[source(f) for f in (votes, conversions, foreign, product, fragments)])


# Memory


def test_atomics_of_every_dtype() -> None:
    dtypes = (
        "int8",
        "uint8",
        "int16",
        "int32",
        "int64",
        "uint64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
    )
    i = Var("tx", "int32")
    buffers = [Var(f"B{k}", BufferType(d, (8,))) for k, d in enumerate(dtypes)]
    body: Any = []
    for b, d in zip(buffers, dtypes):
        place = ir.Call("tirx.address_of", (ir.BufferLoad(b, [ir.FloorMod(i, 8)]),), ir.pointer_to(b))
        body.append(
            ir.Evaluate(ir.Call("tirx.cuda.atomic_add", (place, const(-1 if d[0] != "u" else 3, d)), d))
        )
    axis = IterVar(Range(const(0, "int32"), const(64, "int32")), i, 1, "threadIdx.x")
    body = AttrStmt(axis, "thread_extent", const(64, "int32"), SeqStmt(body))
    func = PrimFunc(buffers, body, None, {"global_symbol": "atomics"})
    compiles(source(func))
    for run_it in (simulate, on_opencl):
        arrays = [np.zeros(8, loopwright.DType(d).numpy()) for d in dtypes]
        run_it(func, *arrays)
        for d, a in zip(dtypes, arrays):
            assert (a == (24 if d[0] == "u" else -8)).all(), d


@T.prim_func
def windows(A: T.Buffer((260,), "float32"), B: T.Buffer((7, 256), "float32"), H: T.Buffer((256,), "float16")):
    for tx in T.thread_binding(16, thread="threadIdx.x"):
        for v in T.vectorized(16):
            B[0, tx * 16 + v] = A[tx * 16 + v]
        for v in T.vectorized(16):
            B[1, tx * 16 + v] = A[tx * 16 + v + 1]
        for v in T.vectorized(16):
            B[2, tx * 16 + v] = A[tx * 16 + v + 2]
        for v in T.vectorized(3):
            B[3, tx * 16 + v] = A[tx * 3 + v] + A[tx]
        for v in T.vectorized(8):
            B[4, tx * 16 + v * 2] = A[tx * 16 + 15 - v]
        for v in T.vectorized(8):
            B[5, tx * 16 + v] = T.Cast("float32", H[tx * 8 + v] * H[tx * 8 + v])
        for v in T.vectorized(4):
            B[6, tx * 16 + v] = T.if_then_else(A[tx * 4 + v] > T.float32(8), A[tx * 4 + v], T.float32(-1))


def test_vectors_are_as_wide_as_alignment_allows() -> None:
    text = source(windows)
    assert "*(const float4*)" in text and "*(const float2*)" in text and "*(const lw_half8*)" in text
    compiles(text)
    rng = np.random.default_rng(0)
    A, H = (rng.integers(0, 20, n).astype(d) for n, d in ((260, np.float32), (256, np.float16)))
    want = np.zeros((7, 256), np.float32)
    windows.interpret(A, want, H)
    for run_it in (simulate, on_opencl):
        got = np.zeros_like(want)
        run_it(windows, A, got, H)
        assert (got == want).all()


@T.prim_func
def shared_sum(A: T.Buffer((64,), "int32"), B: T.Buffer((2,), "int32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            S = T.alloc_buffer((32,), "int32", scope="shared.dyn")
            S[tx] = A[bx * 32 + tx]
            T.tvm_storage_sync("shared.dyn")
            if tx == 0:
                total = T.alloc_buffer((1,), "int32", scope="local")
                total[0] = 0
                for k in range(32):
                    total[0] = total[0] + S[k]
                B[bx] = total[0]


def test_dynamic_shared_memory() -> None:
    A = np.arange(64, dtype=np.int32)
    compiles(source(shared_sum))
    for run_it in (simulate, on_opencl):
        B = np.zeros(2, np.int32)
        run_it(shared_sum, A, B)
        assert (B == A.reshape(2, 32).sum(1)).all()


@T.prim_func
def control(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), n: T.int32):
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        k = T.alloc_buffer((1,), "int32", scope="local")
        k[0] = 0
        while k[0] < n and A[tx] != 5:
            k[0] = k[0] + 1
            if k[0] == 3:
                T.continue_loop()
            if k[0] > 6:
                T.break_loop()
            B[tx] = B[tx] + A[tx] * k[0]
        for i in T.serial(tx, 9, step=2):
            B[tx] = B[tx] + i


def test_control_flow() -> None:
    A, want = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    control.interpret(A, want, 9)
    compiles(source(control))
    for target in ("cuda-sim", "opencl"):
        B = np.zeros(8, np.int32)
        run(target, control, A, B, 9)
        assert (B == want).all()


def test_loads_and_updates_happen_in_order() -> None:
    @T.prim_func
    def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4, 3), "int32")):
        for tx in T.thread_binding(4, thread="threadIdx.x"):
            B[tx, 0] = A[tx] * 100 + T.cuda.atomic_add(T.address_of(A[tx]), 1) * 10 + A[tx]
            B[tx, 1] = T.cuda.atomic_cas(T.address_of(A[tx]), 2, 7) * 10 + A[tx]
            B[tx, 2] = A[tx]

    A, want = np.arange(4, dtype=np.int32), np.zeros((4, 3), np.int32)
    f.interpret(A.copy(), want)
    for run_it in (simulate, on_opencl):
        got = np.zeros_like(want)
        run_it(f, A.copy(), got)
        assert (got == want).all()


def test_printing_and_assertions(capfd: pytest.CaptureFixture[str]) -> None:
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        for tx in T.thread_binding(1, thread="threadIdx.x"):
            T.print("100% of", A[1], tx, A[1] > T.float32(0))
            assert A[2] > T.float32(0), "what must be positive"

    A = np.array([1, 0.5, 1, 1], np.float32)
    compiles(source(f))
    for run_it in (simulate, on_opencl):
        run_it(f, A)
    assert capfd.readouterr().out.count("100% of 0.5 0 1") == 2
    with pytest.raises(loopwright.errors.ExecutionError, match="what must be positive"):
        simulate(f, -A)


def test_functions_that_kernels_call() -> None:
    @I.ir_module
    class module:
        @T.prim_func
        def positive(x: T.float32) -> T.float32:
            if x < T.float32(0):
                return T.float32(0)
            return x

        @T.prim_func
        def twice(x: T.float32) -> T.float32:
            return module.positive(x) * T.float32(2)

        @T.prim_func
        def add(B: T.Buffer(("n",), "float32"), i: T.int32, x: T.float32):
            n = T.int32()
            if i < n:
                B[i] = B[i] + x

        @T.prim_func
        def start(A: T.Buffer((32,), "float32"), B: T.Buffer((24,), "float32")):
            T.func_attr({"tirx.kernel_launch_params": ["threadIdx.x"]})
            tx = T.launch_thread("threadIdx.x", 32)
            module.add(B, tx, module.twice(A[tx]))

    made = emit({g.name: f for g, f in module.functions.items()}, "cuda")
    compiles(made.text)
    assert [k.name for k in made.kernels] == ["start"]
    assert "__device__ float twice(float x);" in made.text
    assert "static" not in emit({g.name: f for g, f in module.functions.items()}, "opencl").text
    from loopwright.codegen import cuda_sim

    A, B = np.arange(-8, 24, dtype=np.float32), np.ones(24, np.float32)
    try:
        cuda_sim.load(made, Target("cuda-sim"))["start"]((1, 1, 1), (32, 1, 1), [A, B])
    except MissingDependencyError as err:
        pytest.skip(str(err))
    assert (B == 1 + 2 * np.maximum(A[:24], 0)).all()

"""`T.cuda`: barriers, votes, atomics, reductions and conversions of CUDA devices."""

from __future__ import annotations

from typing import Any

from ...errors import Diagnostic, UnsupportedError
from ..expr import Call, StringImm
from ..op import Effect, Keywords
from ..operators import call_type
from ..types import FLOAT32, INT32, INT64, VOID, PrimType, Type
from .define import define, make, value

UINT32, UINT64 = PrimType("uint32"), PrimType("uint64")


def _cuda(name: str, params: str, result: Any, doc: str, effect: Effect = Effect.UPDATE, **more: Any) -> None:
    define(f"tirx.cuda.{name}", params, result, doc, effect, script=f"cuda.{name}", **more)


_cuda("cta_sync", "", VOID, "A barrier for the threads of a block.")
_cuda("warp_sync", "", VOID, "A barrier for the threads of a warp.")
_cuda("warpgroup_sync", "bar_no", VOID, "A barrier for four warps.")
_cuda("cluster_sync", "", VOID, "A barrier for the blocks of a cluster.")
_cuda("grid_sync", "", VOID, "A barrier for all blocks.")
_cuda("elect_sync", "", UINT32, "One for a single thread of the warp, zero for the others.")
_cuda("any_sync", "mask, pred", INT32, "Whether the predicate holds in any lane.", Effect.PURE)
_cuda("ballot_sync", "mask, pred", UINT32, "The lanes where the predicate holds.")
_cuda("syncthreads_and", "cond", INT64, "A block barrier; whether the condition holds in all threads.")
_cuda("syncthreads_or", "cond", INT64, "A block barrier; whether the condition holds in any thread.")
_cuda("reduce_add_sync_u32", "mask, value", UINT32, "The sum over the lanes.")
_cuda("reduce_min_sync_u32", "mask, value", UINT32, "The minimum over the lanes.")
_cuda("thread_fence", "", VOID, "Makes writes visible to the device.")
_cuda("nano_sleep", "time", VOID, "Waits some nanoseconds.")
_cuda("atomic_add", "res_addr, value", "second", "Adds to memory; the value before.")
_cuda("atomic_cas", "ptr, old_val, new_val", "second", "Compares and swaps; the value before.")

_cuda("__activemask", "", UINT32, "The lanes that are active.", Effect.PURE)
for _name, _third in (
    ("__shfl_sync", "lane"),
    ("__shfl_up_sync", "delta"),
    ("__shfl_down_sync", "delta"),
    ("__shfl_xor_sync", "lane_mask"),
):
    _cuda(_name, f"mask, value, {_third}, width", "second", "The value of another lane.")
_cuda("warp_reduce", "value, op, width=32", "first", 'The "sum", "max" or "min" over the lanes.')
_cuda("cta_reduce", "value, op, num_warps, scratch", "first", 'The "sum", "max" or "min" over the block.')

_cuda("half2float", "src", FLOAT32, "float16 to float32.")
_cuda("bfloat162float", "src", FLOAT32, "bfloat16 to float32.")
_cuda("float22half2", "dst, src", VOID, "Two float32 in memory to two float16.")
_cuda("float8tohalf8", "src_addr, dst_addr", VOID, "Eight float32 in memory to eight float16.")
_cuda("half8tofloat8", "src_addr, dst_addr", VOID, "Eight float16 in memory to eight float32.")
_cuda("bfloat1622float2", "packed", UINT64, "Two packed bfloat16 to two packed float32.")
_cuda("float22bfloat162_rn", "v0, v1", UINT32, "Two float32 to packed bfloat16.")
_cuda("float22bfloat162_rn_from_float2", "packed", UINT32, "Two packed float32 to packed bfloat16.")
_cuda("fp8x4_e4m3_from_float4", "x, y, z, w", UINT32, "Four float32 to packed float8_e4m3.")
_cuda("make_float2", "x, y", UINT64, "Two float32 packed.")
_cuda("float2_x", "packed", FLOAT32, "The first of two packed float32.")
_cuda("float2_y", "packed", FLOAT32, "The second of two packed float32.")
_cuda("fadd2_rn", "a, b", UINT64, "The sums of packed float32.")
_cuda("fmul2_rn", "a, b", UINT64, "The products of packed float32.")
_cuda("hmax2", "a, b", UINT32, "The larger ones of packed float16.")
_cuda("hmin2", "a, b", UINT32, "The smaller ones of packed float16.")
_cuda("fdividef", "x, y", FLOAT32, "A fast division.", Effect.PURE)
_cuda("float_as_uint", "x", UINT32, "The bits of a float32.")
_cuda("uint_as_float", "bits", FLOAT32, "The float32 of these bits.")
_cuda("ffs_u32", "value", INT32, "The number of the lowest one bit, from 1; 0 for none.")

_cuda("clock64", "", UINT64, "A cycle counter.")
_cuda("thread_rank", "", INT32, "The number of this thread in its block.", Effect.PURE)
_cuda("cvta_generic_to_shared", "ptr", UINT32, "A shared memory address as a number.")
_cuda("trap_when_assert_failed", "cond", VOID, "Stops the kernel unless the condition holds.")
_cuda("printf", "fmt, *args", VOID, "Prints from the device.")


def _sreg_type(bits: Any, reg_name: Any) -> Type:
    width = getattr(bits, "value", bits)
    return INT64 if width == 64 else INT32


_cuda("mov_sreg", "bits, reg_name", _sreg_type, "A special register.", Effect.PURE)


def _ldg(addr: Any, dtype: Any, dst: Any, vec: Any) -> Call:
    if dst is not None or vec:
        raise UnsupportedError(Diagnostic("unsupported", "T.cuda.ldg with dst= or vec= is not supported yet"))
    name = value(dtype)
    if not isinstance(name, StringImm):
        name = StringImm(str(dtype))
    return make("tirx.cuda.ldg", (addr, name), call_type(name.value))


_cuda("ldg", "addr, dtype, *, dst=None, vec=''", INT32, "A load through the read-only cache.", rule=_ldg)


def _func_call(func_name: Any, *values: Any) -> Call:
    *args, source_code, return_type, lazy_args = values
    if lazy_args:
        raise UnsupportedError(
            Diagnostic("unsupported", "T.cuda.func_call with lazy_args= is not supported yet")
        )
    return make("tirx.cuda.func_call", (func_name, *args, source_code), call_type(return_type))


def _show_func_call(call: Call) -> Any:
    keywords = Keywords(source_code=call.args[-1])
    if call.ty is not VOID:
        keywords["return_type"] = call.ty
    return (*call.args[:-1], keywords)


_cuda(
    "func_call",
    "func_name, *args, source_code, return_type='void', lazy_args=()",
    VOID,
    "A call of a device function given as source.",
    rule=_func_call,
    show=_show_func_call,
)

_FILL = "local_size, local_ptr, offset"
_STORE = "m, n, dst_ptr, src_ptr, src_offset, dst_stride"
for _name, _params, _doc in (
    ("mma_fill", _FILL, "Fills a register fragment with zero."),
    ("mma_store", _STORE, "Stores a register fragment."),
    ("mma_fill_legacy", _FILL, "Fills a register fragment with zero."),
    ("mma_store_legacy", _STORE, "Stores a register fragment."),
):
    define(
        f"tirx.{_name}",
        f"dtype, {_params}",
        "dtype",
        _doc,
        Effect.UPDATE,
        script=f"cuda.{_name}",
        aliases=(_name,),
    )

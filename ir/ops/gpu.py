"""Devices in general: barriers, warp shuffles, matrix fragments, and the legacy PTX pair."""

from __future__ import annotations

import re
from typing import Any

from ...errors import Diagnostic, DTypeError
from ..expr import Call, StringImm
from ..op import Effect
from ..operators import call_type
from ..types import VOID, PrimType
from .define import define, make, pointee

UINT32 = PrimType("uint32")

define(
    "tirx.tvm_storage_sync",
    "storage_scope, is_load=False, num_blocks=-1",
    VOID,
    "A barrier for the memory of a scope.",
    Effect.UPDATE,
)
define("tirx.tvm_thread_allreduce", "*freduce_args", VOID, "A reduction over threads.", Effect.UPDATE)
for _name, _third, _doc in (
    ("tvm_warp_shuffle", "warp_id", "The value of another lane."),
    ("tvm_warp_shuffle_up", "offset", "The value of a lane before this one."),
    ("tvm_warp_shuffle_down", "offset", "The value of a lane after this one."),
    ("tvm_warp_shuffle_xor", "lane_mask", "The value of the lane whose number differs in these bits."),
):
    define(f"tirx.{_name}", f"mask, value, {_third}, width, warp_size", "second", _doc, Effect.UPDATE)
define("tirx.tvm_warp_activemask", "", UINT32, "The lanes that are active.", Effect.UPDATE)
define("tirx.tvm_thread_invariant", "cond", "first", "A condition equal in all threads.")
define("tirx.tvm_global_barrier_kinit", "", VOID, "Prepares the global barrier.", Effect.UPDATE)
define("tirx.tvm_kernel_replace_point", "", VOID, "Where a persistent kernel is put.", Effect.UPDATE)

_LOAD = "fragment, m, n, k, index, buffer_ptr, stride, layout"
_MMA = "fragment_d, index_d, fragment_a, index_a, fragment_b, index_b, fragment_c, index_c"
define("tirx.tvm_load_matrix_sync", _LOAD, VOID, "Loads a matrix fragment.", Effect.UPDATE)
define("tirx.tvm_store_matrix_sync", _LOAD, VOID, "Stores a matrix fragment.", Effect.UPDATE)
define("tirx.tvm_mma_sync", _MMA, VOID, "Multiplies and accumulates fragments.", Effect.UPDATE)
define("tirx.tvm_bmma_sync", _MMA, VOID, "The same of one-bit fragments.", Effect.UPDATE)
define("tirx.tvm_fill_fragment", "fragment, m, n, k, index, value", VOID, "Fills a fragment.", Effect.UPDATE)

_TAIL = "transpose_matrix=False, mma_M=0, mma_N=0, mma_K=0, operand_role=0"
define(
    "tirx.cooperative_tensor_fill", "d, index, value, rows, cols", VOID, "Fills a shared tile.", Effect.UPDATE
)
define(
    "tirx.cooperative_tensor_load",
    f"d, index, ptr, stride, rows, cols, {_TAIL}",
    VOID,
    "Loads a shared tile.",
    Effect.UPDATE,
)
define(
    "tirx.cooperative_tensor_store",
    f"d, index, ptr, stride, rows, cols, {_TAIL}",
    VOID,
    "Stores a shared tile.",
    Effect.UPDATE,
)
define(
    "tirx.cooperative_tensor_multiply_accumulate",
    "d, index_d, a, index_a, b, index_b, c, index_c, M, N, K, transpose_a=False, transpose_b=False",
    VOID,
    "Multiplies and accumulates shared tiles.",
    Effect.UPDATE,
)

define(
    "tirx.s_tir.cp_async_raw",
    "dtype, shared_ptr, shared_offset, global_ptr, global_offset, bytes, *predicate",
    "dtype",
    "An asynchronous copy from global to shared memory; of zeros where the predicate, if any, is false.",
    Effect.UPDATE,
    aliases=("ptx_cp_async",),
)
define(
    "tirx.ptx.cp_async_commit_group",
    "",
    VOID,
    "Makes a group of the asynchronous copies that this thread has started since the last one.",
    Effect.UPDATE,
    script="ptx.cp.async_.commit_group",
    aliases=("ptx_commit_group",),
)
define(
    "tirx.ptx.cp_async_wait_group",
    "num",
    VOID,
    "Waits until at most `num` groups of asynchronous copies of this thread, the latest, are under way.",
    Effect.UPDATE,
    script="ptx.cp.async_.wait_group",
    aliases=("ptx_wait_group",),
)
define(
    "tirx.s_tir.ldg32",
    "reg, guard, addr, local_addr",
    lambda reg, *_: pointee(reg)[0],
    "A guarded 32-bit load from global memory into an element of a buffer.",
    Effect.UPDATE,
    aliases=("ptx_ldg32",),
)

_SHAPE = re.compile(r"m\d+n\d+k\d+")


def _text(x: Any) -> str:
    return x.value if isinstance(x, StringImm) else x if isinstance(x, str) else ""


def _mma(*values: Any) -> Call:
    *args, operator = values
    if args and not _SHAPE.fullmatch(_text(args[0])):
        args = args[1:]  # the old form names the dtype first
    if operator is not None and len(args) == 13:
        args = [*args, operator]
    if len(args) not in (13, 14) or not _SHAPE.fullmatch(_text(args[0])):
        raise DTypeError(
            Diagnostic(
                "argument-count",
                "T.ptx_legacy.mma takes shape, two layouts, three dtypes, three pointers with offsets, "
                "saturate, and perhaps operator",
            )
        )
    return make("tirx.ptx_legacy.mma", args, VOID)


define(
    "tirx.ptx_legacy.mma",
    "*all_args, operator=None",
    VOID,
    "The tensor core instruction mma.sync.",
    Effect.UPDATE,
    rule=_mma,
    aliases=("ptx_mma",),
)


def _ldmatrix(*args: Any) -> Call:
    if len(args) == 8:
        return make("tirx.ptx_legacy.ldmatrix", args[1:], call_type(args[0]))
    if len(args) != 7:
        raise DTypeError(
            Diagnostic(
                "argument-count",
                "T.ptx_legacy.ldmatrix takes trans, num, type, a local pointer and a shared one with offsets",
            )
        )
    return make("tirx.ptx_legacy.ldmatrix", args, pointee(args[5])[0])


def _show_ldmatrix(call: Call) -> Any:
    inferred = len(call.args) == 7 and pointee(call.args[5])[0] is call.ty
    return call.args if inferred else (call.ty, *call.args)


define(
    "tirx.ptx_legacy.ldmatrix",
    "*all_args",
    VOID,
    "Loads matrices from shared memory to registers.",
    Effect.UPDATE,
    rule=_ldmatrix,
    show=_show_ldmatrix,
    aliases=("ptx_ldmatrix",),
)

"""Rules of OpenCL: barriers, and shuffles where the target has them."""

from __future__ import annotations

from ...ir import Call, StringImm
from ..c_like.rules import Rule, into, operator, short_name
from ..c_like.stmt import Statements
from ..c_like.text import Lanes, Term, call, convert

RULES: dict[str, Rule] = {}
rule = into(RULES)


@rule("tvm_storage_sync")
def _sync(m: Statements, e: Call) -> Lanes:
    scope = e.args[0].value if isinstance(e.args[0], StringImm) else ""
    if scope in ("shared", "shared.dyn", "warp"):
        return [call("barrier", "CLK_LOCAL_MEM_FENCE")]
    raise m.refuse(f"a barrier for `{scope}` memory", e)


@rule("cuda.cta_sync")
def _cta_sync(m: Statements, e: Call) -> Lanes:
    return [call("barrier", "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE")]


@rule("cuda.thread_fence")
def _fence(m: Statements, e: Call) -> Lanes:
    return [call("mem_fence", "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE")]


@rule("cuda.thread_rank")
def _rank(m: Statements, e: Call) -> Lanes:
    rank = "get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2))"
    return [convert(m.type(e.dtype), Term(f"({rank})"))]


_SHUFFLES = {
    "tvm_warp_shuffle": ("sub_group_shuffle", "cl_khr_subgroup_shuffle"),
    "tvm_warp_shuffle_xor": ("sub_group_shuffle_xor", "cl_khr_subgroup_shuffle"),
    "tvm_warp_shuffle_up": ("sub_group_shuffle_up", "cl_khr_subgroup_shuffle_relative"),
    "tvm_warp_shuffle_down": ("sub_group_shuffle_down", "cl_khr_subgroup_shuffle_relative"),
}
"""The functions of shuffles, each with the extension that has it."""


@rule(*_SHUFFLES)
def _shuffle(m: Statements, e: Call) -> Lanes:
    name, extension = _SHUFFLES[short_name(e)]
    if not m.dialect.extension(extension):
        help = f"if the device has it, name it in the target: `opencl -extensions={extension}`"
        raise m.refuse(f"`{operator(e)}` without the extension `{extension}`", e, help)
    m.unit.header(f"#pragma OPENCL EXTENSION {extension} : enable")
    value, lane = e.args[1], convert("uint", m.value(e.args[2]))
    kind = m.type(value.dtype)
    return [m.named(kind, "shuffled", call(name, x, lane)) for x in m.lanes(value)]

"""HIP: CUDA's text with headers of its own; warps do not name their lanes, bfloat16 is carried."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import Any, ClassVar

from ...dtype import DType
from ...ir import Call, StringImm
from ..c_like.rules import Rule, into, short_name
from ..c_like.stmt import Statements
from ..c_like.text import Lanes, Term, Unit, call, convert
from . import rules
from .dialect import Cuda

RULES: dict[str, Rule] = {}
rule = into(RULES)

_LACKING = (
    *("cuda.nano_sleep", "cuda.cvta_generic_to_shared", "cuda.elect_sync", "mma_fill", "mma_fill_legacy"),
    *("cuda.reduce_add_sync_u32", "cuda.reduce_min_sync_u32", "mma_store", "mma_store_legacy"),
)


@rule("cuda.ballot_sync", "cuda.any_sync")
def _vote(m: Statements, e: Call) -> Lanes:
    name = "__ballot" if short_name(e) == "cuda.ballot_sync" else "__any"
    found = call(name, convert("int", m.value(e.args[1])))
    return [m.named(m.type(e.dtype), "vote", convert(m.type(e.dtype), found))]


@rule("tvm_warp_activemask", "cuda.__activemask")
def _active(m: Statements, e: Call) -> Lanes:
    return [m.named(m.type(e.dtype), "active", convert(m.type(e.dtype), call("__ballot", "1")))]


@rule("cuda.warp_sync")
def _warp_sync(m: Statements, e: Call) -> Lanes:
    return [call("__builtin_amdgcn_wave_barrier")]


@rule("tvm_storage_sync")
def _sync(m: Statements, e: Call) -> Lanes:
    if isinstance(e.args[0], StringImm) and e.args[0].value == "warp":
        return [call("__builtin_amdgcn_wave_barrier")]
    return rules.RULES["tvm_storage_sync"](m, e)


class Hip(Cuda):
    """HIP C++."""

    name = "hip"
    title = "rocm"
    trap = "__builtin_trap"
    preamble = ("#include <hip/hip_runtime.h>",)
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {"half": ("#include <hip/hip_fp16.h>",)}
    rules = ChainMap(RULES, {k: r for k, r in rules.RULES.items() if k not in _LACKING})

    def native_floats(self) -> frozenset[str]:
        return frozenset({"float16"})

    def narrow(self, unit: Unit, dtype: DType, source: DType) -> str | None:
        return None if source.bits == 64 else super().narrow(unit, dtype, source)

    def atomic_add(self, m: Statements, dtype: DType, place: Term, value: Term) -> Term | None:
        return None if dtype.bits < 32 else super().atomic_add(m, dtype, place, value)

    def shuffle(self, way: str, mask: Term, value: Term, lane: Term, width: Term) -> Term:
        return call(f"__shfl_{way}" if way else "__shfl", value, lane, width)

    def find_scope(self, scope: str) -> Any:
        return None

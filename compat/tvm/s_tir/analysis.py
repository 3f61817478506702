"""`tvm.s_tir.analysis`: facts of schedulable programs."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from ....errors import Diagnostic, ScheduleError
from ....ir import Expr, For, IRModule, PrimFunc, SBlock, Stmt, StringImm, Var, walk
from ....ir import analysis as ours
from ....ir.analysis import (
    calculate_allocated_bytes,
    detect_buffer_access_lca,
    is_pure_function,
    verify_gpu_code,
)
from ....ir.analysis import estimate_flops as estimate_tir_flops
from ....ir.analysis import find_anchor_block as find_anchor_sblock
from ...adapters import lacking
from ..tirx.analysis import verify_well_formed


def get_sblock_access_region(block: SBlock, buffer_var_map: Mapping[Any, Any]) -> list[list[Any]]:
    """What a block reads, writes, and accesses through pointers, of the buffers of the map."""
    return [list(part) for part in ours.access_regions(block, buffer_var_map.values())]


def get_sblock_read_write_region(block: SBlock, buffer_var_map: Mapping[Any, Any]) -> list[list[Any]]:
    """What a block reads and writes of the buffers of the map; accesses through pointers count as both."""
    return [list(part) for part in ours.read_write_regions(block, buffer_var_map.values())]


def assert_pure_function(func: PrimFunc) -> bool:
    """True for a function without effects. Raises AssertionError, showing one, for others."""
    why = ours.impure_reason(func)
    if why is not None:
        raise AssertionError(f"the function is not pure: {why}")
    return True


def OOBChecker() -> Any:
    """A pass that raises ScheduleError where the module surely accesses a buffer outside of its bounds."""

    def check(mod: IRModule) -> IRModule:
        found = ours.find_out_of_bounds(mod)
        if found:
            names = [d.message for d in found]
            raise ScheduleError(
                Diagnostic("out-of-bounds", found[0].message, found[0].span, notes=tuple(names[1:]))
            )
        return mod

    return check


def _identify_memcpy(stmt: Stmt) -> list[Any]:
    """For each loop, outer ones first, the pair of regions that it copies, or why it copies none."""
    answers: list[Any] = []
    for node in reversed(list(walk(stmt))):
        if isinstance(node, For):
            found = ours.identify_memcpy(node)
            answers.append(StringImm(found) if isinstance(found, str) else tuple(found))
    return answers


_ffi_api = SimpleNamespace(_identify_memcpy=_identify_memcpy)

__getattr__ = lacking("tvm.s_tir.analysis")

__all__ = [
    "Expr",
    "IRModule",
    "OOBChecker",
    "PrimFunc",
    "SBlock",
    "Stmt",
    "Var",
    "assert_pure_function",
    "calculate_allocated_bytes",
    "detect_buffer_access_lca",
    "estimate_tir_flops",
    "find_anchor_sblock",
    "get_sblock_access_region",
    "get_sblock_read_write_region",
    "is_pure_function",
    "verify_gpu_code",
    "verify_well_formed",
]

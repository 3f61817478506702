"""Names of the surface that are not supported yet; using one raises an error that names it."""

from __future__ import annotations

from typing import Final

from ...errors import Diagnostic, UnsupportedError
from ..op import script_record

NAMESPACES: Final[frozenset[str]] = frozenset(
    {
        "ptx",
        "metal",
        "webgpu",
        "nvshmem",
        "nki",
        "tile",
        "warp",
        "wg",
        "cta",
        "cluster",
        "cuda.tcgen05",
        "cuda.wgmma",
        "cuda.iket",
    }
)
"""Namespaces below `T` of which every name is waiting."""

NAMES: Final[frozenset[str]] = frozenset(
    {
        "call_kernel",
        "tensormap_encode_tiled",
        "device_entry",
        "cluster_id",
        "cta_id",
        "cta_id_in_cluster",
        "cta_id_in_pair",
        "warpgroup_id",
        "warp_id",
        "warp_id_in_wg",
        "lane_id",
        "thread_id",
        "thread_id_in_wg",
        "scope_id",
        "TileLayout",
        "ComposeLayout",
        "Layout",
        "ExecScope",
        "ScopeIdDef",
        "S",
        "R",
        "Iter",
        "Axis",
        "SMEMPool",
        "TMEMPool",
        "smem",
        "tmem",
        "wg_reg_tile",
        "alloc_tcgen05_ldst_frag",
        "alloc_cast_frag",
        "meta_class",
        "cuda.get_tmem_addr",
        "cuda.mbarrier_wait",
        "cuda.mbarrier_wait_acquire_cluster",
        "cuda.runtime_instr_desc",
        "cuda.sm100_2sm_leader_smem_addr",
        "cuda.smem_addr_from_uint64",
        "cuda.timer_end",
        "cuda.timer_finalize",
        "cuda.timer_init",
        "cuda.timer_start",
        "cuda.wait_until",
    }
)
"""Single names below `T` that are waiting."""


def is_waiting(name: str) -> bool:
    """Whether a dotted name below `T` belongs to the part of the surface that is not supported yet."""
    if name in NAMES or name in NAMESPACES:
        return True
    if script_record(name) is not None:
        return False
    parts = name.split(".")
    return any(".".join(parts[:n]) in NAMESPACES for n in range(1, len(parts)))


def unsupported(name: str) -> UnsupportedError:
    """The error for the use of a waiting name."""
    return UnsupportedError(
        Diagnostic(
            "unsupported",
            f"`T.{name}` is not supported yet",
            notes=("it belongs to the device-specific part of the language, which comes later",),
        )
    )

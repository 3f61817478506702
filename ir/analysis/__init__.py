"""What is computed about programs without changing them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .well_formed import assert_well_formed, check_well_formed

if TYPE_CHECKING:
    from .access import access_regions, read_write_regions
    from .anchor import find_anchor_block
    from .bounds import find_out_of_bounds
    from .cost import estimate_flops
    from .device_code import gpu_faults, verify_gpu_code, verify_memory
    from .lca import detect_buffer_access_lca
    from .liveness import dead_stores, live_ranges
    from .memcpy import identify_memcpy
    from .memory import allocated_bytes, calculate_allocated_bytes
    from .purity import impure_reason, is_pure_function, side_effect
    from .ssa import verify_ssa

_LATER = {
    "access": ("access_regions", "read_write_regions"),
    "anchor": ("find_anchor_block",),
    "bounds": ("find_out_of_bounds",),
    "cost": ("estimate_flops",),
    "device_code": ("gpu_faults", "verify_gpu_code", "verify_memory"),
    "lca": ("detect_buffer_access_lca",),
    "liveness": ("dead_stores", "live_ranges"),
    "memcpy": ("identify_memcpy",),
    "memory": ("allocated_bytes", "calculate_allocated_bytes"),
    "purity": ("impure_reason", "is_pure_function", "side_effect"),
    "ssa": ("verify_ssa",),
}


def __getattr__(name: str) -> Any:
    """The analyses, each loaded when it is first asked for: most programs need few of them."""
    for module, names in _LATER.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


__all__ = [
    "access_regions",
    "allocated_bytes",
    "assert_well_formed",
    "calculate_allocated_bytes",
    "check_well_formed",
    "dead_stores",
    "detect_buffer_access_lca",
    "estimate_flops",
    "find_anchor_block",
    "find_out_of_bounds",
    "gpu_faults",
    "identify_memcpy",
    "impure_reason",
    "is_pure_function",
    "live_ranges",
    "read_write_regions",
    "side_effect",
    "verify_gpu_code",
    "verify_memory",
    "verify_ssa",
]

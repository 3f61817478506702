"""Passes that know blocks: from a scheduled program to plain loops."""

from __future__ import annotations

from importlib import import_module

from . import (
    canonicalize_loop,
    compact_allocation,
    hoist_if,
    init_block,
    loop_partition,
    match_buffer,
    opaque_block,
    plan_allocation,
    software_pipeline,
    tighten_loops,
    virtual_thread,
)

_LATER = (
    "assume_branches",
    "async_copy",
    "auto_copy",
    "bound_checkers",
    "cross_thread_reduction",
    "default_gpu_schedule",
    "device_limits",
    "device_scope",
    "double_buffer",
    "fragments",
    "guarded_loads",
    "hoist_expression",
    "irregular_loop",
    "kernel_memory",
    "local_stage",
    "merge_shared",
    "on_chip",
    "permuted_layout",
    "private_memory",
    "profile",
    "repeated_blocks",
    "split_pattern",
    "store_undef",
    "thread_allreduce",
    "thread_sync",
    "unify_thread_binding",
    "unsafe_select",
    "weight_layout",
)

FOR_DEVICES = (
    "LowerAsyncDMA",
    "LowerVtcmAlloc",
    "VerifyVTCMLimit",
)
"""Passes that only programs for devices need, and that come with their targets."""


def load_all() -> None:
    """Load the modules of the passes that lowering for the CPU does without: they register themselves."""
    for name in _LATER:
        import_module(f".{name}", __name__)


__all__ = [
    "FOR_DEVICES",
    "canonicalize_loop",
    "compact_allocation",
    "hoist_if",
    "init_block",
    "load_all",
    "loop_partition",
    "match_buffer",
    "opaque_block",
    "plan_allocation",
    "software_pipeline",
    "tighten_loops",
    "virtual_thread",
]

"""Passes over plain loops."""

from __future__ import annotations

from importlib import import_module

from . import (
    flatten_buffer,
    hints,
    hoist_start,
    remove_checks,
    remove_no_op,
    stmt_simplify,
    storage_rewrite,
    thread_binding,
    unroll,
    vectorize,
)

_LATER = (
    "bind_target",
    "common_subexpr",
    "convert_ssa",
    "force_narrow_index",
    "inline_private",
    "legalize_compute",
    "legalize_storage",
    "lower_builtin",
    "lower_intrin",
    "narrow_data_type",
    "narrow_index",
    "packed_api",
    "select_functions",
    "split_host_device",
    "vector_elements",
    "verify_memory",
    "warp_memory",
)


def load_all() -> None:
    """Load the modules of the passes that lowering for the CPU does without: they register themselves."""
    for name in _LATER:
        import_module(f".{name}", __name__)


__all__ = [
    "flatten_buffer",
    "hints",
    "hoist_start",
    "load_all",
    "remove_checks",
    "remove_no_op",
    "stmt_simplify",
    "storage_rewrite",
    "thread_binding",
    "unroll",
    "vectorize",
]

"""Passes over plain loops."""

from __future__ import annotations

from . import (
    flatten_buffer,
    hints,
    hoist_start,
    remove_no_op,
    stmt_simplify,
    thread_binding,
    unroll,
    vectorize,
)

__all__ = [
    "flatten_buffer",
    "hints",
    "hoist_start",
    "remove_no_op",
    "stmt_simplify",
    "thread_binding",
    "unroll",
    "vectorize",
]

"""Passes that know blocks: from a scheduled program to plain loops."""

from __future__ import annotations

from . import (
    allocation,
    canonicalize_loop,
    init_block,
    match_buffer,
    opaque_block,
)

__all__ = ["allocation", "canonicalize_loop", "init_block", "match_buffer", "opaque_block"]

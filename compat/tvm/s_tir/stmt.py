"""`tvm.s_tir.stmt`: blocks."""

from __future__ import annotations

from typing import Any

from .... import ir
from ....ir import MatchBufferRegion, SBlockRealize
from ...adapters import adapts, lacking


@adapts(ir.SBlock)
def SBlock(
    iter_vars: Any,
    reads: Any,
    writes: Any,
    name_hint: str,
    body: Any,
    init: Any = None,
    alloc_buffers: Any = None,
    match_buffers: Any = None,
    annotations: Any = None,
    span: Any = None,
) -> Any:
    """A block."""
    return ir.SBlock(
        iter_vars,
        reads,
        writes,
        name_hint,
        body,
        init,
        alloc_buffers or (),
        match_buffers or (),
        annotations or {},
    )


__getattr__ = lacking("tvm.s_tir.stmt")

__all__ = ["MatchBufferRegion", "SBlock", "SBlockRealize"]

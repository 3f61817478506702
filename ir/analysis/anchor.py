"""The block that matters most in a module."""

from __future__ import annotations

from ...node import runs_deep
from ..function import IRModule, PrimFunc
from ..stmt import SBlock
from ..visitor import walk
from .cost import estimate_flops


@runs_deep
def find_anchor_block(mod: IRModule) -> SBlock | None:
    """The block with an initialiser; of several the one that computes most; None where none has one."""
    best: SBlock | None = None
    most = -1.0
    for func in mod.functions.values():
        if not isinstance(func, PrimFunc):
            continue
        for node in walk(func.body):
            if isinstance(node, SBlock) and node.init is not None:
                work = _work(node)
                if work > most:
                    best, most = node, work
    return best


def _work(block: SBlock) -> float:
    """The operations of a block over the whole of its axes."""
    work = estimate_flops(block)
    for axis in block.iter_vars:
        extent = axis.dom.extent if axis.dom is not None else None
        work *= getattr(extent, "value", 1)
    return work


__all__ = ["find_anchor_block"]

"""How much memory a program asks for."""

from __future__ import annotations

from ...node import runs_deep
from ..arith import Analyzer
from ..expr import Var
from ..function import IRModule, PrimFunc
from ..stmt import AllocBuffer, SBlock
from ..types import BufferType
from ..visitor import walk

Sizes = dict[str, int]
"""Bytes by storage scope."""


@runs_deep
def allocated_bytes(func: PrimFunc) -> Sizes:
    """The bytes that the function allocates, by storage scope: the sum over all its allocations.

    An allocation of symbolic size counts with the largest size that its expression can have where
    that is bounded by more than its type, else not at all.  What stands in a loop counts once.
    """
    ana = Analyzer()
    total: Sizes = {}
    for node in walk(func.body):
        if isinstance(node, AllocBuffer):
            _add(total, node.buffer, ana)
        elif isinstance(node, SBlock):
            for buffer in node.alloc_buffers:
                _add(total, buffer, ana)
    return total


def calculate_allocated_bytes(program: PrimFunc | IRModule) -> dict[str, Sizes]:
    """`allocated_bytes` of each function by name; one alone is called by its global symbol, or `main`."""
    if isinstance(program, PrimFunc):
        return {str(program.attrs.get("global_symbol", "main")): allocated_bytes(program)}
    return {g.name: allocated_bytes(f) for g, f in program.functions.items() if isinstance(f, PrimFunc)}


def _add(total: Sizes, buffer: Var, ana: Analyzer) -> None:
    size = buffer_bytes(buffer, ana)
    if size is not None:
        scope = _scope(buffer)
        total[scope] = total.get(scope, 0) + size


def _scope(buffer: Var) -> str:
    ty = buffer.ty
    assert isinstance(ty, BufferType)
    return ty.storage_scope


def buffer_bytes(buffer: Var, ana: Analyzer | None = None) -> int | None:
    """The bytes that the elements of a compact buffer take; None where the shape has no bound."""
    ty = buffer.ty
    assert isinstance(ty, BufferType)
    known = ana or Analyzer()
    count = 1
    for extent in ty.shape:
        bound = known.const_int_bound(extent)
        if bound.max >= extent.dtype.max_value:
            return None
        count *= max(bound.max, 0)
    return (count * ty.dtype.bits * ty.dtype.lanes + 7) // 8


__all__ = ["Sizes", "allocated_bytes", "buffer_bytes", "calculate_allocated_bytes"]

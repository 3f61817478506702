"""What evaluating an expression, or calling a function, may do besides giving a value."""

from __future__ import annotations

from ...node import Node, runs_deep
from ..expr import BufferLoad, Call, Expr, Var
from ..function import PrimFunc
from ..op import Effect, Op, find_record
from ..stmt import AllocBuffer, BufferStore, DeclBuffer, MatchBufferRegion, SBlock
from ..types import BufferType
from ..visitor import walk


@runs_deep
def side_effect(e: Node) -> Effect:
    """The strongest effect of evaluating it: PURE, READ, UPDATE or beyond.

    A call of an operator that nobody registered, or of a function, counts as UPDATE.
    """
    strongest = Effect.PURE
    for node in walk(e):
        if isinstance(node, BufferLoad):
            found = Effect.READ
        elif isinstance(node, Call):
            found = call_effect(node)
        else:
            continue
        strongest = max(strongest, found)
    return strongest


def call_effect(call: Call) -> Effect:
    """The effect of the call itself, its arguments apart."""
    record = find_record(call.op.name) if isinstance(call.op, Op) else None
    return Effect.UPDATE if record is None else record.effect


_DANGEROUS = (Effect.UPDATE, Effect.EMBED, Effect.CONTROL)


@runs_deep
def impure_reason(func: PrimFunc) -> Node | None:
    """The first thing that a function does to the world outside it; None: nothing, it is pure.

    Writing to memory that the function itself allocates is no effect.
    """
    own: set[Var] = set()
    for node in walk(func.body):
        if isinstance(node, AllocBuffer):
            own.add(node.buffer)
        elif isinstance(node, SBlock):
            own.update(node.alloc_buffers)
    for node in walk(func.body):
        # names of memory that is the function's own are its own
        if isinstance(node, DeclBuffer) and _root(node.data) in own:
            own.add(node.buffer)
        elif isinstance(node, MatchBufferRegion) and node.source.buffer in own:
            own.add(node.buffer)
    for node in walk(func.body):
        if isinstance(node, BufferStore):
            if node.buffer not in own:
                return node
        elif isinstance(node, Call) and call_effect(node) in _DANGEROUS and not _stays_inside(node, own):
            return node
    return None


def _root(data: Expr) -> Var | None:
    while isinstance(data, Call) and data.args:
        data = data.args[0]
    return data if isinstance(data, Var) else None


def _stays_inside(call: Call, own: set[Var]) -> bool:
    """Whether the call is a write through the function's own buffers and returns as usual."""
    name = call.op.name if isinstance(call.op, Op) else ""
    if name == "tirx.ret":
        return True
    if name != "tirx.masked_store":
        return False
    first = call.args[0]
    return isinstance(first, Var) and isinstance(first.ty, BufferType) and first in own


def is_pure_function(func: PrimFunc) -> bool:
    """Whether calling the function does nothing but give its value."""
    return impure_reason(func) is None


__all__ = ["call_effect", "impure_reason", "is_pure_function", "side_effect"]

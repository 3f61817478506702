"""Values that cost less to compute again than to store."""

from __future__ import annotations

from ....ir import BufferLoad, Call, Cast, Div, Expr, SBlock, Var, walk
from ....ir.op import Op
from ...handles import SBlockRV
from ...schedule import Schedule
from ..machine import Machine
from ..program import Facts, facts, uses
from ..rule import Taken, root_scope

_CHEAP_CALLS = frozenset({"prim.if_then_else", "prim.likely", "prim.fabs", "prim.abs"})


def inline_producer(sch: Schedule, block: SBlockRV, machine: Machine) -> Taken | None:
    """A block whose values are moved or cheap goes into the blocks that read them.

    A value that is read more than once is computed again only where that costs next to nothing;
    what only moves values (a cast, a transposed view, a broadcast) always goes.

    before:
        for i, j in T.grid(8, 8):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1.0
        for i, j in T.grid(8, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] * 2.0
    after:
        for i, j in T.grid(8, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = (A[vi, vj] + 1.0) * 2.0
    """
    found = facts(sch, block)
    store = found.store
    scope = root_scope(sch)
    if store is None or found.block.init is not None or found.block.annotations or found.reduced:
        return None
    if not scope.allocates(store.buffer):
        return None
    consumers = [facts(sch, SBlockRV(ref)) for ref in scope.consumers(block.target)]
    if not consumers or not _is_worth_it(found, store.value, consumers):
        return None
    sch.compute_inline(block)
    names = ", ".join([f"`{c.block.name_hint}`" for c in consumers])
    return Taken((block,), f"its values are cheap to compute where {names} reads them")


def _is_worth_it(found: Facts, value: Expr, consumers: list[Facts]) -> bool:
    store = found.store
    assert store is not None
    if _only_moves(value):
        return True
    for consumer in consumers:
        if any(_reads_again(consumer, load) for load in consumer.loads() if load.buffer is store.buffer):
            return False
    return len(consumers) == 1 and _reads(consumers[0], store.buffer) == 1 or not is_expensive(value)


def _only_moves(value: Expr) -> bool:
    while isinstance(value, Cast):
        value = value.value
    return isinstance(value, BufferLoad)


def _reads(consumer: Facts, buffer: Var) -> int:
    return len([load for load in consumer.loads() if load.buffer is buffer])


def _reads_again(consumer: Facts, load: BufferLoad) -> bool:
    """Whether iterations of the block read the same element: an axis is missing, or two are added."""
    block: SBlock = consumer.block
    axes = [v.var for v in block.iter_vars]
    for axis in axes:
        if not any(uses(i, axis) for i in load.indices):
            return True
    return any(len([a for a in axes if uses(i, a)]) > 1 for i in load.indices)


def is_expensive(value: Expr) -> bool:
    """Whether the value takes more than some additions and multiplications: a division, a function."""
    for node in walk(value):
        if isinstance(node, Div):
            return True
        if isinstance(node, Call) and isinstance(node.op, Op) and node.op.name not in _CHEAP_CALLS:
            return True
    return False

"""Stores that go past the caches, where a loop's annotation `streaming` asks for them.

What is written and not read again soon need not be brought into a cache first, which halves the traffic of
writing.  Processors do so only for whole aligned vectors, so each store looks at its address.
"""

from __future__ import annotations

from ...ir import BufferLoad, BufferStore, For, Var
from ...ir.visitor import walk
from .expr import Expressions
from .types import lane_bytes, memory_type

STREAMING = "streaming"
_SMALLEST, _LARGEST = 16, 64


def streamed(loop: For) -> frozenset[Var]:
    """The buffers that the loop's body writes and does not read, where its annotation asks to stream them."""
    if STREAMING not in loop.annotations:
        return frozenset()
    nodes = list(walk(loop.body))
    read = {n.buffer for n in nodes if isinstance(n, BufferLoad)}
    return frozenset({n.buffer for n in nodes if isinstance(n, BufferStore)} - read)


def stream(m: Expressions, s: BufferStore, raw: str, address: str, align: int) -> None:
    """Store a vector past the caches if its address allows; else as usual."""
    dtype = s.value.dtype
    size = lane_bytes(dtype) * dtype.lanes
    text = f"store {memory_type(dtype)} {raw}, ptr {address}, align "
    if dtype.scalable or size < _SMALLEST or size % _SMALLEST:
        m.code.do(f"{text}{align}")
        return
    wanted = min(_LARGEST, size & -size)
    place = m.code.op(f"and i64 {m.code.op(f'ptrtoint ptr {address} to i64')}, {wanted - 1}")
    past, usual, join = m.code.name("past"), m.code.name("usual"), m.code.name("stored")
    m.code.branch(m.code.op(f"icmp eq i64 {place}, 0"), past, usual)
    m.code.label(past)
    m.code.do(f"{text}{wanted}{m.unit.nontemporal()}")
    m.code.jump(join)
    m.code.label(usual)
    m.code.do(f"{text}{align}")
    m.code.jump(join)
    m.code.label(join)


def settle(m: Expressions) -> None:
    """After a loop that streams: other threads see its stores before those that follow."""
    if m.context.machine.arch == "x86_64":
        m.code.do(f"call void {m.unit.declare('llvm.x86.sse.sfence', 'void ()')}()")

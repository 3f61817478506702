"""Loops around one store, taken apart and put together anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ....ir import (
    LT,
    BufferLoad,
    BufferStore,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    IterVar,
    SBlock,
    Stmt,
    Var,
    const,
)
from ....ir.arith import Analyzer
from ....ir.visitor import substitute, walk
from ...common import buffer_type, is_const, plus, refuse, times

AUTO: Final = "auto_copy"
WARP: Final = 32
Threads = Mapping[str, int]
"""The thread axes around, `threadIdx.y` and the like, with their extents."""


@dataclass(frozen=True, eq=False)
class Nest:
    """A block that copies: its loops, outermost first, and the one store in them."""

    block: SBlock
    loops: tuple[For, ...]
    store: BufferStore

    @property
    def target(self) -> Var:
        """The buffer that is written."""
        return self.store.buffer

    def sources(self) -> list[BufferLoad]:
        """The loads of the stored value."""
        return [n for n in walk(self.store.value) if isinstance(n, BufferLoad)]

    def fault(self, text: str) -> Exception:
        """The error for a block that cannot be lowered."""
        return refuse("auto-copy", f"block `{self.block.name_hint}`: {text}", self.block)


def nest_of(block: SBlock) -> Nest | None:
    """The parts of a block marked `auto_copy`; None where it is lowered already.

    Raises PassError where it is no nest of constant loops around one store.
    """
    loops: list[For] = []
    body: Stmt = block.body
    while isinstance(body, For):
        if body.kind is ForKind.THREAD_BINDING:
            return None
        loops.append(body)
        body = body.body
    if block.alloc_buffers and not isinstance(body, BufferStore):
        return None
    plain = isinstance(body, BufferStore) and not block.iter_vars and not block.match_buffers
    if not isinstance(body, BufferStore) or not plain or not loops:
        text = f"block `{block.name_hint}` is marked `{AUTO}`, but is no store in loops"
        raise refuse("auto-copy", text, block)
    for loop in loops:
        fits = is_const(loop.min, 0) and isinstance(loop.extent, IntImm) and loop.step is None
        if not fits or loop.kind is not ForKind.SERIAL:
            text = f"block `{block.name_hint}` is marked `{AUTO}`, but its loop over `{loop.loop_var.name}`"
            raise refuse("auto-copy", f"{text} is not a serial one of a constant extent from 0", loop)
    return Nest(block, tuple(loops), body)


def extent_of(loop: For) -> int:
    """The extent of a loop of a nest."""
    assert isinstance(loop.extent, IntImm)
    return loop.extent.value


@dataclass(frozen=True, eq=False)
class Shared:
    """Iterations shared among threads: rounds, the thread axes, and the elements that one thread takes."""

    rounds: Var
    axes: tuple[tuple[str, Var, int], ...]
    lane: Var
    count: int
    lanes: int

    @property
    def number(self) -> Expr:
        """The number of the iteration."""
        at: Expr = self.rounds
        for _, var, extent in self.axes:
            at = plus(times(at, const(extent, var.dtype)), var)
        return plus(times(at, const(self.lanes, self.lane.dtype)), self.lane)

    @property
    def full(self) -> int:
        """How many rounds there are."""
        step = self.lanes
        for _, _, extent in self.axes:
            step *= extent
        return -(-self.count // step)

    def guarded(self, body: Stmt) -> Stmt:
        """The body where the number is one of an iteration."""
        step = self.lanes
        for _, _, extent in self.axes:
            step *= extent
        if self.count % step == 0:
            return body
        return IfThenElse(LT(self.number, const(self.count, self.lane.dtype)), body)

    def inner(self, body: Stmt) -> Stmt:
        """The loop over the elements of one thread."""
        return _loop(self.lane, self.lanes, ForKind.VECTORIZED, body)

    def by_rounds(self, body: Stmt) -> Stmt:
        """The loop over the rounds."""
        return _loop(self.rounds, self.full, ForKind.SERIAL, body)

    def by_threads(self, body: Stmt) -> Stmt:
        """The loops over the threads."""
        for tag, var, extent in reversed(self.axes):
            axis = IterVar(None, Var("", var.ty), IterVar.THREAD_INDEX, tag)
            zero, size = const(0, var.dtype), const(extent, var.dtype)
            body = For(var, zero, size, ForKind.THREAD_BINDING, body, None, axis)
        return body


def shared_among(threads: Threads, count: int, lanes: int, dtype: Any) -> Shared:
    """`count` iterations for these threads, `lanes` at a time each."""
    name = "fused"

    def var(k: int) -> Var:
        return Var(f"{name}_{k}", const(0, dtype).ty)

    order = [tag for tag in ("threadIdx.z", "threadIdx.y", "threadIdx.x") if tag in threads]
    axes = tuple([(tag, var(k + 1), threads[tag]) for k, tag in enumerate(order)])
    return Shared(var(0), axes, var(len(order) + 1), count, lanes)


def unfused(number: Expr, extents: Sequence[int]) -> list[Expr]:
    """The values of nested loops, outermost first, in the iteration of this number."""
    found: list[Expr] = []
    for extent in reversed(extents):
        size = const(extent, number.dtype)
        found.append(FloorMod(number, size))
        number = FloorDiv(number, size)
    return found[::-1]


def address(buffer: Var, indices: Sequence[Expr], strides: Sequence[int] | None = None) -> Expr | None:
    """The number of an element in memory; None where strides are not known as constants."""
    ty = buffer_type(buffer)
    if strides is None:
        given = ty.strides or compact(ty.shape)
        if given is None or not all(isinstance(s, IntImm) for s in given):
            return None
        strides = [s.value for s in given if isinstance(s, IntImm)]
    total: Expr = const(0, indices[0].dtype if indices else "int32")
    for index, stride in zip(indices, strides, strict=True):
        total = plus(total, times(index, const(stride, index.dtype)))
    return total


def compact(shape: Sequence[Expr]) -> list[Expr] | None:
    """The strides of a row-major array, if all but the first extent are constants."""
    strides: list[Expr] = []
    step = 1
    for extent in reversed(shape):
        strides.append(const(step, extent.dtype))
        if not isinstance(extent, IntImm):
            return strides[::-1] if len(strides) == len(shape) else None
        step *= extent.value
    return strides[::-1]


def step_of(e: Expr, var: Var, ana: Analyzer) -> int | None:
    """By how much the expression grows with the variable, from 0 to 1; None where that is no constant."""
    zero, one = const(0, var.dtype), const(1, var.dtype)
    grown = ana.simplify(substitute(e, {var: one}) - substitute(e, {var: zero}))
    return grown.value if isinstance(grown, IntImm) else None


def _loop(var: Var, extent: int, kind: ForKind, body: Stmt) -> Stmt:
    return For(var, const(0, var.dtype), const(extent, var.dtype), kind, body)

"""Blocks: axes, loops around them, regions, initialisers, allocations and views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...ir import (
    BufferRegion,
    BufferStore,
    BufferType,
    Expr,
    For,
    ForKind,
    IntImm,
    IterVar,
    MatchBufferRegion,
    PrimType,
    Range,
    SBlock,
    SBlockRealize,
    Stmt,
    Var,
    const,
    seq,
)
from ...node import Attrs
from .draw import Source
from .expressions import BOOL, INT32, draw_expr
from .scalars import draw_name
from .scope import Scope, buffer_type

Nested = Callable[..., Stmt]
KINDS = (IterVar.DATA_PAR, IterVar.COMM_REDUCE, IterVar.ORDERED, IterVar.OPAQUE)


def draw_block(source: Source, scope: Scope, nested: Nested) -> Stmt:
    """A block inside loops of its own, bound one to one (mostly), its accesses declared in full."""
    count = source.integer(0, 2)
    extents = [source.integer(1, 4) for _ in range(count)]
    loops = [Var(draw_name(source), PrimType(INT32)) for _ in extents]
    axes = [
        IterVar(Range(0, e), Var(draw_name(source), PrimType(INT32)), source.pick(KINDS)) for e in extents
    ]
    inside = _inside(scope, axes, extents)
    block = _block(source, inside, axes, nested)
    values: list[Expr] = list(loops)
    predicate = const(True, BOOL)
    if not scope.executable:
        outer = scope
        for var, e in zip(loops, extents):
            outer = outer.with_scalar(var, 0, e - 1)
        if source.chance(4):
            values = [draw_expr(source, outer, INT32, 1) for _ in loops]
        if source.chance(4):
            predicate = draw_expr(source, outer, BOOL, 2)
    realize: Stmt = SBlockRealize(values, predicate, block)
    for var, extent in zip(reversed(loops), reversed(extents)):
        kind = ForKind.SERIAL if scope.executable or not source.chance(6) else ForKind.PARALLEL
        realize = For(var, 0, extent, kind, realize)
    return realize


def _inside(scope: Scope, axes: list[IterVar], extents: list[int]) -> Scope:
    """The body of a block sees its axes, and of the outside only what is no loop variable."""
    outer_scalars = tuple(v for v in scope.scalars if v not in scope.bounds)
    inside = replace(scope, scalars=outer_scalars, bounds={}, in_loop=False)
    for axis, extent in zip(axes, extents):
        inside = inside.with_scalar(axis.var, 0, extent - 1)
    return inside


def _block(source: Source, scope: Scope, axes: list[IterVar], nested: Nested) -> SBlock:
    from .programs import draw_buffer
    from .statements import _fill

    allocs: list[Var] = []
    matches: list[MatchBufferRegion] = []
    before: list[Stmt] = []
    outer = scope
    if source.chance(4):
        allocs.append(draw_buffer(source, (), scope.executable))
        scope = scope.with_buffer(allocs[0])
        if scope.executable:
            before.append(_fill(source, scope, allocs[0]))
    if source.chance(6) and outer.buffers:
        matches.append(_match(source, source.pick(outer.buffers)))
        scope = scope.with_buffer(matches[0].buffer)
    init = None
    if any(a.iter_type == IterVar.COMM_REDUCE for a in axes) and outer.buffers:
        init = _init(source, scope, outer.buffers)
    body = seq([*before, nested(source, scope)])
    regions = [_whole(b) for b in outer.buffers]
    if not scope.executable and source.chance(3):
        regions = [_part(source, r) for r in regions]
    annotations: dict[str, Any] = {}
    if source.chance(4):
        annotations[source.pick(("k", "tir.tile", "x.y"))] = source.pick(
            (1, "s", True, ("a",), Attrs({"b": 2}))
        )
    return SBlock(axes, regions, regions, draw_name(source), body, init, allocs, matches, annotations)


def _init(source: Source, scope: Scope, buffers: tuple[Var, ...]) -> Stmt:
    from .expressions import draw_indices

    buffer = source.pick(buffers)
    value = const(0, buffer.dtype) if scope.executable else draw_expr(source, scope, buffer.dtype, 1)
    return BufferStore(buffer, value, draw_indices(source, scope, buffer))


def _whole(buffer: Var) -> BufferRegion:
    return BufferRegion(buffer, [Range(const(0, e.dtype), e) for e in buffer_type(buffer).shape])


def _part(source: Source, region: BufferRegion) -> BufferRegion:
    def part(r: Range) -> Range:
        if not isinstance(r.extent, IntImm):
            return r
        low = source.integer(0, r.extent.value - 1)
        return Range(
            const(low, r.extent.dtype), const(source.integer(1, r.extent.value - low), r.extent.dtype)
        )

    return BufferRegion(region.buffer, [part(r) for r in region.region])


def _match(source: Source, origin: Var) -> MatchBufferRegion:
    ty = buffer_type(origin)
    region = _whole(origin)
    view = BufferType(ty.dtype, ty.shape, storage_scope=ty.storage_scope)
    return MatchBufferRegion(Var(draw_name(source), view), region)

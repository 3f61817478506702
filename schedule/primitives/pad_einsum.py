"""Rounding up the domain of a block by padding what it reads and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...ir import (
    LE,
    LT,
    And,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Expr,
    IntImm,
    IterVar,
    Range,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Var,
    ceildiv,
    const,
    find,
)
from ...ir.analysis.blocks import ChildBlock, local_scope
from ...ir.arith import Analyzer
from ...ir.operators import mul
from ...ir.types import BufferType
from ...ir.visitor import Rewriter
from ..handles import SBlockRV
from ..legality import complete_or_reduction, stage_pipeline
from ..legality_padding import beside_reason, einsum_reason, first_growing, trivial_nest_reason
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import serial_loops
from ..state import State, identity
from .cache_read import statement_at


@primitive()
def pad_einsum(state: State, block: SBlockRV, padding: Sequence[int]) -> State:
    """Let the axes of a block run to multiples of these numbers; what it reads is padded with zeros.

    What it writes is cut back to the old size.  Every handle is kept.

    buffers: A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")
    before:
        for i in range(10):
            with T.sblock("B"):
                vi = T.axis.spatial(10, i)
                B[vi] = A[vi] * 2.0
    steps:
        sch.pad_einsum("B", [8])
    after:
        A_pad = T.sblock_alloc_buffer((16,))
        B_pad = T.sblock_alloc_buffer((16,))
        for i0 in range(16):
            with T.sblock("A_pad"):
                v0 = T.axis.spatial(16, i0)
                A_pad[v0] = T.if_then_else(v0 < 10, A[v0], T.float32(0))
        for i in range(16):
            with T.sblock("B"):
                vi = T.axis.spatial(16, i)
                B_pad[vi] = A_pad[vi] * 2.0
        for i0 in range(10):
            with T.sblock("B_pad"):
                v0 = T.axis.spatial(10, i0)
                B[v0] = B_pad[v0]
    """
    root, scope, child = state.standing(block)
    old = child.block
    if len(padding) != len(old.iter_vars) or any(int(p) <= 0 for p in padding):
        text = (
            f"`padding` must be {len(old.iter_vars)} positive numbers, one for each axis of `{old.name_hint}`"
        )
        raise refuse("padding", text, old)
    extents = _extents(old, padding)
    if not extents:
        return state
    demand(trivial_nest_reason(scope, child, extents))
    demand(stage_pipeline(state, child.ref))
    if state.check:
        alone = local_scope(child.loops[0] if child.loops else child.realize)
        demand(complete_or_reduction(alone, old))
    demand(einsum_reason(old, list(extents)))
    padded = _padded_buffers(old, extents)
    before: list[Stmt] = []
    after: list[Stmt] = []
    written = {r.buffer for r in old.writes}
    for buffer, (new, indices) in padded.items():
        if buffer in written:
            after.append(_copy(f"{buffer.name}_pad", new, buffer, indices, old, extents, grow=False))
        else:
            before.append(_copy(f"{buffer.name}_pad", buffer, new, indices, old, extents, grow=True))
    demand(beside_reason(scope, child, padded))
    first = first_growing(child, extents)
    grown = _nest(child, first, extents, {b: new for b, (new, _) in padded.items()})
    state = state.replace(child.loops[first] if first < len(child.loops) else child.realize, grown)
    if before or after:
        top = state.place(identity(statement_at(child, 0))).node
        state = state.replace(top, SeqStmt([*before, top, *after]))
    outer = state.block(root)
    made = [new for new, _ in padded.values()]
    return state.replace_block(root, outer.replace(alloc_buffers=[*outer.alloc_buffers, *made]))


def _extents(block: SBlock, padding: Sequence[int]) -> dict[Var, Expr]:
    """The new extents of the axes that grow."""
    ana = Analyzer()
    found: dict[Var, Expr] = {}
    for axis, p in zip(block.iter_vars, padding):
        assert axis.dom is not None
        by = const(int(p), axis.dom.extent.dtype)
        new = ana.simplify(mul(ceildiv(axis.dom.extent, by), by))
        if not ana.can_prove_equal(new, axis.dom.extent):
            found[axis.var] = new
    return found


def _padded_buffers(block: SBlock, extents: Mapping[Var, Expr]) -> dict[Var, tuple[Var, Sequence[Expr]]]:
    """For each buffer that grows: the new one, and the indices at which the block accesses it."""
    found: dict[Var, tuple[Var, Sequence[Expr]]] = {}
    domains = {a.var: a.dom for a in block.iter_vars}
    stores = find(block, BufferStore)
    accesses: list[BufferLoad | BufferStore] = [*find(block, BufferLoad), *stores]
    for access in accesses:
        buffer, indices = access.buffer, access.indices
        if not any(isinstance(i, Var) and i in extents for i in indices):
            continue
        ty = buffer.ty
        assert isinstance(ty, BufferType)
        shape: list[Expr] = []
        for index, size in zip(indices, ty.shape):
            dom = domains.get(index) if isinstance(index, Var) else None
            if dom is None and not (isinstance(index, IntImm) and index.value == 0):
                text = f"`{buffer.name}` is accessed at a constant index that is not 0"
                raise refuse("index-pattern", text, access)
            grown = extents.get(index) if isinstance(index, Var) else None
            shape.append(size if dom is None else dom.extent if grown is None else grown)
        known = found.get(buffer)
        if known is None:
            made = BufferType(ty.dtype, shape, storage_scope=ty.storage_scope)
            found[buffer] = (Var(buffer.name + "_pad", made), indices)
        elif not all(a is b or _constant(a, b) for a, b in zip(known[1], indices)):
            text = f"`{buffer.name}` is accessed with different axes"
            raise refuse("index-pattern", text, access)
    return {b: found[b] for b in sorted(found, key=lambda b: any(s.buffer is b for s in stores))}


def _constant(a: Expr, b: Expr) -> bool:
    return isinstance(a, IntImm) and isinstance(b, IntImm) and a.value == b.value


def _copy(
    name: str,
    source: Var,
    target: Var,
    accessed: Sequence[Expr],
    block: SBlock,
    extents: Mapping[Var, Expr],
    *,
    grow: bool,
) -> Stmt:
    """A nest that copies one buffer to the other: with zeros around it, or only what fits."""
    domains = {a.var: a.dom for a in block.iter_vars}
    axes: list[IterVar] = []
    loops: list[Var] = []
    sizes: list[Expr] = []
    inside: Expr | None = None
    ana = Analyzer()
    ty = source.ty
    assert isinstance(ty, BufferType)
    shape = ty.shape
    for k, index in enumerate(accessed):
        dom = domains.get(index) if isinstance(index, Var) else None
        old: Expr = const(1, index.dtype) if dom is None else dom.extent
        new = extents.get(index) if isinstance(index, Var) else None
        size = new if grow and new is not None else old
        var = Var(f"v{k}", index.ty)
        axes.append(IterVar(Range(const(0, var.dtype), size), var, 0))
        loops.append(Var(f"i{k}", index.ty))
        sizes.append(size)
        limits = [old] if grow and new is not None else []
        if grow and dom is not None and not ana.can_prove(LE(old, shape[k])):
            limits = [shape[k]] if ana.can_prove(LE(shape[k], old)) else [*limits, shape[k]]
        for limit in limits:
            part = LT(var, limit)
            inside = part if inside is None else And(inside, part)
    variables = [a.var for a in axes]
    value: Expr = BufferLoad(source, variables)
    if inside is not None:
        value = Call("prim.if_then_else", (inside, value, const(0, value.dtype)), value.ty)
    here = [Range(v, const(1, v.dtype)) for v in variables]
    made = SBlock(
        axes,
        [BufferRegion(source, here)],
        [BufferRegion(target, here)],
        name,
        BufferStore(target, value, variables),
    )
    return serial_loops(loops, sizes, SBlockRealize(loops, const(1, "bool"), made))


class _Swap(Rewriter):
    """Replaces buffers by others."""

    def __init__(self, buffers: Mapping[Var, Var]) -> None:
        super().__init__()
        self.vars.update(buffers)


def _nest(child: ChildBlock, first: int, extents: Mapping[Var, Expr], buffers: Mapping[Var, Var]) -> Stmt:
    """The block's loops from number `first` on, over the new domains and buffers."""
    by_loop = {
        v: extents[a.var]
        for a, v in zip(child.block.iter_vars, child.realize.iter_values)
        if a.var in extents and isinstance(v, Var)
    }
    block = _Swap(buffers)(child.block.replace(iter_vars=()))
    axes = [
        a.replace(dom=Range(a.dom.min, extents[a.var])) if a.var in extents and a.dom is not None else a
        for a in child.block.iter_vars
    ]
    stmt: Stmt = child.realize.replace(block=block.replace(iter_vars=axes))
    for lp in reversed(child.loops[first:]):
        extent = by_loop.get(lp.loop_var)
        stmt = lp.replace(body=stmt) if extent is None else lp.replace(body=stmt, extent=extent)
    return stmt

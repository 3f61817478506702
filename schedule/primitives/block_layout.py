"""Running a block over other axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import LoopwrightError
from ...ir import (
    BufferLoad,
    BufferRegion,
    BufferStore,
    Cast,
    Expr,
    For,
    IndexMap,
    IntImm,
    IterVar,
    Range,
    Rewriter,
    SBlock,
    SBlockRealize,
    Var,
    const,
    walk,
)
from ...ir.analysis.blocks import is_reduction, is_spatial
from ...ir.arith import Analyzer
from ...ir.visitor import substitute
from ..handles import SBlockRV
from ..index_maps import index_map_of, read_map, with_names
from ..legality import chain_reason, reorder_block_reason, starts_at_zero_reason
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import is_true, serial_loops
from ..state import State


def _prepare(state: State, arguments: dict[str, Any]) -> dict[str, Any]:
    node = state.block(arguments["block"])
    dtype = node.iter_vars[0].var.dtype if node.iter_vars else "int32"
    made = index_map_of(arguments["index_map"], len(node.iter_vars), node, dtype=dtype)
    return {**arguments, "index_map": with_names(made, state, arguments["block"])}


@primitive(
    prepare=_prepare,
    decode=lambda inputs, attrs: {"block": inputs[0], "index_map": read_map(attrs[0])},
)
def transform_block_layout(state: State, block: SBlockRV, index_map: IndexMap | Callable[..., Any]) -> State:
    """Run a block over the axes that an index map, which is one to one, makes of its axes.

    The loops that bound the axes are consumed, with their kinds and annotations; the new ones are serial.
    All other handles are kept.

    buffers: A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")
    before:
        for i, j in T.grid(8, 16):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1.0
    steps:
        sch.transform_block_layout("B", lambda i, j: (i * 16 + j,))
    after:
        for ax0 in range(128):
            with T.sblock("B"):
                v0 = T.axis.spatial(128, ax0)
                B[v0 // 16, v0 % 16] = A[v0 // 16, v0 % 16] + 1.0
    """
    assert isinstance(index_map, IndexMap)
    realize = state.realize(block)
    node = realize.block
    loops = _bound_loops(state, realize, state.loops(block))
    if loops and state.check:
        scope = state.scope_around(block)
        demand(reorder_block_reason(scope, scope.children[block.target], loops[0]))
    kinds = [_kind(node, index_map, e) for e in index_map.final_indices]
    by_var = {lp.loop_var: lp for lp in loops}
    extents = [by_var[v].extent for v in realize.iter_values if isinstance(v, Var)]
    inverse, shape = _inverted(index_map, extents, node)
    new_loops = [Var(f"ax{k}", n.ty) for k, n in enumerate(shape)]
    axes = [
        IterVar(Range(const(0, n.dtype), n), Var(f"v{k}", n.ty), kind)
        for k, (n, kind) in enumerate(zip(shape, kinds))
    ]
    ana = Analyzer()
    for a in axes:
        if a.dom is not None:
            ana.bind(a.var, a.dom)
    values = inverse.map_indices([a.var for a in axes], ana) if axes else list(inverse.final_indices)
    table = {a.var: _typed(v, a.var) for a, v in zip(node.iter_vars, values)}
    for new, e in zip(axes, index_map.final_indices):
        # An axis that the map keeps stays in sight, even if it has one value only.
        for old, v in zip(node.iter_vars, index_map.initial_indices):
            if e is v:
                table[old.var] = _typed(new.var, old.var)
    plain = _PlainIndices(ana)(substitute(node.replace(iter_vars=()), table))
    made: SBlock = plain.replace(iter_vars=axes)
    inner = SBlockRealize(new_loops, realize.predicate, made)
    stands = loops[0] if loops else realize
    return state.replace(stands, serial_loops(new_loops, shape, inner))


class _PlainIndices(Rewriter):
    """Simplifies the indices of accesses and regions by what the analyzer knows; other values stay."""

    def __init__(self, ana: Analyzer) -> None:
        super().__init__()
        self.ana = ana

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        """A load at simpler indices."""
        return self._simpler(self.visit_fields(e))

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        """A store at simpler indices."""
        return self._simpler(self.visit_fields(stmt))

    def visit_BufferRegion(self, region: BufferRegion) -> Any:
        """A box with simpler bounds."""
        ranges = [Range(self.ana.simplify(r.min), self.ana.simplify(r.extent)) for r in region.region]
        return region.replace(region=ranges)

    def _simpler(self, access: Any) -> Any:
        indices = tuple([self.ana.simplify(i) for i in access.indices])
        same = all(a is b for a, b in zip(indices, access.indices))
        return access if same else access.replace(indices=indices)


def _typed(value: Expr, like: Var) -> Expr:
    if value.ty is like.ty:
        return value
    return const(value.value, like.dtype) if isinstance(value, IntImm) else Cast(like.ty, value)


def _inverted(index_map: IndexMap, extents: Sequence[Expr], node: SBlock) -> tuple[IndexMap, list[Expr]]:
    """The inverse map, and the extents of the new axes. Raises Refused where the map is not one to one."""
    try:
        return index_map.inverse(extents), index_map.map_shape(extents)
    except LoopwrightError as err:
        text = f"the index map is no one-to-one affine map of the axes of block `{node.name_hint}`"
        raise refuse("index-map", text, node, note=str(err.diagnostics[0].message)) from err


def _bound_loops(state: State, realize: SBlockRealize, around: Sequence[For]) -> list[For]:
    """The loops that the axes are bound to: the innermost ones around the block, and nothing else in them."""
    node = realize.block
    by_var = {lp.loop_var: lp for lp in around}
    bound: list[Var] = []
    for axis, value in zip(node.iter_vars, realize.iter_values):
        if not isinstance(value, Var) or value not in by_var or value in bound:
            text = f"axis `{axis.var.name}` of block `{node.name_hint}` is not bound to a loop of its own"
            raise refuse("binding-not-loops", text, realize)
        bound.append(value)
    if not is_true(realize.predicate):
        raise refuse("predicate", f"block `{node.name_hint}` runs under a condition", realize)
    first = min([k for k, lp in enumerate(around) if lp.loop_var in bound], default=len(around))
    loops = list(around[first:])
    for lp in loops:
        demand(starts_at_zero_reason(lp))
        if lp.step is not None:
            raise refuse("loop-not-plain", f"loop `{lp.loop_var.name}` has a step", lp)
        if lp.loop_var not in bound:
            text = f"loop `{lp.loop_var.name}` binds no axis of block `{node.name_hint}`"
            raise refuse("binding-not-loops", text, lp)
        for v in walk(lp.extent):
            if v in by_var:
                text = f"the extent of loop `{lp.loop_var.name}` depends on another loop"
                raise refuse("loop-extent", text, lp)
    demand(chain_reason(loops))
    if loops and loops[-1].body is not realize:
        text = f"block `{node.name_hint}` is not the only statement in loop `{loops[-1].loop_var.name}`"
        raise refuse("loop-not-only-child", text, loops[-1])
    return loops


def _kind(node: SBlock, index_map: IndexMap, e: Expr) -> int:
    """The kind of the axis that an index makes. Raises Refused for one of several kinds."""
    by_var = dict(zip(index_map.initial_indices, node.iter_vars))
    found = {by_var[v].iter_type for v in walk(e) if isinstance(v, Var) and v in by_var}
    if len(found) > 1:
        text = f"an index of the map joins axes of block `{node.name_hint}` of different kinds"
        raise refuse("axis-kind", text, node)
    for v in walk(e):
        if isinstance(v, Var) and v in by_var and not (is_spatial(by_var[v]) or is_reduction(by_var[v])):
            raise refuse("axis-kind", f"axis `{by_var[v].var.name}` has an order", node)
    return found.pop() if found else IterVar.DATA_PAR

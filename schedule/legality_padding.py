"""Legality of padding the axes of a block."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..ir import (
    Add,
    BufferLoad,
    BufferStore,
    Cast,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Mod,
    Mul,
    SBlock,
    Var,
    structural_equal,
    walk,
)
from ..ir.analysis.blocks import BlockScope, ChildBlock, is_reduction
from .legality import uses_vars
from .legality_inline import whole_domain_reason
from .refusal import Reason
from .rewrite import is_const

_DIVISIONS = (Div, Mod, FloorDiv, FloorMod)


def trivial_nest_reason(scope: BlockScope, child: ChildBlock, padded: Collection[Var]) -> Reason | None:
    """Each padded axis is a loop from 0 of its own that runs its domain; these loops hold nothing else.

    The other axes run their domains in any way.
    """
    block, realize = child.block, child.realize
    name = block.name_hint
    loops = {lp.loop_var: lp for lp in child.loops}
    used: set[Var] = set()
    for axis, value in zip(block.iter_vars, realize.iter_values):
        loop = loops.get(value) if isinstance(value, Var) else None
        assert axis.dom is not None
        if axis.var not in padded:
            used |= {n for n in walk(value) if isinstance(n, Var)}
            continue
        plain = loop is not None and is_const(loop.min, 0) and is_const(axis.dom.min, 0)
        if loop is None or not plain or loop.loop_var in used or not _equal(loop.extent, axis.dom.extent):
            text = f"axis `{axis.var.name}` of block `{name}` is not a loop of its own from 0"
            return Reason("binding-not-loops", text, realize, ("pad before loops are split or fused",))
        if uses_vars(realize.predicate, (loop.loop_var,)):
            text = f"the predicate of block `{name}` uses loop `{loop.loop_var.name}`, which would grow"
            return Reason("block-predicate", text, realize)
        used.add(loop.loop_var)
    first = first_growing(child, padded)
    if first < len(child.loops) and len(scope.below(child.loops[first])) != 1:
        text = f"other blocks stand in the loops of block `{name}` that would grow"
        return Reason("several-blocks", text, child.loops[first])
    return whole_domain_reason(child)


def first_growing(child: ChildBlock, padded: Collection[Var]) -> int:
    """The position of the outermost loop that binds a padded axis."""
    grown = {v for a, v in zip(child.block.iter_vars, child.realize.iter_values) if a.var in padded}
    return next((k for k, lp in enumerate(child.loops) if lp.loop_var in grown), len(child.loops))


def beside_reason(scope: BlockScope, child: ChildBlock, buffers: Collection[Var]) -> Reason | None:
    """Where other blocks stand in the loops around the block, no block in them writes these buffers."""
    inside = scope.below(child.loops[0]) if child.loops else []
    if len(inside) < 2:
        return None
    name = child.block.name_hint
    for other in inside:
        if any(r.buffer in buffers for r in other.block.writes):
            text = f"block `{other.block.name_hint}` in a loop around `{name}` writes what would grow"
            return Reason("several-blocks", text, other.block)
    return None


def _equal(a: Expr, b: Expr) -> bool:
    return structural_equal(a, b)


def einsum_reason(block: SBlock, padded: Sequence[Var]) -> Reason | None:
    """Zeros in place of what is read beyond these axes change nothing that is kept.

    Indices that depend on them are these axes.  Over a padded reduction axis the block adds products all of
    whose factors depend on it, so that each is 0 there; and nothing is divided by what may be 0.
    """
    name = block.name_hint
    body = block.body
    if not isinstance(body, BufferStore):
        return Reason("body-not-store", f"the body of block `{name}` is not a single store", block)
    axes = {a.var for a in block.iter_vars}
    for node in walk(block):
        if isinstance(node, BufferLoad | BufferStore):
            for index in node.indices:
                plain = (isinstance(index, Var) and index in axes) or isinstance(index, IntImm)
                if not plain and any(n is v for n in walk(index) for v in padded):
                    text = f"`{node.buffer.name}` is accessed at other indices than axes and constants"
                    return Reason("index-pattern", text, node)
        if isinstance(node, _DIVISIONS) and node.dtype.is_integral and not isinstance(node.b, IntImm):
            return Reason(
                "division", f"block `{name}` divides by a number that would be 0 in the padding", node
            )
    for axis in block.iter_vars:
        grows = any(axis.var is v for v in padded)
        if grows and not is_reduction(axis) and not any(i is axis.var for i in body.indices):
            text = f"axis `{axis.var.name}` of block `{name}` does not index what it writes"
            return Reason("store-pattern", text, body)
        if is_reduction(axis) and any(axis.var is v for v in padded) and not _adds_zero(body, axis.var):
            text = f"block `{name}` does not add products that are 0 beyond axis `{axis.var.name}`"
            return Reason("not-a-sum", text, body)
    return None


def _adds_zero(body: BufferStore, axis: Var) -> bool:
    value = body.value
    if not isinstance(value, Add):
        return False
    for own, term in ((value.a, value.b), (value.b, value.a)):
        if isinstance(own, BufferLoad) and own.buffer is body.buffer:
            return all(_is_factor(f, body.buffer, axis) for f in _factors(term)) and any(
                isinstance(n, BufferLoad) for n in walk(term)
            )
    return False


def _factors(e: Expr) -> list[Expr]:
    if isinstance(e, Mul):
        return _factors(e.a) + _factors(e.b)
    return [e]


def _is_factor(e: Expr, own: Var, axis: Var) -> bool:
    """A constant, or an element (converted) that lies in the padding with the axis."""
    while isinstance(e, Cast):
        e = e.value
    if isinstance(e, IntImm | FloatImm):
        return True
    return isinstance(e, BufferLoad) and e.buffer is not own and any(uses_vars(i, (axis,)) for i in e.indices)

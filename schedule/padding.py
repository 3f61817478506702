"""Blocks that copy with padding: `to[axes] = value where inside, else a constant`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..ir import (
    GE,
    GT,
    LE,
    LT,
    BufferLoad,
    BufferStore,
    Call,
    Comparison,
    Expr,
    IterVar,
    SBlock,
    Select,
    Var,
    const,
    walk,
)
from ..ir.arith import Analyzer
from ..ir.op import Op
from ..ir.operators import add, sub
from .legality import uses_vars
from .refusal import Refused, refuse
from .rewrite import conjuncts


@dataclass(frozen=True, slots=True)
class PaddedCopy:
    """The store of a block that pads: its condition in parts, the value inside, the constant outside.

    `bounds` gives for an axis the first value and the end of the values inside; `other` are parts of
    the condition that are no such bounds.
    """

    store: BufferStore
    parts: tuple[Expr, ...]
    value: Expr
    fill: Expr
    bounds: Mapping[Var, tuple[Expr, Expr]]
    other: tuple[Expr, ...]


def padded_copy(block: SBlock) -> PaddedCopy:
    """What the block does, if it copies with padding. Raises Refused otherwise."""
    body = block.body
    if not isinstance(body, BufferStore) or block.init is not None:
        raise _no_padding(block, "its body is not a single store")
    condition, value, fill = _choice(body.value, block)
    axes = {a.var: a for a in block.iter_vars}
    for node in walk(condition):
        if isinstance(node, BufferLoad | Call):
            raise _no_padding(block, "its condition is more than arithmetic of its axes")
    for node in walk(fill):
        if isinstance(node, BufferLoad | Call) or (isinstance(node, Var) and node in axes):
            raise _no_padding(block, "what it stores outside is not constant")
    parts = tuple(conjuncts(condition))
    bounds: dict[Var, tuple[Expr, Expr]] = {}
    other: list[Expr] = []
    for part in parts:
        if not _narrow(part, axes, bounds):
            other.append(part)
    if _always(parts, block):
        raise _no_padding(block, "its condition holds everywhere")
    return PaddedCopy(body, parts, value, fill, bounds, tuple(other))


def _always(parts: Sequence[Expr], block: SBlock) -> bool:
    """Whether the conditions hold for all values of the axes."""
    ana = Analyzer()
    for axis in block.iter_vars:
        if axis.dom is not None:
            ana.bind(axis.var, axis.dom)
    return all(ana.can_prove(part) for part in parts)


def _no_padding(block: SBlock, why: str) -> Refused:
    text = f"block `{block.name_hint}` is no copy with padding: {why}"
    return refuse("no-padding", text, block, note="`if_then_else(inside, value, constant)` is one")


def _choice(e: Expr, block: SBlock) -> tuple[Expr, Expr, Expr]:
    if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == "prim.if_then_else":
        return e.args[0], e.args[1], e.args[2]
    if isinstance(e, Select):
        return e.condition, e.true_value, e.false_value
    raise _no_padding(block, "its value is no choice between two")


def _narrow(part: Expr, axes: Mapping[Var, IterVar], bounds: dict[Var, tuple[Expr, Expr]]) -> bool:
    """Take a comparison of one axis with what does not depend on axes into the bounds."""
    if not isinstance(part, LT | LE | GT | GE):
        return False
    a, b = part.a, part.b
    kind: type[Comparison] = type(part)
    if isinstance(b, Var) and b in axes:
        a, b = b, a
        kind = {LT: GT, LE: GE, GT: LT, GE: LE}[kind]
    if not (isinstance(a, Var) and a in axes) or uses_vars(b, axes):
        return False
    dom = axes[a].dom
    assert dom is not None
    low, end = bounds.get(a, (dom.min, add(dom.min, dom.extent)))
    ana = Analyzer()
    one = const(1, b.dtype)
    if kind in (GT, GE):
        new = b if kind is GE else add(b, one)
        if not ana.can_prove(GE(new, low)):
            return ana.can_prove(LE(new, low))
        low = new
    else:
        new = b if kind is LT else add(b, one)
        if not ana.can_prove(LE(new, end)):
            return ana.can_prove(GE(new, end))
        end = new
    if not ana.can_prove(LE(low, end)):
        return False
    bounds[a] = (ana.simplify(low), ana.simplify(end))
    return True


def inner_extent(bound: tuple[Expr, Expr]) -> Expr:
    """How many values are inside."""
    return Analyzer().simplify(sub(bound[1], bound[0]))

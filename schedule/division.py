"""Dividing the axes of a block into axes of an outer and of an inner block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..ir import BufferRegion, Expr, For, IntImm, IterVar, Range, Var, const
from ..ir.analysis.blocks import ChildBlock
from ..ir.arith import Analyzer
from ..ir.arith.intset import IntervalSet, eval_set, extent_of, union
from ..ir.arith.iter_divide import subspace_divide
from ..ir.arith.iter_nodes import normalize_iter_map_to_expr
from ..ir.operators import add, sub
from ..ir.types import BufferType
from .legality import uses_vars
from .refusal import refuse
from .rewrite import both, conjuncts, is_const


@dataclass(frozen=True, slots=True)
class AxisPart:
    """An axis of the outer or the inner block, and its binding."""

    axis: IterVar
    value: Expr


@dataclass(frozen=True, slots=True)
class DividedBlock:
    """The axes of a block as `outer * extent + inner`.

    `axes` gives each old axis by new ones, `outer` and `inner` are the axes of both blocks, the
    conditions are the parts of the predicate for both.
    """

    axes: Mapping[Var, Expr]
    outer: tuple[AxisPart, ...]
    inner: tuple[AxisPart, ...]
    outer_condition: Expr
    inner_condition: Expr


def divide_block(
    child: ChildBlock, outer: Sequence[For], inner: Sequence[For], keep_unit: bool
) -> DividedBlock:
    """Divide a block that stands in the `inner` loops, which stand in the `outer` ones.

    Raises Refused where a binding or the predicate mixes both kinds of loops.
    """
    ana = Analyzer()
    for lp in (*outer, *inner):
        ana.bind(lp.loop_var, Range(lp.min, lp.extent))
    pairs = _pairs(child, outer, inner, keep_unit)
    mapping: dict[Var, Expr] = {}
    outside: list[AxisPart] = []
    inside: list[AxisPart] = []
    for axis, value, (whole, whole_extent, rest, rest_extent) in zip(
        child.block.iter_vars, child.realize.iter_values, pairs
    ):
        if not ana.can_prove_equal(add(whole * rest_extent, rest), value):
            raise _indivisible(child, axis)
        assert axis.dom is not None
        only_inner = is_const(whole_extent, 1)
        bound = ana.bound(rest)
        if is_const(rest_extent, 1) and bound.min == bound.max:
            rest = const(bound.min, rest.dtype)
        only_outer = is_const(rest_extent, 1) and isinstance(rest, IntImm)
        zero, one = const(0, axis.var.dtype), const(1, axis.var.dtype)
        above = Var(axis.var.name + "_o", axis.var.ty)
        domain = Range(_least(whole, ana, zero), one if only_inner else whole_extent)
        if only_outer and not only_inner:
            domain = axis.dom if is_const(rest, 0) else Range(sub(axis.dom.min, rest), axis.dom.extent)
        outside.append(AxisPart(IterVar(domain, above, axis.iter_type), whole))
        if only_outer:
            single = zero if only_inner and not keep_unit else above
            mapping[axis.var] = single if is_const(rest, 0) else add(single, rest)
            continue
        below = Var(axis.var.name + "_i", axis.var.ty)
        dom = axis.dom if only_inner else Range(_least(rest, ana, zero), rest_extent)
        inside.append(AxisPart(IterVar(dom, below, axis.iter_type), rest))
        mapping[axis.var] = below if only_inner else add(above * rest_extent, below)
    outer_condition, inner_condition = _conditions(child, outer, inner)
    return DividedBlock(mapping, tuple(outside), tuple(inside), outer_condition, inner_condition)


def _least(value: Expr, ana: Analyzer, zero: Expr) -> Expr:
    """The least value that is known, else 0: where the domain of an axis that takes the value begins."""
    low = ana.bound(value).min
    return const(low, zero.dtype) if isinstance(low, int) and abs(low) < 2**31 else zero


def _indivisible(child: ChildBlock, axis: IterVar) -> Exception:
    text = (
        f"the binding of axis `{axis.var.name}` of block `{child.block.name_hint}` does not divide into "
        "a part of the loops inside and one of the loops outside"
    )
    return refuse("binding-not-divisible", text, child.realize)


def _pairs(
    child: ChildBlock, outer: Sequence[For], inner: Sequence[For], keep_unit: bool
) -> list[tuple[Expr, Expr, Expr, Expr]]:
    """For each binding: the outer value and extent, the inner value and extent."""
    iters = {lp.loop_var: Range(lp.min, lp.extent) for lp in (*outer, *inner)}
    below = [lp.loop_var for lp in inner]
    above = [lp.loop_var for lp in outer]
    found: list[tuple[Expr, Expr, Expr, Expr]] = []
    ana = Analyzer()
    for var, dom in iters.items():
        ana.bind(var, dom)
    for axis, value in zip(child.block.iter_vars, child.realize.iter_values):
        zero, one = const(0, value.dtype), const(1, value.dtype)
        mixed = uses_vars(value, below)
        if not mixed and (keep_unit or uses_vars(value, above)):
            unit = axis.dom is not None and is_const(axis.dom.extent, 1)
            if not (unit and not keep_unit):
                found.append(
                    (value if keep_unit else ana.simplify(value), one if unit else _two(value), zero, one)
                )
                continue
        made = subspace_divide([value], iters, below, simplify_trivial_iterators=not keep_unit)
        if not made:
            made = subspace_divide([value], iters, below, check_level="nocheck")
        if not made:
            raise _indivisible(child, axis)
        outer_part, rest = made[0]
        outside = normalize_iter_map_to_expr(outer_part.source)
        unit_loops = [lp.loop_var for lp in outer if uses_vars(value, (lp.loop_var,))]
        if keep_unit and is_const(outside, 0) and unit_loops:
            outside = unit_loops[0]
        found.append(
            (
                outside,
                outer_part.extent,
                normalize_iter_map_to_expr(rest.source),
                rest.extent,
            )
        )
    return found


def _two(value: Expr) -> Expr:
    """Any extent above one: the binding belongs to the outer loops as it is."""
    return const(2, value.dtype)


def _conditions(child: ChildBlock, outer: Sequence[For], inner: Sequence[For]) -> tuple[Expr, Expr]:
    below, above = [lp.loop_var for lp in inner], [lp.loop_var for lp in outer]
    outside = inside = const(1, "bool")
    for part in conjuncts(child.realize.predicate):
        if not uses_vars(part, below):
            outside = both(outside, part)
        elif not uses_vars(part, above):
            inside = both(inside, part)
        else:
            text = f"the predicate of block `{child.block.name_hint}` mixes loops inside and outside"
            raise refuse("predicate-not-divisible", text, child.realize)
    return outside, inside


def joined_regions(
    regions: Sequence[BufferRegion], inner: Sequence[IterVar], outer: Sequence[IterVar]
) -> list[BufferRegion]:
    """What the regions cover while the inner axes run over their domains, one region a buffer."""
    ana = Analyzer()
    for axis in outer:
        if axis.dom is not None:
            ana.bind(axis.var, axis.dom)
    domain = {a.var: IntervalSet.of_range(a.dom, ana) for a in inner if a.dom is not None}
    boxes: dict[Var, list[IntervalSet]] = {}
    for region in regions:
        box = []
        for r in region.region:
            first = eval_set(r.min, domain, ana)
            last = first if is_const(r.extent, 1) else eval_set(sub(add(r.min, r.extent), 1), domain, ana)
            box.append(first if last is first else IntervalSet(first.min, last.max))
        old = boxes.get(region.buffer)
        boxes[region.buffer] = box if old is None else [union(ana, a, b) for a, b in zip(old, box)]
    return [BufferRegion(b, [_range(b, k, s, ana) for k, s in enumerate(box)]) for b, box in boxes.items()]


def _range(buffer: Var, k: int, values: IntervalSet, ana: Analyzer) -> Range:
    extent = extent_of(ana, values)
    assert isinstance(buffer.ty, BufferType)
    size = buffer.ty.shape[k]
    if values.min is None or extent is None:
        return Range(const(0, size.dtype), size)
    if isinstance(values.min, IntImm) and isinstance(extent, IntImm) and isinstance(size, IntImm):
        if 0 <= values.min.value < size.value < values.min.value + extent.value:
            extent = const(size.value - values.min.value, extent.dtype)
    return Range(values.min, extent)

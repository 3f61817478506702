"""Splitting a loop and fusing loops."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import (
    Expr,
    For,
    ForKind,
    IntImm,
    Var,
    add,
    cast,
    ceildiv,
    const,
    greater_equal,
    mul,
    substitute,
)
from ...ir.arith import Analyzer
from ...ir.expr import LT, FloorDiv, FloorMod, as_expr
from ..handles import LoopRV
from ..legality import chain_reason, plain_loop_reason, starts_at_zero_reason, uses_vars
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import bind_loop, guard, is_const, rebind, simplify_bindings
from ..state import State


@primitive(inputs=("loop", "*factors"))
def split(
    state: State,
    loop: LoopRV,
    factors: Sequence[int | Expr | None],
    preserve_unit_iters: bool = True,
    disable_predication: bool = False,
) -> tuple[State, list[LoopRV]]:
    """Split a loop into nested loops with these extents, outermost first.

    One factor may be None or -1: it becomes what is needed.  Where the product is larger than the
    extent, blocks below get a predicate, unless `disable_predication` says that the caller knows
    better.  The loop's handle is consumed; all others are kept.

    before:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    steps:
        (i,) = sch.get_loops("B")
        sch.split(i, [None, 10])
    after:
        for i_0, i_1 in T.grid(7, 10):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i_0 * 10 + i_1)
                T.where(i_0 * 10 + i_1 < 64)
                B[vi] = A[vi] + 1.0
    """
    node = state.loop(loop)
    demand(plain_loop_reason(node) or starts_at_zero_reason(node))
    ana = state.analyzer(loop, inside=False)
    extents = split_extents(node, factors, ana)
    old = node.loop_var
    new = [Var(f"{old.name}_{k}", old.ty) for k in range(len(extents))]
    value: Expr = new[0]
    for var, extent in zip(new[1:], extents[1:]):
        value = add(mul(value, extent), var)
    loops = [For(v, const(0, v.dtype), e, ForKind.SERIAL, node.body) for v, e in zip(new, extents)]
    around = [*state.loops(loop), *loops]
    for lp in loops:
        bind_loop(ana, lp)
    body = substitute(node.body, {old: value})
    if not disable_predication and not ana.can_prove_equal(_product(extents), node.extent):
        condition = LT(value, node.extent)
        if not ana.can_prove(condition):
            body = guard(body, condition)
    body = simplify_bindings(body, around, preserve_unit_iters=preserve_unit_iters)
    for lp in reversed(loops):
        body = lp.replace(body=body)
    return state.replace(node, body), [LoopRV(v) for v in new]


def _is_number(e: Expr) -> bool:
    """Numbers come last in products."""
    return isinstance(e, IntImm)


def _product(extents: Sequence[Expr]) -> Expr:
    result = extents[0]
    for e in extents[1:]:
        result = mul(result, e)
    return result


def split_extents(loop: For, factors: Sequence[int | Expr | None], ana: Analyzer) -> list[Expr]:
    """The extents that factors mean for a loop.

    Raises Refused for more than one unknown factor, for one that is not positive, and where the
    product does not reach the extent.
    """
    if not factors:
        raise refuse("split-factors", "`factors` is empty", loop)
    given = [None if _unknown(f) else like_loop(f, loop) for f in factors]
    known = [f for f in given if f is not None]
    if len(given) - len(known) > 1:
        raise refuse("split-factors", "only one factor may be None or -1", loop)
    for f in known:
        if not f.dtype.is_integral or (isinstance(f, IntImm) and f.value <= 0):
            raise refuse("split-factors", "factors must be positive integers", loop)
    if len(known) < len(given):
        if not known:
            return [loop.extent]
        rest = ana.simplify(ceildiv(loop.extent, _product(known)))
        return [rest if f is None else f for f in given]
    if not ana.can_prove(greater_equal(_product(known), loop.extent)):
        raise refuse(
            "split-product",
            f"the product of the factors does not reach the extent of loop `{loop.loop_var.name}`",
            loop,
            help="leave one factor None",
        )
    return known


def like_loop(size: int | Expr | None, loop: For) -> Expr:
    """A factor or length in the type of the loop's variable."""
    e = as_expr(size, like=loop.loop_var)
    if e.ty is loop.loop_var.ty or not e.dtype.is_integral:
        return e
    return cast(e, loop.loop_var.dtype)


def _unknown(factor: int | Expr | None) -> bool:
    return (
        factor is None
        or (isinstance(factor, int) and factor == -1)
        or (isinstance(factor, IntImm) and factor.value == -1)
    )


@primitive()
def fuse(state: State, *loops: LoopRV, preserve_unit_iters: bool = True) -> tuple[State, LoopRV]:
    """Make one loop of loops that stand directly in each other, outermost first.

    Handles of the fused loops are consumed; all others are kept.

    before:
        for i, j in T.grid(8, 16):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1.0
    steps:
        sch.fuse(*sch.get_loops("B"))
    after:
        for i_j_fused in range(128):
            with T.sblock("B"):
                vi = T.axis.spatial(8, i_j_fused // 16)
                vj = T.axis.spatial(16, i_j_fused % 16)
                B[vi, vj] = A[vi, vj] + 1.0
    """
    if not loops:
        raise refuse("no-loops", "there is nothing to fuse")
    nodes = [state.loop(lp) for lp in loops]
    for node in nodes:
        demand(plain_loop_reason(node) or starts_at_zero_reason(node))
    demand(chain_reason(nodes))
    for k, node in enumerate(nodes):
        if uses_vars(node.extent, [n.loop_var for n in nodes[:k]]):
            text = f"the extent of loop `{node.loop_var.name}` depends on a loop fused with it"
            raise refuse("dependent-extent", text, node)
    ana = state.analyzer(loops[0], inside=False)
    widest = max(nodes, key=lambda n: n.loop_var.dtype.bits).loop_var.ty
    var = Var("_".join([n.loop_var.name for n in nodes]) + "_fused", widest)
    extents = [cast(n.extent, var.dtype) for n in nodes]
    mapping: dict[Var, Expr] = {}
    inner: Expr = const(1, var.dtype)
    for k in range(len(nodes) - 1, -1, -1):
        outer = ana.simplify(_product(sorted(extents[k:], key=_is_number)))
        value: Expr = var
        if k > 0:
            value = FloorMod(value, outer)
        if not (isinstance(inner, IntImm) and inner.value == 1):
            value = FloorDiv(value, inner)
        if is_const(extents[k], 1):
            value = const(0, var.dtype)
        mapping[nodes[k].loop_var] = cast(value, nodes[k].loop_var.dtype)
        inner = outer
    made = For(var, const(0, var.dtype), inner, ForKind.SERIAL, nodes[-1].body)
    around = [*state.loops(loops[0]), made]
    body = rebind(nodes[-1].body, mapping, around, preserve_unit_iters=preserve_unit_iters)
    return state.replace(nodes[0], made.replace(body=body)), LoopRV(var)

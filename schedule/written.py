"""What a block surely writes, and whether that is all of a part of a buffer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..errors import DivisionError, UnsupportedError
from ..ir import (
    LT,
    Add,
    And,
    AttrStmt,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    IfThenElse,
    IterVar,
    MatchBufferRegion,
    Or,
    Range,
    SBlock,
    SBlockRealize,
    Select,
    SeqStmt,
    Stmt,
    Var,
    While,
    const,
    structural_equal,
    substitute,
    walk,
)
from ..ir.analysis.blocks import ChildBlock
from ..ir.analysis.cover import Extent, conditions, covers, shared_loops, written_box
from ..ir.arith import Analyzer
from ..ir.arith.iter_map import detect_iter_map
from ..ir.arith.numeric import evaluate_on_grid
from ..ir.op import Op
from ..ir.stmt import BlockRef
from ..ir.visitor import children
from .buffers import allocator, buffer_type, one_type
from .copies import Part, part_of, relaxed, whole
from .counting import MOST, grid_of, holds_at, number
from .legality import uses_vars
from .refusal import Reason
from .rewrite import bind_loop, both, is_const, is_true
from .state import State


class Store(NamedTuple):
    """A store that always runs: its indices by loops only, the block's loops around it, conditions."""

    indices: tuple[Expr, ...]
    loops: tuple[For, ...]
    predicate: Expr


def sure_stores(child: ChildBlock, buffer: Var) -> Iterator[Store]:
    """The stores to a buffer that run in each iteration of a block; its axes replaced by their values."""
    yield from _sure(child.realize, buffer, {}, (), const(1, "bool"))


def _sure(
    stmt: Stmt, buffer: Var, known: dict[Var, Expr], loops: tuple[For, ...], predicate: Expr
) -> Iterator[Store]:
    if isinstance(stmt, BufferStore):
        if stmt.buffer is buffer:
            yield Store(tuple([substitute(i, known) for i in stmt.indices]), loops, predicate)
    elif isinstance(stmt, SeqStmt):
        for s in stmt.seq:
            yield from _sure(s, buffer, known, loops, predicate)
    elif isinstance(stmt, For):
        yield from _sure(stmt.body, buffer, known, (*loops, _substituted(stmt, known)), predicate)
    elif isinstance(stmt, AttrStmt):
        yield from _sure(stmt.body, buffer, known, loops, predicate)
    elif isinstance(stmt, SBlockRealize):
        inner = dict(known)
        for axis, value in zip(stmt.block.iter_vars, stmt.iter_values):
            inner[axis.var] = substitute(value, known)
        both_hold = both(predicate, substitute(stmt.predicate, known))
        yield from _sure(stmt.block.body, buffer, inner, loops, both_hold)


def _substituted(loop: For, known: dict[Var, Expr]) -> For:
    if not known:
        return loop
    return loop.replace(min=substitute(loop.min, known), extent=substitute(loop.extent, known))


def outer_condition(child: ChildBlock, level: int) -> Expr:
    """What the block's predicate says of the loops around those from `level` on: they all share it."""
    inner = {lp.loop_var for lp in child.loops[level:]}
    result: Expr = const(1, "bool")
    for c in conditions(child.realize.predicate):
        if not uses_vars(c, inner):
            result = both(result, c)
    return result


def fills_reason(child: ChildBlock, buffer: Var, level: int, part: Part, ana: Analyzer) -> Reason | None:
    """The block writes every element of a part in the iterations of its loops from `level` on.

    That is where its `outer_condition` holds; a copy of the part must be made only there.
    """
    known = conditions(outer_condition(child, level))
    stores = [s._replace(predicate=_without(s.predicate, known)) for s in sure_stores(child, buffer)]
    domains = []
    for store in stores:
        iters = {lp.loop_var: Range(lp.min, lp.extent) for lp in (*child.loops[level:], *store.loops)}
        used = {v: r for v, r in iters.items() if _mention((*store.indices, store.predicate), v)}
        if _fills(store, used, part, buffer, ana):
            return None
        domains.append(used)
    if _fills_counted(stores, domains, part) or _fills_hidden(child, buffer, level, part, ana):
        return None
    text = (
        f"block `{child.block.name_hint}` is not known to write every element of the part of "
        f"`{buffer.name}` that would be copied"
    )
    return Reason("partial-write", text, child.block)


def _fills(store: Store, iters: dict[Var, Range], part: Part, buffer: Var, ana: Analyzer) -> bool:
    if not part.ranges:
        return is_true(store.predicate)
    inside: Expr = const(1, "bool")
    for c in conditions(store.predicate):
        if not _keeps_inside(c, store.indices, buffer, ana):
            inside = both(inside, c)
    if _spans(store.indices, iters, store.predicate, part, ana):
        return True
    return not structural_equal(inside, store.predicate) and _spans(store.indices, iters, inside, part, ana)


def _spans(
    indices: Sequence[Expr], iters: dict[Var, Range], predicate: Expr, part: Part, ana: Analyzer
) -> bool:
    """Whether the indices take every value of the part's ranges."""
    single = {v: r.min for v, r in iters.items() if is_const(r.extent, 1)}
    for c in conditions(predicate):
        # The search for a map says nothing of conditions on other variables, nor on those of one value.
        if not uses_vars(c, iters.keys() - single.keys()) and not ana.can_prove(substitute(c, single)):
            return False
    found = detect_iter_map(indices, iters, predicate, analyzer=ana)
    if not found.indices:
        return False
    for total, r in zip(found.indices, part.ranges):
        if not ana.can_prove_equal(*one_type(total.base, r.min)):
            return False
        extent: Expr = const(1, total.base.dtype)
        for split in total.args:
            if not is_const(split.scale, 1):
                return False
            extent = split.extent
        if len(total.args) > 1 or not ana.can_prove_equal(*one_type(extent, r.extent)):
            return False
    return True


def _fills_hidden(child: ChildBlock, buffer: Var, level: int, part: Part, ana: Analyzer) -> bool:
    """Whether a block that writes only through a pointer says that it writes the part.

    What such code does is not seen; the signature is its word.
    """
    for node in walk(child.block):
        if isinstance(node, BufferStore) and node.buffer is buffer:
            return False
        if isinstance(node, MatchBufferRegion) and node.source.buffer is buffer:
            if not _view_filled(child.block, node.buffer):
                return False
    for region in child.block.writes:
        box = written_box(child, region, level) if region.buffer is buffer else None
        if box is not None and all(_is_range(ana, e, r) for e, r in zip(box, part.ranges)):
            return True
    return False


def _view_filled(block: SBlock, view: Var) -> bool:
    """Whether a view is written only through pointers, or wholly by a store that always runs."""
    stores = [s for s in walk(block) if isinstance(s, BufferStore) and s.buffer is view]
    if not stores:
        return True
    for store in _sure(block.body, view, {}, (), const(1, "bool")):
        iters = {lp.loop_var: Range(lp.min, lp.extent) for lp in store.loops}
        if _fills(store, iters, whole(view), view, Analyzer()):
            return True
    return False


def _is_range(ana: Analyzer, extent: Extent, r: Range) -> bool:
    end = one_type(extent.end, Add(*one_type(r.min, r.extent)))
    return ana.can_prove_equal(*one_type(extent.low, r.min)) and ana.can_prove_equal(*end)


def initialised_reason(
    state: State, block: BlockRef, buffer: Var, *, everything: bool = True
) -> Reason | None:
    """What a copy made before the block, but in the loops around others, reads has been written by these.

    They stand with it in one of the scopes up to that which allocates the buffer.  They write all of
    it; or (unless `everything` is copied) all that the block says that it reads.
    """
    owner = allocator(state, block, buffer)
    if owner is None or not state.check:
        return None
    at = block
    while at is not owner:
        root = state.scope_root(at)
        if _written_by_others(state, root, at, buffer, everything):
            return None
        at = root
    text = f"parts of `{buffer.name}` may not be written yet, and a copy of it would read them"
    return Reason("uninitialized-read", text, state.block(block))


def _written_by_others(state: State, root: BlockRef, at: BlockRef, buffer: Var, everything: bool) -> bool:
    scope, ana, part = state.scope(root), state.analyzer(root), whole(buffer)
    own = scope.children.get(at)
    stores: list[Store] = []
    domains: list[dict[Var, Range]] = []
    for ref in scope.writers.get(buffer, ()) if own is not None else ():
        child = scope.children[ref]
        level = shared_loops(own.loops, child.loops) if own is not None else 0
        if ref is at:
            continue
        if fills_reason(child, buffer, level, part, ana) is None:
            return True
        if own is not None and not everything and _written_for(own, child, buffer, level):
            return True
        for store in () if level else sure_stores(child, buffer):
            stores.append(store)
            domains.append({lp.loop_var: Range(lp.min, lp.extent) for lp in (*child.loops, *store.loops)})
    return bool(stores) and _fills_counted(stores, domains, part)


def _written_for(reader: ChildBlock, writer: ChildBlock, buffer: Var, level: int) -> bool:
    """Whether in each iteration of the loops around both the one writes all that the other says it reads."""
    regions = [r for r in reader.block.reads if r.buffer is buffer]
    read = bool(regions) and all(covers(reader, r, [writer]) for r in regions)
    return read and fills_its_part(writer, buffer, level)


def fills_its_part(writer: ChildBlock, buffer: Var, level: int) -> bool:
    """Whether in an iteration of its `level` outermost loops a block writes all of the box that it tells."""
    ana = Analyzer()
    for lp in writer.loops[:level]:
        bind_loop(ana, lp)
    written = [r for r in writer.block.writes if r.buffer is buffer]
    part = part_of(buffer, relaxed(writer, written, level, ana), ana, clip=False)
    return fills_reason(writer, buffer, level, part, ana) is None


def always_loads(block: SBlock, buffer: Var) -> bool:
    """Whether each iteration of a block loads from the buffer, under no condition."""
    stack: list[Any] = [block.body]
    while stack:
        node = stack.pop()
        if isinstance(node, BufferLoad) and node.buffer is buffer:
            return True
        if isinstance(node, IfThenElse | While):
            stack.append(node.condition)
        elif isinstance(node, And | Or):
            stack.append(node.a)
        elif isinstance(node, Select):
            stack.append(node.condition)
        elif isinstance(node, Call) and isinstance(node.op, Op) and node.op.name == "prim.if_then_else":
            stack.append(node.args[0])
        else:
            stack.extend(children(node))
    return False


def covers_domain(child: ChildBlock, axes: Sequence[IterVar]) -> bool:
    """Whether a block runs for all values of these axes."""
    values = dict(zip([a.var for a in child.block.iter_vars], child.realize.iter_values))
    ranges = [a.dom for a in axes if a.dom is not None]
    part = Part(tuple(ranges), ((False, False),) * len(ranges))
    iters = {lp.loop_var: Range(lp.min, lp.extent) for lp in child.loops}
    return _spans([values[a.var] for a in axes], iters, child.realize.predicate, part, Analyzer())


def _without(predicate: Expr, known: Sequence[Expr]) -> Expr:
    """The condition without those parts that are known."""
    result: Expr = const(1, "bool")
    for c in conditions(predicate):
        if not any(structural_equal(c, k) for k in known):
            result = both(result, c)
    return result


def _keeps_inside(condition: Expr, indices: Sequence[Expr], buffer: Var, ana: Analyzer) -> bool:
    """Whether a condition only says that an index is below the buffer's end; a part never reaches beyond."""
    if not isinstance(condition, LT):
        return False
    for index, size in zip(indices, buffer_type(buffer).shape):
        pairs = (one_type(condition.a, index), one_type(condition.b, size))
        if ana.can_prove_equal(*pairs[0]) and ana.can_prove_equal(*pairs[1]):
            return True
    return False


def _mention(exprs: Sequence[Expr], var: Var) -> bool:
    for e in exprs:
        for n in walk(e):
            if n is var:
                return True
    return False


def _fills_counted(stores: Sequence[Store], domains: Sequence[dict[Var, Range]], part: Part) -> bool:
    """Whether the stores together write every element, tried one by one where all sizes are small numbers."""
    box = [(number(r.min), number(r.extent)) for r in part.ranges]
    sides = [n for low, n in box if low is not None and n is not None]
    if len(sides) < len(box) or not part.inside or math.prod(sides) > MOST:
        return False
    import numpy as np

    written = np.zeros(sides, dtype=bool)
    for store, iters in zip(stores, domains):
        grid = grid_of(iters)
        if grid is None:
            return False
        shape = next(iter(grid.values())).shape
        runs = np.ones(shape, dtype=bool)
        places = []
        try:
            for c in conditions(store.predicate):
                runs = runs & holds_at(c, grid)
            for e, (low, n) in zip(store.indices, box):
                at = np.broadcast_to(evaluate_on_grid(e, grid), shape) - low
                runs = runs & (at >= 0) & (at < n)
                places.append(at)
        except (UnsupportedError, DivisionError, KeyError):
            return False
        written[tuple([at[runs] for at in places])] = True
    return bool(written.all())

"""Legality checks of the primitives that move data: each returns a Reason, or None."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..errors import Diagnostic, DivisionError, UnsupportedError, suggest
from ..ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    AttrStmt,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    IfThenElse,
    IntImm,
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
from ..ir.analysis.blocks import ChildBlock, block_scope
from ..ir.analysis.cover import Extent, conditions, covers, shared_loops, written_box
from ..ir.arith import Analyzer
from ..ir.arith.iter_build import NotAffine
from ..ir.arith.iter_map import detect_iter_map
from ..ir.arith.iter_pad import padded_inverse
from ..ir.arith.numeric import evaluate_on_grid
from ..ir.expr import Comparison
from ..ir.op import Op
from ..ir.stmt import BlockRef
from ..ir.visitor import children
from .buffers import allocator, buffer_type, one_type
from .copies import Part, whole
from .legality import uses_vars
from .refusal import Reason
from .rewrite import both, is_const, is_true
from .state import State

_BASES = ("global", "shared", "warp", "local", "texture", "wmma.matrix_a", "wmma.matrix_b")
_SCOPES = (
    *_BASES,
    "wmma.accumulator",
    "m16n8k8.matrixA",
    "m16n8k8.matrixB",
    "m16n8k8.matrixC",
    "metal.simdgroup",
)
_TAGGED = re.compile(r"(global|shared|warp|local|texture|trn|amx)(\.\w+)*")


def storage_scope_reason(scope: object, block: SBlock) -> Reason | None:
    """The name is that of a storage scope: "global", "shared", "local", ..., some with a tag behind a dot."""
    if isinstance(scope, str) and (scope in _SCOPES or _TAGGED.fullmatch(scope)):
        return None
    near = suggest(scope, _SCOPES) if isinstance(scope, str) else ()
    return Reason("storage-scope", f"there is no storage scope {scope!r}", block, tuple(near))


def only_blocks_reason(state: State, root: BlockRef) -> Reason | None:
    """Between a block and the blocks below there are only loops: whatever stands there always runs."""
    block = state.block(root)
    if state.scope(root).only_blocks:
        return own_loops_reason(state, root)
    text = f"in block `{block.name_hint}` there are statements other than loops and blocks"
    return Reason("stage-pipeline", text, block)


def own_loops_reason(state: State, root: BlockRef) -> Reason | None:
    """Blocks of the scope use loops outside of it only through axes of the block around, as a copy must.

    Blocks without axes, such as those of a partitioned loop, let what is inside use any loop.
    """
    outside = {p.node.loop_var for p in state.ancestors(root) if isinstance(p.node, For)}
    if outside:
        block = state.block(root)
        for n in walk(block):
            if isinstance(n, Var) and n in outside:
                text = f"block `{block.name_hint}` uses loop `{n.name}` around it other than through an axis"
                return Reason("loop-in-block", text, block)
    return None


def one_writer_reason(state: State, root: BlockRef, buffer: Var) -> Reason | None:
    """At most one block of a scope writes the buffer, and the scope has no other view of it."""
    scope = state.scope(root)
    writers = scope.writers.get(buffer, [])
    if len(writers) > 1:
        names = ", ".join([f"`{scope.children[w].block.name_hint}`" for w in writers])
        text = f"several blocks write `{buffer.name}`: {names}"
        return Reason("several-writers", text, scope.children[writers[1]].block)
    block = state.block(root)
    for match in block.match_buffers:
        same = [m for m in block.match_buffers if m.source.buffer is match.source.buffer]
        if match.source.buffer is buffer or (match.buffer is buffer and len(same) > 1):
            text = f"block `{block.name_hint}` has another view of `{buffer.name}`"
            return Reason("aliased-buffer", text, block)
    return None


def written_before_reason(
    state: State, root: BlockRef, buffer: Var, readers: Sequence[ChildBlock]
) -> Reason | None:
    """What these blocks read of the buffer is what its writer in the scope has written, and not older.

    That holds of itself for a buffer which the scope allocates: there is nothing older.
    """
    scope = state.scope(root)
    writers = [scope.children[w] for w in scope.writers.get(buffer, ())]
    if not writers or not state.check or buffer in state.block(root).alloc_buffers:
        return None
    for child in readers:
        for region in child.block.reads:
            if region.buffer is buffer and not covers(child, region, writers):
                text = f"block `{child.block.name_hint}` may read older parts of `{buffer.name}`"
                return Reason("region-cover", text, child.block)
    return None


def repeats_around(a: ChildBlock, b: ChildBlock) -> bool:
    """Whether a loop around both blocks may run more than once."""
    for lp in a.loops[: shared_loops(a.loops, b.loops)]:
        if not is_const(lp.extent, 1):
            return True
    return False


# blocks that write without reading


def accumulates_reason(block: SBlock, buffer: Var) -> Reason | None:
    """The block does not read what was in the buffer before.

    It has no load of the buffer; or loads, in a reduction with initialiser, just what it stores; or its
    blocks read what blocks before them, in it, have written.
    """
    if block.init is not None:
        return _own_loads_reason(block, buffer)
    scope = block_scope(block)
    if not scope.children:
        for load in walk(block.body):
            if isinstance(load, BufferLoad) and load.buffer is buffer:
                return _reads_too(block, buffer, load)
        return None
    for ref, child in scope.children.items():
        declared = [r for r in child.block.reads if r.buffer is buffer]
        before = [
            scope.children[w] for w in scope.writers.get(buffer, ()) if scope.order[w] < scope.order[ref]
        ]
        for region in declared:
            if not before or not covers(child, region, before):
                return _reads_too(block, buffer, child.block)
        if not declared:
            why = accumulates_reason(child.block, buffer)
            if why is not None:
                return why
    return None


def _own_loads_reason(block: SBlock, buffer: Var) -> Reason | None:
    stores = [s for s in walk(block) if isinstance(s, BufferStore) and s.buffer is buffer]
    for load in walk(block):
        if isinstance(load, BufferLoad) and load.buffer is buffer:
            if not any(_same(load.indices, s.indices) for s in stores):
                return _reads_too(block, buffer, load)
    return None


def _reads_too(block: SBlock, buffer: Var, at: Any) -> Reason:
    text = f"block `{block.name_hint}` reads `{buffer.name}`, which it writes"
    return Reason("in-place", text, at, ("`cache_inplace` copies the old values in and the new ones out",))


def _same(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    for x, y in zip(a, b):
        if not structural_equal(x, y):
            return False
    return True


# what is surely written


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
    for c in conditions(predicate):
        # The search for a map says nothing of conditions on other variables.
        if not uses_vars(c, iters) and not ana.can_prove(c):
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


def initialised_reason(state: State, block: BlockRef, buffer: Var) -> Reason | None:
    """Every element of the buffer is written where it is allocated: a copy reads nothing undefined."""
    owner = allocator(state, block, buffer)
    if owner is None or not state.check:
        return None
    scope = state.scope(owner)
    ana = state.analyzer(owner)
    part = whole(buffer)
    stores: list[Store] = []
    domains: list[dict[Var, Range]] = []
    for ref in scope.writers.get(buffer, ()):
        child = scope.children[ref]
        if fills_reason(child, buffer, 0, part, ana) is None:
            return None
        for store in sure_stores(child, buffer):
            stores.append(store)
            domains.append({lp.loop_var: Range(lp.min, lp.extent) for lp in (*child.loops, *store.loops)})
    if stores and _fills_counted(stores, domains, part):
        return None
    text = f"parts of `{buffer.name}` may never be written, and a copy of it would read them"
    return Reason("uninitialized", text, state.block(block))


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


_MOST_COUNTED = 1 << 16


def _fills_counted(stores: Sequence[Store], domains: Sequence[dict[Var, Range]], part: Part) -> bool:
    """Whether the stores together write every element, tried one by one where all sizes are small numbers."""
    box = [(_number(r.min), _number(r.extent)) for r in part.ranges]
    sides = [n for low, n in box if low is not None and n is not None]
    if len(sides) < len(box) or not part.inside or math.prod(sides) > _MOST_COUNTED:
        return False
    import numpy as np

    written = np.zeros(sides, dtype=bool)
    for store, iters in zip(stores, domains):
        grid = _grid(iters)
        if grid is None:
            return False
        shape = next(iter(grid.values())).shape
        runs = np.ones(shape, dtype=bool)
        places = []
        try:
            for c in conditions(store.predicate):
                runs = runs & _holds_at(c, grid)
            for e, (low, n) in zip(store.indices, box):
                at = np.broadcast_to(evaluate_on_grid(e, grid), shape) - low
                runs = runs & (at >= 0) & (at < n)
                places.append(at)
        except (UnsupportedError, DivisionError, KeyError):
            return False
        written[tuple([at[runs] for at in places])] = True
    return bool(written.all())


_COMPARE: dict[type[Expr], Callable[[Any, Any], Any]] = {
    LT: operator.lt,
    LE: operator.le,
    GT: operator.gt,
    GE: operator.ge,
    EQ: operator.eq,
    NE: operator.ne,
}


def _holds_at(condition: Expr, values: dict[Var, Any]) -> Any:
    """Where on the grid a comparison holds. Raises UnsupportedError for other conditions."""
    compare = _COMPARE.get(type(condition))
    if compare is None or not isinstance(condition, Comparison):
        raise UnsupportedError(Diagnostic("unsupported", "this condition is no comparison"))
    return compare(evaluate_on_grid(condition.a, values), evaluate_on_grid(condition.b, values))


def _number(e: Expr) -> int | None:
    return e.value if isinstance(e, IntImm) else None


def _mention(exprs: Sequence[Expr], var: Var) -> bool:
    for e in exprs:
        for n in walk(e):
            if n is var:
                return True
    return False


# index maps


def distinct(indices: Sequence[Expr], axes: Sequence[IterVar]) -> bool:
    """Whether different values of the axes certainly give different indices."""
    iters = {a.var: a.dom for a in axes if a.dom is not None and not is_const(a.dom.extent, 1)}
    if not iters or detect_iter_map(indices, iters, check_level="bijective").indices:
        return True
    try:
        padded_inverse(indices, iters, [Var(f"o{k}", e.ty) for k, e in enumerate(indices)])
    except NotAffine:
        return _counted([], indices, axes)
    return True


def follows(old: Sequence[Expr], new: Sequence[Expr], axes: Sequence[IterVar]) -> bool:
    """Whether what `new` gives certainly determines what `old` gives, for values of the axes."""
    for e in old:
        if not any(structural_equal(e, n) for n in new):
            return distinct(new, axes) or _counted(old, new, axes)
    return True


def _counted(old: Sequence[Expr], new: Sequence[Expr], axes: Sequence[IterVar]) -> bool:
    """Whether `new` determines `old` (empty: the axes), tried for all values where there are few."""
    domains = {a.var: a.dom for a in axes if a.dom is not None}
    grid = _grid(domains)
    if grid is None or len(domains) != len(axes):
        return False
    import numpy as np

    wanted = list(old) or [a.var for a in axes]
    shape = next(iter(grid.values())).shape
    try:
        columns = [np.broadcast_to(evaluate_on_grid(e, grid), shape).ravel() for e in (*new, *wanted)]
    except (UnsupportedError, DivisionError, KeyError):
        return False
    rows = np.stack(columns, axis=1)
    both = len(np.unique(rows, axis=0))
    return both == (len(np.unique(rows[:, : len(new)], axis=0)) if new else 1)


def _grid(domains: dict[Var, Range]) -> dict[Var, Any] | None:
    """Every point of the domains as arrays, by variable; None where these are no small numbers."""
    pairs = [(_number(r.min), _number(r.extent)) for r in domains.values()]
    if not pairs or [p for p in pairs if None in p]:
        return None
    if math.prod([n for _, n in pairs if n is not None]) > _MOST_COUNTED:
        return None
    import numpy as np

    ranges = [np.arange(low, low + n) for low, n in pairs if low is not None and n is not None]
    return dict(zip(domains, np.meshgrid(*ranges, indexing="ij")))

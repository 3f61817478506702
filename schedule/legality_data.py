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
    AttrStmt,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IntImm,
    IterVar,
    Range,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Var,
    const,
    structural_equal,
    substitute,
    walk,
)
from ..ir.analysis.blocks import ChildBlock
from ..ir.analysis.cover import conditions, covers
from ..ir.arith import Analyzer
from ..ir.arith.iter_map import detect_iter_map
from ..ir.expr import Comparison
from ..ir.stmt import BlockRef
from .buffers import buffer_type, one_type
from .copies import Part
from .refusal import Reason
from .rewrite import both, is_const, is_true
from .state import State

_BASES = ("global", "shared", "warp", "local", "texture", "wmma.matrix_a", "wmma.matrix_b")
_SCOPES = (*_BASES, "wmma.accumulator", "m16n8k8.matrixA", "m16n8k8.matrixB", "m16n8k8.matrixC", "metal.simdgroup")
_TAGGED = re.compile(r"(global|shared|warp|local|texture|trn|amx)(\.\w+)*")


def storage_scope_reason(scope: object, block: SBlock) -> Reason | None:
    """The name is that of a storage scope: "global", "shared", "local", ..., some with a tag behind a dot."""
    if isinstance(scope, str) and (scope in _SCOPES or _TAGGED.fullmatch(scope)):
        return None
    near = suggest(scope, _SCOPES) if isinstance(scope, str) else ()
    return Reason("storage-scope", f"there is no storage scope {scope!r}", block, tuple(near))


def only_blocks_reason(state: State, root: BlockRef) -> Reason | None:
    """Between a block and the blocks below there are only loops: whatever stands there always runs."""
    if state.scope(root).only_blocks:
        return None
    block = state.block(root)
    text = f"in block `{block.name_hint}` there are statements other than loops and blocks"
    return Reason("stage-pipeline", text, block)


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
                text = f"block `{child.block.name_hint}` may read parts of `{buffer.name}` not written in its scope"
                return Reason("region-cover", text, child.block)
    return None


# blocks that write without reading


def accumulates_reason(block: SBlock, buffer: Var) -> Reason | None:
    """The block does not read what was in the buffer before.

    It has no load of the buffer, or loads, in a reduction with initialiser, just what it stores.
    """
    for realize in _with_inits(block):
        stores = [s for s in walk(realize) if isinstance(s, BufferStore) and s.buffer is buffer]
        for load in walk(realize):
            if not isinstance(load, BufferLoad) or load.buffer is not buffer:
                continue
            if realize.init is None or not any([_same(load.indices, s.indices) for s in stores]):
                text = f"block `{block.name_hint}` reads `{buffer.name}`, which it writes"
                return Reason(
                    "in-place", text, load, ("`cache_inplace` copies the old values in and the new ones out",)
                )
    return None


def _with_inits(block: SBlock) -> list[SBlock]:
    """The block if it has an initialiser, or else those in it that have, and itself without them."""
    if block.init is not None:
        return [block]
    found: list[SBlock] = []
    rest = block
    for node in walk(block.body, outer_first=True):
        if isinstance(node, SBlock) and node.init is not None:
            found.append(node)
    if not found:
        return [rest]
    inner = {id(n) for f in found for n in walk(f)}
    loads = [n for n in walk(block.body) if isinstance(n, BufferLoad) and id(n) not in inner]
    return found if not loads else [*found, rest]


def _same(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    for x, y in zip(a, b):
        if not structural_equal(x, y):
            return False
    return True


# what is surely written


class Store(NamedTuple):
    """A store that always runs: its indices by loops only, the loops inside the block around it, conditions."""

    indices: tuple[Expr, ...]
    loops: tuple[For, ...]
    predicate: Expr


def sure_stores(child: ChildBlock, buffer: Var) -> Iterator[Store]:
    """The stores of a block to a buffer that run in each of its iterations; its axes replaced by their values."""
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


def fills_reason(child: ChildBlock, buffer: Var, level: int, part: Part, ana: Analyzer) -> Reason | None:
    """The block writes every element of a part in the iterations of its loops from `level` on."""
    stores = list(sure_stores(child, buffer))
    domains = []
    for store in stores:
        iters = {lp.loop_var: Range(lp.min, lp.extent) for lp in (*child.loops[level:], *store.loops)}
        used = {v: r for v, r in iters.items() if _mention((*store.indices, store.predicate), v)}
        if _fills(store, used, part, buffer, ana):
            return None
        domains.append(used)
    if _fills_counted(stores, domains, part):
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
    sizes = [[(_number(r.min), _number(r.extent)) for r in d.values()] for d in domains]
    if not stores or [1 for pairs in (box, *sizes) for pair in pairs if None in pair] or not part.inside:
        return False
    if max([math.prod([n for _, n in pairs]) for pairs in (box, *sizes)]) > _MOST_COUNTED:  # type: ignore[misc]
        return False
    import numpy as np

    from ..ir.arith.numeric import evaluate_on_grid

    written = np.zeros([n for _, n in box], dtype=bool)
    for store, iters, pairs in zip(stores, domains, sizes):
        grid = np.meshgrid(*[np.arange(low, low + n) for low, n in pairs], indexing="ij")  # type: ignore[operator]
        values = dict(zip(iters, grid))
        if [v for e in (*store.indices, store.predicate) for v in walk(e) if isinstance(v, Var) and v not in values]:
            return False
        shape = [n for _, n in pairs]
        runs = np.ones(shape, dtype=bool)
        places = []
        try:
            for c in conditions(store.predicate):
                runs = runs & _holds_at(c, values)
            for e, (low, n) in zip(store.indices, box):
                at = np.broadcast_to(evaluate_on_grid(e, values), shape) - low
                runs = runs & (at >= 0) & (at < n)
                places.append(at)
        except (UnsupportedError, DivisionError):
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
    from ..ir.arith.numeric import evaluate_on_grid

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
    if not iters:
        return True
    return bool(detect_iter_map(indices, iters, check_level="bijective").indices)


def follows(old: Sequence[Expr], new: Sequence[Expr], axes: Sequence[IterVar]) -> bool:
    """Whether what `new` gives certainly determines what `old` gives, for values of the axes."""
    for e in old:
        if not any([structural_equal(e, n) for n in new]):
            return distinct(new, axes)
    return True



"""Copies of a buffer in a layout that the caller gives over the axes of a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import DTypeError
from ...ir import (
    LE,
    Expr,
    For,
    ForKind,
    IndexMap,
    IterVar,
    SBlockRealize,
    Var,
    const,
    substitute,
    walk,
)
from ...ir.analysis.blocks import ChildBlock, is_spatial
from ...ir.analysis.cover import shared_loops
from ...ir.arith.intset import IntervalSet, eval_set
from ...ir.stmt import BlockRef, SeqStmt, seq
from ..buffers import allocate, buffer_at, named_buffer, new_buffer
from ..copies import bounds_condition, copy_block
from ..counting import distinct, follows
from ..handles import SBlockRV
from ..index_maps import index_map_of, with_names
from ..legality_data import (
    accumulates_reason,
    one_writer_reason,
    only_blocks_reason,
    reads_reason,
    runs_always_reason,
    storage_scope_reason,
    written_before_reason,
)
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import bind_loop, both, loops_around
from ..state import State, block_ref, identity
from ..written import always_loads, initialised_reason, sure_stores
from .cache_read import chosen_readers, size_vars, statement_at
from .cache_write import put_before, readers_and_place
from .reindex import fixed_access, single_access, used_axes


def _prepare(index: str, mode: str) -> Callable[[State, dict[str, Any]], dict[str, Any]]:
    by_name = named_buffer(index, mode)

    def prepare(state: State, arguments: dict[str, Any]) -> dict[str, Any]:
        node = state.block(arguments["block"])
        dtype = node.iter_vars[0].var.dtype if node.iter_vars else "int32"
        made = index_map_of(arguments["index_map"], len(node.iter_vars), node, dtype=dtype)
        return {**by_name(state, arguments), "index_map": with_names(made, state, arguments["block"])}

    return prepare


@primitive(inputs=("block", "index_map"), prepare=_prepare("read_buffer_index", "read"))
def reindex_cache_read(
    state: State,
    block: SBlockRV,
    read_buffer_index: int | str | Var,
    storage_scope: str,
    index_map: IndexMap | Callable[..., Any],
) -> tuple[State, SBlockRV]:
    """Copy what a block reads of a buffer to a new buffer in the layout that `index_map` gives over its axes.

    Every handle is kept; the new block's is returned.

    buffers: A: T.Buffer((8, 16), "float32"), B: T.Buffer((16, 8), "float32")
    before:
        for i, j in T.grid(16, 8):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi] + 1.0
    steps:
        sch.reindex_cache_read("B", 0, "shared", lambda i, j: (i // 4, j, i % 4))
    after:
        A_shared = T.sblock_alloc_buffer((4, 8, 4), scope="shared")
        for i, j in T.grid(16, 8):
            with T.sblock("A_shared"):
                vi, vj = T.axis.remap("SS", [i, j])
                A_shared[vi // 4, vj, vi % 4] = A[vj, vi]
        for i, j in T.grid(16, 8):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A_shared[vi // 4, vj, vi % 4] + 1.0
    """
    old = buffer_at(state, block, read_buffer_index, "read")
    root = state.scope_root(block)
    demand(storage_scope_reason(storage_scope, state.block(block)))
    demand(reads_reason(state, block.target, old) or one_writer_reason(state, root, old))
    demand(runs_always_reason(state, root, [block.target]))
    scope = state.scope(root)
    child = scope.children[block.target]
    chosen_readers(scope, child, old, [block])
    demand(written_before_reason(state, root, old, [child]))
    if not always_loads(child.block, old):
        demand(initialised_reason(state, child.ref, old))
    before = single_access(child, old)
    after, axes = _new_indices(child, before, index_map)
    if not follows(before, after, axes):
        text = f"the map gives one place to different elements of `{old.name}`"
        raise refuse("not-injective", text, child.block)
    new = _buffer(state, root, child, old, storage_scope, after)
    writers = scope.writers.get(old, [])
    level = shared_loops(scope.children[writers[0]].loops, child.loops) if writers else 0
    copy, ref = _copy(state, root, child, level, (old, before), (new, after), axes, new.name)
    state = state.replace(child.realize, fixed_access(old, new, after)(child.realize))
    if writers:
        at = state.place(identity(statement_at(child, level))).node
        state = state.replace(at, SeqStmt([copy, at]))
    else:
        node = state.block(root)
        state = state.replace_block(root, node.replace(body=seq([copy, node.body])))
    return allocate(state, root, [new]), SBlockRV(ref)


@primitive(inputs=("block", "index_map"), prepare=_prepare("write_buffer_index", "write"))
def reindex_cache_write(
    state: State,
    block: SBlockRV,
    write_buffer_index: int | str | Var,
    storage_scope: str,
    index_map: IndexMap | Callable[..., Any],
) -> tuple[State, SBlockRV]:
    """Let a block write a new buffer in the layout that `index_map` gives over its axes, and copy that back.

    Every handle is kept; the new block's is returned.

    buffers: A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")
    before:
        for i, j in T.grid(16, 8):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1.0
    steps:
        sch.reindex_cache_write("B", 0, "local", lambda i, j: (j, i))
    after:
        B_local = T.sblock_alloc_buffer((8, 16), scope="local")
        for i, j in T.grid(16, 8):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B_local[vj, vi] = A[vi, vj] + 1.0
        for i, j in T.grid(16, 8):
            with T.sblock("B_local"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = B_local[vj, vi]
    """
    old = buffer_at(state, block, write_buffer_index, "write")
    node = state.block(block)
    root = state.scope_root(block)
    demand(storage_scope_reason(storage_scope, node))
    demand(only_blocks_reason(state, root) or one_writer_reason(state, root, old))
    demand(runs_always_reason(state, root, [block.target]))
    demand(accumulates_reason(node, old))
    scope = state.scope(root)
    child = scope.children[block.target]
    before = single_access(child, old)
    after, axes = _new_indices(child, before, index_map)
    for a in axes:
        if not is_spatial(a):
            text = f"reduction axis `{a.var.name}` would index the copy of `{old.name}`"
            raise refuse("axis-kind", text, node)
    if not (follows(before, after, axes) and follows(after, before, axes) and _settled(before, after, axes)):
        text = f"the map does not give each element of `{old.name}` a place of its own"
        raise refuse("not-injective", text, node)
    if not list(sure_stores(child, old)):
        raise refuse("partial-write", f"block `{node.name_hint}` may leave elements unwritten", node)
    new = _buffer(state, root, child, old, storage_scope, after)
    _, at, level = readers_and_place(scope, child, old, None)
    copy, ref = _copy(state, root, child, level, (new, after), (old, before), axes, new.name)
    state = state.replace(child.realize, fixed_access(old, new, after)(child.realize))
    state = put_before(state, root, at, copy)
    return allocate(state, root, [new]), SBlockRV(ref)


def _settled(before: Sequence[Expr], after: Sequence[Expr], axes: Sequence[IterVar]) -> bool:
    """Whether it does not matter in which order elements are copied back: each is written once."""
    return distinct(before, axes) or distinct(after, axes) or not axes


def _new_indices(
    child: ChildBlock, before: Sequence[Expr], index_map: Any
) -> tuple[list[Expr], list[IterVar]]:
    """The indices in the new layout, and the axes that these or the old ones use."""
    values = [a.var for a in child.block.iter_vars]
    try:
        after = [substitute(e, dict(zip(index_map.initial_indices, values))) for e in index_map.final_indices]
    except DTypeError as err:
        raise refuse(
            "index-map", f"the index map does not fit the types of the axes: {err}", child.block
        ) from err
    axes = used_axes(child.block, [*before, *after])
    for a in axes:
        if a.dom is None:
            raise refuse("axis-domain", f"axis `{a.var.name}` has no domain", child.block)
    return after, axes


def _buffer(
    state: State, root: BlockRef, child: ChildBlock, old: Var, scope: str, indices: Sequence[Expr]
) -> Var:
    """A buffer that holds every index that the axes give. Raises Refused where there is no end."""
    ana = state.analyzer(child.ref)
    domain = {a.var: IntervalSet.of_range(a.dom, ana) for a in child.block.iter_vars if a.dom is not None}
    allowed = size_vars(state, root)
    shape: list[Expr] = []
    for e in indices:
        s = eval_set(e, domain, ana)
        if s.min is None or s.max is None or not ana.can_prove(LE(const(0, s.min.dtype), s.min)):
            raise refuse(
                "index-map", "an index that the map gives is not known to be in a range from 0", child.block
            )
        size = ana.simplify(s.max + 1)
        if [v for v in walk(size) if isinstance(v, Var) and v not in allowed]:
            raise refuse(
                "index-map", "an index that the map gives depends on variables of loops", child.block
            )
        shape.append(size)
    return new_buffer(old, f"{old.name}_{scope}", shape=shape, scope=scope)


def _copy(
    state: State,
    root: BlockRef,
    child: ChildBlock,
    level: int,
    source: tuple[Var, Sequence[Expr]],
    target: tuple[Var, Sequence[Expr]],
    axes: Sequence[IterVar],
    name: str,
) -> tuple[For | SBlockRealize, BlockRef]:
    """The loops of the block from `level` on that these axes need, and a block that copies an element."""
    values = dict(zip([a.var for a in child.block.iter_vars], child.realize.iter_values))
    bound = [values[a.var] for a in axes]
    inner = child.loops[level:]
    used = {n for e in bound for n in walk(e) if isinstance(n, Var)}
    kept = [lp for lp in inner if lp.loop_var in used]
    left_out = {lp.loop_var for lp in inner if lp.loop_var not in used}
    _check_loops(child, kept, left_out)
    new_loops = [Var(lp.loop_var.name, lp.loop_var.ty) for lp in kept]
    table: dict[Var, Expr] = dict(zip([lp.loop_var for lp in kept], new_loops))
    new_axes = [IterVar(a.dom, Var(a.var.name, a.var.ty), IterVar.DATA_PAR) for a in axes]
    renamed = dict(zip([a.var for a in axes], [a.var for a in new_axes]))
    ana = state.analyzer(root)
    for lp in child.loops[:level]:
        bind_loop(ana, lp)
    for a in new_axes:
        if a.dom is not None:
            ana.bind(a.var, a.dom)
    read = [substitute(e, renamed) for e in source[1]]
    written = [substitute(e, renamed) for e in target[1]]
    inside = bounds_condition(read, source[0], ana)
    values_now = [substitute(v, table) for v in bound]
    inside = substitute(inside, dict(zip([a.var for a in new_axes], values_now)))
    node = copy_block(name, new_axes, source[0], read, target[0], written)
    predicate = substitute(child.realize.predicate, table)
    predicate = both(predicate, inside)
    loops = [
        For(v, substitute(lp.min, table), substitute(lp.extent, table), ForKind.SERIAL, lp.body)
        for v, lp in zip(new_loops, kept)
    ]
    body = loops_around(loops, SBlockRealize(values_now, predicate, node))
    assert isinstance(body, For | SBlockRealize)
    return body, block_ref(node)


def _check_loops(child: ChildBlock, kept: Sequence[For], left_out: set[Var]) -> None:
    """Without the loops that the axes do not need nothing else changes."""
    mentioned = [child.realize.predicate, *[e for lp in kept for e in (lp.min, lp.extent)]]
    for e in mentioned:
        for v in walk(e):
            if v in left_out:
                assert isinstance(v, Var)
                name = child.block.name_hint
                text = f"the iterations of block `{name}` depend on loop `{v.name}`, which indexes nothing"
                raise refuse("loop-in-predicate", text, child.realize)
    for lp in kept:
        if lp.step is not None:
            raise refuse("loop-not-plain", f"loop `{lp.loop_var.name}` has a step", lp)

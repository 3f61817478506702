"""Copies of a buffer laid out as the axes of a block use it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from ...ir import (
    BufferLoad,
    BufferStore,
    Expr,
    For,
    ForKind,
    IntImm,
    IterVar,
    MatchBufferRegion,
    Range,
    SBlock,
    SBlockRealize,
    Var,
    const,
    find,
    free_vars,
    structural_equal,
    substitute,
    walk,
)
from ...ir.analysis.blocks import ChildBlock, is_reduction, is_spatial
from ...ir.analysis.cover import shared_loops
from ...ir.arith import Analyzer
from ...ir.stmt import BlockRef, SeqStmt, Stmt
from ..buffers import Redirect, allocate, buffer_at, index_of, new_buffer, point, regions
from ..copies import Part, bounds_condition, copy_block, whole
from ..counting import distinct
from ..handles import SBlockRV
from ..legality_data import accumulates_reason, only_blocks_reason, reads_reason, runs_always_reason
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import is_const
from ..state import State, block_ref, identity
from ..written import always_loads, covers_domain, fills_reason, initialised_reason
from .cache_read import statement_at

_MODES = ("read", "write")


def buffer_of(state: State, block: SBlockRV, given: Any) -> tuple[str, int]:
    """A buffer of a block, given as ("read" or "write", position), by name or variable. Raises Refused.

    By name the one that is written where the block reads and writes it.
    """
    node = state.block(block)
    if isinstance(given, tuple | list) and len(given) == 2 and isinstance(given[0], str):
        mode, index = given
        if mode not in _MODES:
            raise refuse("buffer-index", f'an access is "read" or "write", not {mode!r}', node)
        index = index_of(state, block, index, mode)
        buffer_at(state, block, index, mode)
        return mode, int(index)
    if not isinstance(given, str | Var):
        text = f'a buffer is given as ("read", 0), by name or as a variable, not as {given!r}'
        raise refuse("buffer-index", text, node)
    for mode in reversed(_MODES):
        for r in regions(node, mode):
            if r.buffer is given or (isinstance(given, str) and r.buffer.name == given):
                return mode, int(index_of(state, block, given, mode))
    name = given if isinstance(given, str) else given.name
    raise refuse("buffer-index", f"block `{node.name_hint}` accesses no buffer named `{name}`", node)


def _prepare(state: State, arguments: dict[str, Any]) -> dict[str, Any]:
    return {**arguments, "buffer": buffer_of(state, arguments["block"], arguments["buffer"])}


def _encode(arguments: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    mode, index = arguments["buffer"]
    return [arguments["block"]], [index, _MODES.index(mode)]


def _decode(inputs: list[Any], attrs: list[Any]) -> dict[str, Any]:
    return {"block": inputs[0], "buffer": (_MODES[int(attrs[1])], attrs[0])}


@primitive(kind="ReIndex", prepare=_prepare, encode=_encode, decode=_decode)
def reindex(state: State, block: SBlockRV, buffer: tuple[str, int] | str | Var) -> tuple[State, SBlockRV]:
    """Let a block access a copy of a buffer that has its axes as dimensions: those that index the buffer.

    A buffer read is copied before the block, one written after it.  Every handle is kept; the new
    block's is returned.

    buffers: A: T.Buffer((8, 16), "float32"), B: T.Buffer((16, 8), "float32")
    before:
        for i, j in T.grid(16, 8):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi] + 1.0
    steps:
        sch.reindex("B", ("read", 0))
    after:
        A_reindex = T.sblock_alloc_buffer((16, 8))
        for ax0, ax1 in T.grid(16, 8):
            with T.sblock("A_reindex_reindex"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                A_reindex[v0, v1] = A[v1, v0]
        for i, j in T.grid(16, 8):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A_reindex[vi, vj] + 1.0
    """
    mode, index = cast("tuple[Any, Any]", buffer)
    old = buffer_at(state, block, index, str(mode))
    root = state.scope_root(block)
    demand(reads_reason(state, block.target, old) if mode == "read" else only_blocks_reason(state, root))
    demand(runs_always_reason(state, root, [block.target]))
    child = state.scope(root).children[block.target]
    indices = simple_indices(child, single_access(child, old))
    axes = used_axes(child.block, indices)
    _check_axes(child, axes, indices)
    ana = state.analyzer(root)
    shape = [ana.simplify(a.dom.min + a.dom.extent) for a in axes if a.dom is not None]
    new = new_buffer(old, f"{old.name}_reindex", shape=shape)
    inside: SBlockRealize = fixed_access(old, new, [a.var for a in axes])(child.realize)
    certain = mode == "read" and always_loads(child.block, old) and covers_domain(child, axes)
    if mode == "read":
        _check_read(state, root, child, old)
        if not certain:
            demand(initialised_reason(state, child.ref, old))
    else:
        _check_write(state, root, child, old, indices, axes, inside)
    copy = _copy(state, root, old, new, indices, axes, str(mode), certain)
    state = state.replace(child.realize, inside)
    at = state.place(identity(statement_at(child, 0))).node
    pair = [copy[0], at] if mode == "read" else [at, copy[0]]
    state = state.replace(at, SeqStmt(pair))
    return allocate(state, root, [new]), SBlockRV(copy[1])


def fixed_access(old: Var, new: Var, indices: Sequence[Expr]) -> Redirect:
    """Accesses of `old`, which are all alike, become accesses of `new` at these indices."""
    return Redirect(old, new, lambda _: indices, lambda _: [point(i) for i in indices])


def _copy(
    state: State,
    root: BlockRef,
    old: Var,
    new: Var,
    indices: Sequence[Expr],
    axes: Sequence[IterVar],
    mode: str,
    certain: bool,
) -> tuple[Any, BlockRef]:
    """Loops over the new axes and a block that copies between the buffers.

    `certain` says that the block reads all that is copied, so that it must be inside the buffer.
    """
    made = [IterVar(a.dom, Var(f"v{k}", a.var.ty), IterVar.DATA_PAR) for k, a in enumerate(axes)]
    loops = [Var(f"ax{k}", a.var.ty) for k, a in enumerate(axes)]
    at = [substitute(i, dict(zip([a.var for a in axes], [m.var for m in made]))) for i in indices]
    ana = state.analyzer(root)
    for m in made:
        if m.dom is not None:
            ana.bind(m.var, m.dom)
    inside = bounds_condition(at, old, ana) if mode == "read" and not certain else const(1, "bool")
    inside = substitute(inside, dict(zip([m.var for m in made], loops)))
    plain = [m.var for m in made]
    if mode == "read":
        node = copy_block(f"{new.name}_reindex", made, old, at, new, plain)
    else:
        node = copy_block(new.name, made, new, plain, old, at)
    body: Stmt = SBlockRealize(loops, inside, node)
    for var, m in reversed(list(zip(loops, made))):
        assert m.dom is not None
        body = For(var, m.dom.min, m.dom.extent, ForKind.SERIAL, body)
    return body, block_ref(node)


# what the block does with the buffer


def single_access(child: ChildBlock, buffer: Var) -> tuple[Expr, ...]:
    """The indices of all accesses of a buffer in a block. Raises Refused where they differ, or are hidden."""
    found: tuple[Expr, ...] | None = None
    for indices, node in accesses(child.block, buffer):
        if found is not None and not _same(found, indices):
            text = f"block `{child.block.name_hint}` accesses `{buffer.name}` at different places"
            raise refuse("access-pattern", text, node)
        found = indices
    if found is None:
        text = f"block `{child.block.name_hint}` does not access `{buffer.name}` itself"
        raise refuse("access-pattern", text, child.block)
    once: dict[Var, Expr] = {
        lp.loop_var: lp.min for lp in find(child.block.body, For) if is_const(lp.extent, 1)
    }
    if once:
        found = tuple([Analyzer().simplify(substitute(e, once)) for e in found])
    inside = set(free_vars(child.block)) | {a.var for a in child.block.iter_vars}
    for e in found:
        for v in walk(e):
            if isinstance(v, Var) and v not in inside:
                text = f"an index of `{buffer.name}` depends on `{v.name}`, which is defined inside the block"
                raise refuse("access-pattern", text, child.block)
            if isinstance(v, BufferLoad):
                raise refuse(
                    "access-pattern", f"an index of `{buffer.name}` is read from memory", child.block
                )
    return found


def accesses(block: SBlock, buffer: Var) -> Iterator[tuple[tuple[Expr, ...], Any]]:
    """Each load and store of the buffer in a block. Raises Refused for views of it."""
    for node in walk(block.body, outer_first=True):
        yield from _access(block, node, buffer)
    if block.init is not None:
        for node in walk(block.init, outer_first=True):
            yield from _access(block, node, buffer)


def _access(block: SBlock, node: Any, buffer: Var) -> Iterator[tuple[tuple[Expr, ...], Any]]:
    if isinstance(node, BufferLoad | BufferStore) and node.buffer is buffer:
        yield node.indices, node
    elif isinstance(node, SBlockRealize):
        text = f"block `{block.name_hint}` holds other blocks"
        raise refuse("not-a-leaf", text, block, help="apply the step to the innermost block")
    elif isinstance(node, MatchBufferRegion) and node.source.buffer is buffer:
        raise refuse("opaque-access", f"block `{block.name_hint}` has a view of `{buffer.name}`", block)


def _same(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    for x, y in zip(a, b):
        if not structural_equal(x, y):
            return False
    return True


def simple_indices(child: ChildBlock, indices: Sequence[Expr]) -> tuple[Expr, ...]:
    """The indices as simple as the domains of the axes make them."""
    ana = Analyzer()
    for a in child.block.iter_vars:
        if a.dom is not None:
            # A wider domain keeps axes with one value in sight.
            once = is_const(a.dom.extent, 1)
            ana.bind(a.var, Range(a.dom.min, const(2, a.dom.extent.dtype)) if once else a.dom)
    return tuple([ana.simplify(i) for i in indices])


def used_axes(block: SBlock, exprs: Sequence[Expr]) -> list[IterVar]:
    """The axes of a block that expressions mention, in the block's order."""
    mentioned = {n for e in exprs for n in walk(e) if isinstance(n, Var)}
    return [a for a in block.iter_vars if a.var in mentioned]


# conditions


def _check_axes(child: ChildBlock, axes: Sequence[IterVar], indices: Sequence[Expr]) -> None:
    loops = {lp.loop_var for lp in child.loops}
    for a in axes:
        if a.dom is None or not isinstance(a.dom.min, IntImm) or a.dom.min.value < 0:
            raise refuse("axis-domain", f"axis `{a.var.name}` does not start at a number from 0", child.block)
        outside = [v for v in walk(a.dom.extent) if isinstance(v, Var) and v in loops]
        if outside or not (is_spatial(a) or is_reduction(a)):
            text = f"axis `{a.var.name}` has no extent of its own, or an order"
            raise refuse("axis-domain", text, child.block)
    for e in indices:
        for v in walk(e):
            if isinstance(v, Var) and v in loops:
                text = f"block `{child.block.name_hint}` uses loop `{v.name}` other than through an axis"
                raise refuse("loop-in-block", text, child.block)


def _check_read(state: State, root: BlockRef, child: ChildBlock, buffer: Var) -> None:
    """The buffer has its last value before the statement of the scope that holds the block."""
    scope = state.scope(root)
    for ref in scope.writers.get(buffer, ()):
        other = scope.children[ref]
        if ref is child.ref:
            text = f"block `{child.block.name_hint}` writes `{buffer.name}`, which it reads"
            raise refuse("in-place", text, child.block)
        if scope.order[ref] > scope.order[child.ref]:
            continue
        if shared_loops(other.loops, child.loops):
            text = f"block `{other.block.name_hint}` writes `{buffer.name}` in a loop around both"
            raise refuse("shared-loop", text, other.block, help="`reindex_cache_read` copies inside of loops")
    for ref in scope.writers.get(buffer, ()):
        other = scope.children[ref]
        if scope.order[ref] > scope.order[child.ref] and shared_loops(other.loops, child.loops):
            text = f"block `{other.block.name_hint}` writes `{buffer.name}` in a loop around both"
            raise refuse("shared-loop", text, other.block)


def _check_write(
    state: State,
    root: BlockRef,
    child: ChildBlock,
    buffer: Var,
    indices: Sequence[Expr],
    axes: Sequence[IterVar],
    inside: SBlockRealize,
) -> None:
    """Copying back after the outermost loop gives what the block would have written."""
    node = child.block
    demand(accumulates_reason(node, buffer))
    scope = state.scope(root)
    for ref in {*scope.writers.get(buffer, ()), *scope.readers.get(buffer, ())}:
        other = scope.children[ref]
        if ref is not child.ref and shared_loops(other.loops, child.loops):
            text = f"block `{other.block.name_hint}` accesses `{buffer.name}` in a loop around both"
            raise refuse(
                "shared-loop", text, other.block, help="`reindex_cache_write` copies inside of loops"
            )
    for a in axes:
        if not is_spatial(a):
            raise refuse("axis-kind", f"reduction axis `{a.var.name}` indexes `{buffer.name}`", node)
    if not distinct(indices, axes):
        text = f"block `{node.name_hint}` may write one element of `{buffer.name}` several times"
        raise refuse("not-injective", text, node)
    if axes:
        new = next(r.buffer for r in inside.block.writes if r.buffer.name == f"{buffer.name}_reindex")
        part = Part(tuple([a.dom for a in axes if a.dom is not None]), whole(new).limits)
        demand(fills_reason(ChildBlock(inside, child.loops), new, 0, part, state.analyzer(root)))

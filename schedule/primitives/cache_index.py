"""Computing the indices of loads beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...ir import (
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Mod,
    Rewriter,
    SBlock,
    SBlockRealize,
    Select,
    Stmt,
    Var,
    const,
    structural_equal,
    structural_hash,
    substitute,
    walk,
)
from ...ir.expr import BinaryOp
from ...ir.op import Op
from ...ir.stmt import BlockRef, seq
from ...ir.types import BufferType
from ...ir.visitor import children
from ..buffers import allocate, region_at
from ..handles import SBlockRV
from ..legality_data import runs_always_reason, storage_scope_reason
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import is_const, serial_loops
from ..state import State, block_ref
from .cache_read import size_vars


@primitive()
def cache_index(
    state: State, block: SBlockRV, storage_scope: str, cse_thresh: int = 0
) -> tuple[State, list[SBlockRV]]:
    """Compute the indices of what a block loads into buffers, at the start of its scope.

    With `cse_thresh` up to 1 each index that is no plain axis; above, each part of an index that occurs
    so many times.  Every handle is kept; those of the new blocks are returned, none where there is nothing.

    buffers: A: T.Buffer((32,), "float32"), B: T.Buffer((64,), "float32")
    before:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi // 2] + 1.0
    steps:
        sch.cache_index("B", "local")
    after:
        index_var_0 = T.sblock_alloc_buffer((64,), "int32", scope="local")
        for ax0 in range(64):
            with T.sblock("index_0"):
                v0 = T.axis.spatial(64, ax0)
                index_var_0[v0] = v0 // 2
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                T.reads(A[vi // 2], index_var_0[vi])
                T.writes(B[vi])
                B[vi] = A[index_var_0[vi]] + 1.0
    """
    node = state.block(block)
    demand(storage_scope_reason(storage_scope, node))
    if not isinstance(cse_thresh, int):
        raise refuse("cse-thresh", f"a number of occurrences is an integer, not {cse_thresh!r}", node)
    root = state.scope_root(block)
    demand(runs_always_reason(state, root, [block.target]))
    axes = _usable_axes(state, block)
    known = size_vars(state, root) | {a.var for a in axes.values()}
    found = [e for e in _chosen(node, cse_thresh) if _movable(e, known)]
    if not found:
        return state, []
    buffers: list[Var] = []
    stmts: list[Stmt] = []
    handles: list[SBlockRV] = []
    uses: list[list[Var]] = []
    for k, e in enumerate(found):
        used = [axes[v] for v in _variables(e) if v in axes]
        shape = [a.dom.extent for a in used if a.dom is not None]
        buffer = Var(f"index_var_{k}", BufferType(e.dtype, shape, storage_scope=storage_scope))
        stmt, ref = _computation(buffer, e, used, f"index_{k}")
        buffers.append(buffer)
        stmts.append(stmt)
        handles.append(SBlockRV(ref))
        uses.append([a.var for a in used])
    made: SBlock = _Replace(found, [BufferLoad(b, u) for b, u in zip(buffers, uses)])(node)
    reads = (*node.reads, *[region_at(b, u) for b, u in zip(buffers, uses)])
    state = state.replace_block(block, made.replace(reads=reads, writes=node.writes))
    scope = state.block(root)
    state = state.replace_block(root, scope.replace(body=seq([*stmts, scope.body])))
    return allocate(state, root, buffers), handles


def _usable_axes(state: State, block: SBlockRV) -> dict[Var, IterVar]:
    """The axes from 0 whose extents do not depend on loops of the scope."""
    loops = {lp.loop_var for lp in state.loops(block)}
    found: dict[Var, IterVar] = {}
    for a in state.block(block).iter_vars:
        if a.dom is not None and is_const(a.dom.min, 0):
            if not [v for v in walk(a.dom.extent) if v in loops]:
                found[a.var] = a
    return found


def _computation(buffer: Var, e: Expr, used: Sequence[IterVar], name: str) -> tuple[Stmt, BlockRef]:
    axes = [IterVar(a.dom, Var(f"v{k}", a.var.ty), IterVar.DATA_PAR) for k, a in enumerate(used)]
    loops = [Var(f"ax{k}", a.var.ty) for k, a in enumerate(used)]
    own = [a.var for a in axes]
    value = substitute(e, dict(zip([a.var for a in used], own)))
    node = SBlock(axes, [], [region_at(buffer, own)], name, BufferStore(buffer, value, own))
    extents = [a.dom.extent for a in axes if a.dom is not None]
    return serial_loops(loops, extents, SBlockRealize(loops, const(1, "bool"), node)), block_ref(node)


# which expressions


def _indices(node: SBlock) -> Iterator[Expr]:
    """The indices of the loads in a block's body, each time that they occur, in program order."""
    for n in _occurrences(node.body):
        if isinstance(n, BufferLoad):
            yield from n.indices


def _occurrences(top: Any) -> Iterator[Any]:
    """Every node below, outer ones first, shared ones each time that they occur."""
    stack = [top]
    while stack:
        n = stack.pop()
        yield n
        stack.extend(reversed(children(n)))


def _computed(e: Expr) -> bool:
    return not isinstance(e, Var | IntImm) and e.dtype.is_integral and e.dtype.is_scalar


def _chosen(node: SBlock, thresh: int) -> list[Expr]:
    """The expressions to compute beforehand, the larger first."""
    indices = [e for e in _indices(node) if _computed(e)]
    if thresh <= 1:
        return sorted(_distinct(indices), key=_size, reverse=True)
    found: list[Expr] = []
    rest = list(indices)
    while True:
        parts = [p for e in rest for p in _occurrences(e) if isinstance(p, Expr) and _computed(p)]
        often = [p for p in _distinct(parts) if _count(p, parts) >= thresh]
        if not often:
            return found
        largest = max(often, key=_size)
        found.append(largest)
        rest = [_Replace([largest], [Var("taken", largest.ty)], everywhere=True)(e) for e in rest]


def _distinct(exprs: Sequence[Expr]) -> list[Expr]:
    found: dict[int, list[Expr]] = {}
    result: list[Expr] = []
    for e in exprs:
        same = found.setdefault(structural_hash(e), [])
        if not any(structural_equal(e, s) for s in same):
            same.append(e)
            result.append(e)
    return result


def _count(e: Expr, parts: Sequence[Expr]) -> int:
    return len([p for p in parts if structural_equal(p, e)])


def _size(e: Expr) -> int:
    return sum([1 for _ in _occurrences(e)])


def _variables(e: Expr) -> list[Var]:
    """The variables, in the order of their first use."""
    return [n for n in walk(e, outer_first=True) if isinstance(n, Var)]


def _movable(e: Expr, known: set[Var] | frozenset[Var]) -> bool:
    """Whether the expression has the same value at the start of the scope, and never fails."""
    for n in walk(e):
        if isinstance(n, Var):
            if n not in known:
                return False
        elif isinstance(n, FloorDiv | FloorMod | Div | Mod):
            if not isinstance(n.b, IntImm) or n.b.value == 0:
                return False
        elif isinstance(n, Call):
            if not isinstance(n.op, Op) or n.op.name != "prim.if_then_else":
                return False
        elif isinstance(n, Expr) and not isinstance(n, IntImm | BinaryOp | Cast | Select | Op):
            return False
    return True


class _Replace(Rewriter):
    """Puts loads in place of expressions in the indices of loads (`everywhere`: wherever they stand)."""

    def __init__(self, old: Sequence[Expr], new: Sequence[Expr], *, everywhere: bool = False) -> None:
        super().__init__()
        self.table: dict[int, list[tuple[Expr, Expr]]] = {}
        for a, b in zip(old, new):
            self.table.setdefault(structural_hash(a), []).append((a, b))
        self.inside = everywhere

    def visit(self, node: Any) -> Any:
        if self.inside and isinstance(node, Expr) and not isinstance(node, Var | IntImm):
            for a, b in self.table.get(structural_hash(node), ()):
                if structural_equal(a, node):
                    return b
        return super().visit(node)

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        outside, self.inside = self.inside, True
        indices = self.visit_tuple(e.indices)
        self.inside = outside
        return e if indices is e.indices else BufferLoad(e.buffer, indices, e.span)

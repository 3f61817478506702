"""What the room that a new layout leaves holds, and who writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..ir import (
    EQ,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Evaluate,
    Expr,
    For,
    ForKind,
    IndexMap,
    IterVar,
    Not,
    Or,
    Range,
    SBlock,
    SBlockRealize,
    Stmt,
    Var,
    const,
    substitute,
    walk,
)
from ..ir.analysis.blocks import ChildBlock, is_reduction, is_spatial
from ..ir.arith import Analyzer
from ..ir.stmt import BlockRef, SeqStmt, seq
from ..ir.types import BOOL
from .buffers import Redirect, buffer_type, one_type, region_at
from .legality import chain_reason, plain_loop_reason, starts_at_zero_reason
from .legality_data import accumulates_reason
from .rewrite import is_true, serial_loops
from .state import State, identity


class Room(NamedTuple):
    """The new indices as loops and axes, the padding condition and value over them."""

    loops: tuple[Var, ...]
    axes: tuple[IterVar, ...]
    inverse: IndexMap
    padding: Expr
    value: Expr

    def over(self, e: Expr, variables: Sequence[Var]) -> Expr:
        """An expression of the inverse's indices, over these variables."""
        return substitute(e, dict(zip(self.inverse.initial_indices, variables)))


def add_padding(
    state: State,
    root: BlockRef,
    buffers: tuple[Var, Var],
    inverse: IndexMap,
    padding: Expr,
    pad_value: IndexMap,
) -> State:
    """The state in which padding of the new buffer has its value; what is new mentions that buffer.

    The only block that writes the buffer, all of it and nothing else, runs over padding, too; else a block
    of its own follows those that write it.  A buffer that nobody writes is assumed to hold the value.
    """
    old, new = buffers
    room = _room(new, inverse, padding, pad_value)
    scope = state.scope(root)
    writers = [scope.children[w] for w in scope.writers.get(old, ())]
    if not writers:
        if old in state.block(root).alloc_buffers:
            return state
        return _before(state, root, _assumption(new, room))
    if len(writers) == 1:
        made = _widened(writers[0], old, new, room)
        if made is not None:
            stands = writers[0].loops[0] if writers[0].loops else writers[0].realize
            return state.replace(stands, made)
    last = writers[-1]
    block = _padding_block(new, room)
    if not scope.only_blocks:
        node = state.block(root)
        return state.replace_block(root, node.replace(body=seq([node.body, block])))
    at = state.place(identity(last.loops[0] if last.loops else last.realize)).node
    return state.replace(at, SeqStmt([at, block]))


def _room(new: Var, inverse: IndexMap, padding: Expr, pad_value: IndexMap) -> Room:
    loops, axes = [], []
    for v, size in zip(inverse.initial_indices, buffer_type(new).shape):
        loops.append(Var(v.name, v.ty))
        dom = Range(const(0, v.dtype), one_type(size, v)[0])
        axes.append(IterVar(dom, Var(f"v_{v.name}", v.ty), IterVar.DATA_PAR))
    table: dict[Var, Expr] = {}
    for p, v in zip(pad_value.initial_indices, inverse.initial_indices):
        table[p] = v if p.ty is v.ty else Cast(p.ty, v)
    return Room(tuple(loops), tuple(axes), inverse, padding, substitute(pad_value.final_indices[0], table))


def _before(state: State, root: BlockRef, stmt: Stmt) -> State:
    node = state.block(root)
    return state.replace_block(root, node.replace(body=seq([stmt, node.body])))


def _loops(room: Room, body: Stmt) -> Stmt:
    return serial_loops(room.loops, [a.dom.extent for a in room.axes if a.dom is not None], body)


def _assumption(new: Var, room: Room) -> Stmt:
    """A block that says what padding of an input holds."""
    axes = [a.var for a in room.axes]
    load = BufferLoad(new, axes)
    holds = Or(Not(room.over(room.padding, axes)), EQ(load, room.over(room.value, axes)))
    body = Evaluate(Call("tirx.assume", (holds,), BOOL))
    block = SBlock(room.axes, [region_at(new, axes)], [], f"buffer_{new.name}_assumptions", body)
    return _loops(room, SBlockRealize(room.loops, const(1, "bool"), block))


def _padding_block(new: Var, room: Room) -> Stmt:
    """A block that writes padding only."""
    axes = [a.var for a in room.axes]
    body = BufferStore(new, room.over(room.value, axes), axes)
    block = SBlock(room.axes, [], [region_at(new, axes)], f"buffer_{new.name}_padding", body)
    return _loops(room, SBlockRealize(room.loops, room.over(room.padding, room.loops), block))


# the writer, run over padding


def _widened(child: ChildBlock, old: Var, new: Var, room: Room) -> Stmt | None:
    """The loops of a block over the new indices, its store guarded; None where it writes in another way."""
    store, init = child.block.body, child.block.init
    if not isinstance(store, BufferStore) or not (init is None or isinstance(init, BufferStore)):
        return None
    spatial = _dimensions(child, old)
    if spatial is None:
        return None
    values = [room.over(e, [a.var for a in room.axes]) for e in room.inverse.final_indices]
    table = dict(zip(spatial, values))
    axes = [a.var for a in room.axes]

    def guarded(s: Stmt) -> BufferStore:
        assert isinstance(s, BufferStore)
        inside: Expr = substitute(Redirect(old, new, lambda _: axes)(s.value), table)
        where = room.over(room.padding, axes)
        chosen = Call("prim.if_then_else", (where, room.over(room.value, axes), inside), inside.ty)
        return BufferStore(new, chosen, axes)

    rest = [a for a in child.block.iter_vars if a.var not in table]
    reads = [substitute(r, table) for r in child.block.reads if r.buffer is not old]
    block = child.block.replace(
        iter_vars=(*room.axes, *rest),
        reads=reads,
        writes=[region_at(new, axes)],
        body=guarded(store),
        init=None if init is None else guarded(init),
    )
    bound = dict(zip([a.var for a in child.block.iter_vars], child.realize.iter_values))
    others = [bound[a.var] for a in rest]
    realize = SBlockRealize([*room.loops, *others], child.realize.predicate, block)
    body: Stmt = realize
    for lp in reversed(child.loops):
        if lp.loop_var in others:
            body = lp.replace(body=body)
    return _loops(room, body)


def _dimensions(child: ChildBlock, buffer: Var) -> list[Var] | None:
    """The axes that index the buffer, one a dimension, if the block writes it all and nothing else."""
    realize, block, loops = child.realize, child.block, child.loops
    if not is_true(realize.predicate) or chain_reason(loops) is not None or len(block.writes) != 1:
        return None
    if accumulates_reason(block, buffer) is not None or (loops and loops[-1].body is not realize):
        return None
    for lp in loops:
        plain = plain_loop_reason(lp) is None and starts_at_zero_reason(lp) is None
        if not plain or lp.kind is not ForKind.SERIAL or _mentions_loops(lp.extent, loops):
            return None
    bound = [v for v in realize.iter_values if isinstance(v, Var)]
    if len(set(bound)) != len(loops) or len(bound) != len(block.iter_vars):
        return None
    if {lp.loop_var for lp in loops} != set(bound):
        return None
    stores = [s for s in (block.body, block.init) if isinstance(s, BufferStore)]
    indices = stores[0].indices
    spatial = [a.var for a in block.iter_vars if is_spatial(a)]
    reduced = [a.var for a in block.iter_vars if is_reduction(a)]
    found = [i for i in indices if isinstance(i, Var)]
    if len(found) != len(indices) or set(found) != set(spatial) or len(found) != len(spatial):
        return None
    if len(spatial) + len(reduced) != len(block.iter_vars):
        return None
    for s in stores:
        if s.buffer is not buffer or not all(a is b for a, b in zip(s.indices, indices)):
            return None
    return found if _whole(child, found, buffer) else None


def _whole(child: ChildBlock, indices: Sequence[Var], buffer: Var) -> bool:
    bound = dict(zip([a.var for a in child.block.iter_vars], child.realize.iter_values))
    extents = {lp.loop_var: lp.extent for lp in child.loops}
    ana = Analyzer()
    for axis, size in zip(indices, buffer_type(buffer).shape):
        loop = bound[axis]
        assert isinstance(loop, Var)
        if not ana.can_prove_equal(*one_type(extents[loop], size)):
            return False
    return True


def _mentions_loops(e: Expr, loops: Sequence[For]) -> bool:
    names = {lp.loop_var for lp in loops}
    for n in walk(e):
        if n in names:
            return True
    return False

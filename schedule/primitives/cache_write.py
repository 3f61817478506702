"""Writing a buffer through a copy of it."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Var
from ...ir.analysis.blocks import BlockScope, ChildBlock
from ...ir.analysis.cover import shared_loops
from ...ir.stmt import BlockRef, For, SBlockRealize, SeqStmt, Stmt, seq
from ..buffers import Redirect, allocate, buffer_at, new_buffer
from ..copies import copy_part, offset_move
from ..handles import SBlockRV
from ..legality_data import (
    accumulates_reason,
    one_writer_reason,
    only_blocks_reason,
    repeats_around,
    runs_always_reason,
    storage_scope_reason,
    written_before_reason,
)
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import guard
from ..state import State, identity
from ..written import fills_reason, outer_condition
from .cache_read import (
    analyzer_at,
    decode_cache,
    encode_cache,
    not_reader,
    prepare_cache,
    statement_at,
    written_part,
)


@primitive(
    prepare=prepare_cache("write_buffer_index", "write"),
    encode=encode_cache,
    decode=lambda inputs, attrs: decode_cache(inputs, attrs, "write_buffer_index"),
)
def cache_write(
    state: State,
    block: SBlockRV,
    write_buffer_index: int | str | Var,
    storage_scope: str,
    consumer_blocks: Sequence[SBlockRV] | None = None,
) -> tuple[State, SBlockRV]:
    """Let the block write a new buffer, which another block then copies to the old one.

    Consumers that are given read the new buffer.  The copy is made before the first other consumer of
    the block, at the end of the scope where there is none.  Every handle is kept; the new block's is
    returned.

    before:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    steps:
        sch.cache_write("B", 0, "local")
    after:
        B_local = T.sblock_alloc_buffer((64,), scope="local")
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B_local[vi] = A[vi] + 1.0
        for ax0 in range(64):
            with T.sblock("B_local"):
                v0 = T.axis.spatial(64, ax0)
                B[v0] = B_local[v0]
    """
    buffer = buffer_at(state, block, write_buffer_index, "write")
    demand(storage_scope_reason(storage_scope, state.block(block)))
    root = state.scope_root(block)
    demand(only_blocks_reason(state, root))
    demand(one_writer_reason(state, root, buffer) or accumulates_reason(state.block(block), buffer))
    scope = state.scope(root)
    writer = scope.children[block.target]
    chosen, at, level = readers_and_place(scope, writer, buffer, consumer_blocks)
    demand(runs_always_reason(state, root, [writer.ref, *chosen]))
    readers = [scope.children[r] for r in chosen]
    demand(written_before_reason(state, root, buffer, readers))
    part, cropped = written_part(state, root, writer, buffer, level, readers)
    ana = analyzer_at(state, root, writer.loops[:level])
    demand(fills_reason(writer, buffer, level, part, ana))
    moves = offset_move(part, buffer, ana) if cropped else (None, None)
    shape = [r.extent for r in part.ranges] if cropped else None
    copy = new_buffer(buffer, f"{buffer.name}_{storage_scope}", shape=shape, scope=storage_scope)
    made = copy_part(copy, buffer, part, cropped=copy if cropped else None, name=copy.name)
    copied = guard(made.stmt, outer_condition(writer, level))
    for ref in (writer.ref, *chosen):
        realize = state.realize(ref)
        state = state.replace(realize, Redirect(buffer, copy, *moves)(realize))
    state = put_before(state, root, at, copied)
    return allocate(state, root, [copy]), SBlockRV(made.ref)


def put_before(state: State, root: BlockRef, at: For | SBlockRealize | None, stmt: Stmt) -> State:
    """The state with a statement before another of the scope; None: at its end."""
    if at is None:
        node = state.block(root)
        return state.replace_block(root, node.replace(body=seq([node.body, stmt])))
    stands = state.place(identity(at)).node
    return state.replace(stands, SeqStmt([stmt, stands]))


def readers_and_place(
    scope: BlockScope, writer: ChildBlock, buffer: Var, consumers: Sequence[SBlockRV] | None
) -> tuple[list[BlockRef], For | SBlockRealize | None, int]:
    """The readers that take the new buffer, before what to copy back, and inside how many loops."""
    readers = [r for r in scope.readers.get(buffer, []) if r is not writer.ref]
    for ref in list(readers):
        if scope.order[ref] < scope.order[writer.ref]:
            other = scope.children[ref]
            if repeats_around(other, writer):
                text = f"block `{other.block.name_hint}` reads `{buffer.name}` before it is written"
                raise refuse("order-dependence", text, other.block)
            readers.remove(ref)
    wanted = [c.target for c in consumers or ()]
    for ref in wanted:
        if ref not in readers:
            raise refuse("no-consumer", not_reader(scope, ref, buffer), writer.block)
    others = [r for r in scope.consumers(writer.ref) if r not in wanted]
    if not others:
        return wanted, None, 0
    first = scope.children[others[0]]
    level = shared_loops(writer.loops, first.loops)
    return wanted, statement_at(first, level), level

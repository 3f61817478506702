"""Reading a buffer through a copy of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir import BufferLoad, BufferRegion, Expr, IntImm, Var, const, structural_equal, walk
from ...ir.analysis.blocks import BlockScope, ChildBlock
from ...ir.analysis.cover import shared_loops
from ...ir.arith import Analyzer
from ...ir.arith.intset import IntervalSet
from ...ir.stmt import BlockRef, For, SBlockRealize, SeqStmt, seq
from ...ir.visitor import type_vars
from ..buffers import Redirect, allocate, buffer_at, named_buffer, new_buffer
from ..copies import Part, copy_part, holds, known_extents, offset_move, part_of, relaxed, whole
from ..handles import SBlockRV
from ..legality_data import (
    one_writer_reason,
    only_blocks_reason,
    repeats_around,
    runs_always_reason,
    storage_scope_reason,
    written_before_reason,
)
from ..legality_inline import may_skip_reads
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import guard, is_const, is_true
from ..state import State, identity
from ..written import fills_reason, initialised_reason, outer_condition


def prepare_cache(index: str, mode: str) -> Callable[[State, dict[str, Any]], dict[str, Any]]:
    """The buffer as a position, a single consumer as a list of one."""
    by_name = named_buffer(index, mode)

    def prepare(state: State, arguments: dict[str, Any]) -> dict[str, Any]:
        one = arguments["consumer_blocks"]
        consumers = [one] if isinstance(one, SBlockRV) else list(one) if one else None
        return {**by_name(state, arguments), "consumer_blocks": consumers}

    return prepare


def encode_cache(arguments: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The peer writes the consumers as a list, empty for all."""
    plain = [v for k, v in arguments.items() if k not in ("block", "consumer_blocks")]
    return [arguments["block"], list(arguments["consumer_blocks"] or ())], plain


def decode_cache(inputs: list[Any], attrs: list[Any], index: str) -> dict[str, Any]:
    """The arguments of an instruction; the peer's has no list where there are no consumers."""
    consumers = list(inputs[1] or ()) if len(inputs) > 1 else []
    return {
        "block": inputs[0],
        index: attrs[0],
        "storage_scope": attrs[1],
        "consumer_blocks": consumers or None,
    }


@primitive(
    prepare=prepare_cache("read_buffer_index", "read"),
    encode=encode_cache,
    decode=lambda inputs, attrs: decode_cache(inputs, attrs, "read_buffer_index"),
)
def cache_read(
    state: State,
    block: SBlockRV,
    read_buffer_index: int | str | Var,
    storage_scope: str,
    consumer_blocks: Sequence[SBlockRV] | None = None,
) -> tuple[State, SBlockRV]:
    """Copy a buffer that the block reads to a new buffer, and let its readers read that.

    The copy is made once the buffer is written, before the first reader; all readers in the scope take
    it, or those given (before a buffer is written, the readers of what was in it).  Every handle is
    kept; the new block's is returned.

    before:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    steps:
        sch.cache_read("B", 0, "shared")
    after:
        A_shared = T.sblock_alloc_buffer((64,), scope="shared")
        for ax0 in range(64):
            with T.sblock("A_shared"):
                v0 = T.axis.spatial(64, ax0)
                A_shared[v0] = A[v0]
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A_shared[vi] + 1.0
    """
    buffer = buffer_at(state, block, read_buffer_index, "read")
    demand(storage_scope_reason(storage_scope, state.block(block)))
    root = state.scope_root(block)
    demand(only_blocks_reason(state, root) or one_writer_reason(state, root, buffer))
    scope = state.scope(root)
    readers = chosen_readers(scope, scope.children[block.target], buffer, consumer_blocks)
    demand(runs_always_reason(state, root, [r.ref for r in readers]))
    if not is_early(scope, readers[0], buffer):
        demand(written_before_reason(state, root, buffer, readers))
    at, part, cropped, condition = _part_read(state, root, buffer, readers)
    ana = state.analyzer(root)
    moves = offset_move(part, buffer, ana) if cropped else (None, None)
    shape = [r.extent for r in part.ranges] if cropped else None
    copy = new_buffer(buffer, f"{buffer.name}_{storage_scope}", shape=shape, scope=storage_scope)
    made = copy_part(buffer, copy, part, cropped=copy if cropped else None, name=copy.name)
    copied = guard(made.stmt, condition)
    for reader in readers:
        realize = state.realize(reader.ref)
        state = state.replace(realize, Redirect(buffer, copy, *moves, reads_only=True, tidy=ana)(realize))
    if at is None:
        node = state.block(root)
        state = state.replace_block(root, node.replace(body=seq([copied, node.body])))
    else:
        stands = state.place(identity(at)).node
        state = state.replace(stands, SeqStmt([copied, stands]))
    return allocate(state, root, [copy]), SBlockRV(made.ref)


def chosen_readers(
    scope: BlockScope, child: ChildBlock, buffer: Var, consumers: Sequence[SBlockRV] | None
) -> list[ChildBlock]:
    """The blocks whose reads are to take the copy, in program order. Raises Refused."""
    writers = scope.writers.get(buffer, [])
    if child.ref in writers:
        text = f"block `{child.block.name_hint}` writes `{buffer.name}`, which it reads"
        raise refuse("in-place", text, child.block, help="`cache_inplace` copies in and out")
    readers = [r for r in scope.readers.get(buffer, []) if r not in writers]
    early = is_early(scope, child, buffer)
    if consumers:
        wanted = [c.target for c in consumers]
        for ref in wanted:
            if ref not in readers:
                raise refuse("no-consumer", not_reader(scope, ref, buffer), child.block)
        readers = [r for r in readers if r in wanted]
        early = bool(readers) and is_early(scope, scope.children[readers[0]], buffer)
    else:
        readers = [r for r in readers if is_early(scope, scope.children[r], buffer) == early]
    for ref in readers:
        reader = scope.children[ref]
        if is_early(scope, reader, buffer) != early or (
            early and repeats_around(reader, scope.children[writers[0]])
        ):
            text = f"block `{reader.block.name_hint}` reads `{buffer.name}` before it is written"
            raise refuse("order-dependence", text, reader.block)
    return [scope.children[r] for r in readers]


def is_early(scope: BlockScope, child: ChildBlock, buffer: Var) -> bool:
    """Whether a block comes before the one that writes the buffer."""
    writers = scope.writers.get(buffer, [])
    return bool(writers) and scope.order[child.ref] < scope.order[writers[0]]


def not_reader(scope: BlockScope, ref: BlockRef, buffer: Var) -> str:
    """Why a block is no consumer of the buffer."""
    if ref not in scope.children:
        return f"block `{ref.name}` does not stand in the same scope"
    return f"block `{ref.name}` does not read `{buffer.name}`, or writes it"


def _part_read(
    state: State, root: BlockRef, buffer: Var, readers: Sequence[ChildBlock]
) -> tuple[For | SBlockRealize | None, Part, bool, Expr]:
    """Before which statement to copy (None: the start of the scope), what, whether into as much, and when."""
    scope = state.scope(root)
    writers = scope.writers.get(buffer, [])
    if not writers or is_early(scope, readers[0], buffer):
        demand(initialised_reason(state, readers[0].ref, buffer))
        return None, *_part_from_outside(state, root, buffer, readers), const(1, "bool")
    writer = scope.children[writers[0]]
    level = shared_loops(writer.loops, readers[0].loops)
    at = statement_at(readers[0], level)
    part, cropped = written_part(state, root, writer, buffer, level, readers)
    if state.check and buffer in state.block(root).alloc_buffers:
        ana = analyzer_at(state, root, writer.loops[:level])
        demand(fills_reason(writer, buffer, level, part, ana))
        return at, part, cropped, outer_condition(writer, level)
    return at, part, cropped, const(1, "bool")


def statement_at(child: ChildBlock, level: int) -> For | SBlockRealize:
    """The statement inside this many of the loops around a block that holds it."""
    return child.loops[level] if level < len(child.loops) else child.realize


def written_part(
    state: State, root: BlockRef, writer: ChildBlock, buffer: Var, level: int, readers: Sequence[ChildBlock]
) -> tuple[Part, bool]:
    """What a block writes inside the loops from `level` on, and whether a buffer of that size can hold it.

    Outside all loops the part is a constant one, and a copy needs no more room where it holds all
    that the readers of the copy read.
    """
    ana = analyzer_at(state, root, writer.loops[:level])
    regions = [r for r in writer.block.writes if r.buffer is buffer]
    part = part_of(buffer, relaxed(writer, regions, level, ana), ana, clip=not level)
    if level:
        return part, False
    for child in readers:
        read = [r for r in child.block.reads if r.buffer is buffer]
        if not holds(ana, part.ranges, relaxed(child, read, 0, ana)):
            return whole(buffer), False
    return known_extents(part, buffer, size_vars(state, root)), True


def analyzer_at(state: State, root: BlockRef, loops: Sequence[For]) -> Analyzer:
    """What is known inside these loops of the scope of a block."""
    from ..rewrite import bind_loop

    ana = state.analyzer(root)
    for lp in loops:
        bind_loop(ana, lp)
    return ana


def _part_from_outside(
    state: State, root: BlockRef, buffer: Var, readers: Sequence[ChildBlock]
) -> tuple[Part, bool]:
    """What the block of the scope says that it reads, where this holds all reads; else everything."""
    node = state.block(root)
    declared = [r for r in node.reads if r.buffer is buffer]
    if len(declared) != 1 or not state.check:
        return whole(buffer), False
    ana = state.analyzer(root)
    ranges = declared[0].region
    box: list[IntervalSet] = []
    for child in readers:
        regions = [r for r in child.block.reads if r.buffer is buffer]
        if not holds(ana, ranges, relaxed(child, regions, 0, ana)):
            return whole(buffer), False
    box = [_as_set(declared[0], k, ana) for k in range(len(ranges))]
    part = _without_needless_limits(state.scope(root), part_of(buffer, box, ana, clip=False), buffer, readers)
    return known_extents(part, buffer, size_vars(state, root)), True


def _without_needless_limits(
    scope: BlockScope, part: Part, buffer: Var, readers: Sequence[ChildBlock]
) -> Part:
    """The part without limits where it is one index that a block reads at in any case."""
    inside: set[int] = set()
    for child in readers:
        runs = all(isinstance(lp.extent, IntImm) and lp.extent.value > 0 for lp in child.loops)
        if not runs or not is_true(child.realize.predicate) or may_skip_reads(child.block.body):
            continue
        for load in walk(child.block.body):
            if isinstance(load, BufferLoad) and load.buffer is buffer:
                inside |= {k for k, i in enumerate(load.indices) if structural_equal(i, part.ranges[k].min)}
    for k, r in enumerate(part.ranges):
        changes = any(isinstance(n, BufferLoad) and n.buffer in scope.writers for n in walk(r.min))
        if not is_const(r.extent, 1) or changes:
            inside.discard(k)
    limits = [(False, False) if k in inside else given for k, given in enumerate(part.limits)]
    return part._replace(limits=tuple(limits))


def _as_set(region: BufferRegion, axis: int, ana: Analyzer) -> IntervalSet:
    return IntervalSet.of_range(region.region[axis], ana)


def size_vars(state: State, root: BlockRef) -> frozenset[Var]:
    """The variables that stand for sizes in the whole function."""
    func = state.func(root)
    found: set[Var] = set()
    for p in func.params:
        found.add(p)
        found.update(type_vars(p.ty))
    return frozenset(found)

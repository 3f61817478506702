"""Random steps of the primitives that move, merge and divide blocks."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from ...errors import ScheduleError
from ...ir import Add, BufferStore, Call, For, IntImm, Max, Min, SBlock, walk
from ...ir.analysis.blocks import BlockScope, ChildBlock
from ...ir.op import Op
from ...ir.stmt import BlockRef, SBlockRealize
from ...schedule import LoopRV, SBlockRV, Schedule
from ...schedule.legality_reduction import feeds
from .steps import (
    Draw,
    Target,
    any_block,
    any_loop,
    any_target,
    block_where,
    handle,
    inside,
    loop_where,
    pick,
    step,
    targets,
    wild,
)

INTRINSICS = {
    "dot_4_f32": (4,),
    "dot_8_f32": (8,),
    "outer_4x4_f32": (4, 4),
    "outer_8x8_f32": (8, 8),
    "dot_4x4_i8i8i32": (4, 4),
    "dot_8x4_i8i8i32": (8, 4),
}
"""Intrinsics with the extents of their loops."""


# places of compute


def _scope(sch: Schedule, child: ChildBlock) -> BlockScope:
    return sch.state.scope_around(child.ref)


def _around_all(
    scope: BlockScope, others: Sequence[BlockRef], child: ChildBlock
) -> list[tuple[BlockRef, int]]:
    """The loops around all of these blocks and not around this one, as depths around the first of them."""
    nests = [scope.children[r].loops for r in others]
    own = {id(lp) for lp in child.loops}
    return [
        (others[0], k)
        for k, lp in enumerate(nests[0])
        if id(lp) not in own and all(any(lp is x for x in nest) for nest in nests)
    ]


def _block_and_loop(draw: Draw, sch: Schedule, *, consumers: bool) -> tuple[SBlockRV, LoopRV]:
    """A block and a loop around all its consumers, or producers; now and then any loop."""
    rows: list[tuple[str, str, int]] = []
    names = {child.ref: name for name, child in targets(sch)}
    for name, child in targets(sch):
        scope = _scope(sch, child)
        others = scope.consumers(child.ref) if consumers else scope.producers(child.ref)
        output = consumers and not all(inside(sch, r) for r in child.block.writes)
        if others and not output:
            found = _around_all(scope, list(others), child)
            rows += [(name, names[ref], k) for ref, k in found if ref in names]
    if wild(draw):
        return any_block(draw, sch), any_loop(draw, sch)
    name, other, depth = pick(draw, rows, "block to move")
    return handle(sch, name), sch.get_loops(handle(sch, other))[depth]


_INDEX = {"last": -1, "first": -2, "unit_loops": -1}


def _index(draw: Draw, option: str) -> int:
    return _INDEX[option] if option in _INDEX else int(draw(st.integers(0, 1)))


@step("last", "first", "number", "unit_loops")
def _compute_at(draw: Draw, sch: Schedule, option: str) -> None:
    block, loop = _block_and_loop(draw, sch, consumers=True)
    sch.compute_at(block, loop, preserve_unit_loops=option == "unit_loops", index=_index(draw, option))


@step("last", "first", "number", "unit_loops")
def _reverse_compute_at(draw: Draw, sch: Schedule, option: str) -> None:
    block, loop = _block_and_loop(draw, sch, consumers=False)
    sch.reverse_compute_at(
        block, loop, preserve_unit_loops=option == "unit_loops", index=_index(draw, option)
    )


@step()
def _compute_inline(draw: Draw, sch: Schedule) -> None:
    def fits(child: ChildBlock) -> bool:
        only_inside = all(inside(sch, r) for r in child.block.writes)
        return only_inside and child.block.init is None and bool(_scope(sch, child).consumers(child.ref))

    sch.compute_inline(handle(sch, block_where(draw, sch, fits)[0]))


@step()
def _reverse_compute_inline(draw: Draw, sch: Schedule) -> None:
    def fits(child: ChildBlock) -> bool:
        return child.block.init is None and len(_scope(sch, child).producers(child.ref)) == 1

    sch.reverse_compute_inline(handle(sch, block_where(draw, sch, fits)[0]))


# reductions


def _reduces(child: ChildBlock) -> bool:
    return child.block.init is not None and bool(child.loops)


@step()
def _decompose_reduction(draw: Draw, sch: Schedule) -> None:
    target = block_where(draw, sch, _reduces)
    child = target[1]

    def before_the_sum(loop: For) -> bool:
        at = [lp is loop for lp in child.loops].index(True)
        return not any(feeds(child, lp, spatial=False) for lp in child.loops[:at])

    loop = loop_where(draw, sch, target, before_the_sum)
    sch.decompose_reduction(handle(sch, target[0]), loop)


@step("from_start", "from_end")
def _rfactor(draw: Draw, sch: Schedule, option: str) -> None:
    target = block_where(draw, sch, _reduces)
    loop = loop_where(draw, sch, target, lambda lp: feeds(target[1], lp, spatial=False))
    sch.rfactor(loop, draw(st.integers(0, 2)) if option == "from_start" else draw(st.integers(-3, -1)))


def _epilogue(block: SBlock) -> str:
    """What the block does to a result."""
    kinds = {type(n) for n in walk(block.body)} & {Add, Max, Min}
    if Max in kinds and Min in kinds:
        return "clip"
    return "relu" if Max in kinds else "bias" if Add in kinds else ""


@step("bias", "relu", "clip")
def _fuse_reduction_epilogue(draw: Draw, sch: Schedule, option: str) -> None:
    rows: list[tuple[str, str]] = []
    names = {child.ref: name for name, child in targets(sch)}
    for name, child in targets(sch):
        for ref in _scope(sch, child).consumers(child.ref):
            after = _scope(sch, child).children[ref]
            if child.block.init is not None and ref in names and _epilogue(after.block) == option:
                rows.append((name, names[ref]))
    before, last = pick(draw, rows, "epilogue")
    sch.fuse_reduction_epilogue(handle(sch, before), handle(sch, last))


# blocks in blocks


@step("unit_iters", "no_unit_iters", "blocks")
def _blockize(draw: Draw, sch: Schedule, option: str) -> None:
    if option == "blocks":
        rows = [(n, sch.state.place(child.ref).parent) for n, child in targets(sch)]
        alike = [[n for n, p in rows if p is parent] for _, parent in rows]
        names = draw(st.sampled_from(alike)) if alike else pick(draw, [], "block")
        first = draw(st.integers(0, len(names) - 1))
        chosen = names[first:] if wild(draw) else names[first : first + draw(st.integers(1, 2))]
        sch.blockize([handle(sch, name) for name in chosen], preserve_unit_iters=draw(st.booleans()))
    else:
        sch.blockize(any_loop(draw, sch), preserve_unit_iters=option == "unit_iters")


def _extents(loops: Sequence[For]) -> tuple[int | None, ...]:
    return tuple([lp.extent.value if isinstance(lp.extent, IntImm) else None for lp in loops])


def _nest(block: SBlock) -> list[For]:
    """The loops that are the body of a block, one directly in the other, around a block."""
    loops: list[For] = []
    body = block.body
    while isinstance(body, For):
        loops.append(body)
        body = body.body
    return loops if isinstance(body, SBlockRealize) else []


@step("loop", "block", "no_unit_iters")
def _tensorize(draw: Draw, sch: Schedule, option: str) -> None:
    rows: list[tuple[Target, int, str]] = []
    for target in targets(sch):
        loops = _nest(target[1].block) if option == "block" else target[1].loops
        for name, extents in INTRINSICS.items():
            at = len(loops) - len(extents)
            if (at == 0 or (at > 0 and option != "block")) and _extents(loops[at:]) == extents:
                rows.append((target, at, name))
    (block, _), at, name = pick(draw, rows, "loops of the extents of an intrinsic")
    on = handle(sch, block) if option == "block" else sch.get_loops(handle(sch, block))[at]
    sch.tensorize(on, name, preserve_unit_iters=option != "no_unit_iters")


# padding and windows


def _pads(child: ChildBlock) -> bool:
    """Whether the block stores something under a condition."""
    body = child.block.body
    if not isinstance(body, BufferStore) or not child.loops:
        return False
    value = body.value
    return isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == "prim.if_then_else"


@step()
def _decompose_padding(draw: Draw, sch: Schedule) -> None:
    target = block_where(draw, sch, _pads)
    loop = loop_where(draw, sch, target, lambda lp: True)
    block = handle(sch, target[0])
    can = sch.can_decompose_padding(block, loop)
    try:
        sch.decompose_padding(block, loop)
    except ScheduleError:
        assert not can, "`can_decompose_padding` promised too much"
        raise
    assert can, "`can_decompose_padding` promised too little"


@step()
def _pad_einsum(draw: Draw, sch: Schedule) -> None:
    name, child = any_target(draw, sch)
    count = len(child.block.iter_vars)
    sizes = st.sampled_from([1, 2, 3, 4])
    sch.pad_einsum(handle(sch, name), draw(st.lists(sizes, min_size=count, max_size=count)))


@step()
def _rolling_buffer(draw: Draw, sch: Schedule) -> None:
    def fits(child: ChildBlock) -> bool:
        scope = _scope(sch, child)
        users = [scope.children[r] for r in scope.consumers(child.ref)]
        together = all(set(map(id, child.loops)) & set(map(id, u.loops)) for u in users)
        return bool(users) and together and all(inside(sch, r) for r in child.block.writes)

    name, child = block_where(draw, sch, fits)
    sch.rolling_buffer(handle(sch, name), draw(st.integers(0, max(0, len(child.block.writes) - 1))))

"""Steps that move, divide and merge blocks, and those on reductions."""

from __future__ import annotations

from calls import Call, Step, call
from draw import Draw, Nothing, block, draws, function, loop, plain, rearranged, reduces
from programs import INTRINSICS
from view import Block

from loopwright.ir import BufferStore, FloatImm, Mul, Op, walk
from loopwright.ir import Call as Operation

INDEX = (-1, -1, -1, -2, 0, 1)


def _beside(d: Draw, *, consumers: bool) -> tuple[Block, Block]:
    """A block and one of its consumers or producers that stands in a loop."""

    def others(b: Block) -> list[Block]:
        found = [d.blocks[n] for n in (b.consumers if consumers else b.producers)]
        return [o for o in found if o.loops]

    moved = d.block(others)
    return moved, d.one(others(moved))


@draws("compute_at")
def _compute_at(d: Draw) -> Call:
    moved, other = _beside(d, consumers=True)
    at = loop(other, d.depth(other))
    return call("compute_at", block(moved.name), at, preserve_unit_loops=d.chance(0.4), index=d.one(INDEX))


@draws("reverse_compute_at")
def _reverse_compute_at(d: Draw) -> Call:
    moved, other = _beside(d, consumers=False)
    at = loop(other, d.depth(other))
    unit, index = d.chance(0.4), d.one(INDEX)
    return call("reverse_compute_at", block(moved.name), at, preserve_unit_loops=unit, index=index)


@draws("compute_inline")
def _compute_inline(d: Draw) -> Call:
    return call("compute_inline", block(d.block(lambda b: b.consumers and not reduces(b)).name))


@draws("reverse_compute_inline")
def _reverse_compute_inline(d: Draw) -> Call:
    def mirrors(b: Block) -> bool:
        found = [d.blocks[n] for n in b.producers]
        return len(b.reads) == len(found) == 1 and not reduces(b) and not reduces(found[0])

    inlined = d.block(mirrors) if d.chance(0.8) else d.block(lambda b: b.producers)
    return call("reverse_compute_inline", block(inlined.name))


@draws("fuse_reduction_epilogue")
def _fuse_reduction_epilogue(d: Draw) -> Call:
    reduction = d.block(lambda b: reduces(b) and b.consumers)
    return call("fuse_reduction_epilogue", block(reduction.name), block(d.one(reduction.consumers)))


@draws("decompose_reduction")
def _decompose_reduction(d: Draw) -> Call:
    reduction = d.looped(reduces)
    return call("decompose_reduction", block(reduction.name), loop(reduction, d.depth(reduction)))


@draws("rfactor")
def _rfactor(d: Draw) -> Call:
    reduction = d.looped(reduces)
    rank = len(reduction.writes[0].shape) if reduction.writes else 1
    depth = len(reduction.loops) - 1 if d.chance(0.5) else d.depth(reduction, plain)
    return call("rfactor", loop(reduction, depth), d.rng.randint(-1, rank))


@draws("pad_einsum")
def _pad_einsum(d: Draw) -> Call:
    padded = d.block(lambda b: reduces(b) or d.chance(0.2))
    return call("pad_einsum", block(padded.name), [d.one([1, 1, 2, 3, 4]) for _ in padded.extents])


@draws("decompose_padding")
def _decompose_padding(d: Draw) -> Call:
    padded = d.looped(_selects)
    return call("decompose_padding", block(padded.name), loop(padded, d.depth(padded)))


def _selects(b: Block) -> bool:
    """Whether the block chooses between values."""
    ops = [n.op for n in walk(b.node.body) if isinstance(n, Operation)]
    return any(isinstance(op, Op) and op.name == "prim.if_then_else" for op in ops)


@draws("can_decompose_padding")
def _can_decompose_padding(d: Draw) -> Call:
    padded = d.looped(_selects) if d.chance(0.7) else d.looped()
    return call("can_decompose_padding", block(padded.name), loop(padded, d.depth(padded)))


@draws("rolling_buffer")
def _rolling_buffer(d: Draw) -> Step:
    """As it is, or after the block was moved to an outer loop of its consumer."""
    rolled = d.block(lambda b: b.consumers and b.writes and b.writes[0].inside)
    roll = call("rolling_buffer", block(rolled.name), 0)
    consumer = d.blocks[d.one(rolled.consumers)]
    if consumer.loops and rolled.loops and consumer.loops[0].var is not rolled.loops[0].var:
        depth = 0 if d.chance(0.7) else d.depth(consumer)
        return [call("compute_at", block(rolled.name), loop(consumer, depth)), roll]
    return [roll]


@draws("blockize")
def _blockize(d: Draw) -> Call:
    unit = d.chance(0.6)
    if d.chance(0.75):
        return call("blockize", d.loop(), preserve_unit_iters=unit)
    first = d.block()
    near = [b.name for b in d.blocks.values() if b.name != first.name and _same_loops(first, b)]
    names = [first.name, d.one(near)] if near and d.chance(0.7) else [first.name]
    return call("blockize", [block(n) for n in names], preserve_unit_iters=unit)


def _same_loops(a: Block, b: Block) -> bool:
    return len(a.loops) == len(b.loops) and all(x.var is y.var for x, y in zip(a.loops, b.loops))


@draws("tensorize")
def _tensorize(d: Draw) -> Step:
    """The innermost loop, made as long as the intrinsic where it can be."""

    def fits(b: Block) -> list[str]:
        kind, lp = _computes(b), b.loops[-1]
        return [
            n for n in INTRINSICS if kind and kind in n and lp.plain and (lp.extent or 1) % int(n[-1]) == 0
        ]

    inner = d.looped(fits)
    name, unit, depth = d.one(fits(inner)), d.chance(0.7), len(inner.loops) - 1
    if inner.loops[depth].extent == int(name[-1]):
        return [call("tensorize", loop(inner, depth), name, preserve_unit_iters=unit)]
    divide = call("split", loop(inner, depth), [None, int(name[-1])])
    return [divide, call("tensorize", loop(inner, depth + 1), name, preserve_unit_iters=unit)]


def _computes(b: Block) -> str | None:
    """Which intrinsic the innermost loop of the block may be, if any."""
    body = b.node.body
    if b.reduced and b.reduced[-1] and not reduces(b):
        return "dot"
    if isinstance(body, BufferStore) and isinstance(body.value, Mul) and isinstance(body.value.b, FloatImm):
        return "double" if body.value.b.value == 2 else None
    return None


@draws("transform_block_layout")
def _transform_block_layout(d: Draw) -> Call:
    laid = d.looped(lambda b: len(b.extents) > 0)
    names = [f"v{k}" for k in range(len(laid.extents))]
    order = d.some(range(len(names)), len(names), len(names))
    if len(order) > 1 and d.chance(0.5):
        first, second, *rest = order
        if laid.reduced[first] != laid.reduced[second] or laid.extents[second] is None:
            raise Nothing
        fused = f"{names[first]} * {laid.extents[second]} + {names[second]}"
        mapping = function(names, [fused, *[names[k] for k in rest]])
    else:
        mapping = rearranged(d, names, order)
    return call("transform_block_layout", block(laid.name), mapping)


@draws("reorder_block_iter_var")
def _reorder_block_iter_var(d: Draw) -> Call:
    of = d.block()
    count = len(of.extents)
    return call("reorder_block_iter_var", block(of.name), d.some(range(count), count, count))

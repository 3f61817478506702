"""Steps that copy, lay out and describe data."""

from __future__ import annotations

from typing import Any

from calls import Call, Step, call
from draw import SCOPES, Draw, block, draws, function, loop, rearranged
from view import Access, Block

from loopwright.ir import BufferLoad, IntImm, Var, walk


def _index(d: Draw, accesses: tuple[Access, ...]) -> Any:
    """The buffer by position, or by name."""
    k = d.access(accesses)
    return accesses[k].buffer.name if d.chance(0.15) else k


@draws("cache_read")
def _cache_read(d: Draw) -> Call:
    reader = d.block(lambda b: b.reads)
    k = d.access(reader.reads)
    others = [b for b in d.blocks.values() if any(r.buffer is reader.reads[k].buffer for r in b.reads)]
    chosen = [block(b.name) for b in d.some(others, 1, 2)] if d.chance(0.4) else None
    given = reader.reads[k].buffer.name if d.chance(0.15) else k
    return call("cache_read", block(reader.name), given, d.one(SCOPES), consumer_blocks=chosen)


@draws("cache_write")
def _cache_write(d: Draw) -> Call:
    writer = d.block(lambda b: b.writes)
    given = _index(d, writer.writes)
    consumers = [block(n) for n in writer.consumers]
    chosen = d.some(consumers, 1, 2) if consumers and d.chance(0.3) else None
    return call("cache_write", block(writer.name), given, d.one(SCOPES), consumer_blocks=chosen)


@draws("cache_inplace")
def _cache_inplace(d: Draw) -> Step:
    """Mostly of all of a buffer, which asks for a block around all loops."""

    def both(b: Block) -> list[int]:
        written = [w.buffer for w in b.writes]
        return [k for k, r in enumerate(b.reads) if r.buffer in written]

    of = d.block(both)
    if of.loops and d.chance(0.6):
        around = call("blockize", loop(of, 0), preserve_unit_iters=False)
        return [around, call("cache_inplace", {"result": 0}, d.one(both(of)), d.one(SCOPES))]
    return [call("cache_inplace", block(of.name), d.one(both(of)), d.one(SCOPES))]


@draws("cache_index")
def _cache_index(d: Draw) -> Call:
    return call("cache_index", block(d.block(_computes).name), d.one(SCOPES), d.rng.randint(0, 3))


def _computes(b: Block) -> list[Any]:
    """The indices of the block that are more than a variable or a number."""
    loads = [n for n in walk(b.node.body) if isinstance(n, BufferLoad)]
    return [i for e in loads for i in e.indices if not isinstance(i, IntImm | Var)]


@draws("reindex")
def _reindex(d: Draw) -> Call:
    of = d.block(lambda b: b.reads and b.writes)
    mode = d.one(["read", "write"])
    accesses = of.reads if mode == "read" else of.writes
    k = d.access(accesses)
    given: Any = accesses[k].buffer.name if d.chance(0.15) else {"pair": [mode, k]}
    return call("reindex", block(of.name), given)


def _staging(d: Draw, of: Block, reduced: bool) -> dict[str, str]:
    names = [f"v{k}" for k in range(len(of.extents))]
    used = [k for k in range(len(names)) if reduced or not of.reduced[k]]
    return rearranged(d, names, d.some(used, len(used), len(used)))


@draws("reindex_cache_read")
def _reindex_cache_read(d: Draw) -> Call:
    of = d.block(lambda b: b.reads)
    k = d.access(of.reads)
    return call("reindex_cache_read", block(of.name), k, d.one(SCOPES), _staging(d, of, True))


@draws("reindex_cache_write")
def _reindex_cache_write(d: Draw) -> Call:
    of = d.block(lambda b: b.writes)
    k = d.access(of.writes)
    return call("reindex_cache_write", block(of.name), k, d.one(SCOPES), _staging(d, of, False))


@draws("read_at")
def _read_at(d: Draw) -> Call:
    of = d.looped(lambda b: b.reads)
    k = d.access(of.reads)
    return call("read_at", loop(of, d.depth(of)), block(of.name), k, d.one(SCOPES))


@draws("write_at")
def _write_at(d: Draw) -> Call:
    of = d.looped(lambda b: b.writes)
    k = d.access(of.writes)
    return call("write_at", loop(of, d.depth(of)), block(of.name), k, d.one(SCOPES))


def _kept(b: Block) -> list[int]:
    """The written buffers that the program allocates."""
    return [k for k, w in enumerate(b.writes) if w.inside]


@draws("set_scope")
def _set_scope(d: Draw) -> Call:
    of = d.block(_kept)
    return call("set_scope", block(of.name), d.one(_kept(of)), d.one(SCOPES))


@draws("unsafe_set_dtype")
def _unsafe_set_dtype(d: Draw) -> Call:
    of = d.block(_kept)
    return call("unsafe_set_dtype", block(of.name), d.one(_kept(of)), d.one(["float16", "float64", "int32"]))


@draws("storage_align")
def _storage_align(d: Draw) -> Call:
    of = d.block(_kept)
    k = d.one(_kept(of))
    rank = len(of.writes[k].shape)
    axis, factor, offset = d.rng.randint(-rank, rank - 1), d.one([4, 8, 32]), d.rng.randint(0, 3)
    return call("storage_align", block(of.name), k, axis, factor, offset)


@draws("transform_layout")
def _transform_layout(d: Draw) -> Call:
    """Mostly exact; else with a value for what is padded, given as a number or as a function.

    What is outside of the program gets no padding: then nothing says what the program must compute.
    """
    of = d.block(lambda b: b.reads and b.writes)
    mode = d.one(["read", "write"])
    accesses = of.reads if mode == "read" else of.writes
    k = d.access(accesses)
    shape = accesses[k].shape
    names = [f"i{a}" for a in range(len(shape))]
    order = d.some(range(len(names)), len(names), len(names))
    sizes = [s for s in shape if s is not None]
    outside = not accesses[k].inside
    exact = [f for f in (2, 3, 4, 1) if sizes and all(s % f == 0 for s in sizes)]
    if len(sizes) == 2 == len(order) and d.chance(0.2):
        mapping = function(names, [f"i0 * {sizes[1]} + i1"])
    else:
        mapping = rearranged(
            d, names, order, d.one(exact) if exact and (outside or d.chance(0.7)) else d.one([2, 3])
        )
    pad: Any = None if outside else d.one([None, None, 0.0, 5.0])
    if pad is not None and d.chance(0.2):
        count = mapping["map"].split(": ", 1)[1].count(",") + 1
        pad = {"map": f"lambda {', '.join([f'j{a}' for a in range(count)])}: f32({pad})"}
    given: Any = accesses[k].buffer.name if d.chance(0.1) else {"pair": [mode, k]}
    return call("transform_layout", block(of.name), given, mapping, pad)


@draws("annotate_buffer_access")
def _annotate_buffer_access(d: Draw) -> Call:
    """A region as it is, or the whole extent of each dimension."""
    of = d.block(lambda b: b.reads and b.writes)
    mode = d.one(["read", "write"])
    accesses = of.reads if mode == "read" else of.writes
    k = d.access(accesses)
    axes = [a.var for a in of.node.iter_vars]
    names = [f"v{n}" for n in range(len(axes))]
    ranges = []
    for r, size in zip(accesses[k].region.region, accesses[k].shape):
        low, extent = _plain(r.min, axes), r.extent
        if low is None or not isinstance(extent, IntImm):
            ranges.append(f"(0, {size})" if size is not None else "(0, 1)")
        else:
            ranges.append(f"({low}, {low} + {extent.value})")
    return call("annotate_buffer_access", block(of.name), k, mode, function(names, ranges))


def _plain(low: Any, axes: list[Var]) -> str | None:
    """The expression as text over `v0, v1, ...`, where it is an axis or a number."""
    if isinstance(low, Var) and low in axes:
        return f"v{axes.index(low)}"
    return str(low.value) if isinstance(low, IntImm) else None


@draws("unsafe_hide_buffer_access")
def _unsafe_hide_buffer_access(d: Draw) -> Call:
    of = d.block(lambda b: b.reads)
    return call("unsafe_hide_buffer_access", block(of.name), "read", [d.access(of.reads)])

"""Steps on loops, of random choices, of notes, and questions."""

from __future__ import annotations

from typing import Any

from calls import Call, Step, call
from draw import Draw, block, draws, loop, plain
from view import Block, Loop


def _unit(d: Draw) -> bool:
    return not d.chance(0.3)


@draws("split")
def _split(d: Draw) -> Call:
    around = d.looped(lambda b: any(map(plain, b.loops)))
    depth = d.depth(around, plain)
    extent = around.loops[depth].extent
    if extent is not None and d.chance(0.2):
        by = d.one([n for n in range(1, extent + 1) if extent % n == 0])
        return call("split", loop(around, depth), [None, by], disable_predication=True)
    return call("split", loop(around, depth), d.factors(extent), preserve_unit_iters=_unit(d))


@draws("fuse")
def _fuse(d: Draw) -> Call:
    around = d.looped(lambda b: len(b.loops) > 1)
    first = d.rng.randrange(len(around.loops) - 1)
    last = d.rng.randint(first + 1, len(around.loops) - 1)
    loops = [loop(around, k) for k in range(first, last + 1)]
    return call("fuse", *loops, preserve_unit_iters=_unit(d))


@draws("reorder")
def _reorder(d: Draw) -> Call:
    around = d.looped(lambda b: len(b.loops) > 1)
    return call("reorder", *[loop(around, k) for k in d.some(range(len(around.loops)), 2, 4)])


@draws("merge")
def _merge(d: Draw) -> Call:
    pairs: list[tuple[Block, Block, int]] = []
    for a in d.blocks.values():
        for b in d.blocks.values():
            depths = range(min(len(a.loops), len(b.loops)))
            pairs += [(a, b, k) for k in depths if _alike(a.loops[k], b.loops[k])]
    first, second, depth = d.one(pairs)
    return call("merge", loop(first, depth), loop(second, depth))


def _alike(a: Loop, b: Loop) -> bool:
    return a.var is not b.var and a.extent == b.extent and a.plain and b.plain


@draws("loop_partition")
def _loop_partition(d: Draw) -> Call:
    def wide(lp: Loop) -> bool:
        return lp.plain and (lp.extent or 0) > 1

    around = d.looped(lambda b: any(map(wide, b.loops)))
    depth = d.depth(around, wide)
    extent = around.loops[depth].extent or 0
    lengths: list[int | None] = [d.rng.randint(1, extent - 1)]
    if d.chance(0.3):
        lengths.append(1)
    lengths.insert(d.rng.randint(0, len(lengths)) if d.chance(0.2) else len(lengths), None)
    return call("loop_partition", loop(around, depth), lengths, preserve_unit_iters=_unit(d))


@draws("add_unit_loop")
def _add_unit_loop(d: Draw) -> Call:
    return call("add_unit_loop", _target(d, d.block()))


def _target(d: Draw, around: Block) -> dict[str, Any]:
    """The block or one of its loops."""
    return d.one([block(around.name), *[loop(around, k) for k in range(len(around.loops))]])


@draws("parallel")
def _parallel(d: Draw) -> Call:
    return call("parallel", d.loop(plain))


@draws("vectorize")
def _vectorize(d: Draw) -> Call:
    return call("vectorize", d.loop(plain))


@draws("unroll")
def _unroll(d: Draw) -> Call:
    return call("unroll", d.loop(plain))


@draws("bind")
def _bind(d: Draw) -> Call:
    axes = ["blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y", "vthread.x", "vthread"]
    return call("bind", d.loop(plain), d.one(axes))


@draws("annotate")
def _annotate(d: Draw) -> Call:
    value = d.one([0, 3, "text", 1.5, [1, 2], {"depth": 1}])
    key = d.one(["note", "note", "pragma_auto_unroll_max_step", "software_pipeline_stage"])
    return call("annotate", _target(d, d.block()), key, value)


@draws("unannotate")
def _unannotate(d: Draw) -> Step:
    options = []
    for b in d.blocks.values():
        options += [(block(b.name), str(k)) for k in b.node.annotations]
        options += [(loop(b, k), note) for k, lp in enumerate(b.loops) for note in lp.notes]
    if options:
        return [call("unannotate", *d.one(options))]
    target = _target(d, d.block())
    return [call("annotate", target, "passing", 1), call("unannotate", target, "passing")]


@draws("sample_categorical")
def _sample_categorical(d: Draw) -> Step:
    decision = d.one([None, 0, 2])
    drawn = call("sample_categorical", [1, 2, 4], [0.5, 0.25, 0.25], decision=decision)
    target = _target(d, d.block())
    if d.chance(0.5):
        return [drawn, call("annotate", target, "chosen", {"result": 0})]
    return [drawn, call("split", d.loop(plain), [None, {"result": 0}])]


@draws("sample_perfect_tile")
def _sample_perfect_tile(d: Draw) -> Step:
    at = d.loop(plain)
    parts = d.rng.randint(1, 3)
    decision = [d.rng.randint(1, 4) for _ in range(parts)] if d.chance(0.5) else None
    drawn = call("sample_perfect_tile", at, parts, d.one([4, 16, 64]), decision=decision)
    return [drawn, call("split", at, {"result": 0})]


@draws("sample_partitioned_tile")
def _sample_partitioned_tile(d: Draw) -> Step:
    at = d.loop(plain)
    parts = d.rng.randint(2, 3)
    drawn = call("sample_partitioned_tile", at, parts, d.rng.randint(0, parts - 1), d.one([1, 2]))
    return [drawn, call("split", at, {"result": 0})]


@draws("sample_compute_location")
def _sample_compute_location(d: Draw) -> Step:
    of = d.block(lambda b: b.consumers) if d.chance(0.8) else d.block()
    drawn = call("sample_compute_location", block(of.name), decision=d.one([None, None, -1, 0]))
    return [drawn, call("compute_at", block(of.name), {"result": 0})] if of.consumers else [drawn]


@draws("get_sblock")
def _get_sblock(d: Draw) -> Call:
    return call("get_sblock", d.block().name, func_name="main")


@draws("get_loops")
def _get_loops(d: Draw) -> Call:
    return call("get_loops", block(d.block().name))


@draws("get_child_blocks")
def _get_child_blocks(d: Draw) -> Call:
    return call("get_child_blocks", block("root") if d.chance(0.5) else _target(d, d.block()))


@draws("get_producers")
def _get_producers(d: Draw) -> Call:
    return call("get_producers", block(d.block().name))


@draws("get_consumers")
def _get_consumers(d: Draw) -> Call:
    return call("get_consumers", block(d.block().name))


@draws("get_output_blocks")
def _get_output_blocks(d: Draw) -> Call:
    return call("get_output_blocks", block("root"))


@draws("enter_postproc")
def _enter_postproc(d: Draw) -> Call:
    return call("enter_postproc")

"""Sorting lines of keys by merging, with whole vectors of keys at a time.

Vectors of as many rows as lanes are sorted by columns, which takes no moves between lanes, and transposed to
sorted runs; runs are merged pairwise.  Merging two vectors is a bitonic network (Batcher, 1968): the lower
half is the next part of the result, the upper half meets the vector that has the smaller head.  Two runs of
one length are merged from both ends at once, so that the processor has two chains of steps to work on.
"""

# The programs are read as the language of loops; a type checker takes them for Python.
# mypy: disable-error-code="valid-type, no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from .. import ir
from ..dtype import DType
from ..ir import PrimFunc, Shuffle
from ..script import tirx as T
from .keys import key_bits, key_of, value_of

LANES = {32: 16, 64: 8}
"""How many keys of so many bits a vector holds."""
CHUNK = 1 << 12
"""Vectors that one thread sorts, in its cache, before what the threads did is merged."""

Order = tuple[tuple[int, ...], tuple[int, ...]]


def network(lanes: int) -> list[Order]:
    """The lanes that meet in each step of a bitonic merge of two vectors, the last one to put them in order.

    Before the first step the vectors hold the smaller and the larger one of each pair of opposite keys.
    """
    places = [*range(2 * lanes)]
    steps: list[Order] = []
    distance = lanes // 2
    while distance:
        low = [p for p in range(2 * lanes) if not p & distance]
        high = [p | distance for p in low]
        steps.append((tuple(map(places.index, low)), tuple(map(places.index, high))))
        places = low + high
        distance //= 2
    ordered = range(2 * lanes)
    found = tuple(map(places.index, ordered))
    return [*steps, (found[:lanes], found[lanes:])]


def swaps(lanes: int, distance: int) -> Order:
    """The lanes of two rows after one step of a transposition: blocks of `distance` change sides."""
    low = [k if not k & distance else lanes + (k ^ distance) for k in range(lanes)]
    high = [k ^ distance if not k & distance else lanes + k for k in range(lanes)]
    return tuple(low), tuple(high)


def picked(vectors: Sequence[Any], lanes: Sequence[int]) -> Any:
    """A vector of these lanes of the vectors behind each other."""
    return Shuffle(list(vectors), [ir.const(k, "int32") for k in lanes])


@functools.cache
def merge_sort(source: str, descending: bool, alone: bool) -> PrimFunc:
    """Sorts the values of lines; with `alone` there is one line, whose parts are sorted in parallel."""
    dtype = DType(source)
    bits = key_bits(dtype)
    lanes, unsigned = LANES[bits], f"uint{bits}"
    vector, block = f"{unsigned}x{lanes}", lanes * lanes
    steps = network(lanes)
    stages = last = len(steps) - 1
    mirror = tuple(range(lanes))[::-1]
    top = ir.const((1 << bits) - 1, unsigned)

    @T.macro
    def sort_columns(keys, base):
        """Sort the columns of a block, then write its transpose: so many sorted runs."""
        rows = T.alloc_buffer((lanes,), vector, scope="local")
        for r in range(lanes):
            rows[r] = keys[T.ramp(base + r * lanes, T.int64(1), lanes)]
        for s in T.unroll(stages):
            for t in T.unroll(s + 1):
                # The first step of a stage compares mirrored rows, the others rows at a distance.
                part: T.let = T.int32(1) << (s - t)
                for q in range(lanes // 2):
                    low: T.let = (q // part) * part * 2 + q % part
                    high: T.let = T.bitwise_xor(low, T.if_then_else(t == 0, 2 * part - 1, part))
                    a: T.let = rows[low]
                    b: T.let = rows[high]
                    rows[low] = T.min(a, b)
                    rows[high] = T.max(a, b)
        swap(rows, 1)
        swap(rows, 2)
        swap(rows, 4)
        if lanes > 8:
            swap(rows, 8)
        for r in range(lanes):
            keys[T.ramp(base + r * lanes, T.int64(1), lanes)] = rows[r]

    @T.macro
    def swap(rows, distance):
        for q in range(lanes // 2):
            low: T.let = (q // distance) * distance * 2 + q % distance
            a: T.let = rows[low]
            b: T.let = rows[low + distance]
            rows[low] = picked([a, b], swaps(lanes, distance)[0])
            rows[low + distance] = picked([a, b], swaps(lanes, distance)[1])

    @T.macro
    def meet(carry, keys, place, back):
        """Merge the vector in hand with the next one: half is done (`carry[1]`), half stays in hand."""
        x = T.alloc_buffer((1,), vector, scope="local")
        y = T.alloc_buffer((1,), vector, scope="local")
        turned: T.let = picked([keys[T.ramp(place, T.int64(1), lanes)]], mirror)
        x[0] = T.min(carry[0], turned)
        y[0] = T.max(carry[0], turned)
        step(x, y, 0)
        step(x, y, 1)
        step(x, y, 2)
        if lanes > 8:
            step(x, y, 3)
        carry[1] = picked([x[0], y[0]], steps[last][1] if back else steps[last][0])
        carry[0] = picked([x[0], y[0]], steps[last][0] if back else steps[last][1])

    @T.macro
    def step(x, y, s):
        p: T.let = picked([x[0], y[0]], steps[s][0])
        q: T.let = picked([x[0], y[0]], steps[s][1])
        x[0] = T.min(p, q)
        y[0] = T.max(p, q)

    @T.macro
    def merge_equal(keys, here, there, base, length):
        """Merge two runs of `length` vectors from both ends."""
        f = T.alloc_buffer((2,), vector, scope="local")
        g = T.alloc_buffer((2,), vector, scope="local")
        at = T.alloc_buffer((6,), "int64", scope="local")
        middle: T.int64 = here + base + length * lanes
        f[0] = keys[T.ramp(here + base, T.int64(1), lanes)]
        g[0] = keys[T.ramp(middle + (length - 1) * lanes, T.int64(1), lanes)]
        at[0] = here + base + lanes
        at[1] = middle + lanes
        at[2] = middle - 2 * lanes
        at[3] = middle + (length - 2) * lanes
        at[4] = middle
        at[5] = middle - lanes
        for t in range(length):
            meet(f, keys, at[4], False)
            keys[T.ramp(there + base + t * lanes, T.int64(1), lanes)] = f[1]
            meet(g, keys, at[5], True)
            keys[T.ramp(there + base + (2 * length - 1 - t) * lanes, T.int64(1), lanes)] = g[1]
            if t < length - 1:
                first: T.let = keys[at[0]] <= keys[at[1]]
                at[4] = T.Select(first, at[0], at[1])
                at[0] = T.Select(first, at[0] + lanes, at[0])
                at[1] = T.Select(first, at[1], at[1] + lanes)
                second: T.let = keys[at[2] + (lanes - 1)] > keys[at[3] + (lanes - 1)]
                at[5] = T.Select(second, at[2], at[3])
                at[2] = T.Select(second, at[2] - lanes, at[2])
                at[3] = T.Select(second, at[3], at[3] - lanes)

    @T.macro
    def merge_rest(keys, here, there, base, length, rest):
        """Merge a run of `length` vectors with a shorter one; where there is none, copy."""
        f = T.alloc_buffer((2,), vector, scope="local")
        at = T.alloc_buffer((3,), "int64", scope="local")
        if rest <= length:
            for t in range(rest):
                keys[T.ramp(there + base + t * lanes, T.int64(1), lanes)] = keys[
                    T.ramp(here + base + t * lanes, T.int64(1), lanes)
                ]
        else:
            middle: T.int64 = here + base + length * lanes
            end: T.int64 = here + base + rest * lanes
            f[0] = keys[T.ramp(here + base, T.int64(1), lanes)]
            at[0] = here + base + lanes
            at[1] = middle + lanes
            at[2] = middle
            for t in range(rest - 1):
                meet(f, keys, at[2], False)
                keys[T.ramp(there + base + t * lanes, T.int64(1), lanes)] = f[1]
                first: T.let = T.if_then_else(
                    at[1] < end, T.if_then_else(at[0] < middle, keys[at[0]] <= keys[at[1]], False), True
                )
                at[2] = T.Select(first, at[0], at[1])
                at[0] = T.Select(first, at[0] + lanes, at[0])
                at[1] = T.Select(first, at[1], at[1] + lanes)
            keys[T.ramp(there + base + (rest - 1) * lanes, T.int64(1), lanes)] = f[0]

    @T.macro
    def merge_level(keys, here, there, begin, count, length):
        """Merge the runs of `length` vectors among `count` vectors."""
        for p in range(count // (2 * length)):
            merge_equal(keys, here, there, (begin + p * 2 * length) * lanes, length)
        done: T.int64 = count // (2 * length) * 2 * length
        if done < count:
            merge_rest(keys, here, there, (begin + done) * lanes, length, count - done)

    @T.macro
    def sort_part(keys, half, begin, count, limit):
        """Sort `count` vectors, whole blocks, until runs have `limit` vectors."""
        length = T.alloc_buffer((1,), "int64", scope="local")
        here = T.alloc_buffer((1,), "int64", scope="local")
        for b in range(count // lanes):
            sort_columns(keys, (begin + b * lanes) * lanes)
        length[0] = T.int64(1)
        here[0] = T.int64(0)
        while length[0] < limit:
            merge_level(keys, here[0], half - here[0], begin, count, length[0])
            here[0] = half - here[0]
            length[0] = length[0] * 2

    @T.prim_func(check_well_formed=False)
    def one(
        x: T.Buffer(("a",), source), out: T.Buffer(("b",), source), outer: T.int64, n: T.int64, inner: T.int64
    ):
        vectors: T.int64 = (n + block - 1) // block * lanes
        half: T.int64 = vectors * lanes
        limit: T.int64 = T.min(vectors, T.int64(CHUNK))
        keys = T.alloc_buffer((2 * half + lanes,), unsigned)
        length = T.alloc_buffer((1,), "int64", scope="local")
        here = T.alloc_buffer((1,), "int64", scope="local")
        for part in T.parallel((vectors + CHUNK - 1) // CHUNK):
            begin: T.int64 = part * CHUNK
            count: T.int64 = T.min(vectors - begin, T.int64(CHUNK))
            own: T.int64 = T.max(T.min(n - begin * lanes, count * lanes), T.int64(0))
            for k in range(own):
                keys[begin * lanes + k] = key_of(x[begin * lanes + k], dtype, descending, True)
            for k in range(count * lanes - own):
                keys[begin * lanes + own + k] = top
            sort_part(keys, half, begin, count, limit)
        length[0] = T.int64(1)
        here[0] = T.int64(0)
        while length[0] < limit:
            here[0] = half - here[0]
            length[0] = length[0] * 2
        while length[0] < vectors:
            run: T.int64 = length[0]
            source_half: T.int64 = here[0]
            target_half: T.int64 = half - here[0]
            done: T.int64 = vectors // (2 * run) * 2 * run
            for p in T.parallel(vectors // (2 * run)):
                merge_equal(keys, source_half, target_half, p * 2 * run * lanes, run)
            if done < vectors:
                merge_rest(keys, source_half, target_half, done * lanes, run, vectors - done)
            here[0] = target_half
            length[0] = run * 2
        sorted_half: T.int64 = here[0]
        for part in T.parallel((vectors + CHUNK - 1) // CHUNK):
            first: T.int64 = part * CHUNK * lanes
            for k in range(T.min(n - first, T.int64(CHUNK * lanes))):
                out[first + k] = value_of(keys[sorted_half + first + k], dtype, descending)

    @T.prim_func(check_well_formed=False)
    def many(
        x: T.Buffer(("a",), source), out: T.Buffer(("b",), source), outer: T.int64, n: T.int64, inner: T.int64
    ):
        for line in T.parallel(outer * inner):
            vectors: T.int64 = (n + block - 1) // block * lanes
            half: T.int64 = vectors * lanes
            keys = T.alloc_buffer((2 * half + lanes,), unsigned)
            length = T.alloc_buffer((1,), "int64", scope="local")
            here = T.alloc_buffer((1,), "int64", scope="local")
            base: T.int64 = line // inner * n * inner + line % inner
            for k in range(n):
                keys[k] = key_of(x[base + k * inner], dtype, descending, True)
            for k in range(half - n):
                keys[n + k] = top
            sort_part(keys, half, T.int64(0), vectors, vectors)
            length[0] = T.int64(1)
            here[0] = T.int64(0)
            while length[0] < vectors:
                here[0] = half - here[0]
                length[0] = length[0] * 2
            for k in range(n):
                out[base + k * inner] = value_of(keys[here[0] + k], dtype, descending)

    return one if alone else many


__all__ = ["LANES", "merge_sort"]

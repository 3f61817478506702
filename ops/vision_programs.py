"""Loop programs that choose boxes: of those that overlap the one with the highest score.

Boxes lie one after the other in flat memory; `order` has their numbers by falling score.
"""

# mypy: disable-error-code="valid-type, no-untyped-def, no-untyped-call, misc"
from __future__ import annotations

import functools
from typing import Any

from .. import ir
from ..ir import PrimFunc
from ..script import tirx as T


def overlap(a: Any, b: Any) -> Any:
    """How much two boxes share of what they cover together; each is its four coordinates, two corners."""
    sides = []
    for k in (0, 1):
        low = ir.max_(ir.min_(a[k], a[k + 2]), ir.min_(b[k], b[k + 2]))
        high = ir.min_(ir.max_(a[k], a[k + 2]), ir.max_(b[k], b[k + 2]))
        sides.append(ir.max_(high - low, ir.const(0, low.dtype)))
    both = sides[0] * sides[1]
    whole = _area(a) + _area(b) - both
    zero = ir.const(0, both.dtype)
    return ir.select(whole <= zero, zero, both / ir.select(whole <= zero, ir.const(1, both.dtype), whole))


def _area(box: Any) -> Any:
    return ir.absolute((box[2] - box[0]) * (box[3] - box[1]))


def _box(data: Any, at: Any, dtype: str = "float32") -> list[Any]:
    """Four coordinates from flat memory."""
    return [ir.cast(data[at + k], dtype) for k in range(4)]


@functools.cache
def suppression(
    dtype: str,
    most: int,
    top: int,
    threshold: float,
    force: bool,
    corner: int,
    score: int,
    label: int,
    together: bool,
    sigma: float,
    least: float,
) -> PrimFunc:
    """Non-maximum suppression of each batch; see `relax.vision.non_max_suppression`.

    `corner`, `score` and `label` say where a box has its coordinates, score and class (below 0: none).
    """
    soft = sigma > 0

    def alike(data: Any, a: Any, b: Any) -> Any:
        if force or label < 0:
            return ir.const(True)
        return ir.equal(data[a + label], data[b + label])

    def decay(value: Any) -> Any:
        return (
            T.exp(ir.const(-1 / (2 * sigma), "float32") * value * value) if soft else ir.const(1, "float32")
        )

    @T.prim_func(check_well_formed=False)
    def suppress(
        data: T.Buffer(("a",), dtype),
        order: T.Buffer(("b",), "int32"),
        valid: T.Buffer(("c",), "int32"),
        indices: T.Buffer(("d",), "int32"),
        out: T.Buffer(("e",), dtype),
        chosen: T.Buffer(("f",), "int32"),
        count: T.Buffer(("g",), "int32"),
        batch: T.int64,
        n: T.int64,
        width: T.int64,
    ):
        left = T.alloc_buffer((n,), "float32")
        kept = T.alloc_buffer((1,), "int64", scope="local")
        best = T.alloc_buffer((1,), "int64", scope="local")
        for k in range(batch * n * width):
            out[k] = T.Cast(dtype, -1)
        for k in range(batch * n):
            chosen[k] = -1
        for b in range(batch):
            given: T.int64 = T.max(T.min(T.Cast("int64", valid[b]), n), T.int64(0))
            m: T.int64 = T.min(given, T.int64(top)) if top > 0 else given
            limit: T.int64 = T.min(m, T.int64(most)) if most > 0 else m
            kept[0] = T.int64(0)
            for i in range(m):
                left[i] = T.Cast("float32", data[(b * n + order[b * n + i]) * width + score])
            for i in range(m):
                best[0] = i
                if soft:
                    for k in range(m):
                        if left[k] > left[best[0]]:
                            best[0] = k
                pick: T.let = best[0]
                if T.if_then_else(kept[0] < limit, left[pick] > T.float32(least if soft else 0.0), False):
                    place: T.int64 = (b * n + order[b * n + pick]) * width
                    row: T.int64 = (b * n + (kept[0] if together or soft else pick)) * width
                    for e in range(width):
                        out[row + e] = data[place + e]
                    out[row + score] = T.Cast(dtype, left[pick])
                    chosen[b * n + kept[0]] = indices[b * n + order[b * n + pick]]
                    kept[0] = kept[0] + 1
                    left[pick] = T.float32(float("-inf"))
                    for k in range(T.int64(0) if soft else i, m):
                        other: T.int64 = (b * n + order[b * n + k]) * width
                        if T.if_then_else(
                            left[k] > T.float32(float("-inf")), alike(data, place, other), False
                        ):
                            shared: T.let = overlap(_box(data, place + corner), _box(data, other + corner))
                            left[k] = T.Select(
                                shared >= T.float32(threshold),
                                T.float32(float("-inf")),
                                left[k] * decay(shared),
                            )
            count[b] = T.Cast("int32", kept[0])

    return suppress


@functools.cache
def of_classes(boxes_dtype: str, scores_dtype: str, count_dtype: str, by_batch: bool) -> PrimFunc:
    """Boxes chosen for each class of each batch; see `relax.vision.all_class_non_max_suppression`.

    A row is (batch, class, box); `by_batch` leaves out the batch and begins anew for each.
    """
    columns = 2 if by_batch else 3

    @T.prim_func(check_well_formed=False)
    def choose(
        boxes: T.Buffer(("a",), boxes_dtype),
        scores: T.Buffer(("b",), scores_dtype),
        order: T.Buffer(("c",), "int32"),
        most: T.Buffer(("d",), count_dtype),
        threshold: T.Buffer(("e",), "float32"),
        least: T.Buffer(("f",), "float32"),
        rows: T.Buffer(("g",), "int64"),
        values: T.Buffer(("h",), scores_dtype),
        count: T.Buffer(("i",), "int64"),
        batch: T.int64,
        classes: T.int64,
        n: T.int64,
    ):
        kept = T.alloc_buffer((n,), "int64")
        own = T.alloc_buffer((1,), "int64", scope="local")
        total = T.alloc_buffer((1,), "int64", scope="local")
        free = T.alloc_buffer((1,), "bool", scope="local")
        for k in range(batch * classes * n):
            values[k] = T.Cast(scores_dtype, 0)
            for e in range(columns):
                rows[k * columns + e] = T.int64(0)
        total[0] = T.int64(0)
        for b in range(batch):
            total[0] = T.int64(0) if by_batch else total[0]
            for c in range(classes):
                own[0] = T.int64(0)
                for i in range(n):
                    box: T.int64 = T.Cast("int64", order[(b * classes + c) * n + i])
                    score: T.let = scores[(b * classes + c) * n + box]
                    if T.if_then_else(
                        own[0] < T.Cast("int64", most[0]), T.Cast("float32", score) > least[0], False
                    ):
                        free[0] = True
                        for k in range(own[0]):
                            shared: T.let = overlap(
                                _box(boxes, (b * n + box) * 4), _box(boxes, (b * n + kept[k]) * 4)
                            )
                            if shared >= threshold[0]:
                                free[0] = False
                        if free[0]:
                            at: T.int64 = (b * classes * n if by_batch else T.int64(0)) + total[0]
                            if not by_batch:
                                rows[at * columns] = b
                            rows[at * columns + (columns - 2)] = c
                            rows[at * columns + (columns - 1)] = box
                            values[at] = score
                            kept[own[0]] = box
                            own[0] = own[0] + 1
                            total[0] = total[0] + 1
            if by_batch:
                count[b] = total[0]
        if not by_batch:
            count[0] = total[0]

    return choose


__all__ = ["of_classes", "overlap", "suppression"]

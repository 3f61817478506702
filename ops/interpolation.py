"""Reading images between pixels: which pixels a place lies among, and how much each counts.

For one dimension a method gives taps: the pixels `start(place) + k` for k = 0, 1, ..., with their weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import te
from ..dtype import DType
from ..ir import const
from ..ir import operators as arith
from .layout import Layout

TAPS: Mapping[str, int] = {"nearest_neighbor": 1, "linear": 2, "cubic": 4}
"""How many pixels of one dimension a place is read from."""


def rounded(place: Any, rounding: str) -> Any:
    """A place as the whole number that a way of rounding makes of it."""
    half = const(0.5, place.dtype)
    if rounding == "floor":
        return te.floor(place)
    if rounding == "ceil":
        return te.ceil(place)
    if rounding == "round_prefer_floor":
        return te.ceil(place - half)
    if rounding == "round_prefer_ceil":
        return te.floor(place + half)
    return te.round(place)


def start(place: Any, method: str, rounding: str, index: DType) -> Any:
    """The first pixel that counts at a place."""
    if method == "nearest_neighbor":
        return arith.cast(rounded(place, rounding), index)
    low = arith.cast(te.floor(place), index)
    return low if method == "linear" else low - 1


def weight(place: Any, k: Any, method: str, alpha: float) -> Any:
    """How much the tap `k` counts at a place."""
    part = place - te.floor(place)
    one = const(1, place.dtype)
    if method == "linear":
        return arith.select(arith.equal(k, 0), one - part, part)
    near = [_outer(part + 1, alpha), _inner(part, alpha), _inner(one - part, alpha), _outer(2 - part, alpha)]
    found = near[3]
    for j in (2, 1, 0):
        found = arith.select(arith.equal(k, j), near[j], found)
    return found


def _inner(t: Any, alpha: float) -> Any:
    """The cubic of a pixel less than 1 away."""
    return ((alpha + 2) * t - (alpha + 3)) * t * t + 1


def _outer(t: Any, alpha: float) -> Any:
    """The cubic of a pixel between 1 and 2 away."""
    return ((alpha * t - 5 * alpha) * t + 8 * alpha) * t - 4 * alpha


def clamped(index: Any, size: Any) -> Any:
    """The index, or the nearest one inside."""
    return arith.max_(arith.min_(index, size - 1), 0)


def blended(
    data: te.Tensor,
    layout: Layout,
    shape: Sequence[Any],
    letters: str,
    taps: int,
    read: Any,
    kind: DType,
    name: str,
) -> te.Tensor:
    """For each place the sum of taps; `read(at, k)` gives for each letter (index, weight, is it inside).

    `k` has the tap of each letter.  What is not inside (None means that all is) counts as zero.
    """

    def element(*indices: Any) -> Any:
        at = layout.join(indices)
        axes = {s: te.reduce_axis((0, const(taps, data.shape[0].dtype)), f"t{s.lower()}") for s in letters}
        found = read(at, {s: a.var for s, a in axes.items()})
        place = {**at, **{s: index for s, (index, _, _) in found.items()}}
        value = arith.cast(data(*layout.indices(place)), kind)
        inside = [i for _, _, i in found.values() if i is not None]
        if inside:
            value = arith.if_then_else(arith.all_(*inside), value, const(0, kind))
        for _, share, _ in found.values():
            value = value * share
        return te.sum(value, axis=list(axes.values()))

    names = [f"ax{k}" for k in range(len(shape))]
    made: te.Tensor = te.compute(shape, element, name, name, varargs_names=names)
    return made


def numpy_weights(part: float, method: str, alpha: float) -> list[float]:
    """The weights of the taps at a place this far behind a pixel."""
    if method == "linear":
        return [1 - part, part]
    away = [1 + part, part, 1 - part, 2 - part]
    a = alpha
    return [
        (a + 2) * x**3 - (a + 3) * x**2 + 1 if x <= 1 else a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
        for x in away
    ]


def numpy_rounded(place: float, rounding: str) -> int:
    """Python: a place as the whole number that a way of rounding makes of it."""
    import math

    if rounding in ("floor", "ceil"):
        return math.floor(place) if rounding == "floor" else math.ceil(place)
    if rounding == "round_prefer_floor":
        return math.ceil(place - 0.5)
    if rounding == "round_prefer_ceil":
        return math.floor(place + 0.5)
    return round(place)


__all__ = ["TAPS", "blended", "clamped", "numpy_rounded", "numpy_weights", "rounded", "start", "weight"]

"""Pooling as tensor expressions: the largest or the mean element of windows of the spatial dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import te
from ..dtype import DType
from ..ir import const
from ..ir import operators as arith
from .infer import is_one
from .layout import Layout
from .window import element_of, padded, pooled_positions, settled

Place = Mapping[str, Any]

ORDER = (
    "pool_size",
    "strides",
    "dilation",
    "padding",
    "ceil_mode",
    "count_include_pad",
    "layout",
    "out_layout",
)
"""The order in which calls hold the attributes of pooling."""


def pool(
    data: te.Tensor,
    kind: str,
    kernel: Sequence[Any],
    stride: Sequence[Any],
    dilation: Sequence[Any],
    padding: Sequence[Any],
    ceil_mode: bool,
    include_padding: bool,
    layout: Layout,
    out_layout: Layout,
    letters: str,
) -> te.Tensor:
    """Windows of a given size; `kind` is "max" or "avg", `padding` what is added before all, after all.

    With `ceil_mode` the last window may reach beyond the padding. A mean counts the elements that are
    there, with `include_padding` those of the padding too.
    """
    count = len(letters)
    kernel = [arith.cast(n, data.shape[0].dtype) for n in kernel]
    before, after = list(padding[:count]), list(padding[count:])
    if ceil_mode:
        after = [a + s - 1 for a, s in zip(after, stride)]
    outside = te.min_value(data.dtype) if kind == "max" else const(0, data.dtype)
    wide = data
    if any(not isinstance(p, int) or p for p in (*before, *after)):
        wide = padded(data, layout, letters, (*before, *after), outside, names="ax{}".format)
    whole = layout.gather(data.shape)
    sizes = dict(whole)
    for k, letter in enumerate(letters):
        sides = padding[k], padding[count + k]
        sizes[letter] = pooled_positions(whole[letter], kernel[k], stride[k], dilation[k], sides, ceil_mode)

    def window(at: Place, taps: Sequence[Any]) -> Place:
        places = {s: at[s] * stride[k] + taps[k] * dilation[k] for k, s in enumerate(letters)}
        return {**at, **places}

    number = window_count(whole, letters, kernel, stride, dilation, padding, ceil_mode, include_padding)
    made = _Pooling(wide, layout, out_layout, sizes, kind, "pool")
    return made(window, lambda at: kernel, number)


def window_count(
    whole: Place,
    letters: str,
    kernel: Sequence[Any],
    stride: Sequence[Any],
    dilation: Sequence[Any],
    padding: Sequence[Any],
    ceil_mode: bool,
    include_padding: bool,
) -> Callable[[Place], Any]:
    """How many elements count in the window at a place, of data with these whole dimensions."""
    count = len(letters)

    def all_of_them(at: Place) -> Any:
        total: Any = 1
        for n in kernel:
            total = total * n
        return total

    def counted(at: Place) -> Any:
        total: Any = 1
        for k, letter in enumerate(letters):
            limit = whole[letter] + padding[count + k] if include_padding else whole[letter]
            first, gap = at[letter] * stride[k] - padding[k], dilation[k]
            last = arith.min_(first + (kernel[k] - 1) * gap, limit - 1)
            taken = (last - first) // gap + 1
            if not include_padding:
                taken = taken - (arith.max_(0 - first, 0) + (gap - 1)) // gap
            total = total * taken
        return total if include_padding else arith.max_(total, 1)

    return counted if ceil_mode or not include_padding else all_of_them


def adaptive_pool(
    data: te.Tensor, kind: str, sizes: Sequence[Any], layout: Layout, out_layout: Layout, letters: str
) -> te.Tensor:
    """As many windows in each dimension as `sizes` says, about equally large, that cover all of it."""
    whole, wanted = (
        layout.gather(data.shape),
        dict(zip(letters, [arith.cast(n, data.shape[0].dtype) for n in sizes])),
    )

    def start(at: Place, s: str) -> Any:
        if is_one(wanted[s]):
            return 0
        return arith.floordiv(at[s] * whole[s], wanted[s])

    def extent(at: Place, s: str) -> Any:
        """The window ends where the next one begins, rounded up."""
        if is_one(wanted[s]):
            return whole[s]
        end = (at[s] + 1) * whole[s]
        up = arith.floordiv(end, wanted[s])
        return arith.select(arith.equal(arith.floormod(end, wanted[s]), 0), up, up + 1) - start(at, s)

    def window(at: Place, taps: Sequence[Any]) -> Place:
        return {**at, **{s: start(at, s) + tap for s, tap in zip(letters, taps)}}

    def number(at: Place) -> Any:
        total: Any = 1
        for s in letters:
            total = total * extent(at, s)
        return total

    made = _Pooling(data, layout, out_layout, {**whole, **wanted}, kind, "adaptive_pool")
    return made(window, lambda at: [extent(at, s) for s in letters], number)


class _Pooling:
    """The maximum over windows, or their sum and its quotient, for results of these whole sizes."""

    def __init__(
        self, data: te.Tensor, layout: Layout, out: Layout, sizes: Mapping[str, Any], kind: str, name: str
    ) -> None:
        self.data, self.layout, self.out = data, layout, out
        self.shape = settled(out.sizes(sizes))
        self.kind, self.name = kind, name

    def __call__(
        self,
        window: Callable[[Place, Sequence[Any]], Place],
        extents: Callable[[Place], Sequence[Any]],
        number: Callable[[Place], Any],
    ) -> te.Tensor:
        """`window(at, taps)` is where an element is, `extents(at)` how far taps run, `number(at)` divides."""
        data, dtype = self.data, self.data.dtype
        rule = {"schedule_rule": f"meta_schedule.{self.name}_{self.kind}"}

        def reduced(combine: Callable[..., Any], kind: DType) -> Callable[..., Any]:
            def element(*indices: Any) -> Any:
                at = self.out.join(indices)
                axes = [te.reduce_axis((0, n), f"rv{k}") for k, n in enumerate(extents(at))]
                place = window(at, [a.var for a in axes])
                taken = element_of(data, self.layout, place, zip(indices, self.shape))
                return combine(arith.cast(taken, kind), axis=axes)

            return element

        if self.kind == "max":
            return self._compute(reduced(te.max, dtype), f"{self.name}_max", f"{self.name}_max", rule)
        wide = _sum_dtype(dtype)
        sums = self._compute(reduced(te.sum, wide), f"{self.name}_sum", f"{self.name}_sum", None)

        def mean(*indices: Any) -> Any:
            divide = arith.div if wide.is_float else arith.truncdiv
            n = arith.cast(number(self.out.join(indices)), wide)
            return arith.cast(divide(sums(*indices), n), dtype)

        return self._compute(mean, f"{self.name}_avg", "elemwise", rule)

    def _compute(self, element: Callable[..., Any], name: str, tag: str, attrs: Any) -> te.Tensor:
        names = [f"ax{k}" for k in range(self.out.ndim)]
        made: te.Tensor = te.compute(self.shape, element, name, tag, attrs, names)
        return made


def _sum_dtype(dtype: DType) -> DType:
    """In which dtype elements are added: one that does not lose what it adds."""
    if dtype.is_float:
        return dtype if dtype.bits >= 32 else DType("float32")
    return dtype if dtype.bits >= 32 else DType("int32")


__all__ = ["ORDER", "adaptive_pool", "pool", "window_count"]

"""What convolutions and pooling share: windows that move over a padded tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .. import te
from ..ir import Expr, Range, as_index, const
from ..ir import operators as arith
from ..ir.arith import Analyzer
from .faults import shape_fault
from .layout import Layout

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
"""The dimensions over which windows move, by their number."""


def per_dimension(op: str, name: str, values: Sequence[int], count: int) -> tuple[int, ...]:
    """One value for each dimension; a single one counts for all. Raises a ValueError for another number."""
    if len(values) == 1:
        return tuple(values) * count
    if len(values) != count:
        shape_fault(op, f"`{name}` needs 1 or {count} values, not {len(values)}: {list(values)}")
    return tuple(values)


def both_sides(op: str, values: Sequence[int], count: int) -> tuple[int, ...]:
    """Padding as what is added before in each dimension, then what after.

    One value counts for all sides, one for each dimension for both of its sides.  Raises a ValueError for
    another number of values.
    """
    if len(values) == 1:
        return tuple(values) * (2 * count)
    if len(values) == count:
        return tuple(values) * 2
    if len(values) != 2 * count:
        numbers = " or ".join(str(n) for n in dict.fromkeys((1, count, 2 * count)))
        shape_fault(op, f"`padding` needs {numbers} values, not {len(values)}: {list(values)}")
    return tuple(values)


def settled(sizes: Sequence[Any]) -> list[Expr]:
    """The sizes as expressions, simplified; numbers get the dtype of the others, by default int64."""
    simplify = Analyzer().simplify
    dtype = next((s.dtype for s in sizes if isinstance(s, Expr)), "int64")
    return [simplify(s if isinstance(s, Expr) else const(s, dtype)) for s in sizes]


def not_negative(op: str, sizes: Mapping[str, Any], what: str) -> None:
    """Raise a ValueError when a size of a result is known to be negative."""
    for letter, size in sizes.items():
        if getattr(size, "value", size if isinstance(size, int) else 0) < 0:
            shape_fault(op, f'{what} does not fit into the dimension "{letter}" of the data')


def positions(size: Any, window: Any, stride: Any, dilation: Any, around: Any) -> Expr:
    """How many places a window has in a dimension of this size with so much padding around."""
    reach = (window - 1) * dilation + 1
    return settled([(size + around - reach) // stride + 1])[0]


def pooled_positions(
    size: Any, window: Any, stride: Any, dilation: Any, sides: tuple[Any, Any], ceil: bool
) -> Expr:
    """How many places a window has that may, with `ceil`, reach beyond the padding on both sides.

    Each begins within the data or the padding before it.
    """
    if not ceil:
        return positions(size, window, stride, dilation, sides[0] + sides[1])
    most = positions(size, window, stride, dilation, sides[0] + sides[1] + stride - 1)
    if Analyzer().can_prove(arith.less((most - 1) * stride, size + sides[0])):
        return most
    return settled([arith.min_(most, (size + sides[0] - 1) // stride + 1)])[0]


def element_of(
    data: te.Tensor, layout: Layout, place: Mapping[str, Any], axes: Iterable[tuple[Expr, Any]]
) -> Any:
    """The element at these indices of whole dimensions; `axes` are variables in them, with their sizes."""
    indices = layout.indices(place)
    if not layout.is_plain:
        analyzer = Analyzer()
        for var, size in axes:
            analyzer.bind(var, Range(const(0, size.dtype), size))  # type: ignore[arg-type]
        indices = [analyzer.simplify(as_index(i)) for i in indices]
    return data(*indices)


def padded(
    data: te.Tensor,
    layout: Layout,
    letters: str,
    padding: Sequence[Any],
    value: Any,
    name: str = "pad_temp",
    names: Callable[[int], str] = "i{}".format,
) -> te.Tensor:
    """The tensor with a value around it, in these dimensions; `padding` is as `both_sides` gives it."""
    before = dict(zip(letters, padding))
    after = dict(zip(letters, padding[len(letters) :]))
    whole = layout.gather(data.shape)
    wide = {k: size + before.get(k, 0) + after.get(k, 0) for k, size in whole.items()}
    shape = settled(layout.sizes(wide))

    def element(*indices: Any) -> Any:
        at = layout.join(indices)
        inside = []
        for letter in letters:
            low, end = before[letter], whole[letter] + before[letter]
            if not _is_zero(low):
                inside.append(arith.greater_equal(at[letter], low))
            if not _is_zero(low) or not _is_zero(after[letter]):
                inside.append(arith.less(at[letter], end))
            at[letter] = at[letter] - low
        taken = element_of(data, layout, at, zip(indices, shape))
        return arith.if_then_else(arith.all_(*inside), taken, value) if inside else taken

    axes = [names(k) for k in range(layout.ndim)]
    made: te.Tensor = te.compute(shape, element, name, "injective,pad", varargs_names=axes)
    return made


def _is_zero(value: Any) -> bool:
    return isinstance(value, int) and value == 0


__all__ = [
    "SPATIAL",
    "both_sides",
    "element_of",
    "not_negative",
    "padded",
    "per_dimension",
    "pooled_positions",
    "positions",
    "settled",
]

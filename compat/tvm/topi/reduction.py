"""Operators of the library that reduce dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .... import te
from ....ir import const
from ....ir import operators as op
from ....te import Tensor, compute, max_value, min_value, reduce_axis


def _dimensions(tensor: Tensor, axis: Any) -> list[int]:
    """The dimensions that `axis` names, all for None, in order."""
    if axis is None:
        return list(range(tensor.ndim))
    given = axis if isinstance(axis, list | tuple) else [axis]
    return sorted({int(a) % tensor.ndim for a in given})


def reduced(
    tensor: Tensor, axis: Any, keepdims: bool, combine: Callable[..., Any], name: str, tag: str
) -> Any:
    """`combine(element, axes)` over these dimensions, which are left out, or stay with one element."""
    dims = _dimensions(tensor, axis)
    over = {d: reduce_axis((0, tensor.shape[d]), f"k{d}") for d in dims}
    kept = [d for d in range(tensor.ndim) if keepdims or d not in over]
    shape = [1 if d in over else tensor.shape[d] for d in kept]

    def element(*indices: Any) -> Any:
        at = dict(zip(kept, indices))
        places = [over.get(d, at.get(d)) for d in range(tensor.ndim)]
        return combine(places, list(over.values()))

    return compute(shape, element, name, tag, varargs_names=[f"ax{k}" for k in range(len(shape))])


def _reduction(name: str, reducer: Callable[..., Any]) -> Callable[..., Any]:
    def function(data: Tensor, axis: Any = None, keepdims: bool = False) -> Any:
        def combine(places: Sequence[Any], axes: Any) -> Any:
            return reducer(data(*places), axis=axes)

        return reduced(data, axis, keepdims, combine, f"{data.op.name}_red", "comm_reduce")

    function.__name__ = name
    function.__doc__ = f"`{name}` over dimensions of a tensor, all of them where none is given."
    return function


_all = te.comm_reducer(op.logical_and, lambda dtype: const(True, dtype), name="all")
_any = te.comm_reducer(op.logical_or, lambda dtype: const(False, dtype), name="any")

REDUCTIONS = {
    name: _reduction(name, reducer)
    for name, reducer in (
        ("sum", te.sum),
        ("prod", te.prod),
        ("max", te.max),
        ("min", te.min),
        ("all", _all),
        ("any", _any),
    )
}


def _position(
    name: str, better: Callable[[Any, Any], Any], worst: Callable[[str], Any]
) -> Callable[..., Any]:
    def function(
        data: Tensor, axis: Any = None, keepdims: bool = False, select_last_index: bool = False
    ) -> Any:
        def combined(a: Sequence[Any], b: Sequence[Any]) -> tuple[Any, Any]:
            first = op.greater(a[0], b[0]) if select_last_index else op.less(a[0], b[0])
            stays = op.logical_or(better(a[1], b[1]), op.logical_and(op.equal(a[1], b[1]), first))
            return op.select(stays, a[0], b[0]), op.select(better(a[1], b[1]), a[1], b[1])

        def start(index: Any, value: Any) -> tuple[Any, Any]:
            return const(-1, index), worst(value)

        reducer = te.comm_reducer(combined, start, name=name)

        def combine(places: Sequence[Any], axes: Sequence[Any]) -> Any:
            flat: Any = 0
            for a in axes:
                flat = op.add(op.mul(flat, a.dom.extent), a.var)
            return reducer((flat, data(*places)), axis=list(axes))

        both = reduced(data, axis, keepdims, combine, f"{data.op.name}_red_temp", "comm_reduce_idx")
        index = both[0]
        return compute(
            index.shape,
            lambda *i: index(*i),
            f"{data.op.name}_red",
            "comm_reduce_idx",
            varargs_names=[f"ax{k}" for k in range(index.ndim)],
        )

    function.__name__ = name
    function.__doc__ = f"`{name}`: where the element stands, counted over the dimensions in row-major order."
    return function


REDUCTIONS["argmax"] = _position("argmax", op.greater, min_value)
REDUCTIONS["argmin"] = _position("argmin", op.less, max_value)

"""Operators of the library that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir import as_expr
from ....ir import operators as op
from ....te import Tensor, compute
from ....te.elementwise import common_shape, is_one


def _axes(rank: int) -> list[str]:
    return [f"ax{i}" for i in range(rank)]


def reshape(a: Tensor, newshape: Any) -> Any:
    """The same elements in row-major order, in another shape."""
    shape = tuple(newshape) if isinstance(newshape, list | tuple) else (newshape,)

    def element(*indices: Any) -> Any:
        flat: Any = 0
        for index, size in zip(indices, shape):
            flat = op.add(op.mul(flat, size), index)
        return a(*unravel(flat, a.shape))

    return compute(shape, element, "T_reshape", "injective", varargs_names=_axes(len(shape)))


def unravel(flat: Any, shape: Sequence[Any]) -> list[Any]:
    """The indices of an element of this row-major place."""
    places: list[Any] = []
    for size in reversed(shape):
        places.append(op.floormod(flat, size))
        flat = op.floordiv(flat, size)
    return places[::-1]


def transpose(a: Tensor, axes: Any = None) -> Any:
    """The tensor with its dimensions in another order, reversed where none is given."""
    order = list(range(a.ndim))[::-1] if axes is None else [int(x) % a.ndim for x in axes]

    def element(*indices: Any) -> Any:
        places: list[Any] = [None] * a.ndim
        for index, axis in zip(indices, order):
            places[axis] = index
        return a(*places)

    shape = [a.shape[axis] for axis in order]
    return compute(shape, element, "T_transpose", "injective", varargs_names=_axes(a.ndim))


def _moved(shape: Sequence[Any], name: str, element: Any, tag: str = "injective") -> Any:
    return compute(shape, element, name, tag, varargs_names=_axes(len(shape)))


def squeeze(a: Tensor, axis: Any = None) -> Any:
    """The tensor without dimensions of one element: those given, or all of them."""
    if axis is None:
        gone = {d for d, size in enumerate(a.shape) if is_one(size)}
    else:
        gone = {int(d) % a.ndim for d in (axis if isinstance(axis, list | tuple) else [axis])}

    def element(*indices: Any) -> Any:
        left = iter(indices)
        return a(*[0 if d in gone else next(left) for d in range(a.ndim)])

    return _moved([size for d, size in enumerate(a.shape) if d not in gone], "T_squeeze", element)


def expand_dims(a: Tensor, axis: int, num_newaxis: int = 1) -> Any:
    """The tensor with dimensions of one element before dimension `axis`."""
    at = axis if axis >= 0 else axis + a.ndim + 1
    shape = [*a.shape[:at], *[1] * num_newaxis, *a.shape[at:]]
    return _moved(shape, "T_expand_dims", lambda *i: a(*i[:at], *i[at + num_newaxis :]), "broadcast")


def broadcast_to(data: Tensor, shape: Any) -> Any:
    """The tensor stretched to a shape: shapes are aligned at their ends, a size of 1 serves everywhere."""
    size = common_shape(data.shape, list(map(as_expr, shape)), "T_broadcast_to")

    def element(*indices: Any) -> Any:
        last = indices[len(indices) - data.ndim :]
        return data(*[0 if is_one(n) else i for i, n in zip(last, data.shape)])

    return _moved(size, "T_broadcast_to", element, "broadcast")


def concatenate(a_tuple: Sequence[Tensor], axis: int = 0) -> Any:
    """The tensors one behind the other along a dimension."""
    first = a_tuple[0]
    at = axis % first.ndim
    ends: list[Any] = [first.shape[at]]
    for tensor in a_tuple[1:]:
        ends.append(op.add(ends[-1], tensor.shape[at]))

    def element(*indices: Any) -> Any:
        value: Any = first(*indices)
        for tensor, start in zip(a_tuple[1:], ends):
            places = [op.sub(i, start) if d == at else i for d, i in enumerate(indices)]
            value = op.if_then_else(op.less_equal(start, indices[at]), tensor(*places), value)
        return value

    return _moved([*first.shape[:at], ends[-1], *first.shape[at + 1 :]], "T_concat", element)


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Any:
    """The tensors, of one shape, side by side in a new dimension."""
    first = tensors[0]
    at = axis if axis >= 0 else axis + first.ndim + 1

    def element(*indices: Any) -> Any:
        places = [i for d, i in enumerate(indices) if d != at]
        value: Any = first(*places)
        for k, tensor in enumerate(tensors[1:], 1):
            value = op.if_then_else(op.equal(indices[at], k), tensor(*places), value)
        return value

    return _moved([*first.shape[:at], len(tensors), *first.shape[at:]], "T_stack", element)


def flip(a: Tensor, axis: int = 0) -> Any:
    """The elements in the opposite order along a dimension."""
    at = axis % a.ndim

    def element(*indices: Any) -> Any:
        last = op.sub(a.shape[at], 1)
        return a(*[op.sub(last, i) if d == at else i for d, i in enumerate(indices)])

    return _moved(a.shape, "T_reverse_sequence", element)

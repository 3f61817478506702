"""Operators that repeat, mirror and overwrite parts of tensors: repeat, tile, flip, reverse_sequence,
slice_scatter, and masked_fill, which is made of others."""

from __future__ import annotations

from typing import Any

from .. import ir, te
from ..ir import Expr, Type
from ..ir.relax import OpPattern, composed, get_op, relax_op
from ..ir.relax.op import Ints, Scalar, Tensor
from .axis_layouts import one_axis, repetition
from .faults import shape_fault
from .indexing import index_type
from .infer import axis_of, common_dtype, constant, like, show, tensor_type
from .sizes import product, simplify, size, slice_of, unravel


def _repeat_te(data: te.Tensor, repeats: int, axis: int | None = None) -> te.Tensor:
    if axis is None:
        flat = [simplify(ir.mul(product(data.shape), repeats))]
        return te.compute(
            flat, lambda i: data(*unravel(ir.floordiv(i, repeats), data.shape)), name="T_repeat"
        )
    at = axis % data.ndim
    shape = [simplify(ir.mul(s, repeats)) if k == at else s for k, s in enumerate(data.shape)]

    def element(*i: Any) -> Any:
        return data(*i[:at], ir.floordiv(i[at], repeats) if repeats else size(0), *i[at + 1 :])

    return te.compute(shape, element, name="T_repeat")


def _repeat_numpy(data: Any, repeats: int, axis: int | None = None) -> Any:
    return data.repeat(repeats, axis)


@relax_op("relax.repeat", pattern=OpPattern.INJECTIVE, te=_repeat_te, numpy=_repeat_numpy, layout=one_axis)
def repeat(data: Tensor, repeats: int, axis: int | None = None) -> Type:
    """Each element so many times in a row along the axis; without an axis, in the flattened tensor."""
    ty = tensor_type("repeat", data)
    if repeats < 1:
        shape_fault("repeat", f"`repeats` is {repeats}; it must be at least 1")
    if axis is None:
        return like(ty, None if ty.sizes is None else (simplify(ir.mul(product(ty.sizes), repeats)),), ndim=1)
    at = axis_of("repeat", axis, ty.ndim)
    if ty.sizes is None:
        return like(ty, ndim=ty.ndim)
    return like(ty, tuple([simplify(ir.mul(s, repeats)) if k == at else s for k, s in enumerate(ty.sizes)]))


def _tiled(sizes: Any, repeats: Ints) -> list[tuple[Any, int]]:
    """The size and how often it is repeated, for each dimension of the result."""
    ndim = max(len(sizes), len(repeats))
    padded = [size(1)] * (ndim - len(sizes)) + list(sizes)
    return list(zip(padded, [1] * (ndim - len(repeats)) + list(repeats)))


def _tile_te(data: te.Tensor, repeats: Ints) -> te.Tensor:
    parts = _tiled(data.shape, repeats)
    lead = len(parts) - data.ndim

    def element(*i: Any) -> Any:
        found = []
        for index, (s, times) in list(zip(i, parts))[lead:]:
            found.append(index if times == 1 else size(0) if constant(s) == 0 else ir.floormod(index, s))
        return data(*found)

    return te.compute([simplify(ir.mul(s, times)) for s, times in parts], element, name="T_tile")


def _tile_numpy(data: Any, repeats: Ints) -> Any:
    import numpy as np

    return np.tile(data, repeats)


@relax_op("relax.tile", pattern=OpPattern.INJECTIVE, te=_tile_te, numpy=_tile_numpy, layout=repetition)
def tile(data: Tensor, repeats: Ints) -> Type:
    """The whole tensor so many times along each dimension; missing dimensions and counts in front are 1."""
    ty = tensor_type("tile", data)
    if any(r < 0 for r in repeats):
        shape_fault("tile", f"`repeats` has a negative number: {list(repeats)}")
    if ty.sizes is None:
        return like(ty, ndim=max(ty.ndim, len(repeats)) if ty.ndim >= 0 else None)
    return like(ty, tuple([simplify(ir.mul(s, times)) for s, times in _tiled(ty.sizes, repeats)]))


def _flip_te(data: te.Tensor, axis: int) -> te.Tensor:
    at = axis % data.ndim

    def element(*i: Any) -> Any:
        return data(*i[:at], ir.sub(ir.sub(data.shape[at], i[at]), 1), *i[at + 1 :])

    return te.compute(data.shape, element, name="T_flip")


def _flip_numpy(data: Any, axis: int) -> Any:
    import numpy as np

    return np.flip(data, axis)


def _flip_gradient(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    return [get_op("relax.flip")(grad, call.attrs["axis"])]


@relax_op(
    "relax.flip",
    pattern=OpPattern.INJECTIVE,
    te=_flip_te,
    numpy=_flip_numpy,
    gradient=_flip_gradient,
    layout=one_axis,
)
def flip(data: Tensor, axis: int) -> Type:
    """The elements along the axis in reverse order."""
    ty = tensor_type("flip", data)
    axis_of("flip", axis, ty.ndim)
    return ty


def _reverse_sequence_te(
    data: te.Tensor, seq_lengths: te.Tensor, seq_axis: int = 1, batch_axis: int = 0
) -> te.Tensor:
    seq, batch = seq_axis % data.ndim, batch_axis % data.ndim

    def element(*i: Any) -> Any:
        length = ir.cast(seq_lengths(i[batch]), "int64")
        mirrored = ir.sub(ir.sub(length, 1), i[seq])
        place = ir.select(ir.less(i[seq], length), mirrored, i[seq])
        return data(*[place if k == seq else v for k, v in enumerate(i)])

    return te.compute(data.shape, element, name="T_reverse_sequence")


def _reverse_sequence_numpy(data: Any, seq_lengths: Any, seq_axis: int = 1, batch_axis: int = 0) -> Any:
    import numpy as np

    rows = np.moveaxis(data.copy(), (batch_axis % data.ndim, seq_axis % data.ndim), (0, 1))
    for row, length in zip(rows, seq_lengths.tolist()):
        row[:length] = row[:length][::-1].copy()
    return np.ascontiguousarray(np.moveaxis(rows, (0, 1), (batch_axis % data.ndim, seq_axis % data.ndim)))


@relax_op(
    "relax.reverse_sequence",
    pattern=OpPattern.INJECTIVE,
    te=_reverse_sequence_te,
    numpy=_reverse_sequence_numpy,
)
def reverse_sequence(data: Tensor, seq_lengths: Tensor, seq_axis: int = 1, batch_axis: int = 0) -> Type:
    """The first `seq_lengths[b]` elements along `seq_axis` reversed, for each index b of `batch_axis`."""
    ty = tensor_type("reverse_sequence", data)
    lengths = index_type("reverse_sequence", seq_lengths, "seq_lengths")
    seq = axis_of("reverse_sequence", seq_axis, ty.ndim, "seq_axis")
    batch = axis_of("reverse_sequence", batch_axis, ty.ndim, "batch_axis")
    if ty.ndim >= 0 and seq == batch:
        shape_fault("reverse_sequence", f"`seq_axis` and `batch_axis` are both {seq}")
    if lengths.ndim not in (-1, 1):
        shape_fault("reverse_sequence", f"`seq_lengths` has {lengths.ndim} dimensions, not one")
    if ty.sizes is not None and lengths.sizes is not None:
        a, b = constant(ty.sizes[batch]), constant(lengths.sizes[0])
        if a is not None and b is not None and a != b:
            shape_fault("reverse_sequence", f"there are {b} lengths for {a} sequences")
    return ty


def _slice_scatter_te(
    input: te.Tensor, src: te.Tensor, start: Any, end: Any, step: Any, axis: int = 0
) -> te.Tensor:
    at = axis % input.ndim
    stride = step.value if isinstance(step, ir.IntImm) else step
    first, length = slice_of(start, end, stride, input.shape[at])

    def element(*i: Any) -> Any:
        off = ir.sub(i[at], first)
        hit = ir.logical_and(ir.less_equal(size(0), off), ir.less(off, ir.mul(length, stride)))
        if stride > 1:
            hit = ir.logical_and(hit, ir.equal(ir.floormod(off, stride), size(0)))
        place = [*i[:at], ir.floordiv(off, stride), *i[at + 1 :]]
        return te.if_then_else(hit, src(*place), input(*i))

    return te.compute(input.shape, element, name="slice_scatter")


def _slice_scatter_numpy(input: Any, src: Any, start: int, end: int, step: int, axis: int = 0) -> Any:
    out = input.copy()
    out[(slice(None),) * (axis % input.ndim) + (slice(start, end, step),)] = src
    return out


@relax_op(
    "relax.slice_scatter", pattern=OpPattern.INJECTIVE, te=_slice_scatter_te, numpy=_slice_scatter_numpy
)
def slice_scatter(
    input: Tensor, src: Tensor, start: Scalar, end: Scalar, step: Scalar, axis: int = 0
) -> Type:
    """A copy of the input whose slice `start:end:step` along the axis is `src`."""
    ty, part = tensor_type("slice_scatter", input, "input"), tensor_type("slice_scatter", src, "src")
    common_dtype("slice_scatter", ty, part)
    at = axis_of("slice_scatter", axis, ty.ndim)
    stride = constant(step)
    if stride is None or stride < 1:
        shape_fault("slice_scatter", "`step` must be a constant of at least 1")
    if ty.ndim >= 0 and part.ndim >= 0 and ty.ndim != part.ndim:
        shape_fault("slice_scatter", f"the input has {ty.ndim} dimensions, `src` {part.ndim}")
    if ty.sizes is not None and part.sizes is not None:
        length = slice_of(start, end, stride, ty.sizes[at])[1]
        wanted = [length if k == at else s for k, s in enumerate(ty.sizes)]
        pairs = [(constant(a), constant(b)) for a, b in zip(wanted, part.sizes)]
        if any(a is not None and b is not None and a != b for a, b in pairs):
            text = f"the slice has the shape {show(wanted)}, `src` {show(part.sizes)}"
            shape_fault("slice_scatter", text)
    return ty


@composed("masked_fill")
def masked_fill(x: Any, mask: Any, value: Any) -> Expr:
    """The tensor with the value where the mask is true: R.where and R.full_like."""
    return get_op("relax.where")(mask, get_op("relax.full_like")(x, value), x)


__all__ = ["flip", "masked_fill", "repeat", "reverse_sequence", "slice_scatter", "tile"]

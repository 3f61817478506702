"""Operators of networks that only move elements: padding, shuffling pixels, flattening."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from .. import te
from ..ir import Type, const
from ..ir import operators as arith
from ..ir.relax import OpPattern, relax_op
from ..ir.relax.op import Ints, Tensor
from .faults import shape_fault
from .infer import like, tensor_type
from .sizes import product, unravel
from .window import not_negative, settled


def _reflected(at: Any, n: Any) -> Any:
    """Places beyond an edge are as far on its other side, the edge itself is not repeated."""
    period = arith.max_(2 * n - 2, 1)
    turn = at % period
    return arith.min_(turn, period - turn)


def _repeated(at: Any, n: Any) -> Any:
    """Places beyond an edge are the edge."""
    return arith.max_(arith.min_(at, n - 1), 0)


def _around(at: Any, n: Any) -> Any:
    """Places beyond an edge are those at the other one."""
    return at % n


_MODES: Final[dict[str, Callable[[Any, Any], Any] | None]] = {
    "constant": None,
    "reflect": _reflected,
    "replicate": _repeated,
    "circular": _around,
}


def _pad_te(data: te.Tensor, pad_width: Ints, pad_mode: str, pad_value: float) -> te.Tensor:
    before, after = pad_width[::2], pad_width[1::2]
    place = _MODES[pad_mode]

    def element(*indices: Any) -> Any:
        inside: list[Any] = []
        at = []
        for i, n, low, high in zip(indices, data.shape, before, after):
            own = i - low if low else i
            if place is not None:
                at.append(place(own, n) if low or high else own)
                continue
            if low > 0:
                inside.append(arith.less_equal(low, i))
            if high > 0:
                inside.append(arith.less(i, n + low))
            at.append(own)
        taken = data(*at)
        value = const(pad_value if data.dtype.is_float else int(pad_value), data.dtype)
        return arith.if_then_else(arith.all_(*inside), taken, value) if inside else taken

    shape = settled([n + low + high for n, low, high in zip(data.shape, before, after)])
    name = "PadInput" if place is None else f"{pad_mode.capitalize()}PadInput"
    made: te.Tensor = te.compute(shape, element, name, "injective,pad")
    return made


def _pad_numpy(data: Any, pad_width: Ints, pad_mode: str, pad_value: float) -> Any:
    import numpy as np

    sides = _sides(data.shape, pad_width)
    widths = [(max(low, 0), max(high, 0)) for _, low, high in sides]
    if pad_mode != "constant":
        names: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
        return np.pad(data, widths, mode=names[pad_mode])
    kept = tuple([slice(max(-low, 0), n - max(-high, 0)) for n, low, high in sides])
    return np.pad(data[kept], widths, constant_values=np.asarray(pad_value).astype(data.dtype))


def _sides(shape: Sequence[Any], pad_width: Ints) -> list[tuple[Any, int, int]]:
    return list(zip(shape, pad_width[::2], pad_width[1::2]))


@relax_op(
    "relax.nn.pad",
    pattern=OpPattern.INJECTIVE,
    te=_pad_te,
    numpy=_pad_numpy,
    printed=("pad_width", "pad_value", "pad_mode"),
)
def pad(data: Tensor, pad_width: Ints, pad_mode: str = "constant", pad_value: float = 0.0) -> Type:
    """The data with more around it; `pad_width` says how much before and after, dimension by dimension.

    `pad_mode` says what: a "constant", what is on the other side of the edge ("reflect"), the edge
    ("replicate"), the other end ("circular").  A negative width takes away.
    """
    op = "nn.pad"
    ty = tensor_type(op, data, "data")
    if pad_mode not in _MODES:
        shape_fault(op, f'`pad_mode` is "{pad_mode}", not one of {", ".join(map(repr, _MODES))}')
    if len(pad_width) % 2 or ty.ndim not in (-1, len(pad_width) // 2):
        shape_fault(op, f"`pad_width` has {len(pad_width)} numbers for {ty.ndim} dimensions, two for each")
    if pad_mode != "constant" and min(pad_width, default=0) < 0:
        shape_fault(op, f'with the mode "{pad_mode}" no width is negative: {list(pad_width)}')
    if ty.sizes is None:
        return like(ty, ndim=len(pad_width) // 2)
    _check_source(op, pad_mode, _sides(ty.sizes, pad_width))
    sizes = settled([n + low + high for n, low, high in _sides(ty.sizes, pad_width)])
    not_negative(op, {str(k): n for k, n in enumerate(sizes)}, "the negative padding")
    return like(ty, tuple(sizes))


def _check_source(op: str, pad_mode: str, sides: Sequence[tuple[Any, int, int]]) -> None:
    """Raise a ValueError where there is nothing to take for the padding."""
    if pad_mode == "constant":
        return
    for k, (n, low, high) in enumerate(sides):
        if (low or high) and getattr(n, "value", 1) == 0:
            shape_fault(op, f'dimension {k} has no elements to pad it with in the mode "{pad_mode}"')


def _pixel_shuffle_te(data: te.Tensor, upscale_factor: int) -> te.Tensor:
    r = upscale_factor
    *batch, channels, high, wide = data.shape

    def element(*i: Any) -> Any:
        *outer, c, y, x = i
        return data(*outer, c * (r * r) + (y % r) * r + x % r, y // r, x // r)

    shape = [*batch, *settled([channels // (r * r), high * r, wide * r])]
    names = [f"ax{k}" for k in range(len(shape))]
    made: te.Tensor = te.compute(shape, element, "pixel_shuffle", "injective", varargs_names=names)
    return made


def _pixel_shuffle_numpy(data: Any, upscale_factor: int) -> Any:
    r = upscale_factor
    *batch, channels, high, wide = data.shape
    parted = data.reshape(*batch, channels // (r * r), r, r, high, wide)
    k = len(batch)
    moved = parted.transpose(*range(k), k, k + 3, k + 1, k + 4, k + 2)
    return moved.reshape(*batch, channels // (r * r), high * r, wide * r)


@relax_op(
    "relax.nn.pixel_shuffle", pattern=OpPattern.INJECTIVE, te=_pixel_shuffle_te, numpy=_pixel_shuffle_numpy
)
def pixel_shuffle(data: Tensor, upscale_factor: int) -> Type:
    """Squares of pixels from channels: (..., c * r * r, h, w) becomes (..., c, h * r, w * r)."""
    op = "nn.pixel_shuffle"
    ty = tensor_type(op, data, "data")
    r = upscale_factor
    if r < 1:
        shape_fault(op, f"`upscale_factor` must be positive, not {r}")
    if 0 <= ty.ndim < 3:
        shape_fault(op, f"`data` needs channels, height and width, but has {ty.ndim} dimensions")
    if ty.sizes is None:
        return like(ty, ndim=ty.ndim)
    *batch, channels, high, wide = ty.sizes
    if getattr(channels, "value", 0) % (r * r):
        shape_fault(op, f"{channels.value} channels make no squares of {r} by {r} pixels")  # type: ignore[attr-defined]
    return like(ty, (*batch, *settled([channels // (r * r), high * r, wide * r])))


def _batch_flatten_te(data: te.Tensor) -> te.Tensor:
    inner = data.shape[1:]
    shape = [data.shape[0], product(inner)]
    made: te.Tensor = te.compute(shape, lambda b, k: data(b, *unravel(k, inner)), "T_reshape", "injective")
    return made


def _batch_flatten_numpy(data: Any) -> Any:
    import math

    return data.reshape(data.shape[0], math.prod(data.shape[1:]))


@relax_op(
    "relax.nn.batch_flatten", pattern=OpPattern.INJECTIVE, te=_batch_flatten_te, numpy=_batch_flatten_numpy
)
def batch_flatten(data: Tensor) -> Type:
    """All dimensions but the first as one."""
    op = "nn.batch_flatten"
    ty = tensor_type(op, data, "data")
    if 0 <= ty.ndim < 2:
        shape_fault(op, f"`data` needs at least 2 dimensions, not {ty.ndim}")
    return like(ty, ndim=2) if ty.sizes is None else like(ty, (ty.sizes[0], product(ty.sizes[1:])))


__all__ = ["batch_flatten", "pad", "pixel_shuffle"]

"""Pooling over one, two and three dimensions: the largest or the mean element of each window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import te
from ..ir import Type
from ..ir.relax import OpPattern, TensorType, relax_op
from ..ir.relax.op import Ints, Tensor
from . import nn_derivatives as derivatives
from .faults import shape_fault
from .infer import same_type, show, tensor_type
from .layout import Layout, find_layout, from_plain, layout_of, to_plain, whole_sizes
from .nn_layouts import spatial
from .pooling import ORDER, adaptive_pool, pool
from .window import SPATIAL, both_sides, not_negative, per_dimension, pooled_positions, settled


def prepare_pool(op: str, count: int) -> Callable[[dict[str, Any]], None]:
    """One size, stride and dilation a dimension, padding for each side, the result laid out as the data."""

    def prepare(values: dict[str, Any]) -> None:
        for name in ("pool_size", "strides", "dilation"):
            values[name] = per_dimension(op, name, values[name], count)
        values["padding"] = both_sides(op, values["padding"], count)
        values["out_layout"] = values["out_layout"] or values["layout"]

    return prepare


def _infer(
    op: str,
    count: int,
    data: Tensor,
    pool_size: Ints,
    strides: Ints,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool,
    layout: str,
    out_layout: str | None,
) -> Type:
    letters = SPATIAL[count]
    found, out, ty = _operand(op, count, data, layout, out_layout)
    if ty.sizes is None:
        return TensorType(None, ty.dtype, ty.vdevice, out.ndim)
    sizes = found.gather(ty.sizes)
    for k, letter in enumerate(letters):
        sides = padding[k], padding[count + k]
        sizes[letter] = pooled_positions(
            sizes[letter], pool_size[k], strides[k], dilation[k], sides, ceil_mode
        )
    not_negative(op, sizes, "the window")
    _check_layout(op, out, sizes)
    return TensorType(settled(out.sizes(sizes)), ty.dtype, ty.vdevice)


def _operand(op: str, count: int, data: Tensor, layout: str, out_layout: str | None) -> tuple[Any, Any, Any]:
    """The layouts of the operand and of the result, and the operand's type."""
    letters = "NC" + SPATIAL[count]
    found = layout_of(op, layout, letters, "layout")
    out = layout_of(op, out_layout or layout, letters, "out_layout")
    ty = tensor_type(op, data, "data")
    whole_sizes(op, found, ty.ndim, ty.sizes, "data")
    return found, out, ty


def _check_layout(op: str, out: Layout, sizes: dict[str, Any]) -> None:
    if not out.divides({letter: settled([n])[0] for letter, n in sizes.items()}):
        shape_fault(
            op, f'a result of the sizes {show(settled(list(sizes.values())))} has no layout "{out.text}"'
        )


def _te(count: int, kind: str) -> Callable[..., te.Tensor]:
    def pool_te(
        data: te.Tensor,
        pool_size: Ints,
        strides: Ints,
        padding: Ints,
        dilation: Ints,
        ceil_mode: bool,
        count_include_pad: bool,
        layout: str,
        out_layout: str,
    ) -> te.Tensor:
        of_data, of_out = find_layout(layout), find_layout(out_layout)
        assert of_data is not None and of_out is not None
        window = (pool_size, strides, dilation, padding, ceil_mode, count_include_pad)
        return pool(data, kind, *window, of_data, of_out, SPATIAL[count])

    return pool_te


def _numpy(count: int, kind: str) -> Callable[..., Any]:
    """Pooling on numpy arrays, window by window."""
    letters = SPATIAL[count]

    def pool_numpy(
        data: Any,
        pool_size: Ints,
        strides: Ints,
        padding: Ints,
        dilation: Ints,
        ceil_mode: bool,
        count_include_pad: bool,
        layout: str,
        out_layout: str,
    ) -> Any:
        import numpy as np

        x = to_plain(data, layout, "NC" + letters)
        places = [
            windows_of(n, size, stride, gap, pad, ceil_mode)
            for n, size, stride, gap, pad in zip(
                x.shape[2:], pool_size, strides, dilation, zip(padding[:count], padding[count:])
            )
        ]
        out = np.zeros((*x.shape[:2], *[len(p) for p in places]), x.dtype)
        for at in np.ndindex(*out.shape[2:]):
            number = 1
            seen = x
            for k, i in enumerate(at):
                inside, around = places[k][i]
                seen = seen.take(inside, axis=2 + k)
                number *= around if count_include_pad else len(inside)
            out[(..., *at)] = reduced(seen, kind, number, count)
        return from_plain(out, "NC" + letters, out_layout)

    return pool_numpy


def windows_of(
    n: int, size: int, stride: int, gap: int, pad: tuple[int, int], ceil: bool
) -> list[tuple[list[int], int]]:
    """The windows of a dimension of `n` elements: the indices in each, and how many the padding adds to.

    A window begins within the data or the padding before it, and ends, unless `ceil`, within the padding.
    """
    found: list[tuple[list[int], int]] = []
    begin = -pad[0]
    while begin + (0 if ceil else (size - 1) * gap) < (n if ceil else n + pad[1]):
        if ceil and begin - stride + (size - 1) * gap >= n + pad[1] - 1 and found:
            break
        taps = [begin + t * gap for t in range(size)]
        found.append(([t for t in taps if 0 <= t < n], len([t for t in taps if t < n + pad[1]])))
        begin += stride
    return found


def reduced(seen: Any, kind: str, number: int, count: int) -> Any:
    """The largest element over the last dimensions, or their sum over `number`."""
    import numpy as np

    axes = tuple(range(seen.ndim - count, seen.ndim))
    if kind == "max":
        least = np.finfo(seen.dtype).min if seen.dtype.kind == "f" else np.iinfo(seen.dtype).min
        return seen.max(axis=axes, initial=least)
    if seen.dtype.kind in "iu":
        return np.fix(seen.sum(axis=axes, dtype=np.int64) / max(number, 1))
    return seen.sum(axis=axes, dtype=np.float64) / max(number, 1)


def _parts(op: str, count: int, kind: str) -> dict[str, Any]:
    """What the records of pooling over so many dimensions share."""
    return {
        "prepare": prepare_pool(op, count),
        "pattern": OpPattern.OUT_FUSIBLE,
        "te": _te(count, kind),
        "numpy": _numpy(count, kind),
        "layout": spatial,
        "printed": ORDER,
    }


@relax_op("relax.nn.max_pool1d", **_parts("nn.max_pool1d", 1, "max"))
def max_pool1d(
    data: Tensor,
    pool_size: Ints = (1,),
    strides: Ints = (1,),
    padding: Ints = (0, 0),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCW",
    out_layout: str | None = None,
) -> Type:
    """The largest element of each window along the width; padding does not count.

    With `ceil_mode` a last window may reach beyond the padding.
    """
    window = (pool_size, strides, padding, dilation, ceil_mode, layout, out_layout)
    return _infer("nn.max_pool1d", 1, data, *window)


@relax_op("relax.nn.max_pool2d", gradient=derivatives.max_pool2d, **_parts("nn.max_pool2d", 2, "max"))
def max_pool2d(
    data: Tensor,
    pool_size: Ints = (1, 1),
    strides: Ints = (1, 1),
    padding: Ints = (0, 0),
    dilation: Ints = (1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> Type:
    """The largest element of each window of height and width; padding does not count.

    With `ceil_mode` last windows may reach beyond the padding.
    """
    window = (pool_size, strides, padding, dilation, ceil_mode, layout, out_layout)
    return _infer("nn.max_pool2d", 2, data, *window)


@relax_op("relax.nn.max_pool3d", **_parts("nn.max_pool3d", 3, "max"))
def max_pool3d(
    data: Tensor,
    pool_size: Ints = (1, 1, 1),
    strides: Ints = (1, 1, 1),
    padding: Ints = (0, 0, 0),
    dilation: Ints = (1, 1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCDHW",
    out_layout: str | None = None,
) -> Type:
    """The largest element of each window of depth, height and width; padding does not count.

    With `ceil_mode` last windows may reach beyond the padding.
    """
    window = (pool_size, strides, padding, dilation, ceil_mode, layout, out_layout)
    return _infer("nn.max_pool3d", 3, data, *window)


@relax_op("relax.nn.avg_pool1d", **_parts("nn.avg_pool1d", 1, "avg"))
def avg_pool1d(
    data: Tensor,
    pool_size: Ints = (1,),
    strides: Ints = (1,),
    padding: Ints = (0, 0),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NCW",
    out_layout: str | None = None,
) -> Type:
    """The mean of each window along the width; with `count_include_pad` the padding's zeros count too.

    With `ceil_mode` a last window may reach beyond the padding; what lies there never counts.
    """
    window = (pool_size, strides, padding, dilation, ceil_mode, layout, out_layout)
    return _infer("nn.avg_pool1d", 1, data, *window)


@relax_op("relax.nn.avg_pool2d", gradient=derivatives.avg_pool2d, **_parts("nn.avg_pool2d", 2, "avg"))
def avg_pool2d(
    data: Tensor,
    pool_size: Ints = (1, 1),
    strides: Ints = (1, 1),
    padding: Ints = (0, 0),
    dilation: Ints = (1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> Type:
    """The mean of each window of height and width; with `count_include_pad` the padding's zeros count too.

    With `ceil_mode` last windows may reach beyond the padding; what lies there never counts.
    """
    window = (pool_size, strides, padding, dilation, ceil_mode, layout, out_layout)
    return _infer("nn.avg_pool2d", 2, data, *window)


@relax_op("relax.nn.avg_pool3d", **_parts("nn.avg_pool3d", 3, "avg"))
def avg_pool3d(
    data: Tensor,
    pool_size: Ints = (1, 1, 1),
    strides: Ints = (1, 1, 1),
    padding: Ints = (0, 0, 0),
    dilation: Ints = (1, 1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NCDHW",
    out_layout: str | None = None,
) -> Type:
    """The mean of each window of depth, height and width; with `count_include_pad` of the padding too.

    With `ceil_mode` last windows may reach beyond the padding; what lies there never counts.
    """
    window = (pool_size, strides, padding, dilation, ceil_mode, layout, out_layout)
    return _infer("nn.avg_pool3d", 3, data, *window)


def _prepare_adaptive(op: str, count: int) -> Callable[[dict[str, Any]], None]:
    def prepare(values: dict[str, Any]) -> None:
        if values["output_size"] is not None:
            values["output_size"] = per_dimension(op, "output_size", values["output_size"], count)
            if min(values["output_size"]) < 0:
                shape_fault(op, f"`output_size` is negative: {list(values['output_size'])}")
        values["out_layout"] = values["out_layout"] or values["layout"]

    return prepare


def _infer_adaptive(
    op: str, count: int, data: Tensor, output_size: Ints | None, layout: str, out_layout: str | None
) -> Type:
    found, out, ty = _operand(op, count, data, layout, out_layout)
    if ty.sizes is None:
        if output_size is None and found == out:
            return same_type(ty) if ty.ndim >= 0 else TensorType(None, ty.dtype, ty.vdevice, out.ndim)
        return TensorType(None, ty.dtype, ty.vdevice, out.ndim)
    sizes = found.gather(ty.sizes)
    if output_size is not None:
        sizes.update(zip(SPATIAL[count], output_size))
    _check_layout(op, out, sizes)
    return TensorType(settled(out.sizes(sizes)), ty.dtype, ty.vdevice)


def _adaptive_te(count: int) -> Callable[..., te.Tensor]:
    def adaptive_te(data: te.Tensor, output_size: Ints | None, layout: str, out_layout: str) -> te.Tensor:
        of_data, of_out = find_layout(layout), find_layout(out_layout)
        assert of_data is not None and of_out is not None
        whole = of_data.gather(data.shape)
        sizes = [whole[s] for s in SPATIAL[count]] if output_size is None else list(output_size)
        return adaptive_pool(data, "avg", sizes, of_data, of_out, SPATIAL[count])

    return adaptive_te


def _adaptive_numpy(count: int) -> Callable[..., Any]:
    letters = SPATIAL[count]

    def adaptive_numpy(data: Any, output_size: Ints | None, layout: str, out_layout: str) -> Any:
        import numpy as np

        x = to_plain(data, layout, "NC" + letters)
        sizes = x.shape[2:] if output_size is None else output_size
        out = np.zeros((*x.shape[:2], *sizes), x.dtype)
        for at in np.ndindex(*sizes):
            spans = [slice(i * n // s, -(-(i + 1) * n // s)) for i, n, s in zip(at, x.shape[2:], sizes)]
            seen = x[(slice(None), slice(None), *spans)]
            number = int(np.prod(seen.shape[2:]))
            out[(..., *at)] = reduced(seen, "avg", number, count)
        return from_plain(out, "NC" + letters, out_layout)

    return adaptive_numpy


def _adaptive_parts(op: str, count: int) -> dict[str, Any]:
    """What the records of adaptive pooling share."""
    return {
        "prepare": _prepare_adaptive(op, count),
        "pattern": OpPattern.OUT_FUSIBLE,
        "te": _adaptive_te(count),
        "numpy": _adaptive_numpy(count),
        "layout": spatial,
    }


@relax_op("relax.nn.adaptive_avg_pool1d", **_adaptive_parts("nn.adaptive_avg_pool1d", 1))
def adaptive_avg_pool1d(
    data: Tensor, output_size: Ints | None = None, layout: str = "NCW", out_layout: str | None = None
) -> Type:
    """Means of `output_size` windows along the width, about equally wide, that cover all of it."""
    return _infer_adaptive("nn.adaptive_avg_pool1d", 1, data, output_size, layout, out_layout)


@relax_op("relax.nn.adaptive_avg_pool2d", **_adaptive_parts("nn.adaptive_avg_pool2d", 2))
def adaptive_avg_pool2d(
    data: Tensor, output_size: Ints | None = None, layout: str = "NCHW", out_layout: str | None = None
) -> Type:
    """Means of `output_size` windows in height and width, about equally large, that cover all of it."""
    return _infer_adaptive("nn.adaptive_avg_pool2d", 2, data, output_size, layout, out_layout)


@relax_op("relax.nn.adaptive_avg_pool3d", **_adaptive_parts("nn.adaptive_avg_pool3d", 3))
def adaptive_avg_pool3d(
    data: Tensor, output_size: Ints | None = None, layout: str = "NCDHW", out_layout: str | None = None
) -> Type:
    """Means of `output_size` windows in depth, height and width, about equally large, covering all."""
    return _infer_adaptive("nn.adaptive_avg_pool3d", 3, data, output_size, layout, out_layout)


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]

"""`tvm.topi.nn.pooling`: the largest or the mean element of windows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ..... import te
from .....errors import Diagnostic, UnsupportedError
from .....ir import const
from .....ir import operators as op
from .....te import Tensor, compute, min_value, reduce_axis


def _dimensions(layout: str, letters: str) -> list[int]:
    """Where these axes stand in a layout such as "NCHW4c". Raises UnsupportedError where one is split."""
    axes = re.findall(r"[A-Z]|\d+[a-z]", layout)
    split = [a for a in axes if a[-1].upper() in letters and len(a) > 1]
    if split or any(letter not in axes for letter in letters):
        raise UnsupportedError(Diagnostic("unsupported", f"pooling in the layout {layout!r}"))
    return [axes.index(letter) for letter in letters]


def _names(tensor: Tensor) -> list[str]:
    return [f"ax{k}" for k in range(tensor.ndim)]


def _shape(data: Tensor, dims: Sequence[int], sizes: Sequence[Any]) -> list[Any]:
    shape: list[Any] = list(data.shape)
    for dim, size in zip(dims, sizes):
        shape[dim] = size
    return shape


def _pooled(
    data: Tensor,
    shape: Sequence[Any],
    kind: str,
    name: str,
    window: Callable[..., tuple[Sequence[Any], Sequence[Any]]],
    count: Callable[..., Any],
) -> Any:
    """The maximum over windows, or the sum divided by `count(*indices)`.

    `window(*indices)` gives the indices of an element and the axes over which they run.
    """
    rule = {"schedule_rule": f"meta_schedule.{name}_{kind}"}
    if kind == "max":

        def largest(*indices: Any) -> Any:
            places, axes = window(*indices)
            return te.max(data(*places), axis=list(axes))

        return compute(shape, largest, f"{name}_max", f"{name}_max", rule, _names(data))
    if kind != "avg":
        raise UnsupportedError(Diagnostic("unsupported", f"pooling of the kind {kind!r}"))

    def total(*indices: Any) -> Any:
        places, axes = window(*indices)
        return te.sum(data(*places), axis=list(axes))

    sums = compute(shape, total, f"{name}_sum", f"{name}_sum", varargs_names=_names(data))
    dtype = data.dtype if data.dtype.is_float else "int32"

    def mean(*indices: Any) -> Any:
        divide = op.div if data.dtype.is_float else op.truncdiv
        return divide(op.cast(sums(*indices), dtype), op.cast(count(*indices), dtype))

    return compute(shape, mean, f"{name}_avg", "elemwise", rule, _names(data))


def _adaptive(data: Tensor, sizes: Sequence[Any], kind: str, dims: Sequence[int]) -> Any:
    """Windows of about the same size, as many in each of the dimensions as `sizes` says."""
    wanted = dict(zip(dims, sizes))

    def start(at: Any, dim: int) -> Any:
        return op.floordiv(op.mul(at, data.shape[dim]), wanted[dim])

    def extent(at: Any, dim: int) -> Any:
        """The window ends where the next one begins, rounded up."""
        size, number = data.shape[dim], wanted[dim]
        end = op.mul(op.add(at, 1), size)
        up = op.floordiv(end, number)
        whole = op.equal(op.floormod(end, number), 0)
        return op.sub(op.select(whole, up, op.add(up, 1)), start(at, dim))

    def window(*indices: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        axes = {d: reduce_axis((0, extent(indices[d], d)), f"rv{k}") for k, d in enumerate(dims)}
        places = [op.add(start(i, d), axes[d].var) if d in axes else i for d, i in enumerate(indices)]
        return places, list(axes.values())

    dtype = data.dtype if data.dtype.is_float else "int32"

    def count(*indices: Any) -> Any:
        result: Any = None
        for d in dims:
            part = op.cast(extent(indices[d], d), dtype)
            result = part if result is None else op.mul(result, part)
        return result

    return _pooled(data, _shape(data, dims, sizes), kind, "adaptive_pool", window, count)


def _sizes(output_size: Any, count: int) -> list[Any]:
    return list(output_size) if isinstance(output_size, list | tuple) else [output_size] * count


def adaptive_pool(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCHW") -> Any:
    """Pooling to a given height and width."""
    return _adaptive(data, _sizes(output_size, 2), pool_type, _dimensions(layout, "HW"))


def adaptive_pool1d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCW") -> Any:
    """Pooling to a given width."""
    return _adaptive(data, _sizes(output_size, 1), pool_type, _dimensions(layout, "W"))


def adaptive_pool3d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCDHW") -> Any:
    """Pooling to a given depth, height and width."""
    return _adaptive(data, _sizes(output_size, 3), pool_type, _dimensions(layout, "DHW"))


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Any:
    """Pooling of the whole height and width to one element."""
    return adaptive_pool(data, [1, 1], pool_type, layout)


def _pool(
    data: Tensor,
    kernel: Sequence[Any],
    stride: Sequence[Any],
    dilation: Sequence[Any],
    padding: Sequence[Any],
    kind: str,
    dims: Sequence[int],
    ceil_mode: bool,
    include_padding: bool,
) -> Any:
    """Windows of a given size; `padding` gives what is added before in each dimension, then what after."""
    before, after = list(padding[: len(dims)]), list(padding[len(dims) :])
    if ceil_mode:
        after = [op.add(a, op.sub(s, 1)) for a, s in zip(after, stride)]
    wide = _padded(data, dims, before, after, kind)
    sizes = []
    for k, d in enumerate(dims):
        reach = op.add(op.mul(op.sub(kernel[k], 1), dilation[k]), 1)
        sizes.append(op.add(op.floordiv(op.sub(wide.shape[d], reach), stride[k]), 1))

    def window(*indices: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        axes = {d: reduce_axis((0, kernel[k]), f"rv{k}") for k, d in enumerate(dims)}
        places = list(indices)
        for k, d in enumerate(dims):
            places[d] = op.add(op.mul(indices[d], stride[k]), op.mul(axes[d].var, dilation[k]))
        return places, list(axes.values())

    def taps(at: Any, k: int) -> Any:
        """How many elements of a window count: those inside, or all but those of the ceiling."""
        size, step = data.shape[dims[k]], dilation[k]
        first = op.sub(op.mul(at, stride[k]), before[k])
        limit = op.add(size, padding[len(dims) + k]) if include_padding else size
        end = op.min_(kernel[k], op.floordiv(op.add(op.sub(limit, first), op.sub(step, 1)), step))
        if include_padding:
            return end
        return op.sub(end, op.max_(op.floordiv(op.add(op.sub(0, first), op.sub(step, 1)), step), 0))

    def count(*indices: Any) -> Any:
        result: Any = 1
        for k, d in enumerate(dims):
            result = op.mul(result, taps(indices[d], k))
        return result if include_padding else op.max_(result, 1)

    return _pooled(wide, _shape(data, dims, sizes), kind, "pool", window, count)


def _padded(
    data: Tensor, dims: Sequence[int], before: Sequence[Any], after: Sequence[Any], kind: str
) -> Tensor:
    """The data with elements around that change no result; the data itself where nothing is added."""
    if all(isinstance(n, int) and n == 0 for n in (*before, *after)):
        return data
    low, high = dict(zip(dims, before)), dict(zip(dims, after))
    value = min_value(data.dtype) if kind == "max" else const(0, data.dtype)
    sizes = [op.add(op.add(data.shape[d], low[d]), high[d]) for d in dims]

    def element(*indices: Any) -> Any:
        inside: Any = None
        for d in dims:
            end = op.add(data.shape[d], low[d])
            here = op.logical_and(op.greater_equal(indices[d], low[d]), op.less(indices[d], end))
            inside = here if inside is None else op.logical_and(inside, here)
        places = [op.sub(i, low[d]) if d in low else i for d, i in enumerate(indices)]
        return op.if_then_else(inside, data(*places), value)

    made: Tensor = compute(
        _shape(data, dims, sizes), element, "pad_temp", "injective,pad", None, _names(data)
    )
    return made


def pool1d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCW",
    count_include_pad: bool = True,
) -> Any:
    """Pooling of windows of the width."""
    dims = _dimensions(layout, "W")
    sizes, steps, gaps = [_sizes(x, 1) for x in (kernel, stride, dilation)]
    return _pool(data, sizes, steps, gaps, padding, pool_type, dims, ceil_mode, count_include_pad)


def pool2d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Any:
    """Pooling of windows of height and width; `padding` is (top, left, bottom, right)."""
    dims = _dimensions(layout, "HW")
    sizes, steps, gaps = [_sizes(x, 2) for x in (kernel, stride, dilation)]
    return _pool(data, sizes, steps, gaps, padding, pool_type, dims, ceil_mode, count_include_pad)


def pool3d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
    count_include_pad: bool = True,
) -> Any:
    """Pooling of windows of depth, height and width."""
    dims = _dimensions(layout, "DHW")
    sizes, steps, gaps = [_sizes(x, 3) for x in (kernel, stride, dilation)]
    return _pool(data, sizes, steps, gaps, padding, pool_type, dims, ceil_mode, count_include_pad)


__all__ = [
    "adaptive_pool",
    "adaptive_pool1d",
    "adaptive_pool3d",
    "global_pool",
    "pool1d",
    "pool2d",
    "pool3d",
]

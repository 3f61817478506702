"""Parts of images brought to one size: roi_align and roi_pool.

A region is a row (number of the image, left, top, right, bottom), in pixels of an image whose size times
`spatial_scale` is that of the data.  The numbers of images must be inside.
"""

# mypy: disable-error-code="valid-type, no-untyped-def, no-untyped-call, misc"
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from .. import te
from ..ir import PrimFunc, Type
from ..ir.relax import OpPattern, TensorType, relax_op
from ..ir.relax.op import Ints, Tensor
from ..script import tirx as T
from .faults import shape_fault
from .infer import common_vdevice, constant, float_only, like, tensor_type
from .layout import from_plain, to_plain
from .programs import run
from .window import per_dimension, settled


@functools.cache
def _align_program(
    dtype: str, places: str, scale: float, ratio: int, aligned: bool, largest: bool
) -> PrimFunc:
    begin = float("-inf") if largest else 0.0

    @T.prim_func(check_well_formed=False)
    def roi_align(
        data: T.Buffer(("a",), dtype),
        rois: T.Buffer(("b",), places),
        out: T.Buffer(("c",), dtype),
        batch: T.int64,
        regions: T.int64,
        channels: T.int64,
        height: T.int64,
        width: T.int64,
        high: T.int64,
        wide: T.int64,
        row: T.int64,
        pixel: T.int64,
        channel: T.int64,
        out_pixel: T.int64,
        out_channel: T.int64,
    ):
        total = T.alloc_buffer((1,), "float32", scope="local")

        @T.inline
        def sample(base, y, x):
            """Add the value between the pixels around a place, or keep it if it is the largest."""
            if T.And(
                T.And(y >= T.float32(-1), y <= T.Cast("float32", height)),
                T.And(x >= T.float32(-1), x <= T.Cast("float32", width)),
            ):
                yy: T.let = T.min(T.max(y, T.float32(0)), T.Cast("float32", height - 1))
                xx: T.let = T.min(T.max(x, T.float32(0)), T.Cast("float32", width - 1))
                y0: T.int64 = T.Cast("int64", T.floor(yy))
                x0: T.int64 = T.Cast("int64", T.floor(xx))
                y1: T.int64 = T.min(y0 + 1, height - 1)
                x1: T.int64 = T.min(x0 + 1, width - 1)
                dy: T.let = yy - T.Cast("float32", y0)
                dx: T.let = xx - T.Cast("float32", x0)
                upper: T.let = (
                    T.Cast("float32", data[base + y0 * row + x0 * pixel]) * (1 - dx)
                    + T.Cast("float32", data[base + y0 * row + x1 * pixel]) * dx
                )
                lower: T.let = (
                    T.Cast("float32", data[base + y1 * row + x0 * pixel]) * (1 - dx)
                    + T.Cast("float32", data[base + y1 * row + x1 * pixel]) * dx
                )
                value: T.let = upper * (1 - dy) + lower * dy
                total[0] = T.max(total[0], value) if largest else total[0] + value
            else:
                total[0] = T.max(total[0], T.float32(0)) if largest else total[0]

        for r in range(regions):
            number: T.int64 = T.max(T.min(T.Cast("int64", rois[r * 5]), batch - 1), T.int64(0))
            image: T.int64 = number * height * width * channels
            left: T.let = T.Cast("float32", rois[r * 5 + 1]) * T.float32(scale)
            top: T.let = T.Cast("float32", rois[r * 5 + 2]) * T.float32(scale)
            across: T.let = T.Cast("float32", rois[r * 5 + 3]) * T.float32(scale) - left
            down: T.let = T.Cast("float32", rois[r * 5 + 4]) * T.float32(scale) - top
            step_y: T.let = (down if aligned else T.max(down, T.float32(1))) / T.Cast("float32", high)
            step_x: T.let = (across if aligned else T.max(across, T.float32(1))) / T.Cast("float32", wide)
            rows: T.int64 = (
                T.int64(ratio) if ratio > 0 else T.max(T.Cast("int64", T.ceil(step_y)), T.int64(1))
            )
            columns: T.int64 = (
                T.int64(ratio) if ratio > 0 else T.max(T.Cast("int64", T.ceil(step_x)), T.int64(1))
            )
            for c, i, j in T.grid(channels, high, wide):
                total[0] = T.float32(begin)
                for p, q in T.grid(rows, columns):
                    sample(
                        image + c * channel,
                        top
                        + step_y
                        * (
                            T.Cast("float32", i)
                            + (T.Cast("float32", p) + T.float32(0.5)) / T.Cast("float32", rows)
                        ),
                        left
                        + step_x
                        * (
                            T.Cast("float32", j)
                            + (T.Cast("float32", q) + T.float32(0.5)) / T.Cast("float32", columns)
                        ),
                    )
                mean: T.let = total[0] if largest else total[0] / T.Cast("float32", rows * columns)
                place: T.int64 = r * high * wide * channels + c * out_channel
                out[place + (i * wide + j) * out_pixel] = T.Cast(dtype, mean)

    return roi_align


def _align_te(
    data: te.Tensor,
    rois: te.Tensor,
    pooled_size: Ints,
    spatial_scale: float,
    sample_ratio: int,
    aligned: bool,
    layout: str,
    mode: str,
) -> te.Tensor:
    last = layout == "NHWC"
    height, width = (data.shape[1:3]) if last else data.shape[2:4]
    channels = data.shape[3 if last else 1]
    high, wide = settled([rois.shape[0], *pooled_size])[1:]
    shape = [rois.shape[0], high, wide, channels] if last else [rois.shape[0], channels, high, wide]
    strides = (
        [width * channels, channels, 1, channels, 1] if last else [width, 1, height * width, 1, high * wide]
    )
    program = _align_program(
        str(data.dtype), str(rois.dtype), spatial_scale, sample_ratio, aligned, mode == "max"
    )
    scalars = settled([data.shape[0], rois.shape[0], channels, height, width, high, wide, *strides])
    return run(program, [data, rois], [(shape, data.dtype)], scalars, "roi_align")[0]


def _align_numpy(
    data: Any,
    rois: Any,
    pooled_size: Ints,
    spatial_scale: float,
    sample_ratio: int,
    aligned: bool,
    layout: str,
    mode: str,
) -> Any:
    import numpy as np

    x = to_plain(data, layout, "NCHW").astype(np.float32)
    out = np.zeros((len(rois), x.shape[1], *pooled_size), np.float32)
    scale = np.float32(spatial_scale)
    for r, (image, *corners) in enumerate(rois.astype(np.float32)):
        left, top, right, bottom = [c * scale for c in corners]
        sizes = [bottom - top, right - left]
        steps = [
            (s if aligned else max(s, np.float32(1))) / np.float32(p) for s, p in zip(sizes, pooled_size)
        ]
        rows, columns = [sample_ratio if sample_ratio > 0 else max(math.ceil(s), 1) for s in steps]
        for i, j in np.ndindex(*pooled_size):
            values = [
                _between(
                    x[int(image)],
                    top + steps[0] * (i + np.float32(p + 0.5) / np.float32(rows)),
                    left + steps[1] * (j + np.float32(q + 0.5) / np.float32(columns)),
                )
                for p in range(rows)
                for q in range(columns)
            ]
            out[r, :, i, j] = np.max(values, axis=0) if mode == "max" else np.mean(values, axis=0)
    return from_plain(out.astype(data.dtype), "NCHW", layout)


def _between(image: Any, y: float, x: float) -> Any:
    """The value between four pixels of an image (channels, height, width), zero outside of it."""
    import numpy as np

    height, width = image.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(image.shape[0], np.float32)
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    y0, x0 = math.floor(y), math.floor(x)
    y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
    upper = image[:, y0, x0] * (1 - (x - x0)) + image[:, y0, x1] * (x - x0)
    lower = image[:, y1, x0] * (1 - (x - x0)) + image[:, y1, x1] * (x - x0)
    return upper * (1 - (y - y0)) + lower * (y - y0)


def _infer(
    op: str, data: Tensor, rois: Tensor, pooled_size: Ints, layout: str, known: tuple[str, ...]
) -> Type:
    ty, regions = tensor_type(op, data, "data"), tensor_type(op, rois, "rois")
    common_vdevice(op, ty, regions)
    if layout not in known:
        shape_fault(op, f'`layout` is "{layout}", not one of {", ".join([repr(k) for k in known])}')
    if min(pooled_size) < 1:
        shape_fault(op, f"`pooled_size` must be positive, not {list(pooled_size)}")
    float_only(op, ty, "data")
    float_only(op, regions, "rois")
    for name, one, ndim in (("data", ty, 4), ("rois", regions, 2)):
        if one.ndim not in (-1, ndim):
            shape_fault(op, f"`{name}` must have {ndim} dimensions, not {one.ndim}")
    if regions.sizes is not None and constant(regions.sizes[1]) not in (None, 5):
        shape_fault(op, "a row of `rois` has 5 numbers: image, left, top, right, bottom")
    return _pooled(ty, regions, pooled_size, layout)


def _pooled(ty: TensorType, regions: TensorType, pooled_size: Ints, layout: str) -> Type:
    if ty.sizes is None or regions.sizes is None:
        return like(ty, ndim=4)
    by = {"N": regions.sizes[0], "C": ty.sizes[layout.index("C")], **dict(zip("HW", pooled_size))}
    return like(ty, tuple(settled([by[s] for s in layout])))


def _prepare(op: str) -> Callable[[dict[str, Any]], None]:
    def prepare(values: dict[str, Any]) -> None:
        values["pooled_size"] = per_dimension(op, "pooled_size", values["pooled_size"], 2)

    return prepare


@relax_op(
    "relax.vision.roi_align",
    prepare=_prepare("vision.roi_align"),
    pattern=OpPattern.OPAQUE,
    te=_align_te,
    numpy=_align_numpy,
)
def roi_align(
    data: Tensor,
    rois: Tensor,
    pooled_size: Ints,
    spatial_scale: float,
    sample_ratio: int = -1,
    aligned: bool = False,
    layout: str = "NCHW",
    mode: str = "avg",
) -> Type:
    """Regions of images in one size: the mean ("avg") or "max" of samples between the pixels of each part.

    A part has `sample_ratio` samples in each direction, without it as many as it has pixels.  A
    region that is not `aligned` is taken to be at least one pixel large.
    """
    if mode not in ("avg", "max"):
        shape_fault("vision.roi_align", f"`mode` is \"{mode}\", not one of 'avg', 'max'")
    return _infer("vision.roi_align", data, rois, pooled_size, layout, ("NCHW", "NHWC"))


@functools.cache
def _pool_program(dtype: str, places: str, scale: float) -> PrimFunc:
    @T.prim_func(check_well_formed=False)
    def roi_pool(
        data: T.Buffer(("a",), dtype),
        rois: T.Buffer(("b",), places),
        out: T.Buffer(("c",), dtype),
        batch: T.int64,
        regions: T.int64,
        channels: T.int64,
        height: T.int64,
        width: T.int64,
        high: T.int64,
        wide: T.int64,
    ):
        best = T.alloc_buffer((1,), dtype, scope="local")

        for r in range(regions):
            image: T.int64 = T.max(T.min(T.Cast("int64", rois[r * 5]), batch - 1), T.int64(0))
            left: T.int64 = T.Cast("int64", T.round(T.Cast("float32", rois[r * 5 + 1]) * T.float32(scale)))
            top: T.int64 = T.Cast("int64", T.round(T.Cast("float32", rois[r * 5 + 2]) * T.float32(scale)))
            right: T.int64 = T.Cast("int64", T.round(T.Cast("float32", rois[r * 5 + 3]) * T.float32(scale)))
            bottom: T.int64 = T.Cast("int64", T.round(T.Cast("float32", rois[r * 5 + 4]) * T.float32(scale)))
            down: T.int64 = T.max(bottom - top + 1, T.int64(1))
            across: T.int64 = T.max(right - left + 1, T.int64(1))
            for c, i, j in T.grid(channels, high, wide):
                y0: T.int64 = T.min(T.max(i * down // high + top, T.int64(0)), height)
                y1: T.int64 = T.min(T.max(((i + 1) * down + high - 1) // high + top, T.int64(0)), height)
                x0: T.int64 = T.min(T.max(j * across // wide + left, T.int64(0)), width)
                x1: T.int64 = T.min(T.max(((j + 1) * across + wide - 1) // wide + left, T.int64(0)), width)
                best[0] = T.Select(T.Or(y1 <= y0, x1 <= x0), T.Cast(dtype, 0), T.min_value(dtype))
                for y in range(y0, y1):
                    for x in range(x0, x1):
                        best[0] = T.max(best[0], data[((image * channels + c) * height + y) * width + x])
                out[((r * channels + c) * high + i) * wide + j] = best[0]

    return roi_pool


def _pool_te(
    data: te.Tensor, rois: te.Tensor, pooled_size: Ints, spatial_scale: float, layout: str
) -> te.Tensor:
    batch, channels, height, width = data.shape
    high, wide = settled([rois.shape[0], *pooled_size])[1:]
    program = _pool_program(str(data.dtype), str(rois.dtype), spatial_scale)
    scalars = [batch, rois.shape[0], channels, height, width, high, wide]
    specs = [((rois.shape[0], channels, high, wide), data.dtype)]
    return run(program, [data, rois], specs, scalars, "roi_pool")[0]


def _pool_numpy(data: Any, rois: Any, pooled_size: Ints, spatial_scale: float, layout: str) -> Any:
    import numpy as np

    out = np.zeros((len(rois), data.shape[1], *pooled_size), data.dtype)
    for r, (image, *corners) in enumerate(rois.astype(np.float32)):
        left, top, right, bottom = [round(float(c * np.float32(spatial_scale))) for c in corners]
        sizes = max(bottom - top + 1, 1), max(right - left + 1, 1)
        for at in np.ndindex(*pooled_size):
            spans = []
            for i, size, parts, first, most in zip(at, sizes, pooled_size, (top, left), data.shape[2:]):
                ends = i * size // parts + first, -(-(i + 1) * size // parts) + first
                spans.append(slice(*[min(max(e, 0), most) for e in ends]))
            seen = data[int(image)][(slice(None), *spans)]
            if seen.size:
                out[(r, slice(None), *at)] = seen.max(axis=(1, 2))
    return out


@relax_op(
    "relax.vision.roi_pool",
    prepare=_prepare("vision.roi_pool"),
    pattern=OpPattern.OPAQUE,
    te=_pool_te,
    numpy=_pool_numpy,
)
def roi_pool(
    data: Tensor, rois: Tensor, pooled_size: Ints, spatial_scale: float, layout: str = "NCHW"
) -> Type:
    """Regions of images in one size: the largest pixel of each part, 0 where there is none.

    Corners are rounded to pixels, which belong to the region.
    """
    return _infer("vision.roi_pool", data, rois, pooled_size, layout, ("NCHW",))


__all__ = ["roi_align", "roi_pool"]

"""Images in another size, and read at places that a grid says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import te
from ..dtype import DType
from ..ir import Type, const
from ..ir import operators as arith
from ..ir.relax import OpPattern, TensorType, relax_op
from ..ir.relax.op import Shape, Tensor
from .faults import shape_fault
from .infer import common_vdevice, constant, float_only, like, sizes_of, tensor_type
from .interpolation import TAPS, blended, clamped, numpy_rounded, numpy_weights, start, weight
from .layout import find_layout, from_plain, layout_of, to_plain, whole_sizes
from .nn_layouts import spatial
from .window import SPATIAL, settled

_COORDINATES = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
_ROUNDINGS = ("", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_EXACT = DType("float64")


def _source(at: Any, old: Any, new: Any, mode: str, begin: float, end: float) -> Any:
    """The place in the old image of a new pixel: one division of whole numbers, as exact as can be.

    Works on expressions and on Python's numbers; `begin` and `end` are the part that is cropped.
    """
    if mode == "align_corners":
        return _quotient(at * (old - 1), _at_least_one(new - 1))
    if mode == "asymmetric":
        return _quotient(at * old, new)
    if mode == "tf_half_pixel_for_nn":
        return _quotient((2 * at + 1) * old, 2 * new)
    if mode == "tf_crop_and_resize":
        last = _float(old - 1)
        step = _quotient(at, _at_least_one(new - 1)) * last * (end - begin)
        return _where(new == 1, 0.5 * (begin + end) * last, begin * last + step)
    centre = _quotient((2 * at + 1) * old - new, 2 * new)
    return centre if mode == "half_pixel" else _where(new == 1, 0.0 * _float(at), centre)


def _float(value: Any) -> Any:
    return float(value) if isinstance(value, int) else arith.cast(value, _EXACT)


def _quotient(a: Any, b: Any) -> Any:
    return _float(a) / _float(b)


def _at_least_one(value: Any) -> Any:
    return max(value, 1) if isinstance(value, int) else arith.max_(value, 1)


def _where(condition: Any, yes: Any, no: Any) -> Any:
    if isinstance(condition, bool):
        return yes if condition else no
    return arith.select(condition, yes, no)


def _crop(roi: Sequence[Any], k: int) -> tuple[float, float]:
    return roi[k].value, roi[k + len(roi) // 2].value


def _rounding(method: str, mode: str) -> str:
    return method or ("floor" if mode == "asymmetric" else "round")


def _infer_resize(
    op: str,
    count: int,
    data: Tensor,
    size: Shape,
    roi: tuple[Any, ...],
    layout: str,
    method: str,
    mode: str,
    rounding: str,
    out_dtype: DType | None,
) -> Type:
    found = layout_of(op, layout, "NC" + SPATIAL[count], "layout")
    ty = tensor_type(op, data, "data")
    for name, value, known in (
        ("method", method, tuple(TAPS)),
        ("coordinate_transformation_mode", mode, _COORDINATES),
        ("rounding_method", rounding, _ROUNDINGS),
    ):
        if value not in known:
            shape_fault(op, f'`{name}` is "{value}", not one of {", ".join([repr(k) for k in known])}')
    if len(roi) != 2 * count:
        shape_fault(op, f"`roi` needs {2 * count} numbers, not {len(roi)}")
    whole = whole_sizes(op, found, ty.ndim, ty.sizes, "data")
    wanted = sizes_of(size)
    given = getattr(size.ty, "ndim", -1) if wanted is None else len(wanted)
    if given not in (-1, count):
        shape_fault(op, f"`size` needs {count} sizes, not {given}")
    dtype = out_dtype or ty.dtype
    if whole is None or wanted is None:
        return TensorType(None, dtype, ty.vdevice, found.ndim)
    if any((constant(n) or 0) < 0 for n in wanted):
        shape_fault(op, f"`size` is negative: {[constant(n) for n in wanted]}")
    if any(constant(whole[s]) == 0 and constant(n) != 0 for s, n in zip(SPATIAL[count], wanted)):
        shape_fault(op, "an image without pixels has no pixels in another size")
    sizes = {**whole, **dict(zip(SPATIAL[count], wanted))}
    return TensorType(settled(found.sizes(sizes)), dtype, ty.vdevice)


def _prepare_resize(count: int) -> Callable[[dict[str, Any]], None]:
    """One size counts for all dimensions, one number of `roi` for all sides, none are zeros."""

    def prepare(values: dict[str, Any]) -> None:
        from ..ir.relax import ShapeExpr

        size, roi = values["size"], values["roi"]
        if isinstance(size, ShapeExpr) and len(size.values) == 1:
            values["size"] = ShapeExpr(size.values * count)
        roi = (0.0,) if roi is None else roi if isinstance(roi, list | tuple) else (roi,)
        numbers = tuple([const(getattr(x, "value", x), "float32") for x in roi])
        values["roi"] = numbers * (2 * count) if len(numbers) == 1 else numbers

    return prepare


def _resize_te(count: int) -> Callable[..., te.Tensor]:
    letters = SPATIAL[count]

    def resize_te(
        data: te.Tensor,
        size: Sequence[Any],
        roi: tuple[Any, ...],
        layout: str,
        method: str,
        coordinate_transformation_mode: str,
        rounding_method: str,
        cubic_alpha: float,
        cubic_exclude: int,
        extrapolation_value: float,
        out_dtype: DType | None,
    ) -> te.Tensor:
        found = find_layout(layout)
        assert found is not None
        whole, dtype = found.gather(data.shape), out_dtype or data.dtype
        new = dict(zip(letters, [arith.cast(n, whole["N"].dtype) for n in size]))
        mode, rounding = (
            coordinate_transformation_mode,
            _rounding(rounding_method, coordinate_transformation_mode),
        )
        lines = {
            s: _line(whole[s], new[s], method, mode, rounding, cubic_alpha, cubic_exclude, _crop(roi, k), s)
            for k, s in enumerate(letters)
        }
        shape = settled(found.sizes({**whole, **new}))
        exact = data.dtype if data.dtype.is_float and data.dtype.bits >= 32 else DType("float32")

        def read(at: Mapping[str, Any], k: Mapping[str, Any]) -> dict[str, Any]:
            return {
                s: (index(at[s], k[s]), arith.cast(share(at[s], k[s]), exact), None)
                for s, (index, share, _) in lines.items()
            }

        if method == "nearest_neighbor":

            def value(*i: Any) -> Any:
                at = found.join(i)
                zero = const(0, whole["N"].dtype)
                place = {**at, **{s: index(at[s], zero) for s, (index, _, _) in lines.items()}}
                return data(*found.indices(place))
        else:
            value = blended(data, found, shape, letters, TAPS[method], read, exact, "resize_sum")

        def element(*i: Any) -> Any:
            result = arith.cast(value(*i), dtype)
            if mode != "tf_crop_and_resize":
                return result
            at = found.join(i)
            seen = [arith.not_equal(inside(at[s]), 0) for s, (_, _, inside) in lines.items()]
            outside = const(extrapolation_value if dtype.is_float else int(extrapolation_value), dtype)
            return arith.select(arith.all_(*seen), result, outside)

        made: te.Tensor = te.compute(shape, element, "resize", "injective")
        return made

    return resize_te


def _line(
    old: Any,
    new: Any,
    method: str,
    mode: str,
    rounding: str,
    alpha: float,
    exclude: int,
    crop: tuple[float, float],
    name: str,
) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """Of one dimension: for each new place and tap the old index and the weight; which places are inside."""
    index, taps = old.dtype, const(TAPS[method], old.dtype)
    label = name.lower()
    places = te.compute((new,), lambda x: _source(x, old, new, mode, *crop), f"{label}_place")

    def first(x: Any, k: Any) -> Any:
        return start(places(x), method, rounding, index) + k

    indices = te.compute((new, taps), lambda x, k: clamped(first(x, k), old), f"{label}_index")

    def share(x: Any, k: Any) -> Any:
        if method == "nearest_neighbor":
            return const(1, _EXACT)
        own = weight(places(x), k, method, alpha)
        if method != "cubic" or not exclude:
            return own
        return arith.select(arith.equal(first(x, k), clamped(first(x, k), old)), own, const(0, _EXACT))

    shares = te.compute((new, taps), share, f"{label}_weight")
    if method == "cubic" and exclude:
        axis = te.reduce_axis((0, taps), "k")
        total = te.compute((new,), lambda x: te.sum(shares(x, axis.var), axis=axis), f"{label}_total")
        parts = shares
        shares = te.compute((new, taps), lambda x, k: parts(x, k) / total(x), f"{label}_share")

    def inside(x: Any) -> Any:
        seen = arith.logical_and(places(x) >= const(0, _EXACT), places(x) <= arith.cast(old - 1, _EXACT))
        return arith.cast(seen, "int8")

    return indices, shares, te.compute((new,), inside, f"{label}_inside")


def _resize_numpy(count: int) -> Callable[..., Any]:
    letters = SPATIAL[count]

    def resize_numpy(
        data: Any,
        size: Sequence[int],
        roi: tuple[Any, ...],
        layout: str,
        method: str,
        coordinate_transformation_mode: str,
        rounding_method: str,
        cubic_alpha: float,
        cubic_exclude: int,
        extrapolation_value: float,
        out_dtype: DType | None,
    ) -> Any:
        import numpy as np

        mode = coordinate_transformation_mode
        x = to_plain(data, layout, "NC" + letters)
        x = x if method == "nearest_neighbor" else x.astype(np.float64)
        outside = np.zeros((1, 1, *size), bool)
        for k, new in enumerate(size):
            old, axis = x.shape[2 + k], 2 + k
            lines = []
            for i in range(new):
                place = _source(i, old, int(new), mode, *_crop(roi, k))
                if not 0 <= place <= old - 1:
                    outside[(slice(None),) * axis + (i,)] = True
                lines.append(
                    _numpy_line(
                        x, axis, place, method, _rounding(rounding_method, mode), cubic_alpha, cubic_exclude
                    )
                )
            x = np.stack(lines, axis=axis) if lines else x.take([], axis=axis)
        if mode == "tf_crop_and_resize":
            x = np.where(outside, np.asarray(extrapolation_value).astype(x.dtype), x)
        kind = data.dtype if out_dtype is None else out_dtype.numpy()
        return from_plain(x.astype(kind), "NC" + letters, layout)

    return resize_numpy


def _numpy_line(
    x: Any, axis: int, place: float, method: str, rounding: str, alpha: float, exclude: int
) -> Any:
    """The pixels of one place in a dimension, blended."""
    import math

    last = x.shape[axis] - 1
    if method == "nearest_neighbor":
        return x.take(min(max(numpy_rounded(place, rounding), 0), last), axis=axis)
    low = math.floor(place)
    weights = numpy_weights(place - low, method, alpha)
    taps = [low + k - (len(weights) // 2 - 1) for k in range(len(weights))]
    if exclude and method == "cubic":
        weights = [w if 0 <= t <= last else 0.0 for w, t in zip(weights, taps)]
        weights = [w / sum(weights) for w in weights]
    return sum(x.take(min(max(t, 0), last), axis=axis) * w for w, t in zip(weights, taps))


def _resize_parts(count: int) -> dict[str, Any]:
    """What the records of resizing share."""
    return {
        "prepare": _prepare_resize(count),
        "pattern": OpPattern.INJECTIVE,
        "te": _resize_te(count),
        "numpy": _resize_numpy(count),
        "layout": spatial,
    }


@relax_op("relax.image.resize2d", **_resize_parts(2))
def resize2d(
    data: Tensor,
    size: Shape,
    roi: Any = None,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "round",
    cubic_alpha: float = -0.75,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: DType | None = None,
) -> Type:
    """Images of another height and width: the nearest pixel, or a linear or cubic mean of those around.

    `coordinate_transformation_mode` says where a new pixel lies among the old ones (ONNX's names),
    `rounding_method` which one is the nearest.  `cubic_exclude` leaves out pixels beyond the edge.  In the
    mode "tf_crop_and_resize" only the part `roi` (top, left, bottom, right, as shares of the image) is used,
    and what lies outside of the image is `extrapolation_value`.
    """
    given = (layout, method, coordinate_transformation_mode, rounding_method, out_dtype)
    return _infer_resize("image.resize2d", 2, data, size, roi, *given)


@relax_op("relax.image.resize3d", **_resize_parts(3))
def resize3d(
    data: Tensor,
    size: Shape,
    roi: Any = None,
    layout: str = "NCDHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.75,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: DType | None = None,
) -> Type:
    """Volumes of another depth, height and width, as `resize2d`.

    Without a `rounding_method` the nearest pixel is that below in the mode "asymmetric", else the nearest.
    """
    given = (layout, method, coordinate_transformation_mode, rounding_method, out_dtype)
    return _infer_resize("image.resize3d", 3, data, size, roi, *given)


_METHODS = {"nearest": "nearest_neighbor", "bilinear": "linear", "bicubic": "cubic"}
_PADDINGS = ("zeros", "border", "reflection")
_ALPHA = -0.75


def _grid_letters(layout: str) -> str:
    return SPATIAL[3 if "D" in layout else 2]


def _unscaled(place: Any, size: Any, align_corners: bool) -> Any:
    """The pixel that a place between -1 and 1 means."""
    return (place + 1) / 2 * (size - 1) if align_corners else ((place + 1) * size - 1) / 2


def _mirrored(place: Any, size: Any, align_corners: bool, floor: Callable[[Any], Any], most: Any) -> Any:
    """A place reflected at the edges until it lies within; `most` is the larger of two values.

    Edges are the middles of the outer pixels with `align_corners`, else their outer sides.
    """
    edge = 0.0 if align_corners else -0.5
    length = most(size - 1 if align_corners else size, 1)
    away = place - edge
    away = most(away, 0.0 - away)
    turns = floor(away / length)
    rest = away - turns * length
    odd = turns - floor(turns / 2) * 2
    return rest + odd * (length - rest - rest) + edge


def _grid_te(
    data: te.Tensor, grid: te.Tensor, method: str, layout: str, padding_mode: str, align_corners: bool
) -> te.Tensor:
    found = find_layout(layout)
    assert found is not None
    letters = _grid_letters(layout)
    whole = found.gather(data.shape)
    exact = data.dtype if data.dtype.is_float and data.dtype.bits >= 32 else DType("float32")
    lengths = [whole[s] for s in reversed(letters)]
    indices, shares = _grid_tables(grid, lengths, method, padding_mode, align_corners, exact)

    def read(at: Mapping[str, Any], k: Mapping[str, Any]) -> dict[str, Any]:
        taps: dict[str, Any] = {}
        for number, s in enumerate(reversed(letters)):
            place = (at["N"], number, *[at[t] for t in letters], k[s])
            tap = indices(*place)
            inside = arith.logical_and(tap >= 0, tap < whole[s]) if padding_mode == "zeros" else None
            taps[s] = tap, shares(*place), inside
        return taps

    shape = settled(found.sizes({**whole, **dict(zip(letters, grid.shape[2:]))}))
    taps = TAPS[_METHODS[method]]
    summed = blended(data, found, shape, letters, taps, read, exact, "grid_sample")
    if exact == data.dtype:
        return summed
    made: te.Tensor = te.compute(shape, lambda *i: arith.cast(summed(*i), data.dtype), "T_cast", "elemwise")
    return made


def _grid_tables(
    grid: te.Tensor, lengths: Sequence[Any], method: str, padding_mode: str, align_corners: bool, exact: DType
) -> tuple[te.Tensor, te.Tensor]:
    """For each place of the grid and each tap its pixel and its weight, dimension by dimension.

    `lengths` are the sizes of the image, x first.  With the padding "zeros" pixels may be outside.
    """
    how, index = _METHODS[method], lengths[0].dtype

    def length(d: Any) -> Any:
        size = lengths[-1]
        for k, own in enumerate(lengths[:-1]):
            size = arith.select(arith.equal(d, k), own, size)
        return size

    def settle(place: Any, d: Any) -> Any:
        """A place, or that of a tap, brought inside."""
        size = arith.cast(length(d), exact)
        if padding_mode == "reflection":
            place = _mirrored(place, size, align_corners, te.floor, arith.max_)
        return arith.max_(arith.min_(place, size - 1), const(0, exact))

    def place(n: Any, d: Any, *at: Any) -> Any:
        size = arith.cast(length(d), exact)
        where = _unscaled(arith.cast(grid(n, d, *at), exact), size, align_corners)
        return where if padding_mode == "zeros" or method == "bicubic" else settle(where, d)

    places = te.compute(grid.shape, place, "grid_place")
    shape = (*grid.shape, const(TAPS[how], index))

    def pixel(n: Any, d: Any, *rest: Any) -> Any:
        tap = start(places(n, d, *rest[:-1]), how, "round", index) + rest[-1]
        if padding_mode == "zeros":
            return tap
        if method == "bicubic":
            tap = arith.cast(settle(arith.cast(tap, exact), d), index)
        return clamped(tap, length(d))

    def share(n: Any, d: Any, *rest: Any) -> Any:
        if how == "nearest_neighbor":
            return const(1, exact)
        return weight(places(n, d, *rest[:-1]), rest[-1], how, _ALPHA)

    return te.compute(shape, pixel, "grid_pixel"), te.compute(shape, share, "grid_share")


def _grid_numpy(
    data: Any, grid: Any, method: str, layout: str, padding_mode: str, align_corners: bool
) -> Any:
    import math

    import numpy as np

    letters, how = _grid_letters(layout), _METHODS[method]
    x = to_plain(data, layout, "NC" + letters)
    single = np.float32 if data.dtype != np.float64 else np.float64
    out = np.zeros((*x.shape[:2], *grid.shape[2:]))

    def settle(place: Any, size: int) -> Any:
        if padding_mode == "reflection":
            place = _mirrored(place, size, align_corners, np.floor, max)
        return min(max(place, 0), size - 1)

    for n, *at in np.ndindex(grid.shape[0], *grid.shape[2:]):
        lines = []
        for d in reversed(range(len(letters))):
            size = x.shape[1 + len(letters) - d]
            place = _unscaled(single(grid[(n, d, *at)]), single(size), align_corners)
            if padding_mode != "zeros" and method != "bicubic":
                place = settle(place, size)
            low = round(float(place)) if method == "nearest" else math.floor(place)
            weights = [1.0] if method == "nearest" else numpy_weights(float(place - low), how, _ALPHA)
            taps = [low + k - (1 if method == "bicubic" else 0) for k in range(len(weights))]
            if padding_mode != "zeros":
                taps = [int(settle(t, size)) for t in taps]
            lines.append([(t, w) for t, w in zip(taps, weights) if 0 <= t < size])
        for pick in np.ndindex(*[len(line) for line in lines]):
            chosen = [line[k] for line, k in zip(lines, pick)]
            where = tuple([t for t, _ in chosen])
            out[(n, slice(None), *at)] += x[(n, slice(None), *where)] * math.prod([w for _, w in chosen])
    return from_plain(out.astype(data.dtype), "NC" + letters, layout)


@relax_op("relax.image.grid_sample", pattern=OpPattern.OUT_FUSIBLE, te=_grid_te, numpy=_grid_numpy)
def grid_sample(
    data: Tensor,
    grid: Tensor,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Type:
    """Images read at the places of a grid (N, 2, H, W), or volumes at those of (N, 3, D, H, W).

    A place is (x, y) or (x, y, z), each between -1 and 1: the outer edges of the image, or the middles of
    its outer pixels with `align_corners`.  `method` is "nearest", "bilinear" or "bicubic"; `padding_mode`
    says what is outside: "zeros", the "border", or the "reflection" of the image.
    """
    op = "image.grid_sample"
    found = layout_of(op, layout, "NC" + _grid_letters(layout), "layout")
    ty, places = tensor_type(op, data, "data"), tensor_type(op, grid, "grid")
    common_vdevice(op, ty, places)
    if method not in _METHODS or padding_mode not in _PADDINGS:
        wrong = (
            ("method", method, _METHODS)
            if method not in _METHODS
            else ("padding_mode", padding_mode, _PADDINGS)
        )
        shape_fault(op, f'`{wrong[0]}` is "{wrong[1]}", not one of {", ".join([repr(k) for k in wrong[2]])}')
    float_only(op, places, "grid")
    for name, one in (("data", ty), ("grid", places)):
        if one.ndim not in (-1, found.ndim):
            shape_fault(op, f'`{name}` must have {found.ndim} dimensions, as "{layout}" says, not {one.ndim}')
    count = found.ndim - 2
    if places.sizes is not None and constant(places.sizes[1]) not in (None, count):
        shape_fault(op, f"the second size of `grid` must be {count}: a place has so many numbers")
    if ty.sizes is None or places.sizes is None:
        return like(ty, ndim=found.ndim)
    sizes = {**found.gather(ty.sizes), **dict(zip(SPATIAL[count], places.sizes[2:]))}
    return like(ty, tuple(settled(found.sizes(sizes))))


def _affine_place(at: Any, size: Any, align_corners: bool) -> Any:
    """Where between -1 and 1 a pixel lies."""
    if align_corners:
        return _quotient(2 * at, _at_least_one(size - 1)) - 1.0
    return _quotient(2 * at + 1, size) - 1.0


def _affine_te(data: te.Tensor, size: Sequence[Any], align_corners: bool) -> te.Tensor:
    kind = data.dtype if data.dtype.bits >= 32 else DType("float32")
    sizes = [arith.cast(n, data.shape[0].dtype) for n in size]
    lines = [
        te.compute((n,), lambda i, n=n: arith.cast(_affine_place(i, n, align_corners), kind), f"place{k}")
        for k, n in enumerate(sizes)
    ]
    count = len(sizes)

    def element(n: Any, d: Any, *at: Any) -> Any:
        total = arith.cast(data(n, d, count), kind)
        for k, (line, i) in enumerate(zip(lines, at)):
            total = total + arith.cast(data(n, d, count - 1 - k), kind) * line(i)
        return arith.cast(total, data.dtype)

    made: te.Tensor = te.compute((data.shape[0], count, *sizes), element, "affine_grid", "injective")
    return made


def _affine_numpy(data: Any, size: Sequence[int], align_corners: bool) -> Any:
    import numpy as np

    count = len(size)
    lines = [np.array([_affine_place(i, int(n), align_corners) for i in range(n)]) for n in size]
    axes = np.meshgrid(*lines, indexing="ij")
    points = np.stack([*reversed(axes), np.ones(tuple(size))])
    moved = np.tensordot(data.astype(np.float64), points, axes=([2], [0]))
    return moved.reshape(data.shape[0], count, *size).astype(data.dtype)


def _prepare_affine(values: dict[str, Any]) -> None:
    """One size counts for all dimensions."""
    from ..ir.relax import ShapeExpr

    size, rows = values["size"], getattr(values["data"].ty, "sizes", None)
    count = constant(rows[1]) if rows is not None and len(rows) == 3 else 2
    if isinstance(size, ShapeExpr) and len(size.values) == 1 and count:
        values["size"] = ShapeExpr(size.values * count)


@relax_op(
    "relax.image.affine_grid",
    prepare=_prepare_affine,
    pattern=OpPattern.INJECTIVE,
    te=_affine_te,
    numpy=_affine_numpy,
)
def affine_grid(data: Tensor, size: Shape, align_corners: bool = True) -> Type:
    """The grid for `grid_sample` that moves images of this size by matrices (N, 2, 3), or (N, 3, 4).

    -1 and 1 mean the middles of the outer pixels with `align_corners`, else the edges of the image.
    """
    op = "image.affine_grid"
    ty = float_only(op, tensor_type(op, data, "data"), "data")
    wanted = sizes_of(size)
    count = getattr(size.ty, "ndim", -1) if wanted is None else len(wanted)
    if count not in (-1, 2, 3):
        shape_fault(op, f"`size` needs 2 or 3 sizes, not {count}")
    if ty.ndim not in (-1, 3):
        shape_fault(op, f"`data` must have 3 dimensions, a matrix for each image, not {ty.ndim}")
    for axis, extent in ((1, count), (2, count + 1)):
        if count > 0 and ty.sizes is not None and constant(ty.sizes[axis]) not in (None, extent):
            shape_fault(op, f"matrices for {count} sizes are {count} by {count + 1}")
    ndim = -1 if count < 0 else count + 2
    if ty.sizes is None or wanted is None:
        return like(ty, ndim=ndim)
    return like(ty, (ty.sizes[0], ty.sizes[1], *wanted))


__all__ = ["affine_grid", "grid_sample", "resize2d", "resize3d"]

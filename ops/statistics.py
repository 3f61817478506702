"""Reductions along axes: sum, mean, prod, max, min, std, variance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import ir, te
from ..dtype import DType, fits
from ..ir import Expr, Type
from ..ir.relax import OpPattern, TensorType, get_op, relax_op
from ..ir.relax.op import Ints, Tensor
from .axis_layouts import reduction
from .infer import axes_of, like, tensor_type
from .reshape import broadcast_to, expand_dims, shape_like
from .sizes import is_zero, product, size

Numpy = Callable[..., Any]


def reduced_type(op: str, x: Any, axis: Ints | None, keepdims: bool, dtype: Any = "same") -> TensorType:
    """The type of a tensor that is reduced along axes; all of them, when none is named."""
    ty = tensor_type(op, x)
    if axis is None and not keepdims:
        return like(ty, (), dtype)
    gone = axes_of(op, axis, ty.ndim) if axis is not None else tuple(range(ty.ndim))
    if ty.sizes is None:
        rest = ty.ndim if keepdims else ty.ndim - len(gone)
        return like(ty, None, dtype, rest if ty.ndim >= 0 else None)
    return like(ty, tuple(reduced_sizes(ty.sizes, gone, keepdims)), dtype)


def reduced_sizes(sizes: Sequence[Any], gone: Sequence[int], keepdims: bool) -> list[Any]:
    """The shape without some dimensions, or with size 1 there."""
    return [size(1) if k in gone else s for k, s in enumerate(sizes) if keepdims or k not in gone]


def reduced_axes(axis: Ints | None, ndim: int) -> tuple[int, ...]:
    """The dimensions that are reduced, counted from the front, in order."""
    return tuple(range(ndim)) if axis is None else tuple(sorted([a % ndim for a in axis]))


def reduce_te(
    x: te.Tensor,
    axis: Ints | None,
    keepdims: bool,
    reducer: te.Reducer,
    value: Callable[..., Any] | None = None,
    name: str = "reduced",
) -> te.Tensor:
    """The tensor reduced along axes; `value(element, indices)` is what is reduced, else the elements.

    Where the last dimension is kept with size 1 it is put there at the end: rows are summed up fastest where
    the results lie side by side.
    """
    gone = reduced_axes(axis, x.ndim)
    if keepdims and gone and x.ndim - 1 in gone:
        found = reduce_te(x, axis, False, reducer, value, name)
        shape = reduced_sizes(x.shape, gone, True)
        return te.compute(
            shape, lambda *i: found(*[v for k, v in enumerate(i) if k not in gone]), name="kept"
        )
    axes = {k: te.reduce_axis((0, x.shape[k]), f"k{k}") for k in gone}
    if not axes:
        return te.compute(x.shape, lambda *i: x(*i) if value is None else value(x(*i), i), name=name)

    shape = reduced_sizes(x.shape, gone, keepdims)
    if any(is_zero(x.shape[k]) for k in gone):
        return te.compute(shape, lambda *i: reducer.identity(x.dtype), name=name)

    def element(*i: Any) -> Any:
        kept = dict(zip([k for k in range(x.ndim) if keepdims or k not in gone], i))
        place = [axes[k].var if k in axes else kept[k] for k in range(x.ndim)]
        return reducer(x(*place) if value is None else value(x(*place), place), axis=list(axes.values()))

    return te.compute(shape, element, name=name)


def _extreme(sign: int) -> Any:
    """A reduction to the largest or smallest element, which may be an infinity."""
    better = ir.max_ if sign > 0 else ir.min_

    def combine(x: Any, y: Any) -> Any:
        return better(x, y)

    def neutral(dtype: DType) -> Any:
        if dtype.is_float and fits(dtype, math.inf):
            return ir.const(-sign * math.inf, dtype)
        return te.min_value(dtype) if sign > 0 else te.max_value(dtype)

    return te.comm_reducer(combine, neutral, "max" if sign > 0 else "min")


_LOGIC = {"sum": ir.logical_or, "prod": ir.logical_and, "max": ir.logical_or, "min": ir.logical_and}
_ARITHMETIC = {"sum": te.sum, "prod": te.prod, "max": _extreme(1), "min": _extreme(-1)}


def reducer_of(name: str, dtype: DType) -> Any:
    """The reduction of this name; of bools a sum is "or" and a product "and", as with numpy's dtype kept."""
    if not dtype.is_bool:
        return _ARITHMETIC[name]
    combine = _LOGIC[name]
    return te.comm_reducer(lambda x, y: combine(x, y), lambda d: ir.const(name in ("prod", "min"), d), name)


def _plain_te(name: str) -> Callable[..., te.Tensor]:
    def reduction(x: te.Tensor, axis: Ints | None, keepdims: bool) -> te.Tensor:
        return reduce_te(x, axis, keepdims, reducer_of(name, x.dtype), name=f"{x.op.name}_red")

    return reduction


def _count(x: te.Tensor, axis: Ints | None) -> Any:
    return product([x.shape[k] for k in reduced_axes(axis, x.ndim)])


def divided(total: te.Tensor, count: Any, name: str = "T_divide") -> te.Tensor:
    """Each element over a number of elements; integers are divided towards zero, as a conversion would."""

    def element(*i: Any) -> Any:
        value = total(*i)
        if total.dtype.is_float:
            return ir.div(value, ir.cast(count, total.dtype))
        wide = ir.truncdiv(ir.cast(value, "int64"), count)
        return ir.cast(wide, total.dtype)

    return te.compute(total.shape, element, name=name)


def mean_te(x: te.Tensor, axis: Ints | None, keepdims: bool) -> te.Tensor:
    """The mean along axes."""
    return divided(_plain_te("sum")(x, axis, keepdims), _count(x, axis))


def _variance_te(x: te.Tensor, axis: Ints | None, keepdims: bool) -> te.Tensor:
    middle = mean_te(x, axis, False)
    gone = reduced_axes(axis, x.ndim)

    def distance(*i: Any) -> Any:
        return ir.sub(x(*i), middle(*[v for k, v in enumerate(i) if k not in gone]))

    off = te.compute(x.shape, distance, name="T_subtract")
    square = te.compute(x.shape, lambda *i: ir.mul(off(*i), off(*i)), name="T_multiply")
    return divided(reduce_te(square, axis, keepdims, te.sum, name="T_multiply_red"), _count(x, axis))


def _std_te(x: te.Tensor, axis: Ints | None, keepdims: bool) -> te.Tensor:
    found = _variance_te(x, axis, keepdims)
    return te.compute(found.shape, lambda *i: te.sqrt(found(*i)), name="compute")


def _numpy(function: str) -> Numpy:
    """numpy's reduction, computed in float64 for small floats, in the dtype of the tensor else."""

    def meaning(x: Any, axis: Ints | None, keepdims: bool) -> Any:
        import numpy as np

        reduce = getattr(np, function)
        along = None if axis is None else tuple(axis)
        if x.dtype.kind not in "?iu" and x.dtype not in (np.float32, np.float64):
            return reduce(x.astype("float64"), axis=along, keepdims=keepdims).astype(x.dtype)
        if function in ("sum", "prod"):
            return np.asarray(reduce(x, axis=along, keepdims=keepdims, dtype=x.dtype))
        return np.asarray(reduce(x, axis=along, keepdims=keepdims)).astype(x.dtype)

    return meaning


def _integer_mean(x: Any, axis: Ints | None, keepdims: bool) -> Any:
    """The sum in the dtype of the tensor, then divided towards zero."""
    import numpy as np

    along = tuple(range(x.ndim)) if axis is None else tuple(axis)
    count = int(np.prod([x.shape[a] for a in along]))
    total = np.sum(x, axis=along, keepdims=keepdims, dtype=x.dtype)
    if count == 0:
        return np.zeros_like(total)
    return np.asarray(np.trunc(total / np.float64(count))).astype(x.dtype)


def _mean_numpy(x: Any, axis: Ints | None, keepdims: bool) -> Any:
    found = _integer_mean if x.dtype.kind in "?iu" else _numpy("mean")
    return _quiet(found, x, axis, keepdims)


def _quiet(function: Numpy, *args: Any) -> Any:
    """The result, without numpy's warning that it is the mean of nothing."""
    import warnings

    import numpy as np

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(*args)


def back(grad: Expr, x: Expr, axis: Ints | None, keepdims: bool) -> Expr:
    """What belongs to a reduced tensor, broadcast to the shape of the whole."""
    if axis is not None and not keepdims:
        grad = expand_dims(grad, sorted([a % x.ty.ndim for a in axis]))  # type: ignore[attr-defined]
    return broadcast_to(grad, shape_like(x))


def _axes(call: Any) -> tuple[Any, Ints | None, bool]:
    return call.args[0], call.attrs["axis"], call.attrs["keepdims"]


def _sum_gradient(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    return [back(grad, *_axes(call))]


def _count_of(x: Any, axis: Ints | None) -> Expr:
    """How many elements each result is of, as a constant of the tensor's dtype."""
    from ..ir.relax import const

    sizes = x.ty.sizes
    chosen = None if sizes is None else product([sizes[k] for k in reduced_axes(axis, len(sizes))])
    if not isinstance(chosen, ir.IntImm):
        from .faults import shape_fault

        shape_fault("mean", "the gradient needs constant sizes along the axes")
    return const(float(chosen.value), x.ty.dtype)


def _mean_gradient(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    x, axis, keepdims = _axes(call)
    return [back(get_op("relax.divide")(grad, _count_of(x, axis)), x, axis, keepdims)]


def _extreme_gradient(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    """The gradient goes to each element that is the extreme, evenly to none else."""
    x, axis, keepdims = _axes(call)
    same = get_op("relax.equal")(x, back(var, x, axis, keepdims))
    mask = get_op("relax.astype")(same, x.ty.dtype)
    return [get_op("relax.multiply")(back(grad, x, axis, keepdims), mask)]


def _variance_gradient(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    """2 (x - mean) / count for each element."""
    from ..ir.relax import const

    x, axis, keepdims = _axes(call)
    count = _count_of(x, axis)
    middle = mean(x, axis, True)
    off = get_op("relax.subtract")(x, broadcast_to(middle, shape_like(x)))
    share = get_op("relax.divide")(
        get_op("relax.multiply")(back(grad, x, axis, keepdims), const(2.0, x.ty.dtype)), count
    )
    return [get_op("relax.multiply")(share, off)]


_REDUCE = OpPattern.COMM_REDUCE


@relax_op(
    "relax.sum",
    pattern=_REDUCE,
    te=_plain_te("sum"),
    numpy=_numpy("sum"),
    gradient=_sum_gradient,
    layout=reduction,
)
def sum(x: Tensor, axis: Ints | None = None, keepdims: bool = False) -> Type:
    """The sum along axes, in the dtype of the tensor; without axes, of all elements."""
    return reduced_type("sum", x, axis, keepdims)


@relax_op("relax.prod", pattern=_REDUCE, te=_plain_te("prod"), numpy=_numpy("prod"), layout=reduction)
def prod(x: Tensor, axis: Ints | None = None, keepdims: bool = False) -> Type:
    """The product along axes."""
    return reduced_type("prod", x, axis, keepdims)


@relax_op(
    "relax.mean", pattern=_REDUCE, te=mean_te, numpy=_mean_numpy, gradient=_mean_gradient, layout=reduction
)
def mean(x: Tensor, axis: Ints | None = None, keepdims: bool = False) -> Type:
    """The mean along axes, in the dtype of the tensor; of integers, rounded towards zero."""
    return reduced_type("mean", x, axis, keepdims)


def _extreme_numpy(function: str) -> Numpy:
    """numpy's extreme; of no elements, the value that gives way to every other."""

    def meaning(x: Any, axis: Ints | None, keepdims: bool) -> Any:
        neutral = _neutral(x.dtype, function)
        import numpy as np

        along = None if axis is None else tuple(axis)
        reduce = getattr(np, function)
        if x.dtype.kind == "V":
            wide = reduce(x.astype("float64"), axis=along, keepdims=keepdims, initial=float(neutral))
            return np.asarray(wide).astype(x.dtype)
        return np.asarray(reduce(x, axis=along, keepdims=keepdims, initial=neutral)).astype(x.dtype)

    return meaning


def _neutral(dtype: Any, function: str) -> Any:
    return reducer_of(function, DType(dtype)).identity(DType(dtype)).value


@relax_op(
    "relax.max",
    pattern=_REDUCE,
    te=_plain_te("max"),
    numpy=_extreme_numpy("max"),
    gradient=_extreme_gradient,
    layout=reduction,
)
def max(x: Tensor, axis: Ints | None = None, keepdims: bool = False) -> Type:
    """The largest element along axes; of no elements, the least of the dtype. NaN is not provided for."""
    return reduced_type("max", x, axis, keepdims)


@relax_op(
    "relax.min",
    pattern=_REDUCE,
    te=_plain_te("min"),
    numpy=_extreme_numpy("min"),
    gradient=_extreme_gradient,
    layout=reduction,
)
def min(x: Tensor, axis: Ints | None = None, keepdims: bool = False) -> Type:
    """The smallest element along axes; of no elements, the largest of the dtype. NaN is not provided for."""
    return reduced_type("min", x, axis, keepdims)


@relax_op(
    "relax.variance",
    pattern=_REDUCE,
    te=_variance_te,
    numpy=lambda x, axis, keepdims: _quiet(_numpy("var"), x, axis, keepdims),
    gradient=_variance_gradient,
    layout=reduction,
)
def variance(x: Tensor, axis: Ints | None = None, keepdims: bool = False) -> Type:
    """The mean square of the distances from the mean, along axes."""
    return reduced_type("variance", x, axis, keepdims)


@relax_op(
    "relax.std",
    pattern=_REDUCE,
    te=_std_te,
    numpy=lambda x, axis, keepdims: _quiet(_numpy("std"), x, axis, keepdims),
    layout=reduction,
)
def std(x: Tensor, axis: Ints | None = None, keepdims: bool = False) -> Type:
    """The square root of the variance along axes."""
    return reduced_type("std", x, axis, keepdims)


__all__ = [
    "back",
    "divided",
    "max",
    "mean",
    "mean_te",
    "min",
    "prod",
    "reduce_te",
    "reduced_axes",
    "reduced_sizes",
    "reduced_type",
    "reducer_of",
    "std",
    "sum",
    "variance",
]

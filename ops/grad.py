"""Gradients that are operators of their own, and marks for the gradient pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import te
from ..ir import Type, const
from ..ir import operators as arith
from ..ir.relax import OpPattern, relax_op
from ..ir.relax.op import Ints, Operand, Tensor
from ..ir.types import INT64
from . import terms
from .derivatives import R
from .indexing import from_back, index_type
from .infer import axis_of, same_type, tensor_type
from .layout import find_layout, from_plain, to_plain
from .nn_loss import check_nll, class_of, numpy_shares, total
from .nn_pooling import prepare_pool, windows_of
from .pooling import ORDER, window_count
from .programs import lines
from .scatter import scatter_te


def _operand(builder: Any, call: Any) -> Any:
    return call.args[0]


def _passed(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    return [grad]


def _stopped(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    return [R.zeros_like(call.args[0])]


def _mark(gradient: Callable[..., list[Any]]) -> dict[str, Any]:
    return {
        "pattern": OpPattern.ELEMWISE,
        "legalize": _operand,
        "numpy": lambda input: input,
        "gradient": gradient,
    }


@relax_op("relax.grad.no_grad", **_mark(_stopped))
def no_grad(input: Operand) -> Type:
    """The operand, to which no gradient goes back."""
    return input.ty


@relax_op("relax.grad.start_checkpoint", **_mark(_passed))
def start_checkpoint(input: Operand) -> Type:
    """The operand: what is computed from it up to `end_checkpoint` is computed again for gradients."""
    return input.ty


@relax_op("relax.grad.end_checkpoint", **_mark(_passed))
def end_checkpoint(input: Operand) -> Type:
    """The operand: what led here from `start_checkpoint` is computed again for gradients."""
    return input.ty


def _like(op: str, value: Tensor, name: str) -> Type:
    return same_type(tensor_type(op, value, name))


def _nll_backward_te(
    output_grad: te.Tensor,
    predictions: te.Tensor,
    targets: te.Tensor,
    weights: te.Tensor | None,
    reduction: str,
    ignore_index: int,
) -> te.Tensor:
    dtype = predictions.dtype
    at_class = min(predictions.ndim - 1, 1)

    def share(*at: Any) -> Any:
        counts = arith.not_equal(targets(*at), const(ignore_index, targets.dtype))
        weight = const(1, dtype) if weights is None else weights(class_of(targets, at)[1])
        return arith.if_then_else(counts, weight, const(0, dtype))

    names = [f"ax{k}" for k in range(targets.ndim)]
    shares = te.compute(targets.shape, share, "nll_loss_share", "broadcast", varargs_names=names)
    whole = total(shares, "nll_loss_whole") if reduction == "mean" else None

    def element(*at: Any) -> Any:
        place = [*at[:at_class], *at[at_class + 1 :]]
        grad = output_grad(*place) if reduction == "none" else output_grad()
        value = (0 - grad) * shares(*place)
        value = value if whole is None else value / whole()
        own = arith.equal(arith.cast(targets(*place), INT64), arith.cast(at[at_class], INT64))
        return arith.select(own, value, const(0, dtype))

    names = [f"ax{k}" for k in range(predictions.ndim)]
    made: te.Tensor = te.compute(
        predictions.shape, element, "nll_loss_backward", "broadcast", varargs_names=names
    )
    return made


def _nll_backward_numpy(
    output_grad: Any, predictions: Any, targets: Any, weights: Any, reduction: str, ignore_index: int
) -> Any:
    import numpy as np

    classes, shares = numpy_shares(predictions, targets, weights, ignore_index)
    axis = min(predictions.ndim - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = shares / shares.sum() if reduction == "mean" else shares
    share = np.where(shares == 0, 0, share)
    out = np.zeros(predictions.shape)
    np.put_along_axis(out, np.expand_dims(classes, axis), np.expand_dims(-output_grad * share, axis), axis)
    return out.astype(predictions.dtype)


@relax_op(
    "relax.grad.nll_loss_backward",
    pattern=OpPattern.OPAQUE,
    te=_nll_backward_te,
    numpy=_nll_backward_numpy,
)
def nll_loss_backward(
    output_grad: Tensor,
    predictions: Tensor,
    targets: Tensor,
    weights: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Type:
    """The gradient of `nll_loss` by its predictions."""
    op = "grad.nll_loss_backward"
    tensor_type(op, output_grad, "output_grad")
    ty, _, _ = check_nll(op, predictions, targets, weights, reduction)
    return same_type(ty)


def _covering(
    data: te.Tensor,
    output_grad: te.Tensor,
    pool_size: Ints,
    strides: Ints,
    padding: Ints,
    dilation: Ints,
    layout: str,
    out_layout: str,
    share: Callable[[Any, Any, Any], Any],
    name: str,
) -> te.Tensor:
    """For each element of the data the sum of `share(at, out, indices)` over the windows that hold it.

    `at` is the place of the element, `out` that of the window, `indices` the same as the result has it.
    """
    of_data, of_out = find_layout(layout), find_layout(out_layout)
    assert of_data is not None and of_out is not None
    number = of_out.gather(output_grad.shape)

    def element(*indices: Any) -> Any:
        at = of_data.join(indices)
        kind = number["H"].dtype
        taps = {s: te.reduce_axis((0, const(n, kind)), f"w{s.lower()}") for s, n in zip("HW", pool_size)}
        out, inside = dict(at), []
        for k, (s, tap) in enumerate(taps.items()):
            begin = at[s] + padding[k] - tap.var * dilation[k]
            out[s] = arith.floordiv(begin, strides[k])
            inside += [begin >= 0, arith.equal(begin % strides[k], 0), out[s] < number[s]]
        value = arith.if_then_else(
            arith.all_(*inside), share(at, out, of_out.indices(out)), const(0, output_grad.dtype)
        )
        return terms.total(value, list(taps.values()))

    names = [f"ax{k}" for k in range(data.ndim)]
    made: te.Tensor = te.compute(data.shape, element, name, name, varargs_names=names)
    return made


def _first_of_largest(
    data: te.Tensor, shape: Sequence[Any], pool_size: Ints, strides: Ints, padding: Ints, dilation: Ints,
    layout: str, out_layout: str,
) -> te.Tensor:  # fmt: skip
    """For each window where its largest element stands in the plane; the first of several."""
    of_data, of_out = find_layout(layout), find_layout(out_layout)
    assert of_data is not None and of_out is not None
    whole = of_data.gather(data.shape)

    def better(a: Sequence[Any], b: Sequence[Any]) -> tuple[Any, Any]:
        stays = arith.logical_or(
            arith.greater(a[1], b[1]), arith.logical_and(arith.equal(a[1], b[1]), arith.less(a[0], b[0]))
        )
        return arith.select(stays, a[0], b[0]), arith.select(stays, a[1], b[1])

    reducer = te.comm_reducer(better, lambda i, v: (te.max_value(i), te.min_value(v)), name="argmax")

    def element(*indices: Any) -> Any:
        at = of_out.join(indices)
        kind = whole["H"].dtype
        taps = {s: te.reduce_axis((0, const(n, kind)), f"r{s.lower()}") for s, n in zip("HW", pool_size)}
        place, inside = dict(at), []
        for k, (s, tap) in enumerate(taps.items()):
            place[s] = at[s] * strides[k] - padding[k] + tap.var * dilation[k]
            inside += [place[s] >= 0, place[s] < whole[s]]
        here = arith.all_(*inside)
        flat = arith.select(here, place["H"] * whole["W"] + place["W"], te.max_value(kind))
        value = arith.if_then_else(here, data(*of_data.indices(place)), te.min_value(data.dtype))
        return reducer((flat, value), axis=list(taps.values()))

    names = [f"ax{k}" for k in range(len(shape))]
    made: te.Tensor = te.compute(shape, element, "pool_argmax", varargs_names=names)[0]
    return made


def _max_backward_te(
    output_grad: te.Tensor,
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
    window = (pool_size, strides, padding, dilation, layout, out_layout)
    largest = _first_of_largest(data, output_grad.shape, *window)
    of_data = find_layout(layout)
    assert of_data is not None
    wide = of_data.gather(data.shape)["W"]

    def share(at: Any, out: Any, indices: Any) -> Any:
        own = arith.equal(largest(*indices), at["H"] * wide + at["W"])
        return arith.select(own, output_grad(*indices), const(0, output_grad.dtype))

    return _covering(data, output_grad, *window, share, "max_pool2d_backward")


def _avg_backward_te(
    output_grad: te.Tensor,
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
    of_data = find_layout(layout)
    assert of_data is not None
    count = window_count(
        of_data.gather(data.shape), "HW", pool_size, strides, dilation, padding, ceil_mode, count_include_pad
    )

    def share(at: Any, out: Any, indices: Any) -> Any:
        return output_grad(*indices) / arith.cast(count(out), output_grad.dtype)

    window = (pool_size, strides, padding, dilation, layout, out_layout)
    return _covering(data, output_grad, *window, share, "avg_pool2d_backward")


def _backward_numpy(kind: str) -> Callable[..., Any]:
    """Gradients of pooling on numpy arrays, window by window."""

    def backward_numpy(
        output_grad: Any,
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

        x = to_plain(data, layout, "NCHW")
        grad = to_plain(output_grad, out_layout, "NCHW").astype(np.float64)
        sides = zip(padding[:2], padding[2:])
        rows, columns = [
            windows_of(n, size, stride, gap, pad, ceil_mode)
            for n, size, stride, gap, pad in zip(x.shape[2:], pool_size, strides, dilation, sides)
        ]
        out = np.zeros(x.shape)
        for i, (ys, high) in enumerate(rows):
            for j, (xs, wide) in enumerate(columns):
                places = np.ix_(range(x.shape[0]), range(x.shape[1]), ys, xs)
                seen, own = x[places], grad[:, :, i, j, None, None]
                number = high * wide if count_include_pad else len(ys) * len(xs)
                if kind == "avg":
                    out[places] += own / max(number, 1)
                elif ys and xs:
                    flat = seen.reshape(*seen.shape[:2], len(ys) * len(xs))
                    first = np.arange(flat.shape[2]) == flat.argmax(axis=2)[..., None]
                    out[places] += own * first.reshape(seen.shape)
        return from_plain(out.astype(data.dtype), "NCHW", layout)

    return backward_numpy


@relax_op(
    "relax.grad.max_pool2d_backward",
    prepare=prepare_pool("grad.max_pool2d_backward", 2),
    pattern=OpPattern.OPAQUE,
    te=_max_backward_te,
    numpy=_backward_numpy("max"),
    printed=ORDER,
)
def max_pool2d_backward(
    output_grad: Tensor,
    data: Tensor,
    pool_size: Ints = (1, 1),
    strides: Ints = (1, 1),
    padding: Ints = (0, 0, 0, 0),
    dilation: Ints = (1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> Type:
    """The gradient of `max_pool2d`: each window's goes to its largest element, the first of several."""
    tensor_type("grad.max_pool2d_backward", output_grad, "output_grad")
    return _like("grad.max_pool2d_backward", data, "data")


@relax_op(
    "relax.grad.avg_pool2d_backward",
    prepare=prepare_pool("grad.avg_pool2d_backward", 2),
    pattern=OpPattern.OPAQUE,
    te=_avg_backward_te,
    numpy=_backward_numpy("avg"),
    printed=ORDER,
)
def avg_pool2d_backward(
    output_grad: Tensor,
    data: Tensor,
    pool_size: Ints = (1, 1),
    strides: Ints = (1, 1),
    padding: Ints = (0, 0, 0, 0),
    dilation: Ints = (1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> Type:
    """The gradient of `avg_pool2d`: each window's is shared out among its elements."""
    tensor_type("grad.avg_pool2d_backward", output_grad, "output_grad")
    return _like("grad.avg_pool2d_backward", data, "data")


def _take_backward_te(
    output_grad: te.Tensor, x: te.Tensor, indices: te.Tensor, axis: int | None
) -> te.Tensor:
    """Slices are added at their places; the places count slices of what stands behind the axis."""
    at = (axis or 0) % x.ndim
    outer, length, inner = lines(x.shape, at)

    def place(o: Any, *i: Any) -> Any:
        return o * length + from_back(indices(*i), length)

    names = [f"i{k}" for k in range(indices.ndim)]
    places = te.compute((outer, *indices.shape), place, "place", varargs_names=names)
    zeros = te.compute(x.shape, lambda *i: const(0, x.dtype), "zeros")
    return scatter_te(zeros, places, output_grad, "add", inner, "take_backward")


def _take_backward_numpy(output_grad: Any, x: Any, indices: Any, axis: int | None) -> Any:
    import numpy as np

    at = (axis or 0) % x.ndim
    out = np.zeros(x.shape, x.dtype)
    moved = np.moveaxis(out, at, 0)
    k = indices.ndim
    grads = np.moveaxis(output_grad, range(at, at + k), range(k))
    for i in np.ndindex(*indices.shape):
        moved[int(indices[i])] += grads[i]
    return out


@relax_op(
    "relax.grad.take_backward",
    pattern=OpPattern.OPAQUE,
    te=_take_backward_te,
    numpy=_take_backward_numpy,
)
def take_backward(output_grad: Tensor, x: Tensor, indices: Tensor, axis: int | None = None) -> Type:
    """The gradient of `take` by its tensor: what was taken several times gets the sum."""
    op = "grad.take_backward"
    tensor_type(op, output_grad, "output_grad")
    index_type(op, indices)
    ty = tensor_type(op, x)
    if axis is not None:
        axis_of(op, axis, ty.ndim)
    return same_type(ty)


__all__ = [
    "avg_pool2d_backward",
    "end_checkpoint",
    "max_pool2d_backward",
    "nll_loss_backward",
    "no_grad",
    "start_checkpoint",
    "take_backward",
]

"""Losses: how far predictions are from what they should be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import te
from ..ir import Type, const
from ..ir import operators as arith
from ..ir.arith import Analyzer
from ..ir.relax import OpPattern, relax_op
from ..ir.relax.op import Tensor
from . import terms
from .derivatives import GRAD, R
from .faults import shape_fault, type_fault
from .infer import Sizes, common_dtype, common_vdevice, like, show, tensor_type

REDUCTIONS = ("none", "sum", "mean")


def _differ(a: Any, b: Any) -> bool:
    return Analyzer().can_prove(arith.not_equal(a, b))


def total(tensor: te.Tensor, name: str) -> te.Tensor:
    """The sum of all elements."""

    def element() -> Any:
        axes = [te.reduce_axis((0, n), f"k{k}") for k, n in enumerate(tensor.shape)]
        return terms.total(tensor(*[a.var for a in axes]), axes) if axes else tensor()

    made: te.Tensor = te.compute((), element, name, "comm_reduce")
    return made


def _compute(shape: Sequence[Any], element: Any, name: str) -> te.Tensor:
    names = [f"ax{k}" for k in range(len(shape))]
    made: te.Tensor = te.compute(shape, element, name, "broadcast", varargs_names=names)
    return made


def _cross_entropy_te(predictions: te.Tensor, labels: te.Tensor) -> te.Tensor:
    dtype = predictions.dtype
    products = _compute(predictions.shape, lambda *i: predictions(*i) * labels(*i), "T_multiply")
    sums = total(products, "T_multiply_red")
    negative = te.compute((), lambda: sums() * const(-1, dtype), "T_multiply")
    if predictions.ndim < 2:
        return negative
    batch = arith.cast(predictions.shape[0], dtype)
    made: te.Tensor = te.compute((), lambda: arith.div(negative(), batch), "T_divide")
    return made


def _cross_entropy_numpy(predictions: Any, labels: Any) -> Any:
    import numpy as np

    loss = -np.sum(predictions.astype(np.float64) * labels)
    with np.errstate(invalid="ignore"):
        mean = loss / np.float64(predictions.shape[0]) if predictions.ndim > 1 else loss
    return np.asarray(mean, predictions.dtype)


def _cross_entropy_gradient(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    """Of each operand: minus the other, over the batch size."""
    predictions, labels = call.args
    scaled = R.negative(grad)
    sizes = predictions.ty.sizes
    if sizes is not None and len(sizes) > 1:
        scaled = R.divide(scaled, arith.cast(sizes[0], predictions.ty.dtype))
    return [R.multiply(scaled, labels), R.multiply(scaled, predictions)]


@relax_op(
    "relax.nn.cross_entropy_with_logits",
    pattern=OpPattern.OPAQUE,
    te=_cross_entropy_te,
    numpy=_cross_entropy_numpy,
    gradient=_cross_entropy_gradient,
)
def cross_entropy_with_logits(predictions: Tensor, labels: Tensor) -> Type:
    """Minus the sum of predictions times labels, for two or more dimensions over the first size, the batch.

    Predictions are logarithms of probabilities, such as `log_softmax` gives.
    """
    op = "nn.cross_entropy_with_logits"
    a, b = tensor_type(op, predictions, "predictions"), tensor_type(op, labels, "labels")
    dtype = common_dtype(op, a, b)
    common_vdevice(op, a, b)
    if -1 not in (a.ndim, b.ndim) and a.ndim != b.ndim:
        shape_fault(op, f"`predictions` has {a.ndim} dimensions, `labels` has {b.ndim}")
    if a.sizes is not None and b.sizes is not None and any(map(_differ, a.sizes, b.sizes)):
        shape_fault(op, f"`predictions` has the shape {show(a.sizes)}, `labels` has {show(b.sizes)}")
    return like(a, (), dtype)


def class_of(targets: te.Tensor, at: Sequence[Any]) -> tuple[list[Any], Any, list[Any]]:
    """A place of the targets taken apart: batch, class, other dimensions."""
    batch = list(at[:1])
    return batch, targets(*at), list(at[1:])


def _nll_loss_te(
    predictions: te.Tensor,
    targets: te.Tensor,
    weights: te.Tensor | None,
    reduction: str,
    ignore_index: int,
) -> te.Tensor:
    dtype = predictions.dtype

    def counts(at: Sequence[Any]) -> Any:
        return arith.not_equal(targets(*at), const(ignore_index, targets.dtype))

    def weight(at: Sequence[Any]) -> Any:
        return const(1, dtype) if weights is None else weights(targets(*at))

    def loss(*at: Any) -> Any:
        batch, target, others = class_of(targets, at)
        value = (0 - predictions(*batch, target, *others)) * weight(at)
        return arith.if_then_else(counts(at), value, const(0, dtype))

    losses = _compute(targets.shape, loss, "nll_loss")
    if reduction == "none":
        return losses
    summed = total(losses, "nll_loss_red")
    if reduction == "sum":
        return summed
    shares = _compute(
        targets.shape, lambda *at: arith.if_then_else(counts(at), weight(at), const(0, dtype)), "nll_loss"
    )
    whole = total(shares, "nll_loss_red")
    divide = arith.div if dtype.is_float else arith.truncdiv
    made: te.Tensor = te.compute((), lambda: divide(summed(), whole()), "T_divide")
    return made


def numpy_shares(predictions: Any, targets: Any, weights: Any, ignore_index: int) -> tuple[Any, Any]:
    """Numpy: for each target its class, 0 where it is ignored, and its weight, 0 where it is ignored."""
    import numpy as np

    counts = targets != ignore_index
    classes = np.where(counts, targets, 0)
    count = predictions.shape[1 if predictions.ndim > 1 else 0]
    table = np.ones(count) if weights is None else weights.astype(np.float64)
    return classes, np.where(counts, table[classes] if count else 0.0, 0.0)


def _nll_loss_numpy(predictions: Any, targets: Any, weights: Any, reduction: str, ignore_index: int) -> Any:
    import numpy as np

    classes, shares = numpy_shares(predictions, targets, weights, ignore_index)
    axis = 1 if predictions.ndim > 1 else 0
    taken = np.take_along_axis(predictions.astype(np.float64), np.expand_dims(classes, axis), axis)
    losses = -taken.squeeze(axis) * shares
    if reduction == "none":
        return losses.astype(predictions.dtype)
    if reduction == "sum":
        return np.asarray(losses.sum(), predictions.dtype)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(losses.sum() / shares.sum(), predictions.dtype)


def _nll_loss_gradient(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    """Of the predictions; targets are places, and weights are held to be constant."""
    rest = [None for _ in call.args[1:]]
    return [GRAD.nll_loss_backward(grad, *call.args, **call.attrs), *rest]


def check_nll(
    op: str, predictions: Tensor, targets: Tensor, weights: Tensor | None, reduction: str
) -> tuple[Any, Sizes | None, int]:
    """The type of the predictions, sizes and rank of the losses; faults of operands that do not fit."""
    if reduction not in REDUCTIONS:
        shape_fault(op, f'`reduction` is "{reduction}", not one of {", ".join(map(repr, REDUCTIONS))}')
    p, t = tensor_type(op, predictions, "predictions"), tensor_type(op, targets, "targets")
    w = None if weights is None else tensor_type(op, weights, "weights")
    if t.dtype is not None and not (t.dtype.is_int or t.dtype.is_uint):
        type_fault(op, f"`targets` must be integers, the classes, not `{t.dtype}`")
    if w is not None:
        common_dtype(op, p, w)
        if w.ndim not in (-1, 1):
            shape_fault(op, f"`weights` must have one dimension, the classes, not {w.ndim}")
    common_vdevice(op, p, t, *([] if w is None else [w]))
    if p.ndim == 0:
        shape_fault(op, "`predictions` must have a dimension of classes")
    if -1 not in (p.ndim, t.ndim) and t.ndim != p.ndim - 1:
        shape_fault(
            op, f"`targets` must have one dimension less than `predictions`: {p.ndim - 1}, not {t.ndim}"
        )
    at = min(p.ndim - 1, 1)
    if p.sizes is not None:
        left = (*p.sizes[:at], *p.sizes[at + 1 :])
        if t.sizes is not None and any(map(_differ, left, t.sizes)):
            shape_fault(op, f"`targets` has the shape {show(t.sizes)}, `predictions` needs {show(left)}")
        if w is not None and w.sizes is not None and _differ(w.sizes[0], p.sizes[at]):
            shape_fault(op, f"there are {show(w.sizes)} weights for the classes of {show(p.sizes)}")
        return p, left, len(left)
    rank = t.ndim if t.ndim >= 0 else p.ndim - 1 if p.ndim > 0 else -1
    return p, t.sizes, rank


@relax_op(
    "relax.nn.nll_loss",
    pattern=OpPattern.OPAQUE,
    te=_nll_loss_te,
    numpy=_nll_loss_numpy,
    gradient=_nll_loss_gradient,
)
def nll_loss(
    predictions: Tensor,
    targets: Tensor,
    weights: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Type:
    """Minus the prediction of each target's class, times the weight of the class.

    Predictions are laid out as (batch, classes, ...) or (classes,).  Targets that are `ignore_index` do
    not count.  `reduction` gives each loss ("none"), their sum, or the sum over that of the weights ("mean").
    """
    ty, sizes, rank = check_nll("nn.nll_loss", predictions, targets, weights, reduction)
    if reduction != "none":
        return like(ty, ())
    return like(ty, sizes) if sizes is not None else like(ty, ndim=rank)


__all__ = ["cross_entropy_with_logits", "nll_loss"]

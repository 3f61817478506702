"""Sums back to the shape that broadcasting came from: collapse_sum_to, collapse_sum_like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ir, te
from ..ir import Type
from ..ir.relax import OpPattern, TensorType, relax_op, same_size
from ..ir.relax.op import Shape, Tensor
from .faults import shape_fault
from .infer import Sizes, is_one, show, sizes_of, tensor_type
from .reshape import shape_like, shaped
from .sizes import is_zero


def collapse_te(data: te.Tensor, wanted: Sequence[Any]) -> te.Tensor:
    """The sum over the dimensions that `wanted` lacks, or has with size 1 where the data have more."""
    lead = data.ndim - len(wanted)
    shape = data.shape
    gone = [k for k, s in enumerate(shape) if k < lead or (is_one(wanted[k - lead]) and not is_one(s))]
    if any(is_zero(shape[k]) for k in gone):
        return te.compute(wanted, lambda *i: ir.const(0, data.dtype), name="collapse_sum")
    axes = {k: te.reduce_axis((0, shape[k]), f"k{k}") for k in gone}

    def element(*i: Any) -> Any:
        value = data(*[axes[k] if k in axes else i[k - lead] for k in range(data.ndim)])
        return te.sum(value, axis=list(axes.values())) if axes else value

    return te.compute(wanted, element, name="collapse_sum")


def _collapse_numpy(data: Any, wanted: Sequence[int]) -> Any:
    lead = data.ndim - len(wanted)
    gone = tuple([k for k in range(data.ndim) if k < lead or wanted[k - lead] == 1 != data.shape[k]])
    return data.sum(gone, dtype=data.dtype).reshape(tuple(wanted)).astype(data.dtype)


def _check(op: str, have: Sizes | None, wanted: Sizes | None) -> None:
    if have is None or wanted is None:
        return
    fits = len(wanted) <= len(have)
    for mine, goal in zip(have[len(have) - len(wanted) :], wanted):
        fits = fits and (is_one(goal) or same_size(mine, goal))
    if not fits:
        shape_fault(op, f"the shape {show(wanted)} does not broadcast to {show(have)}")


def _broadcast_back(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    from .reshape import broadcast_to

    return [broadcast_to(grad, shape_like(call.args[0])), None]


@relax_op(
    "relax.collapse_sum_to",
    kernel="collapse_sum",
    pattern=OpPattern.COMM_REDUCE,
    te=lambda data, shape: collapse_te(data, shape),
    numpy=_collapse_numpy,
    gradient=_broadcast_back,
)
def collapse_sum_to(data: Tensor, shape: Shape) -> Type:
    """The sum over the dimensions along which a tensor of this shape was broadcast to that of the data."""
    ty = tensor_type("collapse_sum_to", data)
    _check("collapse_sum_to", ty.sizes, sizes_of(shape))
    return shaped("collapse_sum_to", ty, shape)


@relax_op(
    "relax.collapse_sum_like",
    kernel="collapse_sum",
    pattern=OpPattern.COMM_REDUCE,
    te=lambda data, collapse_target: collapse_te(data, collapse_target.shape),
    numpy=lambda data, collapse_target: _collapse_numpy(data, collapse_target.shape),
    gradient=_broadcast_back,
)
def collapse_sum_like(data: Tensor, collapse_target: Tensor) -> Type:
    """The sum over the dimensions along which the target was broadcast to the shape of the data."""
    ty = tensor_type("collapse_sum_like", data)
    goal = tensor_type("collapse_sum_like", collapse_target, "collapse_target")
    _check("collapse_sum_like", ty.sizes, goal.sizes)
    return TensorType(goal.shape, ty.dtype, ty.vdevice, goal.ndim)


__all__ = ["collapse_sum_like", "collapse_sum_to", "collapse_te"]

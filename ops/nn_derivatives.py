"""Gradients of convolutions and pooling; see `derivatives.py` for what a gradient is given and gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ir import Expr
from ..ir.arith import Analyzer
from ..ir.relax import op_of, same_size
from .derivatives import GRAD, NN, R
from .faults import shape_fault
from .layout import find_layout


def _values(call: Any) -> dict[str, Any]:
    record = op_of(call)
    assert record is not None
    return record.values(call)


def max_pool2d(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr]:
    """grad, brought to the largest element of each window"""
    values = _values(call)
    return [GRAD.max_pool2d_backward(grad, values.pop("data"), **values)]


def avg_pool2d(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr]:
    """grad, shared out among the elements of each window"""
    values = _values(call)
    return [GRAD.avg_pool2d_backward(grad, values.pop("data"), **values)]


def conv2d(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr]:
    """By the data a transposed convolution with the kernel, by the kernel one of the data with grad."""
    values = _values(call)
    layouts = [values[name] for name in ("data_layout", "kernel_layout", "out_layout")]
    sizes = []
    for text, value in zip(layouts, (values["data"], values["weight"], call)):
        found = find_layout(text)
        if found is None or not found.is_plain or value.ty.sizes is None:
            shape_fault("nn.conv2d", f'its gradient needs known shapes and plain layouts, not "{text}"')
        sizes.append(found.gather(value.ty.sizes))
    dtype = values["data"].ty.dtype
    grad = grad if grad.ty.dtype == dtype else R.astype(grad, dtype)  # type: ignore[attr-defined]
    return [_by_data(values, grad, *sizes), _by_kernel(values, grad, *sizes)]


def _by_data(
    values: Mapping[str, Any],
    grad: Expr,
    data: Mapping[str, Any],
    kernel: Mapping[str, Any],
    out: Mapping[str, Any],
) -> Expr:
    """The transposed convolution; what the strides left out of the data at its end is padded."""
    left = []
    for k, s in enumerate("HW"):
        stride, pads = values["strides"][k], values["padding"][k] + values["padding"][k + 2]
        reach = (kernel[s] - 1) * values["dilation"][k] + 1
        rest = Analyzer().simplify(data[s] - (out[s] - 1) * stride - reach + pads)
        if not hasattr(rest, "value"):
            shape_fault(
                "nn.conv2d", "its gradient needs sizes known when strides leave out a part of the data"
            )
        left.append(rest.value)
    return NN.conv2d_transpose(
        grad,
        values["weight"],
        values["strides"],
        values["padding"],
        left,
        values["dilation"],
        values["groups"],
        values["out_layout"],
        values["kernel_layout"].translate(str.maketrans("OI", "IO")),
        values["data_layout"],
    )


def _by_kernel(
    values: Mapping[str, Any],
    grad: Expr,
    data: Mapping[str, Any],
    kernel: Mapping[str, Any],
    out: Mapping[str, Any],
) -> Expr:
    """Input channels become the batch, the batch becomes channels; strides and dilation change places."""
    layout, groups = values["data_layout"], values["groups"]
    operand = values["data"]
    if groups > 1:
        operand, layout = _groups_first(operand, layout, groups, data), "NCHW"
    else:
        layout = layout.translate(str.maketrans("NC", "CN"))
    wide: Any = NN.conv2d(
        operand,
        grad,
        values["dilation"],
        values["padding"],
        values["strides"],
        groups,
        layout,
        values["out_layout"].translate(str.maketrans("NC", "IO")),
        values["kernel_layout"].translate(str.maketrans("OI", "CN")),
    )
    wanted = values["weight"].ty.sizes
    axes = [k for k, (a, b) in enumerate(zip(wide.ty.sizes, wanted)) if not same_size(a, b)]
    if not axes:
        return wide
    return R.strided_slice(wide, axes, [0] * len(axes), [wanted[k] for k in axes])


def _groups_first(operand: Expr, layout: str, groups: int, data: Mapping[str, Any]) -> Expr:
    """Data (N, groups * C, H, W) as (C, groups * N, H, W)."""
    plain = R.permute_dims(operand, [layout.index(s) for s in "NCHW"])
    members = Analyzer().simplify(data["C"] // groups)
    parted = R.reshape(plain, [data["N"], groups, members, data["H"], data["W"]])
    moved = R.permute_dims(parted, [2, 1, 0, 3, 4])
    return R.reshape(moved, [members, data["N"] * groups, data["H"], data["W"]])


__all__ = ["avg_pool2d", "conv2d", "max_pool2d"]

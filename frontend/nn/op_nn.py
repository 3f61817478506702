"""The operators of neural networks as functions on `nn.Tensor`; `nn.op` has them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import Diagnostic, DTypeError, UnsupportedError, suggest
from ...ir.relax import tensor_constant
from .tensor import Tensor, apply

Numbers = int | Sequence[int]


def _activation(op: str) -> Callable[..., Tensor]:
    label = op.rpartition(".")[2]

    def function(x: Tensor, name: str = label) -> Tensor:
        made: Tensor = apply(op, x, name=name)
        return made

    function.__name__ = function.__qualname__ = label
    function.__doc__ = f"`R.{op}`, element by element."
    return function


relu = _activation("nn.relu")
relu6 = _activation("nn.relu6")
silu = _activation("nn.silu")
sigmoid = _activation("sigmoid")


def gelu(x: Tensor, approximate: str | None = None, name: str = "gelu") -> Tensor:
    """The Gaussian error linear unit; with approximate="tanh" by the hyperbolic tangent."""
    if approximate not in (None, "none", "tanh"):
        raise DTypeError(
            Diagnostic("invalid-argument", f"`approximate` is 'tanh' or None, not {approximate!r}")
        )
    made: Tensor = apply("nn.gelu_tanh" if approximate == "tanh" else "nn.gelu", x, name=name)
    return made


def prelu(x: Tensor, alpha: Tensor, name: str = "prelu") -> Tensor:
    """x where it is positive, else alpha * x, with an alpha for each channel."""
    made: Tensor = apply("nn.prelu", x, alpha, name=name)
    return made


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0, name: str = "softplus") -> Tensor:
    """log(1 + exp(beta * x)) / beta; x itself above the threshold."""
    made: Tensor = apply("nn.softplus", x, beta=beta, threshold=threshold, name=name)
    return made


def softmax(x: Tensor, axis: int = -1, name: str = "softmax") -> Tensor:
    """exp(x) over its sum along an axis."""
    made: Tensor = apply("nn.softmax", x, axis=axis, name=name)
    return made


def _biased(made: Tensor, bias: Tensor | None, axis: int, name: str) -> Tensor:
    """The result of a convolution with a bias for each channel."""
    if bias is None:
        return made
    shape = [1] * made.ndim
    shape[axis] = bias.shape[0]
    result: Tensor = apply("add", made, apply("reshape", bias, shape), name=name)
    return result


def _convolution(
    op: str, x: Tensor, weight: Tensor, bias: Tensor | None, name: str, axis: int = 1, **attrs: Any
) -> Tensor:
    made = apply(f"nn.{op}", x, weight, name=name if bias is None else f"{name}_product", **attrs)
    return _biased(made, bias, axis, name)


def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: Numbers | str = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    name: str = "conv1d",
) -> Tensor:
    """The convolution of (batch, channels, width) with weights (out, in / groups, width)."""
    padding = _same(padding, weight, dilation, 1)
    attrs: dict[str, Any] = {"strides": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _convolution("conv1d", x, weight, bias, name, **attrs)


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: Numbers | str = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    data_layout: str = "NCHW",
    name: str = "conv2d",
) -> Tensor:
    """The convolution of images with weights: OIHW, or HWIO for images of layout NHWC."""
    padding = _same(padding, weight, dilation, 2)
    attrs: dict[str, Any] = {"strides": stride, "padding": padding, "dilation": dilation, "groups": groups}
    layouts: dict[str, Any] = {
        "data_layout": data_layout,
        "kernel_layout": "OIHW" if data_layout == "NCHW" else "HWIO",
    }
    return _convolution("conv2d", x, weight, bias, name, data_layout.index("C"), **attrs, **layouts)


def conv3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: Numbers | str = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    data_layout: str = "NCDHW",
    name: str = "conv3d",
) -> Tensor:
    """The convolution of volumes with weights: OIDHW, or DHWIO for volumes of layout NDHWC."""
    padding = _same(padding, weight, dilation, 3)
    attrs: dict[str, Any] = {"strides": stride, "padding": padding, "dilation": dilation, "groups": groups}
    layouts: dict[str, Any] = {
        "data_layout": data_layout,
        "kernel_layout": "OIDHW" if data_layout == "NCDHW" else "DHWIO",
    }
    return _convolution("conv3d", x, weight, bias, name, data_layout.index("C"), **attrs, **layouts)


def _same(padding: Numbers | str, weight: Tensor, dilation: Numbers, dims: int) -> Numbers:
    """The padding as numbers: "valid" is none, "same" keeps the sizes where strides are 1."""
    if not isinstance(padding, str):
        return padding
    if padding == "valid":
        return 0
    if padding != "same":
        raise DTypeError(
            Diagnostic(
                "invalid-argument",
                f"there is no padding {padding!r}",
                help=suggest(padding, ("same", "valid")),
            )
        )
    steps = [dilation] * dims if isinstance(dilation, int) else list(dilation)
    total = [d * (int(k) - 1) for d, k in zip(steps, weight.shape[-dims:])]
    return [t // 2 for t in total] + [t - t // 2 for t in total]


def conv1d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    name: str = "conv1d_transpose",
) -> Tensor:
    """The transposed convolution of (batch, channels, width) with weights (in, out / groups, width)."""
    attrs: dict[str, Any] = {"strides": stride, "padding": padding, "output_padding": output_padding}
    more: dict[str, Any] = {"dilation": dilation, "groups": groups}
    return _convolution("conv1d_transpose", x, weight, bias, name, **attrs, **more)


def conv2d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    name: str = "conv2d_transpose",
) -> Tensor:
    """The transposed convolution of images with weights (in, out / groups, height, width)."""
    attrs: dict[str, Any] = {"strides": stride, "padding": padding, "output_padding": output_padding}
    more: dict[str, Any] = {"dilation": dilation, "groups": groups}
    return _convolution("conv2d_transpose", x, weight, bias, name, **attrs, **more)


def max_pool2d(
    x: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    name: str = "max_pool2d",
) -> Tensor:
    """The largest element of each window; windows follow each other unless `stride` says otherwise."""
    strides = kernel_size if stride is None else stride
    made: Tensor = apply(
        "nn.max_pool2d", x, pool_size=kernel_size, strides=strides, padding=padding, name=name
    )
    return made


def avg_pool2d(
    x: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    name: str = "avg_pool2d",
) -> Tensor:
    """The mean of each window; padding counts as zeros."""
    strides = kernel_size if stride is None else stride
    attrs: dict[str, Any] = {
        "pool_size": kernel_size,
        "strides": strides,
        "padding": padding,
        "count_include_pad": True,
    }
    made: Tensor = apply("nn.avg_pool2d", x, name=name, **attrs)
    return made


def adaptive_avg_pool2d(x: Tensor, output_size: Numbers, name: str = "adaptive_avg_pool2d") -> Tensor:
    """The mean over windows that divide the image into so many."""
    made: Tensor = apply("nn.adaptive_avg_pool2d", x, output_size=output_size, name=name)
    return made


def pad(
    x: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0.0, name: str = "pad"
) -> Tensor:
    """The tensor with a border: `pad` lists what comes before and behind each dimension."""
    made: Tensor = apply("nn.pad", x, pad_width=list(pad), pad_mode=mode, pad_value=value, name=name)
    return made


def _filled(value: float, shape: Sequence[int], dtype: str) -> Tensor:
    import numpy as np

    return Tensor(_expr=tensor_constant(np.full(tuple(shape), value), dtype))


def layer_norm(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    name: str = "layer_norm",
) -> Tensor:
    """Each part of this shape, x's last dimensions, with mean 0 and variance 1, then scaled and moved."""
    sizes = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    weight = _filled(1.0, sizes, x.dtype) if weight is None else weight
    bias = _filled(0.0, sizes, x.dtype) if bias is None else bias
    axes = list(range(-len(sizes), 0))
    made: Tensor = apply("nn.layer_norm", x, weight, bias, axes=axes, epsilon=eps, name=name)
    return made


def rms_norm(
    x: Tensor, weight: Tensor, axes: Numbers = -1, epsilon: float = 1e-5, name: str = "rms_norm"
) -> Tensor:
    """x over the root of the mean of its squares along the axes, then scaled."""
    made: Tensor = apply("nn.rms_norm", x, weight, axes=axes, epsilon=epsilon, name=name)
    return made


def group_norm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    channel_axis: int = 1,
    axes: Sequence[int] | None = None,
    name: str = "group_norm",
) -> Tensor:
    """Each group of channels with mean 0 and variance 1, then each channel scaled and moved."""
    if axes is None:
        axes = [i for i in range(x.ndim) if i not in (0, channel_axis)]
    channels = [x.shape[channel_axis]]
    weight = _filled(1.0, channels, x.dtype) if weight is None else weight
    bias = _filled(0.0, channels, x.dtype) if bias is None else bias
    attrs: dict[str, Any] = {
        "num_groups": num_groups,
        "channel_axis": channel_axis,
        "axes": list(axes),
        "epsilon": eps,
    }
    made: Tensor = apply("nn.group_norm", x, weight, bias, name=name, **attrs)
    return made


def batch_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    eps: float = 1e-5,
    axis: int = 1,
    name: str = "batch_norm",
) -> Tensor:
    """Each channel with this mean and variance made 0 and 1, then scaled and moved: as inference does.

    It is a product and a sum by channel, which follow from the weights, so that convolutions take them in.
    """
    scale = weight * apply("rsqrt", running_var + eps)
    shift = bias - running_mean * scale
    shape = [1] * x.ndim
    shape[axis] = weight.shape[0]
    product = x * apply("reshape", scale, shape)
    made: Tensor = apply("add", product, apply("reshape", shift, shape), name=name)
    return made


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool | None = False,
    scale: float | None = None,
    name: str = "scaled_dot_product_attention",
) -> Tensor:
    """softmax(query key^T * scale + mask) value, of (batch, positions, heads, size).

    `is_causal` lets each position see itself and those before.
    """
    mask = "TopLeft" if is_causal else None
    operands = [query, key, value] if attn_mask is None else [query, key, value, attn_mask]
    made: Tensor = apply("nn.attention", *operands, scale=scale, causal_mask=mask, name=name)
    return made


_MODES = {"nearest": "nearest_neighbor", "bilinear": "linear", "bicubic": "cubic", "linear": "linear"}


def interpolate(
    x: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool | None = None,
    data_layout: str = "NCHW",
    name: str = "interpolate",
) -> Tensor:
    """Images of another size, given by itself or by factors."""
    if recompute_scale_factor or antialias:
        option = "recompute_scale_factor" if recompute_scale_factor else "antialias"
        raise UnsupportedError(Diagnostic("unsupported", f"`interpolate` does not support `{option}`"))
    if mode not in _MODES:
        raise DTypeError(
            Diagnostic("invalid-argument", f"`interpolate` has no mode {mode!r}", help=suggest(mode, _MODES))
        )
    if (size is None) == (scale_factor is None):
        raise DTypeError(
            Diagnostic("invalid-argument", "`interpolate` needs one of `size` and `scale_factor`")
        )
    axes = [i for i, letter in enumerate(data_layout) if letter in "HW"]
    if size is None:
        factors = [scale_factor] * 2 if isinstance(scale_factor, int | float) else list(scale_factor or ())
        sizes = [int(x.shape[axis] * factor) for axis, factor in zip(axes, factors)]
    else:
        sizes = [size] * 2 if isinstance(size, int) else list(size)
    corners = "align_corners" if align_corners else "asymmetric" if mode == "nearest" else "half_pixel"
    attrs: dict[str, Any] = {
        "layout": data_layout,
        "method": _MODES[mode],
        "coordinate_transformation_mode": corners,
    }
    made: Tensor = apply("image.resize2d", x, sizes, name=name, **attrs)
    return made


__all__ = [
    "adaptive_avg_pool2d",
    "avg_pool2d",
    "batch_norm",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "gelu",
    "group_norm",
    "interpolate",
    "layer_norm",
    "max_pool2d",
    "pad",
    "prelu",
    "relu",
    "relu6",
    "rms_norm",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
]

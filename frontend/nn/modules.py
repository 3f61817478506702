"""The usual parts of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import Expr
from . import op
from .core import Module, ModuleList, Parameter
from .tensor import Tensor

Numbers = int | Sequence[int]
Size = int | str | Expr


def _several(value: Numbers, count: int) -> list[int]:
    """A number for each dimension."""
    return [value] * count if isinstance(value, int) else list(value)


class ReLU(Module):
    """The larger one of x and 0."""

    def forward(self, x: Tensor) -> Tensor:
        """x with negative elements set to zero."""
        return op.relu(x)


class SiLU(Module):
    """x times its sigmoid."""

    def forward(self, x: Tensor) -> Tensor:
        """x * sigmoid(x)."""
        return op.silu(x)


class GELU(Module):
    """The Gaussian error linear unit."""

    def forward(self, x: Tensor) -> Tensor:
        """x times the normal distribution's value at x."""
        return op.gelu(x)


class Identity(Module):
    """What it is given."""

    def forward(self, x: Tensor) -> Tensor:
        """x itself."""
        return x


class Linear(Module):
    """x times the transposed weight (out, in), plus the bias."""

    def __init__(
        self,
        in_features: Size,
        out_features: Size,
        bias: bool = True,
        dtype: str | None = None,
        out_dtype: str | None = None,
    ) -> None:
        self.in_features = in_features
        self.out_features = out_features
        self.out_dtype = out_dtype
        self.weight = Parameter((out_features, in_features), dtype)
        self.bias = Parameter((out_features,), out_dtype or dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """The product with the weight over the last dimension."""
        product = op.matmul(x, op.permute_dims(self.weight), out_dtype=self.out_dtype)
        return product if self.bias is None else op.add(product, self.bias)

    def to(self, dtype: str | None = None) -> None:
        """Let it have this dtype; with an `out_dtype` of its own the bias keeps that."""
        self.weight.to(dtype)
        if self.bias is not None and self.out_dtype is None:
            self.bias.to(dtype)


class _Convolution(Module):
    """Base of convolutions: weight and bias by the number of dimensions."""

    def __init__(
        self,
        dims: int,
        channels: tuple[int, int],
        kernel_size: Numbers,
        bias: bool,
        dtype: str | None,
        channels_last: bool = False,
        **options: Any,
    ) -> None:
        self.in_channels, self.out_channels = channels
        self.kernel_size = _several(kernel_size, dims)
        self.options = options
        inner = self.in_channels // options["groups"]
        shape = [self.out_channels, inner, *self.kernel_size]
        if channels_last:
            shape = [*self.kernel_size, inner, self.out_channels]
        self.weight = Parameter(shape, dtype)
        self.bias = Parameter((self.out_channels,), dtype) if bias else None


class Conv1D(_Convolution):
    """Convolution over (batch, channels, width)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: Numbers | str = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        options: dict[str, Any] = {
            "stride": stride,
            "padding": padding,
            "dilation": dilation,
            "groups": groups,
        }
        super().__init__(1, (in_channels, out_channels), kernel_size, bias, dtype, **options)

    def forward(self, x: Tensor) -> Tensor:
        """The convolution with the weight, plus the bias."""
        return op.conv1d(x, self.weight, self.bias, **self.options)


class Conv2D(_Convolution):
    """Convolution over images, of layout NCHW or NHWC."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers = 1,
        padding: Numbers | str = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
        data_layout: str = "NCHW",
    ) -> None:
        options: dict[str, Any] = {
            "stride": stride,
            "padding": padding,
            "dilation": dilation,
            "groups": groups,
        }
        last = data_layout != "NCHW"
        super().__init__(2, (in_channels, out_channels), kernel_size, bias, dtype, last, **options)
        self.options["data_layout"] = data_layout

    def forward(self, x: Tensor) -> Tensor:
        """The convolution with the weight, plus the bias."""
        return op.conv2d(x, self.weight, self.bias, **self.options)


class Conv3D(_Convolution):
    """Convolution over volumes, of layout NCDHW or NDHWC."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers = 1,
        padding: Numbers | str = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
        data_layout: str = "NCDHW",
    ) -> None:
        options: dict[str, Any] = {
            "stride": stride,
            "padding": padding,
            "dilation": dilation,
            "groups": groups,
        }
        last = data_layout != "NCDHW"
        super().__init__(3, (in_channels, out_channels), kernel_size, bias, dtype, last, **options)
        self.options["data_layout"] = data_layout

    def forward(self, x: Tensor) -> Tensor:
        """The convolution with the weight, plus the bias."""
        return op.conv3d(x, self.weight, self.bias, **self.options)


class _Transposed(Module):
    """Base of transposed convolutions, with weights (in, out / groups, ...)."""

    def __init__(
        self,
        dims: int,
        in_channels: int,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers,
        padding: Numbers,
        output_padding: Numbers,
        dilation: Numbers,
        groups: int,
        bias: bool,
        dtype: str | None,
    ) -> None:
        self.options: dict[str, Any] = {
            "stride": stride,
            "padding": padding,
            "output_padding": output_padding,
            "dilation": dilation,
            "groups": groups,
        }
        self.weight = Parameter([in_channels, out_channels // groups, *_several(kernel_size, dims)], dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None


class ConvTranspose1D(_Transposed):
    """Transposed convolution over (batch, channels, width)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        output_padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        shape = (in_channels, out_channels, kernel_size)
        super().__init__(1, *shape, stride, padding, output_padding, dilation, groups, bias, dtype)

    def forward(self, x: Tensor) -> Tensor:
        """The transposed convolution with the weight, plus the bias."""
        return op.conv1d_transpose(x, self.weight, self.bias, **self.options)


class ConvTranspose2D(_Transposed):
    """Transposed convolution over images."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers = 1,
        padding: Numbers = 0,
        output_padding: Numbers = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        shape = (in_channels, out_channels, kernel_size)
        super().__init__(2, *shape, stride, padding, output_padding, dilation, groups, bias, dtype)

    def forward(self, x: Tensor) -> Tensor:
        """The transposed convolution with the weight, plus the bias."""
        return op.conv2d_transpose(x, self.weight, self.bias, **self.options)


class LayerNorm(Module):
    """The last dimension with mean 0 and variance 1, then scaled and moved."""

    def __init__(
        self,
        normalized_shape: int,
        eps: float | None = 1e-5,
        elementwise_affine: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.normalized_shape = normalized_shape
        self.eps = 1e-5 if eps is None else eps
        self.weight = Parameter((normalized_shape,), dtype) if elementwise_affine else None
        self.bias = Parameter((normalized_shape,), dtype) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        """The normalised tensor."""
        return op.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """The axes over the root of the mean of their squares, then scaled (and moved)."""

    def __init__(
        self,
        hidden_size: int,
        axes: Numbers = -1,
        epsilon: float = 1e-5,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.axes = axes
        self.epsilon = epsilon
        self.weight = Parameter((hidden_size,), dtype)
        self.bias = Parameter((hidden_size,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """The normalised tensor."""
        made = op.rms_norm(x, self.weight, self.axes, self.epsilon)
        return made if self.bias is None else op.add(made, self.bias)


class GroupNorm(Module):
    """Each group of channels with mean 0 and variance 1, then each channel scaled and moved."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        dtype: str | None = None,
    ) -> None:
        self.num_groups = num_groups
        self.eps = eps
        self.weight = Parameter((num_channels,), dtype) if affine else None
        self.bias = Parameter((num_channels,), dtype) if affine else None

    def forward(self, x: Tensor, channel_axis: int = 1, axes: Sequence[int] | None = None) -> Tensor:
        """The normalised tensor."""
        return op.group_norm(x, self.num_groups, self.weight, self.bias, self.eps, channel_axis, axes)


class BatchNorm(Module):
    """Each channel by the mean and variance that training found, then scaled and moved."""

    def __init__(self, num_features: int, eps: float = 1e-5, axis: int = 1, dtype: str | None = None) -> None:
        self.eps = eps
        self.axis = axis
        self.weight = Parameter((num_features,), dtype)
        self.bias = Parameter((num_features,), dtype)
        self.running_mean = Parameter((num_features,), dtype)
        self.running_var = Parameter((num_features,), dtype)

    def forward(self, x: Tensor) -> Tensor:
        """The normalised tensor."""
        stored = (self.running_mean, self.running_var)
        return op.batch_norm(x, self.weight, self.bias, *stored, self.eps, self.axis)


class Embedding(Module):
    """A row of the weight (num, dim) for each index."""

    def __init__(self, num: Size, dim: Size, dtype: str | None = None) -> None:
        self.num = num
        self.dim = dim
        self.weight = Parameter((num, dim), dtype)

    def forward(self, x: Tensor) -> Tensor:
        """The rows that the indices name."""
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        rows = op.take(self.weight, op.reshape(x, [-1]), axis=0)
        return op.reshape(rows, [*x.shape, self.weight.shape[1]])


class Attention(Module):
    """Attention of several heads: projections of queries, keys and values, and of the result.

    Keys and values come from the same states as queries, or from others of `cross_attention_dim` features.
    """

    def __init__(
        self,
        query_dim: int,
        cross_attention_dim: int | None = None,
        heads: int = 8,
        dim_head: int = 64,
        bias: bool = False,
        norm_num_groups: int | None = None,
        out_bias: bool = True,
        scale_qk: bool = True,
    ) -> None:
        inner = heads * dim_head
        other = query_dim if cross_attention_dim is None else cross_attention_dim
        self.heads = heads
        self.dim_head = dim_head
        self.scale = None if scale_qk else 1.0
        self.to_q = Linear(query_dim, inner, bias)
        self.to_k = Linear(other, inner, bias)
        self.to_v = Linear(other, inner, bias)
        self.group_norm = None if norm_num_groups is None else GroupNorm(norm_num_groups, query_dim)
        self.to_out = ModuleList([Linear(inner, query_dim, out_bias)])

    def forward(
        self,
        hidden_states: Tensor,
        encoder_hidden_states: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> Tensor:
        """The attention of (batch, positions, features) to itself, or to other states."""
        if self.group_norm is not None:
            hidden_states = self.group_norm(hidden_states, channel_axis=2, axes=[1])
        others = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        q, k, v = self.to_q(hidden_states), self.to_k(others), self.to_v(others)
        q, k, v = [op.reshape(x, [*x.shape[:2], self.heads, self.dim_head]) for x in (q, k, v)]
        seen = op.scaled_dot_product_attention(q, k, v, attention_mask, scale=self.scale)
        return self.to_out(op.reshape(seen, [*seen.shape[:2], self.heads * self.dim_head]))


__all__ = [
    "GELU",
    "Attention",
    "BatchNorm",
    "Conv1D",
    "Conv2D",
    "Conv3D",
    "ConvTranspose1D",
    "ConvTranspose2D",
    "Embedding",
    "GroupNorm",
    "Identity",
    "LayerNorm",
    "Linear",
    "RMSNorm",
    "ReLU",
    "SiLU",
]

"""`tvm.s_tir.meta_schedule.testing.te_workload`: well-known operators as tensor expressions.

Each function gives its placeholders and its result; `create_te_workload` makes the program of one
by the name that tests of tuning use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...... import te
from ......ir import Max, PrimFunc, as_expr, const
from .....adapters import lacking

Tensors = tuple[Any, ...]


def _padded(data: Any, pads: Sequence[int], name: str = "Pad") -> Any:
    """The tensor with zeros around, as many on both sides of each dimension as `pads` says."""
    if not any(pads):
        return data
    shape = [int(n) + 2 * p for n, p in zip(_sizes(data), pads)]

    def element(*index: Any) -> Any:
        inside = []
        for i, p, n in zip(index, pads, _sizes(data)):
            if p:
                inside += [i >= p, i < int(n) + p]
        moved = [i - p if p else i for i, p in zip(index, pads)]
        return te.if_then_else(te.all(*inside), data(*moved), 0.0)

    return te.compute(shape, element, name=name)


def _sizes(tensor: Any) -> list[int]:
    return [int(n) for n in tensor.shape]


def _out(size: int, kernel: int, stride: int, padding: int, dilation: int = 1) -> int:
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def _convolution(
    data: Any, weight: Any, stride: int, padding: int, dilation: int, groups: int = 1, name: str = "conv"
) -> Any:
    """Channels stand last in the data, in and out last in the weight."""
    n, *spatial, channels = _sizes(data)
    *kernel, inner, outer = _sizes(weight)
    pad = _padded(data, [0, *([padding] * len(spatial)), 0])
    axes = [te.reduce_axis((0, k), name=f"r{i}") for i, k in enumerate(kernel)]
    channel = te.reduce_axis((0, channels // groups), name="rc")
    sizes = [_out(s, k, stride, padding, dilation) for s, k in zip(spatial, kernel)]
    per_group = outer // groups

    def element(b: Any, *place: Any) -> Any:
        *at, co = place
        where = [p * stride + r * dilation for p, r in zip(at, axes)]
        source = channel if groups == 1 else co // per_group * (channels // groups) + channel
        return te.sum(pad(b, *where, source) * weight(*axes, channel, co), axis=[*axes, channel])

    assert inner == channels // groups
    return te.compute((n, *sizes, outer), element, name=name)


def conv1d_nlc(
    N: int, L: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1,
    groups: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """A convolution over one dimension."""
    data = te.placeholder((N, L, CI), name="inputs", dtype=in_dtype)
    weight = te.placeholder((kernel_size, CI // groups, CO), name="weight", dtype=in_dtype)
    return data, weight, _convolution(data, weight, stride, padding, dilation, groups, "conv1d_nlc")


def conv2d_nhwc(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0,
    dilation: int = 1, groups: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """A convolution over two dimensions."""
    data = te.placeholder((N, H, W, CI), name="inputs", dtype=in_dtype)
    weight = te.placeholder((kernel_size, kernel_size, CI // groups, CO), name="weight", dtype=in_dtype)
    return data, weight, _convolution(data, weight, stride, padding, dilation, groups, "conv2d_nhwc")


def conv3d_ndhwc(
    N: int, D: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0,
    dilation: int = 1, groups: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """A convolution over three dimensions."""
    data = te.placeholder((N, D, H, W, CI), name="inputs", dtype=in_dtype)
    weight = te.placeholder((*[kernel_size] * 3, CI // groups, CO), name="weight", dtype=in_dtype)
    return data, weight, _convolution(data, weight, stride, padding, dilation, groups, "conv3d_ndhwc")


def depthwise_conv2d_nhwc(
    N: int, H: int, W: int, C: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1,
    factor: int = 1, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """Each channel convolved by itself."""
    if factor != 1:
        raise ValueError(
            "a depthwise convolution of several outputs for a channel is not among the workloads"
        )
    data = te.placeholder((N, H, W, C), name="placeholder", dtype=in_dtype)
    weight = te.placeholder((kernel_size, kernel_size, C), name="weight", dtype=in_dtype)
    pad = _padded(data, (0, padding, padding, 0))
    rh, rw = (te.reduce_axis((0, kernel_size), name=n) for n in ("rh", "rw"))
    shape = (N, *[_out(s, kernel_size, stride, padding, dilation) for s in (H, W)], C)
    result = te.compute(
        shape,
        lambda n, h, w, c: te.sum(
            pad(n, h * stride + rh * dilation, w * stride + rw * dilation, c) * weight(rh, rw, c),
            axis=[rh, rw],
        ),
        name="depth_conv2d_nhwc",
    )
    return data, weight, result


def conv2d_transpose_nhwc(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0,
    in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """The gradient of a convolution with respect to its data, by products with zeros in between."""
    data = te.placeholder((N, H, W, CI), name="inputs", dtype=in_dtype)
    weight = te.placeholder((kernel_size, kernel_size, CI, CO), name="weight", dtype=in_dtype)
    border = kernel_size - 1 - padding
    sizes = [(s - 1) * stride + 1 + 2 * border for s in (H, W)]

    def spread(n: Any, h: Any, w: Any, c: Any) -> Any:
        inside = []
        for i, size in ((h, H), (w, W)):
            inside += [i >= border, i < border + (size - 1) * stride + 1, (i - border) % stride == 0]
        return te.if_then_else(
            te.all(*inside), data(n, (h - border) // stride, (w - border) // stride, c), 0.0
        )

    wide = te.compute((N, *sizes, CI), spread, name="data_pad")
    rh, rw = (te.reduce_axis((0, kernel_size), name=n) for n in ("rh", "rw"))
    rc = te.reduce_axis((0, CI), name="rc")
    shape = (N, *[s - kernel_size + 1 for s in sizes], CO)
    last = kernel_size - 1
    result = te.compute(
        shape,
        lambda n, h, w, co: te.sum(
            wide(n, h + rh, w + rw, rc) * weight(last - rh, last - rw, rc, co), axis=[rh, rw, rc]
        ),
        name="conv2d_transpose_nhwc",
    )
    return data, weight, result


def conv2d_capsule_nhwijc(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0,
    capsule_size: int = 4, in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """A convolution of small matrices: products of matrices in place of products of numbers."""
    size = capsule_size
    data = te.placeholder((N, H, W, size, size, CI), name="inputs", dtype=in_dtype)
    weight = te.placeholder((kernel_size, kernel_size, size, size, CI, CO), name="weight", dtype=in_dtype)
    pad = _padded(data, (0, padding, padding, 0, 0, 0))
    rh, rw = (te.reduce_axis((0, kernel_size), name=n) for n in ("rh", "rw"))
    rk, rc = te.reduce_axis((0, size), name="cap_k"), te.reduce_axis((0, CI), name="rc")
    shape = (N, *[_out(s, kernel_size, stride, padding) for s in (H, W)], size, size, CO)
    result = te.compute(
        shape,
        lambda n, h, w, i, j, co: te.sum(
            pad(n, h * stride + rh, w * stride + rw, i, rk, rc) * weight(rh, rw, rk, j, rc, co),
            axis=[rh, rw, rk, rc],
        ),
        name="conv2d_capsule_nhwijc",
    )
    return data, weight, result


def conv2d_nhwc_bn_relu(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, strides: int, padding: int, dilation: int = 1,
    in_dtype: str = "float32", out_dtype: str = "float32",
) -> Tensors:  # fmt: skip
    """A convolution, a bias, a scale and an offset, and the positive part."""
    data, weight, conv = conv2d_nhwc(N, H, W, CI, CO, kernel_size, strides, padding, dilation)
    bias, scale, offset = (
        te.placeholder((CO,), name=n, dtype=in_dtype) for n in ("bias", "bn_scale", "bn_offset")
    )
    steps: list[tuple[str, Callable[[Any, Any], Any]]] = [
        ("bias_add", lambda x, co: x + bias[co]),
        ("bn_mul", lambda x, co: x * scale[co]),
        ("bn_add", lambda x, co: x + offset[co]),
        ("relu", lambda x, co: _positive(x)),
    ]
    result = conv
    for name, change in steps:
        result = _changed(result, change, name)
    return data, weight, bias, offset, scale, result


def _changed(tensor: Any, change: Callable[[Any, Any], Any], name: str) -> Any:
    return te.compute(tensor.shape, lambda *i: change(tensor(*i), i[-1]), name=name)


def matmul(n: int, m: int, k: int, in_dtype: str = "float32", out_dtype: str = "float32") -> Tensors:
    """A product of matrices."""
    a = te.placeholder((n, k), name="A", dtype=in_dtype)
    b = te.placeholder((k, m), name="B", dtype=in_dtype)
    r = te.reduce_axis((0, k), name="k")
    return (
        a,
        b,
        te.compute(
            (n, m), lambda i, j: te.sum(_as(a[i, r], out_dtype) * _as(b[r, j], out_dtype), axis=r), name="C"
        ),
    )


def _as(value: Any, dtype: str) -> Any:
    return value if value.dtype == dtype else value.astype(dtype)


def matmul_relu(n: int, m: int, k: int, in_dtype: str = "float32", out_dtype: str = "float32") -> Tensors:
    """The positive part of a product of matrices."""
    a, b, c = matmul(n, m, k, in_dtype, out_dtype)
    return a, b, _changed(c, lambda x, _: _positive(x), "relu")


def _positive(value: Any) -> Any:
    e = as_expr(value)
    return Max(e, const(0, e.dtype))


def batch_matmul_nkkm(
    B: int, N: int, M: int, K: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> Tensors:
    """Several products of matrices."""
    x = te.placeholder((B, N, K), name="X", dtype=in_dtype)
    y = te.placeholder((B, K, M), name="Y", dtype=in_dtype)
    r = te.reduce_axis((0, K), name="k")
    z = te.compute(
        (B, N, M),
        lambda b, i, j: te.sum(_as(x[b, i, r], out_dtype) * _as(y[b, r, j], out_dtype), axis=r),
        name="Z",
    )
    return x, y, z


def transpose_batch_matmul(
    batch: int, seq_len: int, n_head: int, n_dim: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> Tensors:
    """The products of queries and keys of each head."""
    query, value = (
        te.placeholder((batch, seq_len, n_head, n_dim), name=n, dtype=in_dtype) for n in ("Q", "V")
    )
    q = te.compute((batch, n_head, seq_len, n_dim), lambda b, h, i, d: query[b, i, h, d], name="query_T")
    v = te.compute((batch, n_head, n_dim, seq_len), lambda b, h, d, j: value[b, j, h, d], name="value_T")
    r = te.reduce_axis((0, n_dim), name="k")
    result = te.compute(
        (batch, n_head, seq_len, seq_len),
        lambda b, h, i, j: te.sum(q[b, h, i, r] * v[b, h, r, j], axis=r),
        name="C",
    )
    return query, value, result


def norm_bmn(B: int, M: int, N: int) -> Tensors:
    """The length of each matrix as a vector."""
    a = te.placeholder((B, M, N), name="A")
    i, j = te.reduce_axis((0, M), name="i"), te.reduce_axis((0, N), name="j")
    squares = te.compute((B,), lambda b: te.sum(a[b, i, j] * a[b, i, j], axis=[i, j]), name="C")
    return a, te.compute((B,), lambda b: te.sqrt(squares[b]), name="D")


def softmax_mn(m: int, n: int) -> Tensors:
    """The softmax of each row."""
    a = te.placeholder((m, n), name="A")
    k, l = te.reduce_axis((0, n), name="k"), te.reduce_axis((0, n), name="k")
    most = te.compute((m,), lambda i: te.max(a[i, k], axis=k), name="T_softmax_maxelem")
    grown = te.compute((m, n), lambda i, j: te.exp(a[i, j] - most[i]), name="T_softmax_exp")
    total = te.compute((m,), lambda i: te.sum(grown[i, l], axis=l), name="T_softmax_expsum")
    return a, te.compute((m, n), lambda i, j: grown[i, j] / total[i], name="T_softmax_norm")


CONFIGS: dict[str, tuple[Callable[..., Tensors], list[tuple[int, ...]]]] = {
    "C1D": (conv1d_nlc, [(1, 256, 64, 128, 3, 2, 1)]),
    "C2D": (conv2d_nhwc, [(1, 224, 224, 3, 64, 7, 2, 3)]),
    "C3D": (conv3d_ndhwc, [(1, 16, 224, 224, 3, 64, 7, 2, 3)]),
    "CAP": (conv2d_capsule_nhwijc, [(1, 16, 16, 32, 32, 3, 2, 1)]),
    "DEP": (depthwise_conv2d_nhwc, [(1, 112, 112, 32, 3, 1, 1)]),
    "DIL": (conv2d_nhwc, [(1, 224, 224, 3, 64, 7, 2, 3, 2)]),
    "GMM": (batch_matmul_nkkm, [(1, 128, 128, 128)]),
    "GRP": (conv2d_nhwc, [(1, 56, 56, 64, 128, 3, 2, 1, 1, 4)]),
    "T2D": (conv2d_transpose_nhwc, [(1, 4, 4, 512, 256, 4, 2, 1)]),
    "CBR": (conv2d_nhwc_bn_relu, [(1, 224, 224, 3, 64, 7, 2, 3)]),
    "TBG": (transpose_batch_matmul, [(1, 128, 12, 64)]),
    "NRM": (norm_bmn, [(1, 256, 256)]),
    "SFM": (softmax_mn, [(256, 256)]),
}
"""By name: the operator, and the arguments of its configurations."""


def create_te_workload(name: str, idx: int) -> PrimFunc:
    """The program of a workload in one of its configurations."""
    operator, configurations = CONFIGS[name]
    func: PrimFunc = te.create_prim_func(operator(*configurations[idx]))
    return func


__getattr__ = lacking("tvm.s_tir.meta_schedule.testing.te_workload")

__all__ = [
    "CONFIGS",
    "batch_matmul_nkkm",
    "conv1d_nlc",
    "conv2d_capsule_nhwijc",
    "conv2d_nhwc",
    "conv2d_nhwc_bn_relu",
    "conv2d_transpose_nhwc",
    "conv3d_ndhwc",
    "create_te_workload",
    "depthwise_conv2d_nhwc",
    "matmul",
    "matmul_relu",
    "norm_bmn",
    "softmax_mn",
    "transpose_batch_matmul",
]

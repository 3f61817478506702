"""Cases of the operators of neural networks: convolutions, pooling, normalisations, attention, losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from .spec import OperandSpec, case, tensor


def _normal(*dims: Any, dtype: str = "float32") -> OperandSpec:
    return tensor(*dims, dtype=dtype, values="normal")


def _classes(*dims: Any, ignored: int = -100) -> OperandSpec:
    """Classes 0, 1, 2 and the mark of what is ignored."""
    return tensor(*dims, dtype="int64", values=lambda rng, shape: rng.choice([0, 1, 2, ignored], shape))


IMAGE = tensor("n", 4, "m", 6)
_STATISTICS = [_normal("k"), _normal("k"), _normal("k"), tensor("k", values="positive")]
_QUERY, _KEY, _VALUE = _normal("n", 3, 2, 4), _normal("n", "m", 2, 4), _normal("n", "m", 2, 5)
_STARTS = tensor(dtype="int32", values=np.array([0, 2, 2, 5]))
_LONGEST = tensor(dtype="int32", values=np.array(3))

CONVOLUTIONS = (
    case("relax.nn.conv2d", IMAGE, tensor(3, 4, 2, 3), strides=(1, 2), padding=(1, 0, 1, 2)),
    case("relax.nn.conv2d", IMAGE, tensor(6, 2, 2, 2), padding=1, groups=2),
    case("relax.nn.conv2d", IMAGE, tensor(4, 1, 2, 2), padding=1, dilation=(1, 2), groups=4),
    case("relax.nn.conv2d", tensor("n", "k", "m", 5), tensor(2, "k", 1, 1), strides=2, reduces=True),
    case(
        "relax.nn.conv2d",
        tensor("n", "m", 5, 2, dtype="float16"),
        tensor(2, 2, 2, 3, dtype="float16"),
        padding=(1, 1),
        data_layout="NHWC",
        kernel_layout="HWIO",
        out_dtype="float32",
    ),
    case(
        "relax.nn.conv2d",
        tensor("n", 1, "m", 4, 4),
        tensor(2, 1, 2, 2, 4, 2),
        padding=(1, 1, 0, 0),
        data_layout="NCHW4c",
        kernel_layout="OIHW4i2o",
        out_layout="NHWC",
    ),
    case(
        "relax.nn.conv2d",
        tensor("n", 3, "m", 4, dtype="int8"),
        tensor(2, 3, 2, 2, dtype="int8"),
        padding=1,
        out_dtype="int32",
    ),
    case("relax.nn.conv1d", tensor("n", 4, "m"), tensor(6, 2, 2), padding=(1, 2), groups=2),
    case("relax.nn.conv1d", tensor("n", "m", 2), tensor(3, 2, 2), padding=1, strides=2, data_layout="NWC"),
    case("relax.nn.conv3d", tensor("n", 2, 3, "m", 4), tensor(3, 2, 2, 2, 3), padding=1),
    case("relax.nn.conv1d_transpose", tensor("n", 4, "m"), tensor(4, 3, 2), strides=2, groups=2),
    case(
        "relax.nn.conv2d_transpose",
        tensor("n", 4, "m", 3),
        tensor(4, 2, 2, 3),
        strides=(2, 3),
        padding=(0, 1, 1, 0),
        output_padding=(1, 2),
    ),
    case(
        "relax.nn.conv2d_transpose",
        tensor("n", 4, "m", 3),
        tensor(4, 1, 2, 2),
        dilation=2,
        groups=4,
        out_layout="NHWC",
    ),
    case("relax.nn.conv2d_transpose", tensor("n", 2, "m", 3), tensor(2, 2, 3, 3), strides=2, padding=1),
    case("relax.nn.conv3d_transpose", tensor("n", 2, 2, "m", 2), tensor(2, 3, 2, 2, 2), strides=2),
)

POOLING = (
    case("relax.nn.max_pool2d", IMAGE, pool_size=(2, 3), strides=(1, 2), padding=(1, 1, 1, 0)),
    case("relax.nn.max_pool2d", IMAGE, pool_size=2, strides=3, padding=1, dilation=(1, 2), ceil_mode=True),
    case(
        "relax.nn.max_pool2d",
        tensor("n", "m", 5, 3),
        pool_size=1,
        strides=2,
        layout="NHWC",
        out_layout="NCHW",
    ),
    case("relax.nn.max_pool1d", tensor("n", 3, "m", dtype="int32"), pool_size=2, strides=2, padding=(1, 2)),
    case("relax.nn.max_pool3d", tensor("n", 1, "m", 3, 4), pool_size=2, strides=2, padding=1, ceil_mode=True),
    case("relax.nn.avg_pool2d", IMAGE, pool_size=(2, 3), strides=(1, 2), padding=(1, 1, 1, 0), ulps=2),
    case("relax.nn.avg_pool2d", IMAGE, pool_size=2, strides=3, padding=1, count_include_pad=True, ulps=2),
    case(
        "relax.nn.avg_pool2d",
        IMAGE,
        pool_size=(2, 3),
        strides=2,
        padding=1,
        ceil_mode=True,
        count_include_pad=True,
        ulps=2,
    ),
    case("relax.nn.avg_pool2d", IMAGE, pool_size=2, strides=3, dilation=2, padding=2, ceil_mode=True, ulps=2),
    case("relax.nn.avg_pool2d", tensor("n", 2, "m", 4, 2), pool_size=2, padding=1, layout="NCHW2c", ulps=2),
    case("relax.nn.avg_pool2d", tensor("n", 2, "m", 4, dtype="int8"), pool_size=2, padding=1),
    case("relax.nn.avg_pool1d", tensor("n", 3, "m", dtype="float16"), pool_size=2, padding=1, ulps=2),
    case("relax.nn.avg_pool3d", tensor("n", 1, "m", 3, 4), pool_size=2, strides=2, padding=1, ulps=2),
    case("relax.nn.adaptive_avg_pool2d", tensor("n", 2, "m", 5), output_size=(2, 3), ulps=4),
    case("relax.nn.adaptive_avg_pool2d", tensor("n", 2, "m", 5), output_size=1, ulps=4),
    case("relax.nn.adaptive_avg_pool2d", tensor("n", "m", 5, 2), layout="NHWC", out_layout="NCHW"),
    case("relax.nn.adaptive_avg_pool1d", tensor("n", 2, "m"), output_size=3, ulps=4),
    case("relax.nn.adaptive_avg_pool3d", tensor("n", 1, "m", 3, 4), output_size=(2, 2, 3), ulps=4),
)

NORMS = (
    case("relax.nn.layer_norm", _normal("n", 3, "m"), _normal("m"), _normal("m"), axes=-1, ulps=32),
    case(
        "relax.nn.layer_norm", _normal("n", 3, "m"), _normal("m", 3), _normal("m", 3), axes=[-1, 1], ulps=32
    ),
    case(
        "relax.nn.layer_norm",
        _normal("n", 3),
        _normal(3),
        _normal(3),
        axes=1,
        center=False,
        scale=False,
        ulps=32,
    ),
    case(
        "relax.nn.layer_norm",
        *[_normal("n", 8, dtype="float16"), _normal(8, dtype="float16"), _normal(8, dtype="float16")],
        axes=-1,
        ulps=8,
    ),
    case("relax.nn.rms_norm", _normal("n", 3, "m"), _normal("m"), ulps=16),
    case(
        "relax.nn.rms_norm",
        _normal("n", 3, "m", dtype="float16"),
        _normal(3, "m", dtype="float16"),
        axes=[1, 2],
        ulps=8,
    ),
    case(
        "relax.nn.instance_norm",
        _normal("n", "k", 3, 4),
        *_STATISTICS[:2],
        channel_axis=1,
        axes=[2, -1],
        ulps=32,
    ),
    case(
        "relax.nn.group_norm",
        _normal("n", 4, 3, "m"),
        _normal(4),
        _normal(4),
        num_groups=2,
        channel_axis=1,
        axes=[2, 3],
        ulps=32,
    ),
    case(
        "relax.nn.group_norm",
        _normal("n", 3, 4),
        _normal(4),
        _normal(4),
        num_groups=4,
        channel_axis=-1,
        axes=[1],
        ulps=32,
    ),
    case("relax.nn.batch_norm", _normal(2, "k", "m"), *_STATISTICS, axis=1, momentum=0.25, ulps=32),
    case(
        "relax.nn.batch_norm",
        _normal("n", 3, "k"),
        *_STATISTICS,
        axis=-1,
        training=False,
        center=False,
        ulps=32,
    ),
    case("relax.nn.dropout", tensor("n", "m"), rate=0.25),
)

ATTENTION = (
    case("relax.nn.attention", _QUERY, _KEY, _VALUE, ulps=64),
    case("relax.nn.attention", _QUERY, _KEY, _VALUE, scale=0.25, causal_mask="TopLeft", ulps=64),
    case("relax.nn.attention", _QUERY, _KEY, _VALUE, causal_mask="BottomRight", window_size=2, ulps=64),
    case("relax.nn.attention", _QUERY, _KEY, _VALUE, window_size=2, ulps=64),
    case(
        "relax.nn.attention", _normal("n", 2, 4, 3), _normal("n", "m", 2, 3), _normal("n", "m", 2, 3), ulps=64
    ),
    case("relax.nn.attention_bias", _QUERY, _KEY, _VALUE, _normal("n", 1, 3, "m"), ulps=64),
    case(
        "relax.nn.attention",
        _normal(1, 2, 1, 3, dtype="float16"),
        *[_normal(1, "m", 1, 3, dtype="float16")] * 2,
        ulps=16,
    ),
    case(
        "relax.nn.attention_var_len",
        *[_normal(1, 5, 2, 3), _normal(1, 5, 2, 3), _normal(1, 5, 2, 4), _STARTS, _LONGEST],
        causal_mask="BottomRight",
        ulps=64,
    ),
    case(
        "relax.nn.attention_var_len",
        *[_normal(1, 5, 1, 3), _normal(1, 4, 1, 3), _normal(1, 4, 1, 4), _STARTS, _LONGEST],
        *[tensor(dtype="int32", values=np.array([0, 1, 2, 4])), _LONGEST],
        window_size=1,
        ulps=64,
    ),
)

MOVES = (
    case("relax.nn.pad", tensor("n", "m", 3), pad_width=(0, 0, 1, 2, 3, 0), pad_value=1.5),
    case("relax.nn.pad", tensor("n", 3, "m", dtype="int8"), pad_width=(0, 0, -1, 2, 2, -1), pad_value=3.0),
    case("relax.nn.pad", tensor("n", "m", 3), pad_width=(0, 0, 4, 5, 2, 1), pad_mode="reflect"),
    case("relax.nn.pad", tensor("n", "m", 3), pad_width=(0, 0, 1, 2, 4, 0), pad_mode="replicate"),
    case("relax.nn.pad", tensor("n", "m", 3), pad_width=(0, 0, 1, 2, 4, 0), pad_mode="circular"),
    case("relax.nn.pixel_shuffle", tensor("n", 8, "m", 3), upscale_factor=2),
    case("relax.nn.pixel_shuffle", tensor(9, 1, "m"), upscale_factor=3),
    case("relax.nn.batch_flatten", tensor("n", "m", 3, 2)),
)

LOSSES = (
    case("relax.nn.cross_entropy_with_logits", tensor("n", 3), tensor("n", 3), ulps=2, reduces=True),
    case("relax.nn.cross_entropy_with_logits", tensor("m"), tensor("m")),
    case("relax.nn.nll_loss", tensor("n", 3), _classes("n"), ulps=4, reduces=True),
    case(
        "relax.nn.nll_loss",
        tensor("n", 3, "m"),
        _classes("n", "m"),
        tensor(3, values="positive"),
        reduction="sum",
        ulps=16,
        reduces=True,
    ),
    case(
        "relax.nn.nll_loss",
        tensor("n", 3, "m"),
        _classes("n", "m"),
        tensor(3, values="positive"),
        reduction="none",
        ulps=2,
    ),
    case("relax.nn.nll_loss", tensor(3), _classes(ignored=7), ignore_index=7),
    case(
        "relax.grad.nll_loss_backward",
        tensor(),
        tensor("n", 3, "m"),
        _classes("n", "m"),
        tensor(3, values="positive"),
        ulps=8,
        reduces=True,
    ),
    case(
        "relax.grad.nll_loss_backward", tensor("n"), tensor("n", 3), _classes("n"), reduction="none", ulps=2
    ),
)

GRADIENTS = (
    case("relax.grad.no_grad", tensor("n", "m")),
    case("relax.grad.start_checkpoint", tensor("n", "m")),
    case("relax.grad.end_checkpoint", tensor("n", "m")),
    case(
        "relax.grad.max_pool2d_backward",
        tensor("n", 2, 3, 3),
        tensor("n", 2, 5, 6),
        pool_size=3,
        strides=2,
        padding=1,
    ),
    case(
        "relax.grad.max_pool2d_backward",
        *[tensor("n", 3, 3, 1), tensor("n", 4, 5, 1)],
        pool_size=2,
        strides=2,
        padding=(1, 0, 1, 0),
        ceil_mode=True,
        layout="NHWC",
    ),
    case(
        "relax.grad.avg_pool2d_backward",
        tensor("n", 2, 3, 3),
        tensor("n", 2, 5, 6),
        pool_size=3,
        strides=2,
        padding=1,
        ulps=4,
    ),
    case(
        "relax.grad.avg_pool2d_backward",
        *[tensor("n", 2, 3, 3), tensor("n", 2, 4, 5)],
        pool_size=2,
        strides=2,
        padding=(1, 0, 1, 0),
        ceil_mode=True,
        count_include_pad=True,
        ulps=4,
    ),
    case(
        "relax.grad.take_backward",
        tensor("n", "m"),
        tensor("n", 4),
        tensor("m", dtype="int32", values="counts"),
        axis=1,
    ),
    case(
        "relax.grad.take_backward",
        tensor(2, 3, "m"),
        tensor(4, "m"),
        tensor(2, 3, dtype="int64", values="counts"),
        axis=0,
    ),
)

CASES = (*CONVOLUTIONS, *POOLING, *NORMS, *ATTENTION, *MOVES, *LOSSES, *GRADIENTS)

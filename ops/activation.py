"""Activation functions of neural networks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from .. import te
from ..ir import Call, Expr, Type
from ..ir import const as scalar
from ..ir.relax import OpPattern, RelaxOp, composed, relax_op, same_size
from ..ir.relax.op import Tensor
from . import derivatives as d
from .elementwise import each, log1p, no_bool, rounded
from .faults import shape_fault
from .infer import axis_of, common_dtype, constant, float_only, is_one, tensor_type
from .layout_rules import along_axis, follow
from .unary import clip, erf_numpy, sigmoid_numpy


def _activation(
    name: str,
    doc: str,
    function: Callable[..., Any],
    numpy: Callable[..., Any],
    gradient: d.Gradient | None = None,
) -> RelaxOp:
    """The record of an activation of floats without attributes."""

    def rule(data: Tensor) -> Type:
        return float_only(f"nn.{name}", tensor_type(f"nn.{name}", data, "data"), "data")

    rule.__doc__ = doc
    return relax_op(
        f"relax.nn.{name}",
        pattern=OpPattern.ELEMWISE,
        te=each(function),
        numpy=numpy,
        gradient=gradient,
        layout=follow,
    )(rule)


def _number(value: float, x: Any) -> Expr:
    return scalar(value, x.dtype)


def _zero(x: Any) -> Expr:
    return scalar(0, x.dtype)


def _gelu(x: Any) -> Any:
    return x * (_number(0.5, x) + te.erf(x * _number(math.sqrt(0.5), x)) * _number(0.5, x))


def _gelu_numpy(x: Any) -> Any:
    return x * (0.5 + 0.5 * erf_numpy(x * math.sqrt(0.5)))


def _gelu_tanh(x: Any) -> Any:
    inner = _number(math.sqrt(2 / math.pi), x) * x * (_number(1, x) + _number(0.044715, x) * x * x)
    return _number(0.5, x) * x * (_number(1, x) + te.tanh(inner))


def _gelu_tanh_numpy(x: Any) -> Any:
    import numpy as np

    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * x * (1 + 0.044715 * x * x)))


SELU_ALPHA: Final = 1.6732632423543772848170429916717
SELU_SCALE: Final = 1.0507009873554804934193349852946


def _selu(x: Any) -> Any:
    low = _number(SELU_SCALE * SELU_ALPHA, x) * (te.exp(te.min(x, _zero(x))) - _number(1, x))
    return te.select(x > _zero(x), _number(SELU_SCALE, x) * x, low)


def _selu_numpy(x: Any) -> Any:
    import numpy as np

    return SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(np.minimum(x, 0)))


def _silu(x: Any) -> Any:
    return x * te.sigmoid(x)


def _silu_numpy(x: Any) -> Any:
    return x * sigmoid_numpy(x)


gelu = _activation(
    "gelu", "data times the probability that a normal variable is below it.", _gelu, rounded(_gelu_numpy)
)
gelu_tanh = _activation(
    "gelu_tanh", "As `gelu`, the probability approximated by tanh.", _gelu_tanh, rounded(_gelu_tanh_numpy)
)
selu = _activation(
    "selu", "1.0507 * data above 0, 1.7581 * (exp(data) - 1) below.", _selu, rounded(_selu_numpy)
)
silu = _activation("silu", "data * sigmoid(data).", _silu, rounded(_silu_numpy), d.silu)


def _relu_numpy(x: Any) -> Any:
    import numpy as np

    zero = np.zeros((), x.dtype)
    return np.where(x > zero, x, zero)


@relax_op(
    "relax.nn.relu",
    pattern=OpPattern.ELEMWISE,
    te=each(lambda x: te.max(x, _zero(x))),
    numpy=_relu_numpy,
    layout=follow,
    gradient=d.relu,
)
def relu(data: Tensor) -> Type:
    """data above 0, else 0; also of integers."""
    return no_bool("nn.relu", tensor_type("nn.relu", data, "data"), "data")


@composed("nn.relu6")
def relu6(data: Any) -> Call:
    """data between 0 and 6: the operator `clip`, which is what programs with it hold."""
    return clip(data, 0, 6)


def _leaky(x: Any, alpha: float) -> Any:
    return te.select(x > _zero(x), x, x * _number(alpha, x))


def _leaky_numpy(x: Any, alpha: Any) -> Any:
    import numpy as np

    return np.where(x > 0, x, x * np.asarray(alpha, x.dtype))


@relax_op(
    "relax.nn.leakyrelu",
    pattern=OpPattern.ELEMWISE,
    te=each(_leaky),
    numpy=_leaky_numpy,
    kernel="leaky_relu",
    layout=follow,
)
def leakyrelu(data: Tensor, alpha: float = 0.01) -> Type:
    """data above 0, else alpha * data."""
    return float_only("nn.leakyrelu", tensor_type("nn.leakyrelu", data, "data"), "data")


def _prelu(data: Any, alpha: Any, axis: int) -> Any:
    along = axis + data.ndim if axis < 0 else axis
    one = is_one(alpha.shape[0])

    def value(*i: Any) -> Any:
        x = data(*i)
        return te.select(x > _zero(x), x, x * alpha(scalar(0, "int64") if one else i[along]))

    return te.compute(data.shape, value, name="compute")


def _prelu_numpy(data: Any, alpha: Any, axis: int) -> Any:
    shape = [1] * data.ndim
    shape[axis] = -1
    return _leaky_numpy(data, alpha.reshape(shape))


@relax_op(
    "relax.nn.prelu",
    pattern=OpPattern.BROADCAST,
    te=_prelu,
    numpy=_prelu_numpy,
    layout=along_axis,
)
def prelu(data: Tensor, alpha: Tensor, axis: int = 1) -> Type:
    """data above 0, else alpha * data; `alpha` has a value for each index along the axis, or one for all."""
    ty = float_only("nn.prelu", tensor_type("nn.prelu", data, "data"), "data")
    slope = tensor_type("nn.prelu", alpha, "alpha")
    common_dtype("nn.prelu", ty, slope)
    if slope.ndim not in (-1, 1):
        shape_fault("nn.prelu", f"`alpha` must have 1 dimension, not {slope.ndim}")
    along = axis_of("nn.prelu", axis, ty.ndim)
    if ty.sizes is not None and slope.sizes is not None:
        size, own = ty.sizes[along], slope.sizes[0]
        if not is_one(own) and not same_size(size, own) and None not in (constant(size), constant(own)):
            shape_fault(
                "nn.prelu",
                f"`alpha` has {constant(own)} values, but dimension {along} of the data has {constant(size)}",
            )
    return ty


def _softplus(x: Any, beta: float, threshold: float) -> Any:
    scaled = _number(beta, x) * x
    smooth = _number(1 / beta, x) * log1p(te.exp(scaled))
    return te.select(scaled > _number(threshold, x), x, smooth)


def _softplus_numpy(x: Any, beta: float, threshold: float) -> Any:
    import numpy as np

    return np.where(beta * x > threshold, x, np.log1p(np.exp(beta * x)) / beta)


@relax_op(
    "relax.nn.softplus",
    pattern=OpPattern.ELEMWISE,
    te=each(_softplus),
    numpy=rounded(_softplus_numpy),
    layout=follow,
)
def softplus(data: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Type:
    """log(1 + exp(beta * data)) / beta; data itself where beta * data is above the threshold."""
    if beta == 0:
        shape_fault("nn.softplus", "`beta` is 0")
    return float_only("nn.softplus", tensor_type("nn.softplus", data, "data"), "data")


class _Rows:
    """Reductions of a tensor along one axis, for tensor expressions."""

    def __init__(self, x: Any, axis: int) -> None:
        self.x = x
        self.axis = axis + x.ndim if axis < 0 else axis
        self.rest = [*x.shape[: self.axis], *x.shape[self.axis + 1 :]]

    def reduce(self, reducer: Any, value: Callable[..., Any], name: str) -> Any:
        """The reduction of the values along the axis; `value` gets the indices of an element."""
        k = te.reduce_axis((0, self.x.shape[self.axis]), "k")
        at = self.axis
        return te.compute(self.rest, lambda *i: reducer(value(*i[:at], k.var, *i[at:]), axis=k), name=name)

    def of(self, tensor: Any, indices: Any) -> Expr:
        """The result of a reduction that an element of x belongs to."""
        found: Expr = tensor(*indices[: self.axis], *indices[self.axis + 1 :])
        return found


def _softmax(x: Any, axis: int) -> Any:
    rows = _Rows(x, axis)
    high = rows.reduce(te.max, x, "T_softmax_maxelem")
    power = te.compute(x.shape, lambda *i: te.exp(x(*i) - rows.of(high, i)), name="T_softmax_exp")
    total = rows.reduce(te.sum, power, "T_softmax_expsum")
    return te.compute(x.shape, lambda *i: power(*i) / rows.of(total, i), name="T_softmax_norm")


def _log_softmax(x: Any, axis: int) -> Any:
    rows = _Rows(x, axis)
    high = rows.reduce(te.max, x, "T_softmax_maxelem")
    total = rows.reduce(te.sum, lambda *i: te.exp(x(*i) - rows.of(high, i)), "compute")
    return te.compute(
        x.shape, lambda *i: x(*i) - rows.of(high, i) - te.log(rows.of(total, i)), name="compute"
    )


def _softmax_numpy(x: Any, axis: int) -> Any:
    import numpy as np

    power = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    return power / power.sum(axis, keepdims=True)


def _log_softmax_numpy(x: Any, axis: int) -> Any:
    import numpy as np

    moved = x - x.max(axis, keepdims=True, initial=-np.inf)
    return moved - np.log(np.exp(moved).sum(axis, keepdims=True))


def _normalised(name: str, doc: str, tensor: Any, numpy: Any, gradient: Any) -> RelaxOp:
    def rule(data: Tensor, axis: int = -1) -> Type:
        ty = float_only(f"nn.{name}", tensor_type(f"nn.{name}", data, "data"), "data")
        axis_of(f"nn.{name}", axis, ty.ndim)
        return ty

    rule.__doc__ = doc
    return relax_op(
        f"relax.nn.{name}",
        pattern=OpPattern.OUT_FUSIBLE,
        te=tensor,
        numpy=rounded(numpy),
        gradient=gradient,
        layout=along_axis,
    )(rule)


softmax = _normalised(
    "softmax", "exp(data) over its sum along the axis.", _softmax, _softmax_numpy, d.softmax
)
log_softmax = _normalised(
    "log_softmax", "The logarithm of `softmax`.", _log_softmax, _log_softmax_numpy, d.log_softmax
)

__all__ = [
    "gelu",
    "gelu_tanh",
    "leakyrelu",
    "log_softmax",
    "prelu",
    "relu",
    "relu6",
    "selu",
    "silu",
    "softmax",
    "softplus",
]

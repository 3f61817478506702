"""Softmax over a dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..... import te
from .....ir import Expr, const
from .....ir import operators as op
from .....te import Tensor, compute, reduce_axis
from ...tirx.op import find_operator

_BOUND = 88.37626647949219
"""Beyond it the exponential function leaves float32."""
_POLYNOMIAL = (
    0.00019875691214110702,
    0.0013981999363750219,
    0.008333452045917511,
    0.04166579619050026,
    0.1666666567325592,
    0.5,
)
"""Coefficients of (exp(f) - 1 - f) / f**2 for f around 0, highest power first."""


def softmax(x: Tensor, axis: int = -1) -> Any:
    """exp(x) over its sum along a dimension."""
    return _normalised(
        x, axis, lambda most, at: _map(x, "T_softmax_exp", lambda *i: te.exp(x(*i) - most(*at(i))))
    )


def fast_softmax(x: Tensor, axis: int = -1) -> Any:
    """The same by a polynomial instead of the exponential function."""

    def grown(most: Tensor, at: Callable[..., Any]) -> Any:
        return fast_exp(_map(x, "T_softmax_delta", lambda *i: x(*i) - most(*at(i))))

    return _normalised(x, axis, grown)


def log_softmax(x: Tensor, axis: int = -1) -> Any:
    """The logarithm of softmax."""
    axis %= x.ndim
    most = _along(x, axis, "T_softmax_maxelem", te.max, lambda *i: x(*i))
    total = _along(x, axis, "compute", te.sum, lambda *i: te.exp(x(*i) - most(*_without(i, axis))))

    def element(*i: Any) -> Any:
        at = _without(i, axis)
        return x(*i) - most(*at) - te.log(total(*at))

    return compute(x.shape, element, "compute", attrs={"axis": axis})


def fast_exp(x: Tensor) -> Any:
    """An exponential function of float32 that is a polynomial and a shift: 2**n * exp(f) for |f| < 0.35."""

    reinterpret = find_operator("reinterpret")
    assert reinterpret is not None

    def number(value: float) -> Expr:
        return const(value, "float32")

    def element(*i: Any) -> Any:
        value = x(*i)
        inside = op.max_(op.min_(value, number(_BOUND)), number(-_BOUND))
        n = te.floor(inside * number(1.4426950216293335) + number(0.5))
        f = inside - n * number(0.6931471824645996)
        y = number(_POLYNOMIAL[0])
        for c in _POLYNOMIAL[1:]:
            y = y * f + number(c)
        power = reinterpret("float32", op.cast(n + number(127.0), "int32") << const(23, "int32"))
        return op.max_(power * (y * f * f + f + number(1.0)), value)

    return compute(
        x.shape, element, "T_fast_exp", "elemwise", varargs_names=[f"ax{k}" for k in range(x.ndim)]
    )


def _normalised(x: Tensor, axis: int, grown: Callable[..., Any]) -> Any:
    axis %= x.ndim
    most = _along(x, axis, "T_softmax_maxelem", te.max, lambda *i: x(*i))
    values = grown(most, lambda i: _without(i, axis))
    total = _along(x, axis, "T_softmax_expsum", te.sum, lambda *i: values(*i))
    return compute(
        x.shape, lambda *i: values(*i) / total(*_without(i, axis)), "T_softmax_norm", attrs={"axis": axis}
    )


def _along(x: Tensor, axis: int, name: str, reducer: Callable[..., Any], element: Callable[..., Any]) -> Any:
    k = reduce_axis((0, x.shape[axis]), "k")
    return compute(
        [n for d, n in enumerate(x.shape) if d != axis],
        lambda *i: reducer(element(*i[:axis], k, *i[axis:]), axis=k),
        name,
    )


def _map(x: Tensor, name: str, element: Callable[..., Any]) -> Any:
    return compute(x.shape, element, name)


def _without(indices: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    return (*indices[:axis], *indices[axis + 1 :])

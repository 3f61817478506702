"""Gradients of operators on elements.

A gradient gets the variable and the call of the original binding, the gradient of the result, and the
builder; it gives the gradient of each operand, None where it has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..ir import Expr
from ..ir.relax import RelaxOp, TensorType, get_op, same_sizes
from ..ir.relax.op import tensor_const

Gradient = Callable[[Expr, Any, Expr, Any], list[Any]]


class Named:
    """The records of operators as attributes: `R.exp`; families that need each other meet here."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def __getattr__(self, name: str) -> RelaxOp:
        return get_op(f"{self.prefix}.{name}")


R: Final = Named("relax")
NN: Final = Named("relax.nn")
GRAD: Final = Named("relax.grad")


def number(value: Any, like: Expr) -> Expr:
    """A constant of rank 0 with the dtype of another expression. Its dtype must be known."""
    ty = like.ty
    return tensor_const(value, ty.dtype)  # type: ignore[attr-defined]


def fitted(grad: Expr, operand: Expr) -> Expr:
    """The gradient of an operand that was broadcast: summed over the dimensions that were stretched."""
    a, b = grad.ty, operand.ty
    if not isinstance(b, TensorType):
        return R.sum(grad)
    if isinstance(a, TensorType) and a.sizes is not None and b.sizes is not None:
        return grad if same_sizes(a.sizes, b.sizes) else R.collapse_sum_to(grad, b.sizes)
    return R.collapse_sum_like(grad, operand)


def chain(local: Callable[[Expr, Expr], Expr]) -> Gradient:
    """The gradient of an operator of one operand, from (operand, result) -> its derivative."""
    return lambda var, call, grad, bb: [R.multiply(grad, local(call.args[0], var))]


def nothing(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr | None]:
    """The result does not change with the operands: comparisons, shapes, constants."""
    return [None] * len(call.args)


def fill(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr | None]:
    """Of the value that fills a tensor: the sum of all; none of what gives the shape."""
    return [None, R.astype(R.sum(grad), call.args[1].ty.dtype)]


abs = chain(lambda x, y: R.sign(x))
exp = chain(lambda x, y: y)
sin = chain(lambda x, y: R.cos(x))
square = chain(lambda x, y: R.multiply(number(2, x), x))
tanh = chain(lambda x, y: R.subtract(number(1, x), R.multiply(y, y)))


def cos(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr]:
    """-grad * sin(x)"""
    return [R.multiply(R.negative(grad), R.sin(call.args[0]))]


def sigmoid(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr]:
    """grad * result * (1 - result)"""
    return [R.multiply(R.multiply(grad, var), R.subtract(number(1, var), var))]


def log(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr]:
    """grad / x"""
    return [R.divide(grad, call.args[0])]


def negative(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr]:
    """-grad"""
    return [R.negative(grad)]


def sqrt(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr]:
    """grad / (2 * sqrt(x))"""
    return [R.divide(R.multiply(number(0.5, var), grad), var)]


def broadcast(*locals_: Callable[[Expr, Expr, Expr, Expr], Expr]) -> Gradient:
    """The gradient of two operands, from (grad, x1, x2, result) -> that of each if none is stretched."""

    def gradient(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr]:
        x1, x2 = call.args
        return [fitted(local(grad, x1, x2, var), x) for local, x in zip(locals_, (x1, x2))]

    return gradient


add = broadcast(lambda g, a, b, y: g, lambda g, a, b, y: g)
subtract = broadcast(lambda g, a, b, y: g, lambda g, a, b, y: R.negative(g))
multiply = broadcast(lambda g, a, b, y: R.multiply(g, b), lambda g, a, b, y: R.multiply(g, a))
divide = broadcast(
    lambda g, a, b, y: R.divide(g, b),
    lambda g, a, b, y: R.divide(R.multiply(R.negative(g), y), b),
)
power = broadcast(
    lambda g, a, b, y: R.multiply(R.multiply(g, b), R.power(a, R.subtract(b, number(1, b)))),
    lambda g, a, b, y: R.multiply(R.multiply(g, y), R.log(a)),
)
maximum = broadcast(
    lambda g, a, b, y: R.where(R.less(a, b), number(0, g), g),
    lambda g, a, b, y: R.where(R.greater_equal(a, b), number(0, g), g),
)
minimum = broadcast(
    lambda g, a, b, y: R.where(R.greater_equal(a, b), number(0, g), g),
    lambda g, a, b, y: R.where(R.less(a, b), number(0, g), g),
)


def where(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr | None]:
    """The gradient goes to the operand that was chosen."""
    condition, x1, x2 = call.args
    zero = number(0, grad)
    return [
        None,
        fitted(R.where(condition, grad, zero), x1),
        fitted(R.where(condition, zero, grad), x2),
    ]


def ewise_fma(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr]:
    """grad * x2, grad * x1, grad"""
    x1, x2, _ = call.args
    return [R.multiply(grad, x2), R.multiply(grad, x1), grad]


def astype(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr]:
    """The gradient, converted back."""
    return [R.astype(grad, call.args[0].ty.dtype)]


def relu(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr]:
    """grad where data is not below 0"""
    x = call.args[0]
    return [R.where(R.less(x, number(0, x)), number(0, x), grad)]


def silu(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr]:
    """grad * (sigmoid + result * (1 - sigmoid))"""
    x = call.args[0]
    gate = R.sigmoid(x)
    return [R.multiply(grad, R.add(gate, R.multiply(var, R.subtract(number(1, x), gate))))]


def softmax(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr]:
    """(grad - sum(grad * result)) * result"""
    total = R.sum(R.multiply(grad, var), call.attrs["axis"], keepdims=True)
    return [R.multiply(R.subtract(grad, total), var)]


def log_softmax(var: Expr, call: Any, grad: Expr, bb: Any) -> list[Expr]:
    """grad - sum(grad) * softmax"""
    total = R.sum(grad, call.attrs["axis"], keepdims=True)
    return [R.subtract(grad, R.multiply(total, R.exp(var)))]

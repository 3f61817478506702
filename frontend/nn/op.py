"""The operators of models as functions on `nn.Tensor`; `name` names the variable of the result."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import Diagnostic, UnsupportedError
from ...ir import Expr
from ...ir.relax import tensor_constant
from .kernels import extern, tensor_expr_op, tensor_ir_inplace_op, tensor_ir_op
from .op_nn import (
    adaptive_avg_pool2d,
    avg_pool2d,
    batch_norm,
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_transpose,
    conv3d,
    gelu,
    group_norm,
    interpolate,
    layer_norm,
    max_pool2d,
    pad,
    prelu,
    relu,
    relu6,
    rms_norm,
    scaled_dot_product_attention,
    sigmoid,
    silu,
    softmax,
    softplus,
)
from .state import IOEffect
from .tensor import Tensor, apply, combine, operand

Axes = int | Sequence[int] | None


def _unary(op: str, name: str = "") -> Callable[..., Tensor]:
    label = name or op

    def function(x: Tensor, name: str = label) -> Tensor:
        made: Tensor = apply(op, x, name=name)
        return made

    return _named(function, op)


def _binary(op: str, name: str = "") -> Callable[..., Tensor]:
    label = name or op

    def function(a: Any, b: Any, name: str = label) -> Tensor:
        return combine(op, a, b, name)

    return _named(function, op)


def _named(function: Callable[..., Tensor], op: str) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"`R.{op}`, element by element."
    return function


exp = _unary("exp")
floor = _unary("floor")
log = _unary("log")
negative = _unary("negative", "neg")
sqrt = _unary("sqrt")
square = _unary("square")
tanh = _unary("tanh")

add = _binary("add")
subtract = _binary("subtract")
multiply = _binary("multiply", "mul")
divide = _binary("divide")
maximum = _binary("maximum")
minimum = _binary("minimum")
equal = _binary("equal")
not_equal = _binary("not_equal")
less = _binary("less")
less_equal = _binary("less_equal")
greater = _binary("greater")
greater_equal = _binary("greater_equal")


def sum(x: Tensor, axis: Axes = None, keepdims: bool = False, name: str = "sum") -> Tensor:
    """The sum over the axes, over all where none is given."""
    return _reduced("sum", x, axis, keepdims, name)


def mean(x: Tensor, axis: Axes = None, keepdims: bool = False, name: str = "mean") -> Tensor:
    """The mean over the axes."""
    return _reduced("mean", x, axis, keepdims, name)


def max(x: Tensor, axis: Axes = None, keepdims: bool = False, name: str = "max") -> Tensor:
    """The largest element over the axes."""
    return _reduced("max", x, axis, keepdims, name)


def min(x: Tensor, axis: Axes = None, keepdims: bool = False, name: str = "min") -> Tensor:
    """The smallest element over the axes."""
    return _reduced("min", x, axis, keepdims, name)


def _reduced(op: str, x: Tensor, axis: Axes, keepdims: bool, name: str) -> Tensor:
    made: Tensor = apply(op, x, axis=axis, keepdims=keepdims, name=name)
    return made


def matmul(a: Tensor, b: Tensor, out_dtype: str | None = None, name: str = "matmul") -> Tensor:
    """The product of matrices, in batches over leading dimensions."""
    made: Tensor = apply("matmul", a, b, out_dtype=out_dtype, name=name)
    return made


def where(condition: Tensor, x1: Any, x2: Any, name: str = "where") -> Tensor:
    """x1 where the condition holds, else x2."""
    like = x1 if isinstance(x1, Tensor) else x2
    condition = condition if condition.dtype == "bool" else condition.astype("bool")
    made: Tensor = apply("where", condition, operand(x1, like), operand(x2, like), name=name)
    return made


def astype(x: Tensor, dtype: str, name: str = "astype") -> Tensor:
    """The tensor converted to the dtype; itself where it has it."""
    if x.dtype == dtype:
        return x
    made: Tensor = apply("astype", x, dtype=dtype, name=name)
    return made


def reshape(x: Tensor, shape: Sequence[int | Expr], name: str = "reshape") -> Tensor:
    """The same elements in another shape; one size may be -1."""
    made: Tensor = apply("reshape", x, list(shape), name=name)
    return made


def broadcast_to(x: Tensor, shape: Sequence[int | Expr], name: str = "broadcast_to") -> Tensor:
    """The tensor repeated along dimensions of size 1."""
    made: Tensor = apply("broadcast_to", x, list(shape), name=name)
    return made


def permute_dims(x: Tensor, axes: Sequence[int] | None = None, name: str | None = None) -> Tensor:
    """The tensor with its dimensions in this order; reversed where none is given."""
    made: Tensor = apply("permute_dims", x, axes=axes, name=name or "permute_dims")
    return made


def permute(x: Tensor, axes: Sequence[int] | None, name: str = "permute") -> Tensor:
    """As `permute_dims`."""
    return permute_dims(x, axes, name)


def squeeze(x: Tensor, axis: int = -1, name: str = "squeeze") -> Tensor:
    """The tensor without a dimension, which has size 1."""
    made: Tensor = apply("squeeze", x, axis=axis, name=name)
    return made


def unsqueeze(x: Tensor, dim: int, name: str = "unsqueeze") -> Tensor:
    """The tensor with a new dimension of size 1."""
    made: Tensor = apply("expand_dims", x, axis=dim, name=name)
    return made


def concat(x: Sequence[Tensor], dim: int, name: str = "concat") -> Tensor:
    """The tensors one behind the other along a dimension."""
    made: Tensor = apply("concat", list(x), axis=dim, name=name)
    return made


def split(
    ary: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0, name: str = "split"
) -> tuple[Tensor, ...]:
    """The parts of a tensor along an axis: so many of equal size, or those between the indices."""
    made: tuple[Tensor, ...] = apply(
        "split", ary, indices_or_sections=indices_or_sections, axis=axis, name=name
    )
    return made


def chunk(x: Tensor, chunks: int, dim: int = 0, name: str = "chunk") -> tuple[Tensor, ...]:
    """So many parts of equal size along a dimension."""
    return split(x, chunks, dim, name)


def repeat(x: Tensor, repeats: int, axis: int | None = None, name: str = "repeat") -> Tensor:
    """Each element so many times."""
    made: Tensor = apply("repeat", x, repeats=repeats, axis=axis, name=name)
    return made


def take(x: Tensor, indices: Tensor, axis: int | None = None, name: str = "take") -> Tensor:
    """The slices along an axis that the indices name."""
    made: Tensor = apply("take", x, indices, axis=axis, name=name)
    return made


def triu(x: Tensor, diagonal: int = 0, name: str = "triu") -> Tensor:
    """The upper triangle of matrices, from a diagonal on; zero below."""
    made: Tensor = apply("triu", x, k=diagonal, name=name)
    return made


def cumsum(
    data: Tensor,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
    name: str = "cumsum",
) -> Tensor:
    """The sums of the elements so far."""
    made: Tensor = apply("cumsum", data, axis=axis, dtype=dtype, exclusive=bool(exclusive), name=name)
    return made


def sort(x: Tensor, axis: int = -1, descending: bool = False, name: str = "sort") -> Tensor:
    """The elements in order along an axis."""
    made: Tensor = apply("sort", x, axis=axis, descending=descending, name=name)
    return made


def argsort(
    data: Tensor, axis: int = -1, descending: bool = False, dtype: str = "int32", name: str = "argsort"
) -> Tensor:
    """Where the elements in order come from."""
    made: Tensor = apply("argsort", data, axis=axis, descending=descending, dtype=dtype, name=name)
    return made


def topk(
    data: Tensor,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: str = "int32",
    name: str = "topk",
) -> Any:
    """The largest (or smallest) k elements along an axis, where they are, or both."""
    attrs = {"k": k, "axis": axis, "ret_type": ret_type, "largest": largest, "dtype": dtype}
    return apply("topk", data, name=name, **attrs)


def multinomial_from_uniform(
    prob: Tensor,
    uniform_sample: Tensor,
    sample_indices: Tensor | None = None,
    dtype: str = "int64",
    name: str = "multinomial_from_uniform",
) -> Tensor:
    """For each uniform sample the category that it falls into, by the probabilities of its row."""
    if sample_indices is None:
        sample_indices = Tensor.from_const([[i] for i in range(prob.shape[0])]).astype("int64")
    made: Tensor = apply(
        "multinomial_from_uniform", prob, uniform_sample, sample_indices, dtype=dtype, name=name
    )
    return made


def full(shape: Sequence[int | Expr], fill_value: Any, dtype: str = "float32", name: str = "full") -> Tensor:
    """A tensor whose elements all are this value."""
    value = fill_value if isinstance(fill_value, Tensor) else tensor_constant(fill_value, dtype)
    made: Tensor = apply("full", list(shape), value, dtype=dtype, name=name)
    return made


def zeros(shape: Sequence[int | Expr], dtype: str = "float32", name: str = "zeros") -> Tensor:
    """A tensor of zeros."""
    made: Tensor = apply("zeros", list(shape), dtype=dtype, name=name)
    return made


def ones(shape: Sequence[int | Expr], dtype: str = "float32", name: str = "ones") -> Tensor:
    """A tensor of ones."""
    made: Tensor = apply("ones", list(shape), dtype=dtype, name=name)
    return made


def empty(shape: Sequence[int | Expr], dtype: str = "float32", name: str = "empty") -> Tensor:
    """A tensor whose elements do not matter; they are zeros."""
    return zeros(shape, dtype, name)


def arange(
    start: int, end: int | None = None, step: int = 1, dtype: str | None = "float32", name: str = "arange"
) -> Tensor:
    """start, start + step, ..., below the end; from 0 to `start` where no end is given."""
    made: Tensor = apply("arange", start, end, step, dtype=dtype, name=name)
    return made


def get_timestep_embedding(
    x: Tensor,
    embedding_dim: int,
    flip_sin_to_cos: bool = False,
    downscale_freq_shift: float = 1,
    scale: float = 1,
    max_period: int = 10000,
    name: str = "get_timestep_embedding",
) -> Tensor:
    """The sines and cosines that encode time steps in diffusion models."""
    half = embedding_dim // 2
    steps = [-math.log(max_period) * i / (half - downscale_freq_shift) for i in range(half)]
    rates = Tensor.from_const([math.exp(s) for s in steps]).astype("float32")
    angles = unsqueeze(astype(x, "float32"), 1) * unsqueeze(rates, 0) * float(scale)
    sine, cosine = apply("sin", angles), apply("cos", angles)
    parts = [cosine, sine] if flip_sin_to_cos else [sine, cosine]
    if embedding_dim % 2:
        parts.append(zeros([x.shape[0], 1]))
    return concat(parts, 1, name)


def print_(tensor: Tensor) -> None:
    """Print a tensor when the model comes here. Raises UnsupportedError unless exported with `debug`."""
    debug_func("vm.builtin.debug_print", tensor, _line_info=_caller())


def debug_func(name: str, *args: Any, _line_info: str | None = None) -> None:
    """Call a registered function when the model comes here: with the place of this line, and the values.

    Raises UnsupportedError unless the model is exported with `debug`.
    """
    if not IOEffect.active:
        raise UnsupportedError(
            Diagnostic(
                "unsupported",
                f"`{name}` shows values of a model, which is exported without `debug`",
                help=("use `module.export_tvm(spec, debug=True)` or `module.jit(spec, debug=True)`",),
            )
        )
    IOEffect.active[-1].show(name, _line_info or _caller(), args)


def _caller() -> str:
    """The place of the line that calls a function of this module."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


__all__ = [
    "adaptive_avg_pool2d",
    "add",
    "arange",
    "argsort",
    "astype",
    "avg_pool2d",
    "batch_norm",
    "broadcast_to",
    "chunk",
    "concat",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "cumsum",
    "debug_func",
    "divide",
    "empty",
    "equal",
    "exp",
    "extern",
    "floor",
    "full",
    "gelu",
    "get_timestep_embedding",
    "greater",
    "greater_equal",
    "group_norm",
    "interpolate",
    "layer_norm",
    "less",
    "less_equal",
    "log",
    "matmul",
    "max",
    "max_pool2d",
    "maximum",
    "mean",
    "min",
    "minimum",
    "multinomial_from_uniform",
    "multiply",
    "negative",
    "not_equal",
    "ones",
    "pad",
    "permute",
    "permute_dims",
    "prelu",
    "print_",
    "relu",
    "relu6",
    "repeat",
    "reshape",
    "rms_norm",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "subtract",
    "sum",
    "take",
    "tanh",
    "tensor_expr_op",
    "tensor_ir_inplace_op",
    "tensor_ir_op",
    "topk",
    "triu",
    "unsqueeze",
    "where",
    "zeros",
]

"""Operators that make tensors from shapes and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import te
from ..dtype import DType
from ..ir import Expr, FloatImm, GenericConst, IntImm, PrimType, Type
from ..ir import const as scalar
from ..ir import operators as arith
from ..ir.relax import OpPattern, RelaxOp, ShapeExpr, ShapeType, TensorType, relax_op
from ..ir.relax.op import Scalar, Shape, Tensor, prim_value
from . import derivatives as d
from .elementwise import as_function, element
from .faults import shape_fault, type_fault
from .infer import describe, same_type, tensor_type
from .layout_rules import follow
from .sizes import analyzer, simplify


def filled(shape: Any, value: Any, dtype: DType | None = None) -> Any:
    """The tensor expression of a tensor whose elements are all the value (a scalar or a tensor of rank 0)."""

    def one(*indices: Any) -> Any:
        found = element(value, (), ())
        return found if dtype is None else found.astype(dtype)

    return te.compute(shape, one, name="T_full", varargs_names=[f"ax{i}" for i in range(len(shape))])


def _filled_numpy(shape: Any, value: Any, dtype: DType | None = None) -> Any:
    import numpy as np

    return np.full(shape, value.astype(value.dtype if dtype is None else dtype.numpy()))


def _legal(value: Callable[[Any, Any], Any], name: str) -> Callable[[Any, Any], Expr]:
    """The rule of legalization: a kernel that fills the result with `value(call, dtype)`."""

    def legalize(bb: Any, call: Any) -> Expr:
        sizes, dtype = call.ty.sizes, call.ty.dtype
        if sizes is None or dtype is None:
            return call
        made: Expr = bb.call_te(
            filled, ShapeExpr(sizes), value(call, dtype), dtype=dtype, primfunc_name_hint=name
        )
        return made

    return legalize


def _fill_value(call: Any, dtype: DType) -> Expr:
    """The operand, as a number where it is a constant."""
    value: Expr = call.args[1]
    if isinstance(value, GenericConst):
        return scalar(value.value.item(), value.ty.dtype)  # type: ignore[attr-defined]
    return value


def shape_type(op: str, shape: Expr, dtype: Any) -> TensorType:
    """The type of a tensor of this shape. Raises DTypeError for what is no shape."""
    if not isinstance(shape.ty, ShapeType):
        type_fault(op, f"`shape` must be a shape, not {describe(shape.ty)}")
    return TensorType(shape, dtype)


def _rank_zero(op: str, value: Expr) -> TensorType:
    ty = tensor_type(op, value, "fill_value")
    if ty.ndim > 0:
        shape_fault(op, f"`fill_value` must be a scalar or a tensor of rank 0, not {describe(value.ty)}")
    return ty


@relax_op(
    "relax.full",
    pattern=OpPattern.BROADCAST,
    legalize=_legal(_fill_value, "full"),
    numpy=_filled_numpy,
    gradient=d.fill,
)
def full(shape: Shape, fill_value: Tensor, dtype: DType | None = None) -> Type:
    """A tensor of this shape in which each element is `fill_value`, converted to the dtype."""
    ty = _rank_zero("full", fill_value)
    return shape_type("full", shape, ty.dtype if dtype is None else dtype)


@relax_op(
    "relax.full_like",
    pattern=OpPattern.BROADCAST,
    legalize=_legal(_fill_value, "full"),
    numpy=lambda x, value, dtype: _filled_numpy(x.shape, value, dtype or DType(x.dtype)),
    gradient=d.fill,
    layout=follow,
)
def full_like(x: Tensor, fill_value: Tensor, dtype: DType | None = None) -> Type:
    """A tensor of the shape of x (and its dtype, without `dtype`) whose elements are `fill_value`."""
    _rank_zero("full_like", fill_value)
    return same_type(tensor_type("full_like", x), "same" if dtype is None else dtype)


def _constant(name: str, number: int) -> RelaxOp:
    def rule(shape: Shape, dtype: DType) -> Type:
        return shape_type(name, shape, dtype)

    rule.__doc__ = f"A tensor of this shape whose elements are all {number}."
    return relax_op(
        f"relax.{name}",
        pattern=OpPattern.BROADCAST,
        legalize=_legal(lambda call, dtype: scalar(number, dtype), name),
        numpy=lambda shape, dtype: as_function(name)(shape, dtype.numpy()),
        gradient=d.nothing,
    )(rule)


def _constant_like(name: str, number: int) -> RelaxOp:
    def rule(x: Tensor, dtype: DType | None = None) -> Type:
        return same_type(tensor_type(name, x), "same" if dtype is None else dtype)

    rule.__doc__ = (
        f"A tensor of the shape of x (and its dtype, without `dtype`) whose elements are all {number}."
    )
    word = name.removesuffix("_like")
    return relax_op(
        f"relax.{name}",
        pattern=OpPattern.BROADCAST,
        legalize=_legal(lambda call, dtype: scalar(number, dtype), word),
        numpy=lambda x, dtype: as_function(word)(x.shape, x.dtype if dtype is None else dtype.numpy()),
        gradient=d.nothing,
        layout=follow,
    )(rule)


ones = _constant("ones", 1)
zeros = _constant("zeros", 0)
ones_like = _constant_like("ones_like", 1)
zeros_like = _constant_like("zeros_like", 0)


def range_size(start: Expr, end: Expr, step: Expr) -> Expr | None:
    """How many numbers from `start` on lie before `end`; None where that cannot be written as a size."""
    numbers = [e.value if isinstance(e, IntImm | FloatImm) else None for e in (start, end, step)]
    by = numbers[2]
    if by == 0:
        shape_fault("arange", "`step` is 0")
    if None not in numbers:
        return prim_value(max(0, math.ceil((numbers[1] - numbers[0]) / by)))  # type: ignore[operator]
    if by is None or not all(e.dtype.is_integral for e in (start, end, step)):
        return None
    low, high = [arith.cast(e, "int64") for e in ((start, end) if by > 0 else (end, start))]
    count = simplify(arith.floordiv(high - low + (abs(int(by)) - 1), abs(int(by))))
    positive = analyzer(count).can_prove(arith.greater_equal(count, 0))
    return count if positive else simplify(arith.max_(count, scalar(0, "int64")))


def _range(start: Any, end: Any, step: Any, dtype: DType) -> Any:
    size = range_size(start, end, step)
    wide = "int64" if all(e.dtype.is_integral for e in (start, end, step)) else "float64"
    first, by = start.astype(wide), step.astype(wide)
    return te.compute(
        (size,), lambda i: (first + i.astype(wide) * by).astype(dtype), name="T_arange", varargs_names=None
    )


def _range_numpy(start: Any, end: Any, step: Any, dtype: DType) -> Any:
    import numpy as np

    count = max(0, math.ceil((end - start) / step))
    return (start + np.arange(count) * step).astype(dtype.numpy())


def _range_defaults(values: dict[str, Any]) -> None:
    if values["end"] is None:
        values["start"], values["end"] = prim_value(0), values["start"]
    whole = all(
        isinstance(e.ty, PrimType) and e.dtype.is_integral
        for e in (values["start"], values["end"], values["step"])
    )
    values["dtype"] = values["dtype"] or DType("int64" if whole else "float32")


@relax_op(
    "relax.arange",
    pattern=OpPattern.INJECTIVE,
    prepare=_range_defaults,
    te=_range,
    numpy=_range_numpy,
)
def arange(start: Scalar, end: Scalar | None = None, step: Scalar = 1, dtype: DType | None = None) -> Type:  # type: ignore[assignment]
    """The numbers from `start` on, by `step`, that lie before `end`; `arange(n)` begins at 0.

    Without `dtype` they are int64, or float32 where one of the numbers given is a float.
    """
    assert end is not None
    for name, value in (("start", start), ("end", end), ("step", step)):
        if not isinstance(value.ty, PrimType):
            type_fault("arange", f"`{name}` must be a scalar, not {describe(value.ty)}")
    size = range_size(start, end, step)
    return TensorType(None if size is None else (size,), dtype, None, 1)


def eye_te(n: Any, m: Any, k: Any, dtype: DType) -> Any:
    """The tensor expression of `eye`."""
    one, zero = scalar(1, dtype), scalar(0, dtype)
    return te.compute(
        (n, m), lambda i, j: te.if_then_else(i.equal(j - k.astype("int64")), one, zero), name="eye"
    )


def _eye_numpy(n: Any, m: Any, k: Any, dtype: DType) -> Any:
    import numpy as np

    return np.eye(int(n), int(m), int(k), dtype.numpy())


def _eye_defaults(values: dict[str, Any]) -> None:
    values["m"] = values["n"] if values["m"] is None else values["m"]


@relax_op(
    "relax.eye",
    pattern=OpPattern.INJECTIVE,
    prepare=_eye_defaults,
    te=eye_te,
    numpy=_eye_numpy,
)
def eye(n: Scalar, m: Scalar | None = None, k: Scalar = 0, dtype: DType = "float32") -> Type:  # type: ignore[assignment]
    """n rows of m (without `m`, n) zeros, with ones on the diagonal, moved right by k."""
    assert m is not None
    _integral("eye", n=n, m=m, k=k)
    return TensorType((n, m), dtype)


def _integral(op: str, **values: Expr) -> None:
    for name, value in values.items():
        if not isinstance(value.ty, PrimType) or not value.dtype.is_integral:
            type_fault(op, f"`{name}` must be an integer, not {describe(value.ty)}")


def _eye_like_legal(bb: Any, call: Any) -> Expr:
    if call.ty.sizes is None or call.ty.dtype is None:
        return call
    made: Expr = bb.call_te(
        eye_te, *call.ty.sizes, call.args[1], dtype=call.ty.dtype, primfunc_name_hint="eye_like"
    )
    return made


@relax_op(
    "relax.eye_like",
    pattern=OpPattern.INJECTIVE,
    legalize=_eye_like_legal,
    numpy=lambda x, k, dtype: _eye_numpy(x.shape[0], x.shape[1], k, dtype or DType(x.dtype)),
)
def eye_like(x: Tensor, k: Scalar = 0, dtype: DType | None = None) -> Type:  # type: ignore[assignment]
    """As `eye`, of the shape of x, and its dtype without `dtype`."""
    ty = tensor_type("eye_like", x)
    _integral("eye_like", k=k)
    if ty.ndim not in (-1, 2):
        shape_fault("eye_like", f"`x` must have 2 dimensions, not {ty.ndim}")
    return same_type(ty, "same" if dtype is None else dtype)


def _triangle(name: str, doc: str, keeps: Callable[[Any, Any], Any]) -> RelaxOp:
    """The record of an operator that keeps one side of a diagonal."""

    def rule(x: Tensor, k: Scalar = 0) -> Type:  # type: ignore[assignment]
        ty = tensor_type(name, x)
        _integral(name, k=k)
        if 0 <= ty.ndim < 2:
            shape_fault(name, f"`x` must have at least 2 dimensions, not {ty.ndim}")
        return ty

    def tensor(x: Any, k: Any) -> Any:
        zero, by = scalar(0, x.dtype), k.astype("int64")
        return te.compute(x.shape, lambda *i: te.select(keeps(i[-1], i[-2] + by), x(*i), zero), name="trilu")

    rule.__doc__ = doc
    return relax_op(
        f"relax.{name}",
        pattern=OpPattern.INJECTIVE,
        te=tensor,
        numpy=lambda x, k: as_function(name)(x, int(k)),
        gradient=lambda var, call, grad, bb: [getattr(d.R, name)(grad, call.args[1]), None],
    )(rule)


tril = _triangle("tril", "x with zeros right of the diagonal that is moved right by k.", lambda j, i: j <= i)
triu = _triangle("triu", "x with zeros left of the diagonal that is moved right by k.", lambda j, i: j >= i)


def _hamming(window_size: Any, periodic: Any, alpha: Any, beta: Any, dtype: DType) -> Any:
    steps = te.if_then_else(periodic, window_size, te.max(window_size - 1, 1)).astype("float64")
    a, b = alpha.astype("float64"), beta.astype("float64")
    turn = scalar(2 * math.pi, "float64")
    return te.compute(
        (window_size,),
        lambda i: (a - b * te.cos(turn * i.astype("float64") / steps)).astype(dtype),
        name="hamming_window",
    )


def _hamming_numpy(window_size: Any, periodic: Any, alpha: Any, beta: Any, dtype: DType) -> Any:
    import numpy as np

    steps = window_size if periodic else max(window_size - 1, 1)
    return (alpha - beta * np.cos(2 * math.pi * np.arange(window_size) / steps)).astype(dtype.numpy())


@relax_op(
    "relax.hamming_window",
    pattern=OpPattern.INJECTIVE,
    te=_hamming,
    numpy=_hamming_numpy,
)
def hamming_window(window_size: Scalar, periodic: Scalar, alpha: Scalar, beta: Scalar, dtype: DType) -> Type:
    """alpha - beta * cos(2 pi i / N) for i below `window_size` = N; N is one less where not `periodic`."""
    _integral("hamming_window", window_size=window_size)
    if not dtype.is_float:
        type_fault("hamming_window", f"`dtype` must be a float type, not `{dtype}`")
    if isinstance(window_size, IntImm) and window_size.value <= 0:
        shape_fault("hamming_window", f"`window_size` must be positive, not {window_size.value}")
    return TensorType((window_size,), dtype)


def _one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int) -> Any:
    place = axis + indices.ndim + 1 if axis < 0 else axis
    shape = [*indices.shape[:place], scalar(depth, "int64"), *indices.shape[place:]]
    return te.compute(
        shape,
        lambda *i: te.select(
            indices(*i[:place], *i[place + 1 :]).astype("int64").equal(i[place]), on_value, off_value
        ),
        name="T_one_hot",
        varargs_names=[f"ax{k}" for k in range(len(shape))],
    )


def _one_hot_numpy(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int) -> Any:
    import numpy as np

    place = axis + indices.ndim + 1 if axis < 0 else axis
    counts = np.arange(depth).reshape([depth if k == place else 1 for k in range(indices.ndim + 1)])
    return np.where(np.expand_dims(indices.astype("int64"), place) == counts, on_value, off_value)


@relax_op(
    "relax.one_hot",
    pattern=OpPattern.INJECTIVE,
    te=_one_hot,
    numpy=_one_hot_numpy,
)
def one_hot(indices: Tensor, on_value: Scalar, off_value: Scalar, depth: int, axis: int = -1) -> Type:
    """A new dimension of `depth` elements at `axis`: `on_value` at the index, `off_value` elsewhere."""
    ty = tensor_type("one_hot", indices, "indices")
    if ty.dtype is not None and not ty.dtype.is_integral:
        type_fault("one_hot", f"`indices` must be of integers, not of `{ty.dtype}`")
    on, off = on_value.ty, off_value.ty
    if not isinstance(on, PrimType) or not isinstance(off, PrimType) or on.dtype != off.dtype:
        type_fault(
            "one_hot",
            f"`on_value` and `off_value` must be scalars of one dtype, not {describe(on)}, {describe(off)}",
        )
    if depth <= 0:
        shape_fault("one_hot", f"`depth` must be positive, not {depth}")
    if ty.ndim < 0:
        return TensorType(None, on.dtype, ty.vdevice)
    if not -ty.ndim - 1 <= axis <= ty.ndim:
        shape_fault("one_hot", f"`axis` is {axis}, but the result has {ty.ndim + 1} dimensions")
    place = axis + ty.ndim + 1 if axis < 0 else axis
    if ty.sizes is None:
        return TensorType(None, on.dtype, ty.vdevice, ty.ndim + 1)
    return TensorType((*ty.sizes[:place], depth, *ty.sizes[place:]), on.dtype, ty.vdevice)


__all__ = [
    "arange",
    "eye",
    "eye_like",
    "full",
    "full_like",
    "hamming_window",
    "one_hot",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

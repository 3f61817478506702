"""Where values stand: argmax, argmin, bucketize, nonzero."""

# The programs are read as the language of loops; a type checker takes them for Python.
# mypy: disable-error-code="valid-type, no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from .. import ir, te
from ..dtype import DType
from ..ir import Expr, PrimFunc, Type
from ..ir.relax import OpPattern, TensorType, relax_op
from ..ir.relax.op import Tensor
from ..script import tirx as T
from .faults import shape_fault
from .indexing import runtime_shape
from .infer import common_dtype, like, tensor_type
from .keys import key_of
from .programs import run
from .sizes import is_zero, product, ravel, size, unravel
from .statistics import reduce_te, reduced_axes, reduced_sizes, reduced_type

_NOWHERE = 2**63 - 1


def _arg_te(largest: bool) -> Any:
    """The best key along the axes, then the first index that has it: two plain reductions."""

    def found(x: te.Tensor, axis: int | None = None, keepdims: bool = False) -> te.Tensor:
        gone = reduced_axes(axis_tuple(axis), x.ndim)
        sizes = tuple([x.shape[k] for k in gone])
        if not gone or any(is_zero(s) for s in sizes):
            shape = reduced_sizes(x.shape, gone, keepdims)
            return te.compute(shape, lambda *i: size(0), name="arg")

        def key(value: Any, i: Any) -> Any:
            made = key_of(value, x.dtype, not largest)
            if largest or not x.dtype.is_float:
                return made
            return ir.select(te.isnan(value), te.max_value(made.dtype), made)

        best = reduce_te(x, axis_tuple(axis), False, te.max, key, "best")

        def index(value: Any, i: Sequence[Any]) -> Any:
            goal = best(*[v for k, v in enumerate(i) if k not in gone])
            place = ravel([i[k] for k in gone], sizes)
            return ir.select(ir.equal(key(value, i), goal), place, ir.const(_NOWHERE, "int64"))

        return reduce_te(x, axis_tuple(axis), keepdims, te.min, index, "arg")

    return found


def axis_tuple(axis: int | None) -> tuple[int, ...] | None:
    """An axis as a reduction takes it."""
    return None if axis is None else (axis,)


def _arg_numpy(function: str) -> Any:
    def found(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        import numpy as np

        if not x.ndim:
            return np.zeros((), "int64")
        values = x if x.dtype.kind in "?iuf" else x.astype("float64")
        return np.asarray(getattr(np, function)(values, axis=axis, keepdims=keepdims)).astype("int64")

    return found


def _arg_type(op: str, x: Any, axis: int | None, keepdims: bool) -> Type:
    return reduced_type(op, x, axis_tuple(axis), keepdims, DType("int64"))


@relax_op("relax.argmax", pattern=OpPattern.COMM_REDUCE, te=_arg_te(True), numpy=_arg_numpy("argmax"))
def argmax(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Type:
    """The index of the largest element along the axis, the first of several; NaN counts as the largest.

    Without an axis the index counts the elements in their order.
    """
    return _arg_type("argmax", x, axis, keepdims)


@relax_op("relax.argmin", pattern=OpPattern.COMM_REDUCE, te=_arg_te(False), numpy=_arg_numpy("argmin"))
def argmin(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Type:
    """The index of the smallest element along the axis, the first of several; NaN counts as the smallest.

    Without an axis the index counts the elements in their order.
    """
    return _arg_type("argmin", x, axis, keepdims)


@functools.cache
def _bucketize_program(dtype: str, target: str, right: bool) -> PrimFunc:
    """For each value, by halving, how many boundaries are below it (`right`: not above it)."""

    @T.prim_func(check_well_formed=False)
    def bucketize(
        x: T.Buffer(("a",), dtype),
        boundaries: T.Buffer(("b",), dtype),
        out: T.Buffer(("c",), target),
        count: T.int64,
        n: T.int64,
    ):
        for i in range(count):
            low = T.alloc_buffer((1,), "int64", scope="local")
            high = T.alloc_buffer((1,), "int64", scope="local")
            low[0] = T.int64(0)
            high[0] = n
            while low[0] < high[0]:
                middle: T.int64 = (low[0] + high[0]) // 2
                above: T.bool = boundaries[middle] > x[i] if right else boundaries[middle] >= x[i]
                if above:
                    high[0] = middle
                else:
                    low[0] = middle + 1
            out[i] = T.Cast(target, low[0])

    return bucketize


def _bucketize_te(
    input: te.Tensor, boundaries: te.Tensor, out_int32: bool = False, right: bool = False
) -> Any:
    target = "int32" if out_int32 else "int64"
    program = _bucketize_program(str(input.dtype), target, right)
    scalars = [product(input.shape), boundaries.shape[0]]
    return run(program, [input, boundaries], [(input.shape, target)], scalars, "bucketize")[0]


def _bucketize_numpy(input: Any, boundaries: Any, out_int32: bool = False, right: bool = False) -> Any:
    import numpy as np

    found = np.searchsorted(boundaries, input, "right" if right else "left")
    return np.asarray(found).astype("int32" if out_int32 else "int64")


@relax_op("relax.bucketize", pattern=OpPattern.OPAQUE, te=_bucketize_te, numpy=_bucketize_numpy)
def bucketize(input: Tensor, boundaries: Tensor, out_int32: bool = False, right: bool = False) -> Type:
    """For each value the number of boundaries below it; with `right`, of those not above it.

    The boundaries must be in ascending order.  NaN is above all.
    """
    ty, ends = tensor_type("bucketize", input, "input"), tensor_type("bucketize", boundaries, "boundaries")
    common_dtype("bucketize", ty, ends)
    if ends.ndim not in (-1, 1):
        shape_fault("bucketize", f"`boundaries` has {ends.ndim} dimensions, not one")
    return TensorType(ty.shape, DType("int32" if out_int32 else "int64"), ty.vdevice, ty.ndim)


@functools.cache
def _count_program(dtype: str) -> PrimFunc:
    @T.prim_func(check_well_formed=False)
    def count(x: T.Buffer(("a",), dtype), found: T.Buffer(("b",), "int64"), n: T.int64):
        found[0] = T.int64(0)
        for i in range(n):
            found[0] = found[0] + T.Cast("int64", x[i] != ir.const(0, dtype))

    return count


@functools.cache
def _places_program(dtype: str) -> PrimFunc:
    """Writes where, in memory order, elements are not zero."""

    @T.prim_func(check_well_formed=False)
    def places(x: T.Buffer(("a",), dtype), out: T.Buffer(("b",), "int64"), n: T.int64):
        at = T.alloc_buffer((1,), "int64", scope="local")
        at[0] = T.int64(0)
        for i in range(n):
            if x[i] != ir.const(0, dtype):
                out[at[0]] = i
                at[0] = at[0] + 1

    return places


def _count_te(x: te.Tensor) -> te.Tensor:
    program = _count_program(str(x.dtype))
    return run(program, [x], [([size(1)], "int64")], [product(x.shape)], "count_nonzero")[0]


def _nonzero_te(x: te.Tensor, count: Any) -> te.Tensor:
    program = _places_program(str(x.dtype))
    (flat,) = run(program, [x], [([count], "int64")], [product(x.shape)], "nonzero_places")

    def index(d: Any, j: Any) -> Any:
        found = unravel(flat(j), x.shape)
        value = found[-1] if found else size(0)
        for k in reversed(range(x.ndim - 1)):
            value = ir.select(ir.equal(d, size(k)), found[k], value)
        return value

    return te.compute([size(x.ndim), count], index, name="nonzero")


def _legalize_nonzero(builder: Any, call: Any) -> Expr:
    x = call.args[0]
    if x.ty.sizes is None:
        return call
    found = builder.emit(builder.call_te(_count_te, x, primfunc_name_hint="count_nonzero"))
    (count,) = runtime_shape(builder, found, 1)
    made: Expr = builder.call_te(_nonzero_te, x, count, primfunc_name_hint="nonzero")
    return made


def _nonzero_numpy(x: Any) -> Any:
    import numpy as np

    return np.ascontiguousarray(np.argwhere(x).T).astype("int64")


@relax_op("relax.nonzero", pattern=OpPattern.OPAQUE, legalize=_legalize_nonzero, numpy=_nonzero_numpy)
def nonzero(x: Tensor) -> Type:
    """The indices of the elements that are not zero: row k holds those of dimension k (a scalar has no rows).

    How many there are is known only when the program runs.
    """
    ty = tensor_type("nonzero", x)
    return like(ty, dtype=DType("int64"), ndim=2)


__all__ = ["argmax", "argmin", "bucketize", "nonzero"]

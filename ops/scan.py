"""Running sums and products along an axis: cumsum, cumprod."""

# The programs are read as the language of loops; a type checker takes them for Python.
# mypy: disable-error-code="valid-type, no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import functools
from typing import Any

from .. import ir, te
from ..dtype import DType
from ..ir import PrimFunc, Type
from ..ir.relax import OpPattern, relax_op
from ..ir.relax.op import Tensor
from ..script import tirx as T
from .infer import axis_of, like, tensor_type
from .manipulate import flip
from .programs import lines, run
from .reshape import reshape, shape_like
from .sizes import product


def _combine(kind: str, dtype: DType) -> Any:
    if dtype.is_bool:
        return ir.logical_or if kind == "cumsum" else ir.logical_and
    return ir.add if kind == "cumsum" else ir.mul


@functools.cache
def _program(kind: str, source: str, target: str, exclusive: bool, alone: bool) -> PrimFunc:
    """The scan of lines; where they stand alone the running value stays in a register."""
    combine = _combine(kind, DType(target))
    neutral = ir.const(kind == "cumprod", target)

    @T.prim_func(check_well_formed=False)
    def one(
        x: T.Buffer(("a",), source), y: T.Buffer(("b",), target), outer: T.int64, n: T.int64, inner: T.int64
    ):
        for o in range(outer):
            run = T.alloc_buffer((1,), target, scope="local")
            run[0] = neutral
            for k in range(n):
                if exclusive:
                    y[o * n + k] = run[0]
                run[0] = combine(run[0], T.Cast(target, x[o * n + k]))
                if not exclusive:
                    y[o * n + k] = run[0]

    @T.prim_func(check_well_formed=False)
    def many(
        x: T.Buffer(("a",), source), y: T.Buffer(("b",), target), outer: T.int64, n: T.int64, inner: T.int64
    ):
        for o in range(outer):
            for i in range(inner):
                if n > 0:
                    y[o * n * inner + i] = neutral if exclusive else T.Cast(target, x[o * n * inner + i])
            for k in range(1, n):
                for i in range(inner):
                    at: T.int64 = (o * n + k) * inner + i
                    y[at] = combine(y[at - inner], T.Cast(target, x[at - inner if exclusive else at]))

    return one if alone else many


def _scan_te(kind: str) -> Any:
    def scan(
        data: te.Tensor, axis: int | None = None, dtype: DType | None = None, exclusive: bool = False
    ) -> te.Tensor:
        target = dtype or data.dtype
        shape = [product(data.shape)] if axis is None else data.shape
        sizes = lines(data.shape, None if axis is None else axis % data.ndim)
        alone = ir.structural_equal(sizes[2], ir.const(1, "int64"))
        program = _program(kind, str(data.dtype), str(target), exclusive, alone)
        return run(program, [data], [(shape, target)], sizes, kind)[0]

    return scan


def _scan_numpy(kind: str) -> Any:
    def scan(data: Any, axis: int | None = None, dtype: DType | None = None, exclusive: bool = False) -> Any:
        import numpy as np

        kept = data.dtype if dtype is None else dtype.numpy()
        values = (data.reshape(-1) if axis is None else data).astype(kept)
        at = 0 if axis is None else axis % data.ndim
        if kept.kind == "b":
            combine = np.logical_or if kind == "cumsum" else np.logical_and
            whole = combine.accumulate(values, at)
        else:
            whole = (np.add if kind == "cumsum" else np.multiply).accumulate(values, at, dtype=kept)
        if not exclusive:
            return whole
        first = np.full_like(whole[(slice(None),) * at + (slice(0, 1),)], kind == "cumprod")
        return np.concatenate([first, whole[(slice(None),) * at + (slice(0, -1),)]], at)

    return scan


def _cumsum_gradient(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    """Each element counts for all results behind it: a running sum from the back."""
    x, axis = call.args[0], call.attrs["axis"]
    at = 0 if axis is None else axis
    back = flip(cumsum(flip(grad, at), at, exclusive=call.attrs["exclusive"]), at)
    if call.attrs["dtype"] is not None and call.attrs["dtype"] != x.ty.dtype:
        from ..ir.relax import get_op

        back = get_op("relax.astype")(back, x.ty.dtype)
    return [back if axis is not None else reshape(back, shape_like(x))]


def _scan_type(op: str, data: Any, axis: int | None, dtype: DType | None) -> Type:
    ty = tensor_type(op, data)
    kept = dtype or ty.dtype
    if axis is None:
        return like(ty, None if ty.sizes is None else (product(ty.sizes),), kept, 1)
    axis_of(op, axis, ty.ndim)
    return like(ty, ty.sizes, kept, ty.ndim)


@relax_op(
    "relax.cumsum",
    pattern=OpPattern.OPAQUE,
    te=_scan_te("cumsum"),
    numpy=_scan_numpy("cumsum"),
    gradient=_cumsum_gradient,
)
def cumsum(
    data: Tensor, axis: int | None = None, dtype: DType | None = None, exclusive: bool = False
) -> Type:
    """The running sum along the axis, in `dtype`; without an axis, of the flattened tensor.

    With `exclusive` an element is not in its own sum: the first one is 0.
    """
    return _scan_type("cumsum", data, axis, dtype)


@relax_op("relax.cumprod", pattern=OpPattern.OPAQUE, te=_scan_te("cumprod"), numpy=_scan_numpy("cumprod"))
def cumprod(
    data: Tensor, axis: int | None = None, dtype: DType | None = None, exclusive: bool = False
) -> Type:
    """The running product along the axis, in `dtype`; without an axis, of the flattened tensor.

    With `exclusive` an element is not in its own product: the first one is 1.
    """
    return _scan_type("cumprod", data, axis, dtype)


__all__ = ["cumprod", "cumsum"]

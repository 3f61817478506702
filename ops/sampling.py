"""Choosing by chance: multinomial_from_uniform."""

# The programs are read as the language of loops; a type checker takes them for Python.
# mypy: disable-error-code="valid-type, no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import functools
from typing import Any

from .. import te
from ..dtype import DType
from ..ir import PrimFunc, Type
from ..ir.relax import OpPattern, TensorType, relax_op
from ..ir.relax.op import Tensor
from ..script import tirx as T
from .faults import shape_fault, type_fault
from .indexing import index_type
from .infer import constant, float_only, tensor_type
from .programs import run

INT64 = DType("int64")


@functools.cache
def _program(dtype: str, source: str, target: str) -> PrimFunc:
    """For each sample the first index whose running sum of probabilities is above the uniform value."""

    @T.prim_func(check_well_formed=False)
    def multinomial(
        prob: T.Buffer(("a",), dtype),
        uniform: T.Buffer(("b",), dtype),
        rows: T.Buffer(("c",), source),
        out: T.Buffer(("d",), target),
        n: T.int64,
        width: T.int64,
    ):
        for s in range(n):
            total = T.alloc_buffer((1,), dtype, scope="local")
            at = T.alloc_buffer((1,), "int64", scope="local")
            base: T.int64 = T.Cast("int64", rows[s]) * width
            total[0] = T.Cast(dtype, 0)
            at[0] = T.int64(0)
            while at[0] < width - 1:
                total[0] = total[0] + prob[base + at[0]]
                if total[0] > uniform[s]:
                    T.break_loop()
                at[0] = at[0] + 1
            out[s] = T.Cast(target, at[0])

    return multinomial


def _te(
    prob: te.Tensor, uniform_sample: te.Tensor, sample_indices: te.Tensor, dtype: DType = INT64
) -> te.Tensor:
    program = _program(str(prob.dtype), str(sample_indices.dtype), str(dtype))
    scalars = [uniform_sample.shape[0], prob.shape[1]]
    inputs = [prob, uniform_sample, sample_indices]
    return run(program, inputs, [(uniform_sample.shape, dtype)], scalars, "multinomial_from_uniform")[0]


def _numpy(prob: Any, uniform_sample: Any, sample_indices: Any, dtype: DType = INT64) -> Any:
    import numpy as np

    total = np.add.accumulate(prob, 1, dtype=prob.dtype)[sample_indices[:, 0]]
    above = total > uniform_sample
    above[:, -1] = True
    return above.argmax(1)[:, None].astype(dtype.numpy())


@relax_op("relax.multinomial_from_uniform", pattern=OpPattern.OPAQUE, te=_te, numpy=_numpy)
def multinomial_from_uniform(
    prob: Tensor, uniform_sample: Tensor, sample_indices: Tensor, dtype: DType = INT64
) -> Type:
    """For each uniform value an index of the row of probabilities that `sample_indices` names.

    It is the first index up to which the probabilities add up to more than the value; the last one where
    rounding leaves none.
    """
    name = "multinomial_from_uniform"
    table = float_only(name, tensor_type(name, prob, "prob"), "prob")
    values = float_only(name, tensor_type(name, uniform_sample, "uniform_sample"), "uniform_sample")
    rows = index_type(name, sample_indices, "sample_indices")
    for ty, what in ((table, "prob"), (values, "uniform_sample"), (rows, "sample_indices")):
        if ty.ndim not in (-1, 2):
            shape_fault(name, f"`{what}` has {ty.ndim} dimensions, not two")
    if table.dtype is not None and values.dtype not in (None, table.dtype):
        type_fault(name, f"`prob` is of `{table.dtype}`, `uniform_sample` of `{values.dtype}`")
    if dtype.is_float or dtype.is_bool:
        type_fault(name, f"`dtype` must be one of integers, not `{dtype}`")
    for ty, what in ((values, "uniform_sample"), (rows, "sample_indices")):
        if ty.sizes is not None and constant(ty.sizes[1]) not in (None, 1):
            shape_fault(name, f"`{what}` must have one column")
    if values.sizes is not None and rows.sizes is not None:
        a, b = constant(values.sizes[0]), constant(rows.sizes[0])
        if a is not None and b is not None and a != b:
            shape_fault(name, f"there are {a} uniform values for {b} indices")
    return TensorType(values.shape, dtype, table.vdevice, 2)


__all__ = ["multinomial_from_uniform"]

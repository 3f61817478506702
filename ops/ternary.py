"""Operators that compute each element from the elements of three operands."""

from __future__ import annotations

from typing import Any

from .. import te
from ..ir import Type
from ..ir.relax import OpPattern, TensorType, relax_op, same_size
from ..ir.relax.op import Tensor
from . import derivatives as d
from .binary import broadcast_type
from .elementwise import as_function, broadcasting, no_bool
from .faults import shape_fault, type_fault
from .infer import common_dtype, constant, show, tensor_type
from .layout_rules import follow


def _fma_numpy(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


@relax_op(
    "relax.ewise_fma",
    pattern=OpPattern.ELEMWISE,
    te=broadcasting("ewise_fma", lambda a, b, c: a * b + c, "T_fma"),
    numpy=_fma_numpy,
    layout=follow,
    gradient=d.ewise_fma,
)
def ewise_fma(x1: Tensor, x2: Tensor, x3: Tensor) -> Type:
    """x1 * x2 + x3 of tensors of one shape."""
    types = [
        no_bool("ewise_fma", tensor_type("ewise_fma", x, f"x{i}"), f"x{i}")
        for i, x in enumerate((x1, x2, x3), 1)
    ]
    common_dtype("ewise_fma", types[0], types[2])
    dtype = common_dtype("ewise_fma", types[0], types[1])
    for ty in types[1:]:
        _one_shape(types[0], ty)
    ndim = max(t.ndim for t in types)
    alike = all(t.sizes is not None or t.shape is types[0].shape for t in types)
    shape = types[0].shape if alike else None
    return TensorType(shape, dtype, types[0].vdevice, ndim)


def _one_shape(a: TensorType, b: TensorType) -> None:
    if a.ndim != b.ndim and min(a.ndim, b.ndim) >= 0:
        shape_fault("ewise_fma", f"the operands have {a.ndim} and {b.ndim} dimensions")
    for x, y in zip(a.sizes or (), b.sizes or ()):
        if not same_size(x, y) and constant(x) is not None and constant(y) is not None:
            assert a.sizes is not None and b.sizes is not None
            shape_fault("ewise_fma", f"the operands have the shapes {show(a.sizes)} and {show(b.sizes)}")


@relax_op(
    "relax.where",
    pattern=OpPattern.BROADCAST,
    te=broadcasting("where", te.select, "T_where"),
    numpy=as_function("where"),
    layout=follow,
    gradient=d.where,
)
def where(condition: Tensor, x1: Tensor, x2: Tensor) -> Type:
    """x1 where the condition holds, else x2; all three are broadcast."""
    asked = tensor_type("where", condition, "condition")
    if asked.dtype is not None and not asked.dtype.is_bool:
        type_fault("where", f"`condition` must be of bools, not of `{asked.dtype}`")
    dtype = common_dtype("where", tensor_type("where", x1, "x1"), tensor_type("where", x2, "x2"))
    return broadcast_type("where", dtype, condition=condition, x1=x1, x2=x2)


__all__ = ["ewise_fma", "where"]

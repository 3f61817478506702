"""Tensor expressions: tensors defined element by element, made into programs of loops and blocks.

    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    func = te.create_prim_func([A, B])

`placeholder`, `compute`, `scan`, `extern` and `extern_primfunc` give tensors; `reduce_axis` with `sum`,
`prod`, `min`, `max` or a `comm_reducer` of one's own reduces; `create_prim_func` makes the function.
"""

from __future__ import annotations

from typing import Any

from ..ir import CommReducer, Reduce
from ..ir.intrin import max_value, min_value
from . import show  # noqa: F401  elements of tensors print
from .axes import Axis, const, reduce_axis, size_var, thread_axis, var
from .compute import compute, placeholder
from .create import create_prim_func
from .elementwise import broadcast, elementwise
from .extern import extern, extern_primfunc
from .faults import TensorExpressionError, TensorTypeError, UnsupportedOperation
from .mathematics import FUNCTIONS
from .operation import ComputeOp, ExternOp, Operation, PlaceholderOp, ScanOp
from .reducer import Reducer, comm_reducer, max, min, prod, sum
from .scanning import scan
from .serial import decode, is_encoded, load_json, save_json
from .tag import TagScope, tag_scope
from .tensor import ProducerLoad, Tensor, TensorSlice


def __getattr__(name: str) -> Any:
    """A function of values, such as `exp`. Raises AttributeError for a name that is none."""
    found = FUNCTIONS.get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, *FUNCTIONS])


__all__ = [
    "Axis",
    "CommReducer",
    "ComputeOp",
    "ExternOp",
    "Operation",
    "PlaceholderOp",
    "ProducerLoad",
    "Reduce",
    "Reducer",
    "ScanOp",
    "TagScope",
    "Tensor",
    "TensorExpressionError",
    "TensorSlice",
    "TensorTypeError",
    "UnsupportedOperation",
    "broadcast",
    "comm_reducer",
    "compute",
    "const",
    "create_prim_func",
    "decode",
    "elementwise",
    "extern",
    "extern_primfunc",
    "is_encoded",
    "load_json",
    "max",
    "max_value",
    "min",
    "min_value",
    "placeholder",
    "prod",
    "reduce_axis",
    "save_json",
    "scan",
    "size_var",
    "sum",
    "tag_scope",
    "thread_axis",
    "var",
]

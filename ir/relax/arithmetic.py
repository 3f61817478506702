"""Python's operators on tensors: `x + 1` is `R.add(x, R.const(1, x.dtype))`, `t[0]` a field of a tuple."""

from __future__ import annotations

from typing import Any

from ...dtype import DType
from ...errors import Diagnostic, DTypeError
from ..expr import Expr, Tuple, TupleGetItem
from ..text import text
from ..types import TupleType
from .constant import tensor_constant
from .op import get_op
from .types import TensorType

_OPERATORS = {
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "Div": "divide",
    "Mod": "mod",
    "FloorDiv": "floor_divide",
    "FloorMod": "mod",
    "Min": "minimum",
    "Max": "maximum",
    "Pow": "power",
    "EQ": "equal",
    "NE": "not_equal",
    "LT": "less",
    "LE": "less_equal",
    "GT": "greater",
    "GE": "greater_equal",
    "And": "logical_and",
    "Or": "logical_or",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "LShift": "left_shift",
    "RShift": "right_shift",
    "Neg": "negative",
    "Abs": "abs",
    "BitwiseNot": "bitwise_not",
    "Cast": "astype",
}
"""The graph operator for each class of scalar operation, and for the functions without a class."""


def is_tensor(value: Any) -> bool:
    """Whether this is an expression of a tensor type."""
    return isinstance(value, Expr) and isinstance(value.ty, TensorType)


def on_tensors(operation: str, *operands: Any, **attrs: Any) -> Expr:
    """The graph operator for a scalar operation, of which some operand is a tensor.

    Numbers become constants of the tensor's dtype; a float among integers is float32, so that the
    operator's type rule refuses it.
    """
    dtype = next(v.ty.dtype for v in operands if is_tensor(v))
    made = [v if isinstance(v, Expr) else _constant(v, dtype) for v in operands]
    return get_op(f"relax.{_OPERATORS[operation]}")(*made, **attrs)


def _constant(value: Any, dtype: DType | None) -> Expr:
    exact = dtype is not None and (dtype.is_float or not isinstance(value, float))
    return tensor_constant(value, dtype if exact else None)


def item(value: Expr, index: Any) -> Expr:
    """The field of a tuple; that of a tuple that is written out itself. Raises DTypeError for others."""
    if not isinstance(value.ty, TupleType):
        raise DTypeError(
            Diagnostic(
                "type-mismatch",
                f"a value of type `{text(value.ty)}` has no fields to index",
                help=("a part of a tensor is `R.strided_slice(x, ...)` or `R.take(x, indices, axis)`",)
                if is_tensor(value)
                else (),
            )
        )
    if isinstance(index, bool) or not hasattr(index, "__index__"):
        raise DTypeError(Diagnostic("type-mismatch", "a field of a tuple is named by an integer"))
    number = index.__index__()
    if isinstance(value, Tuple) and 0 <= number < len(value.fields_):
        return value.fields_[number]
    return TupleGetItem(value, number)


__all__ = ["is_tensor", "item", "on_tensors"]

"""`placeholder` and `compute`: tensors that are given, and tensors that are computed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..ir import Expr, IterVar, Range, Var, as_expr
from ..ir import const as ir_const
from ..ir.promote import is_operand
from .axes import Axis
from .faults import fault, plural, type_fault
from .operation import ComputeOp, PlaceholderOp, as_dtype, as_shape
from .tensor import Tensor, TensorSlice


def placeholder(shape: Any, dtype: Any = None, name: str = "placeholder") -> Tensor:
    """A tensor that is given when the program runs; by default of float32.

    Raises TensorTypeError when an extent of the shape is no integer.
    """
    return PlaceholderOp(name, as_shape(shape, name), as_dtype(dtype)).output(0)


def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """The tensor whose element at `i, j, ...` is `fcompute(i, j, ...)`.

    The function is called once, with the variables of the axes, and gives an expression; a tuple of
    expressions gives as many tensors.  Parameters name the axes; those that a `*rest` parameter takes
    are named by `varargs_names`, else i0, i1, ...  The attributes become annotations of the block.
    Raises TensorExpressionError when the function takes another number of indices than the shape
    has dimensions, and when its value is none or uses a reduction within an expression.
    """
    extents = as_shape(shape, name)
    if not callable(fcompute):
        raise type_fault(f"`{name}` needs a function of its indices, not a {type(fcompute).__name__}")
    names = axis_names(fcompute, len(extents), name, varargs_names)
    axes = [_axis(n, extent) for n, extent in zip(names, extents)]
    result = fcompute(*[a.var for a in axes])
    values = list(result) if isinstance(result, list | tuple) else [result]
    if not values:
        raise fault(f"the function of `{name}` gives no value")
    op = ComputeOp(name, tag, attrs, axes, [_value(v, name) for v in values])
    outputs = op.outputs()
    return outputs if isinstance(result, list | tuple) and len(outputs) > 1 else outputs[0]


def _axis(name: str, extent: Expr) -> IterVar:
    return Axis(Range(ir_const(0, extent.dtype), extent), Var(name, extent.ty), IterVar.DATA_PAR)


def axis_names(
    function: Callable[..., Any], rank: int, name: str, varargs_names: Sequence[str] | None = None
) -> list[str]:
    """A name for each dimension, from the parameters of the function.

    Raises TensorExpressionError when it does not take so many indices.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [f"i{i}" for i in range(rank)]
    if any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters):
        raise fault(f"the function of `{name}` has parameters that only keywords reach")
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = len([p for p in places if p.default is p.empty])
    rest = rank - len(places)
    takes_more = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if rank < needed or (rest > 0 and not takes_more):
        takes = plural(needed if rank < needed else len(places), "index", "indices")
        raise fault(
            f"the function of `{name}` takes {takes}, but its shape has {plural(rank, 'dimension')}",
            help=("give it one parameter for each dimension, or a `*indices` parameter",),
        )
    own = [p.name for p in places[:rank]]
    if rest <= 0:
        return own
    if varargs_names is None:
        return own + [f"i{i}" for i in range(rest)]
    if len(varargs_names) != rest:
        raise fault(
            f"`varargs_names` of `{name}` has {plural(len(varargs_names), 'name')}, "
            f"but {plural(rest, 'dimension')} need one"
        )
    return own + list(varargs_names)


def _value(value: Any, name: str) -> Expr:
    if isinstance(value, Tensor | TensorSlice):
        of = value.tensor if isinstance(value, TensorSlice) else value
        raise type_fault(
            f"the value of `{name}` is the tensor `{of.name}`, not an element of it",
            help=(f"index it, one index for each of its {plural(of.ndim, 'dimension')}",),
        )
    if value is None:
        raise type_fault(f"the function of `{name}` gives no value", help=("does it lack a `return`?",))
    if not is_operand(value):
        raise type_fault(f"the value of `{name}` is a {type(value).__name__}, not an expression")
    return as_expr(value)

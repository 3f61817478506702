"""Reductions: `comm_reducer`, and the ready ones `sum`, `prod`, `min`, `max`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

from ..dtype import DType
from ..ir import BOOL, CommReducer, Expr, IterVar, PrimType, Reduce, Var, intrin
from ..ir import const as ir_const
from ..ir import operators as op
from ..ir.promote import is_operand, operand
from .faults import fault, plural, type_fault

TRUE: Final = ir_const(True, "bool")


class Reducer:
    """A commutative and associative combination of values, with a neutral value.

    Called with an expression and axes, it is the reduction of the expression over the axes; called
    with values only, it is their combination.
    """

    __slots__ = ("__name__", "combine", "identity")

    def __init__(self, combine: Callable[..., Any], identity: Callable[..., Any], name: str) -> None:
        self.combine = combine
        self.identity = identity
        self.__name__ = name

    def __call__(self, expr: Any, axis: Any = None, where: Any = None, init: Any = None, *args: Any) -> Any:
        """The reduction of `expr` over `axis`, where the condition `where` holds, starting from `init`.

        `expr` may be several values, reduced together: then so many results come back.  Where `axis`
        is a value and no axis, the values are combined.  Raises TensorExpressionError for axes that
        are none to reduce over, and for a combination that does not fit the values.
        """
        if is_operand(axis) and not isinstance(axis, IterVar):
            return self._combined([expr, axis, *[a for a in (where, init, *args) if a is not None]])
        if axis is None or args:
            raise type_fault(
                f"`{self.__name__}` needs the axes to reduce over",
                help=("k = te.reduce_axis((0, n), 'k'); te.sum(A[i, k], axis=k)",),
            )
        axes = _axes(axis, self.__name__)
        sources = _values(expr, self.__name__)
        condition = TRUE if where is None else _condition(where, self.__name__)
        starts = () if init is None else _starts(init, sources, self.__name__)
        reducer = self._reducer([s.dtype for s in sources])
        made = [Reduce(reducer, sources, axes, condition, i, starts) for i in range(len(sources))]
        return made[0] if len(made) == 1 else tuple(made)

    def _combined(self, values: Sequence[Any]) -> Any:
        result = values[0]
        for value in values[1:]:
            result = self.combine(result, value)
        return result

    def _reducer(self, dtypes: Sequence[DType]) -> CommReducer:
        """The reducer for values of these dtypes, once their combination is seen to fit."""
        count = len(dtypes)
        suffixes = [""] if count == 1 else [str(i) for i in range(count)]
        left, right = _two_names(self.combine)
        lhs = [Var(left + s, PrimType(d)) for s, d in zip(suffixes, dtypes)]
        rhs = [Var(right + s, PrimType(d)) for s, d in zip(suffixes, dtypes)]
        if count == 1:
            result, neutral = self.combine(lhs[0], rhs[0]), self.identity(dtypes[0])
        else:
            result, neutral = self.combine(tuple(lhs), tuple(rhs)), self.identity(*dtypes)
        results = self._fitting(result, dtypes, "combination")
        return CommReducer(lhs, rhs, results, self._fitting(neutral, dtypes, "neutral value"))

    def _fitting(self, values: Any, dtypes: Sequence[DType], what: str) -> list[Expr]:
        found = list(values) if isinstance(values, list | tuple) else [values]
        if len(found) != len(dtypes):
            raise fault(
                f"the {what} of `{self.__name__}` gives {plural(len(found), 'value')}, "
                f"but {plural(len(dtypes), 'value')} are reduced"
            )
        made = []
        for value, dtype in zip(found, dtypes):
            e = operand(value, like=dtype) if is_operand(value) else None
            if e is None or e.dtype is not dtype:
                have = f"a {type(value).__name__}" if e is None else f"`{e.dtype}`"
                raise fault(f"the {what} of `{self.__name__}` for a `{dtype}` is {have}")
            made.append(e)
        return made

    def __repr__(self) -> str:
        return f"<reducer {self.__name__}>"


def _two_names(combine: Callable[..., Any]) -> tuple[str, str]:
    try:
        names = [p.name for p in inspect.signature(combine).parameters.values()][:2]
    except (TypeError, ValueError):
        names = []
    return (names[0], names[1]) if len(names) == 2 else ("x", "y")


def _axes(axis: Any, name: str) -> tuple[IterVar, ...]:
    axes = tuple(axis) if isinstance(axis, list | tuple) else (axis,)
    for one in axes:
        if not isinstance(one, IterVar):
            shown = f"`{one.name}`" if isinstance(one, Var) else f"a {type(one).__name__}"
            raise type_fault(
                f"`{name}` reduces over reduction axes, not over {shown}",
                help=("make one with te.reduce_axis((begin, end), name)",),
            )
        if one.iter_type != IterVar.COMM_REDUCE:
            raise fault(f"`{name}` reduces over reduction axes; `{one.var.name}` is another kind of axis")
    if len({id(one.var) for one in axes}) != len(axes):
        raise fault(f"an axis stands twice in the reduction `{name}`")
    return axes


def _values(expr: Any, name: str) -> tuple[Expr, ...]:
    values = tuple(expr) if isinstance(expr, list | tuple) else (expr,)
    for value in values:
        if not is_operand(value):
            raise type_fault(f"`{name}` reduces values, not a {type(value).__name__}")
    if not values:
        raise fault(f"`{name}` has nothing to reduce")
    return tuple([operand(v) for v in values])


def _condition(where: Any, name: str) -> Expr:
    if not is_operand(where) or operand(where).ty is not BOOL:
        raise type_fault(f"the condition of `{name}` must be a bool")
    return operand(where)


def _starts(init: Any, sources: Sequence[Expr], name: str) -> tuple[Expr, ...]:
    values = list(init) if isinstance(init, list | tuple) else [init]
    if len(values) != len(sources):
        raise fault(
            f"`{name}` reduces {plural(len(sources), 'value')} but `init` has {plural(len(values), 'value')}"
        )
    made = []
    for value, source in zip(values, sources):
        e = operand(value, like=source) if is_operand(value) else None
        if e is None or e.ty is not source.ty:
            have = f"a {type(value).__name__}" if e is None else f"`{e.dtype}`"
            raise type_fault(f"`init` of `{name}` is {have}, the reduced value `{source.dtype}`")
        made.append(e)
    return tuple(made)


def comm_reducer(
    fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Reducer:
    """A reduction of one's own.

    `fcombine(x, y)` combines two values and `fidentity(dtype)` is the neutral value; for reductions of
    several values at once they take and give tuples, and `fidentity` takes so many dtypes.
    """
    for function, what in ((fcombine, "combination"), (fidentity, "neutral value")):
        if not callable(function):
            raise type_fault(f"the {what} of `{name}` is a function, not a {type(function).__name__}")
    return Reducer(fcombine, fidentity, name)


def _zero(dtype: DType) -> Expr:
    return ir_const(0, dtype)


def _one(dtype: DType) -> Expr:
    return ir_const(1, dtype)


sum = comm_reducer(lambda x, y: op.add(x, y), _zero, "sum")
prod = comm_reducer(lambda x, y: op.mul(x, y), _one, "prod")
min = comm_reducer(lambda x, y: op.min_(x, y), intrin.max_value, "min")
max = comm_reducer(lambda x, y: op.max_(x, y), intrin.min_value, "max")

__all__ = [
    "Reducer",
    "comm_reducer",
    "max",
    "min",
    "prod",
    "sum",
]

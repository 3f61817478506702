"""Gradients against differences of the numpy meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...dtype import DType
from ...ir import Expr, IRModule, Tuple, TupleType, Var
from ...ir.relax import Function, get_op
from ...ir.relax.block_builder import BlockBuilder
from ...ops.faults import ShapeFault
from ..graphs import evaluate
from .check import SIZES, arguments, graph
from .spec import Case, OperandSpec

STEP = 1e-5
TOLERANCE = 1e-5


def smooth(case: Case) -> Case | None:
    """The case in double precision, at values away from kinks; None where its result is not of floats."""
    made = replace(case, operands=tuple([_smooth(o) for o in case.operands]))
    ty = graph(made, SIZES[0]).body.body.ty
    results = ty.fields_ if isinstance(ty, TupleType) else (ty,)
    return made if all(str(getattr(t, "dtype", "")) == "float64" for t in results) else None


def check_gradient(case: Case) -> None:
    """Check the gradient of the operator of a smooth case.

    It is compared with central differences for each element of each operand of floats; where an operator
    refuses to give its gradient, there is nothing to compare.
    """
    func = graph(case, SIZES[0])
    given = arguments(case, SIZES[0], symbolic=False)
    rng = np.random.default_rng(7)
    weights = _each(evaluate(func, *given), lambda array: np.asarray(rng.normal(size=array.shape)))
    try:
        mod, asked = _adjoint(func)
    except ShapeFault:
        return
    for operand, gradient in zip(asked, evaluate(mod, *given, weights), strict=True):
        place = next((k for k, p in enumerate(func.params) if p is operand), None)
        if place is None or not DType(given[place].dtype).is_float:
            continue
        want = _differences(func, given, place, weights)
        what = f"{case.id}, operand {place}"
        np.testing.assert_allclose(gradient, want, rtol=TOLERANCE, atol=TOLERANCE, err_msg=what)


def _smooth(operand: Any) -> Any:
    """The operand with values at which nothing has a kink."""
    if isinstance(operand, list):
        return [_smooth(o) for o in operand]
    if not isinstance(operand, OperandSpec) or not operand.dtype.is_float:
        return operand
    kinks = not isinstance(operand.values, str) or operand.values in ("numbers", "special")
    values = "normal" if kinks else operand.values
    return replace(operand, dtype=DType("float64"), values=values)


def _adjoint(func: Function) -> tuple[IRModule, list[Expr]]:
    """A module whose `main` gives gradients from operands and the gradient of the result; whose they are."""
    call: Any = func.body.body
    rec = get_op(call.op.name)
    assert rec.gradient is not None
    builder = BlockBuilder()
    grad = Var("grad", call.ty)
    with builder.function("main", [*func.params, grad]):
        made = rec.gradient(builder.emit(call), call, grad, builder)
        pairs = [p for p in zip(_flat(call.args), _flat(made), strict=True) if p[1] is not None]
        builder.emit_func_output(Tuple([gradient for _, gradient in pairs]))
    return builder.get(), [operand for operand, _ in pairs]


def _each(value: Any, function: Callable[[Any], Any]) -> Any:
    return tuple([function(v) for v in value]) if isinstance(value, tuple) else function(value)


def _flat(values: Any) -> list[Any]:
    """Values in order, those of tuples one by one."""
    out: list[Any] = []
    for value in values:
        inner = value.fields_ if isinstance(value, Tuple) else value
        out += _flat(inner) if isinstance(inner, tuple | list) else [inner]
    return out


def _differences(func: Function, given: Sequence[Any], place: int, weights: Any) -> Any:
    """The derivative of the weighed sum of the result by each element of an argument; NaN counts as 0."""

    def total(x: Any) -> float:
        result = evaluate(func, *given[:place], x, *given[place + 1 :])
        pairs = zip(result, weights) if isinstance(result, tuple) else [(result, weights)]
        return float(sum([np.nansum(r * w) for r, w in pairs]))

    found = np.zeros(given[place].shape)
    for k in np.ndindex(found.shape):
        up, down = given[place].copy(), given[place].copy()
        up[k] += STEP
        down[k] -= STEP
        found[k] = (total(up) - total(down)) / (2 * STEP)
    return found


__all__ = ["check_gradient", "smooth"]

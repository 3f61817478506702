"""Integer expressions over arrays of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ....ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    Broadcast,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    LShift,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Op,
    Or,
    Ramp,
    RShift,
    Select,
    Sub,
    Var,
)

Values = Any
"""A numpy array of int64, or of bool."""


class Unknown(Exception):
    """An expression whose value cannot be told here."""


def evaluate(e: Expr, values: Mapping[Var, Values]) -> Values:
    """The values of a scalar integer expression for those of its variables. Raises Unknown."""
    if isinstance(e, IntImm):
        import numpy as np

        return np.int64(e.value)
    if isinstance(e, Var):
        if e not in values:
            raise Unknown
        return values[e]
    if isinstance(e, Cast):
        if not (e.dtype.is_integral and e.value.dtype.is_integral):
            raise Unknown
        value = evaluate(e.value, values)
        return _truth(value) if e.dtype.is_bool else _number(value) if e.value.dtype.is_bool else value
    if isinstance(e, Not):
        return ~_truth(evaluate(e.a, values))
    if isinstance(e, Select):
        return _chosen(e.condition, e.true_value, e.false_value, values)
    if isinstance(e, Call) and isinstance(e.op, Op):
        if e.op.name == "prim.likely":
            return evaluate(e.args[0], values)
        if e.op.name == "prim.if_then_else":
            return _chosen(e.args[0], e.args[1], e.args[2], values)
    rule = _RULES.get(type(e))
    if rule is None or not e.a.dtype.is_integral:  # type: ignore[attr-defined]
        raise Unknown
    return rule(evaluate(e.a, values), evaluate(e.b, values))  # type: ignore[attr-defined]


def lanes(e: Expr, values: Mapping[Var, Values]) -> Values:
    """The values of an index, with one more dimension at the end for the lanes of a vector."""
    import numpy as np

    if isinstance(e, Broadcast):
        return np.asarray(evaluate(e.value, values))[..., None]
    if isinstance(e, Ramp):
        if not isinstance(e.lanes, IntImm):
            raise Unknown
        base, stride = evaluate(e.base, values), evaluate(e.stride, values)
        return np.asarray(base)[..., None] + np.asarray(stride)[..., None] * np.arange(e.lanes.value)
    if e.dtype.is_vector:
        raise Unknown
    return np.asarray(evaluate(e, values))[..., None]


def _truth(v: Values) -> Values:
    import numpy as np

    return np.asarray(v).astype(bool)


def _number(v: Values) -> Values:
    import numpy as np

    return np.asarray(v).astype(np.int64)


def _chosen(condition: Expr, a: Expr, b: Expr, values: Mapping[Var, Values]) -> Values:
    import numpy as np

    return np.where(_truth(evaluate(condition, values)), evaluate(a, values), evaluate(b, values))


def _quotient(a: Values, b: Values) -> Values:
    import numpy as np

    if np.any(b == 0):
        raise Unknown
    return a // b


def _remainder(a: Values, b: Values) -> Values:
    return a - _quotient(a, b) * b


def _toward_zero(a: Values, b: Values) -> Values:
    import numpy as np

    return np.sign(a) * np.sign(b) * _quotient(np.abs(a), np.abs(b))


def _shifted(a: Values, b: Values, left: bool) -> Values:
    import numpy as np

    if np.any((b < 0) | (b > 31)):
        raise Unknown
    return a << b if left else a >> b


def _least(a: Values, b: Values) -> Values:
    import numpy as np

    return np.minimum(a, b)


def _most(a: Values, b: Values) -> Values:
    import numpy as np

    return np.maximum(a, b)


_RULES: Final[dict[type[Expr], Callable[[Values, Values], Values]]] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    FloorDiv: _quotient,
    FloorMod: _remainder,
    Div: _toward_zero,
    Mod: lambda a, b: a - _toward_zero(a, b) * b,
    Min: _least,
    Max: _most,
    LShift: lambda a, b: _shifted(a, b, True),
    RShift: lambda a, b: _shifted(a, b, False),
    BitwiseAnd: lambda a, b: a & b,
    BitwiseOr: lambda a, b: a | b,
    BitwiseXor: lambda a, b: a ^ b,
    EQ: lambda a, b: a == b,
    NE: lambda a, b: a != b,
    LT: lambda a, b: a < b,
    LE: lambda a, b: a <= b,
    GT: lambda a, b: a > b,
    GE: lambda a, b: a >= b,
    And: lambda a, b: _truth(a) & _truth(b),
    Or: lambda a, b: _truth(a) | _truth(b),
}

"""Evaluation of integer expressions on Python numbers and on whole grids of points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...errors import DivisionError, UnsupportedError
from ...node import runs_deep
from ..expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOp,
    BitwiseAnd,
    BitwiseNot,
    BitwiseOr,
    BitwiseXor,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    LShift,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    RShift,
    Select,
    Sub,
    Var,
)
from ..op import Op
from .bounds import trunc_div, trunc_mod


@runs_deep
def evaluate(e: Expr, values: Mapping[Var, int]) -> int:
    """The value of a scalar integer or bool expression over the integers: nothing wraps but casts and shifts.

    Raises DivisionError for a division by zero, UnsupportedError for what has no integer value here.
    """
    return _value(e, dict(values))


def _value(e: Expr, env: dict[Var, int]) -> int:
    if isinstance(e, IntImm):
        return e.value
    if isinstance(e, Var):
        if e not in env:
            raise UnsupportedError(f"`{e.name}` has no value here")
        return env[e]
    if isinstance(e, And | Or):
        first = _value(e.a, env)
        return int(bool(_value(e.b, env))) if bool(first) is isinstance(e, And) else int(bool(first))
    if isinstance(e, Select):
        a, b = _value(e.true_value, env), _value(e.false_value, env)
        return a if _value(e.condition, env) else b
    if isinstance(e, Call) and isinstance(e.op, Op):
        if e.op.name == "prim.if_then_else":
            return _value(e.args[1] if _value(e.args[0], env) else e.args[2], env)
        if e.op.name == "prim.likely":
            return _value(e.args[0], env)
    if isinstance(e, Let):
        return _value(e.body, {**env, e.var: _value(e.value, env)})
    if isinstance(e, Not):
        return int(not _value(e.a, env))
    if isinstance(e, BitwiseNot):
        return int(e.dtype.wrap(~_value(e.a, env)))
    if isinstance(e, Cast) and e.dtype.is_integral:
        return int(e.dtype.wrap(_value(e.value, env)))
    rule = _BINARY.get(type(e))
    if rule is None or not isinstance(e, BinaryOp):
        raise UnsupportedError(f"{type(e).__name__} has no integer value here")
    a, b = _value(e.a, env), _value(e.b, env)
    if b == 0 and type(e) in (Div, Mod, FloorDiv, FloorMod):
        raise DivisionError("division by zero")
    if type(e) is LShift:
        return int(e.dtype.wrap(a << b)) if 0 <= b < e.dtype.bits else 0
    if type(e) is RShift:
        return a >> (b if 0 <= b < e.dtype.bits else e.dtype.bits)
    return int(rule(a, b))


_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    FloorDiv: lambda a, b: a // b,
    FloorMod: lambda a, b: a % b,
    Div: trunc_div,
    Mod: trunc_mod,
    Min: min,
    Max: max,
    EQ: lambda a, b: a == b,
    NE: lambda a, b: a != b,
    LT: lambda a, b: a < b,
    LE: lambda a, b: a <= b,
    GT: lambda a, b: a > b,
    GE: lambda a, b: a >= b,
    BitwiseAnd: lambda a, b: a & b,
    BitwiseOr: lambda a, b: a | b,
    BitwiseXor: lambda a, b: a ^ b,
    LShift: lambda a, b: a << b,
    RShift: lambda a, b: a >> b,
}

_GRID = frozenset({Add, Sub, Mul, FloorDiv, FloorMod})


@runs_deep
def evaluate_on_grid(e: Expr, values: Mapping[Var, Any]) -> Any:
    """As `evaluate`, for numpy arrays of values; sums, products and floor divisions only."""
    if isinstance(e, IntImm):
        return e.value
    if isinstance(e, Var) and e in values:
        return values[e]
    if isinstance(e, Cast):
        return evaluate_on_grid(e.value, values)
    if type(e) in _GRID and isinstance(e, BinaryOp):
        return _BINARY[type(e)](evaluate_on_grid(e.a, values), evaluate_on_grid(e.b, values))
    raise UnsupportedError(f"{type(e).__name__} has no value on a grid")

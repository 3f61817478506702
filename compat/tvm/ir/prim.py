"""`tvm.ir.prim`: scalar expressions."""

from __future__ import annotations

from typing import Any

from .... import ir
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
    BitwiseNot,
    BitwiseOr,
    BitwiseXor,
    Broadcast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    Let,
    LShift,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    RShift,
    Select,
    Shuffle,
    Sub,
    const,
    max_value,
    min_value,
)
from ....ir import BinaryOp as BinaryOpExpr
from ....ir import Comparison as CmpExpr
from ...adapters import adapts, lacking


@adapts(ir.IntImm)
def IntImm(dtype: Any, value: int, span: Any = None) -> Any:
    """An integer constant."""
    return ir.IntImm(dtype, value, span)


@adapts(ir.FloatImm)
def FloatImm(dtype: Any, value: float, span: Any = None) -> Any:
    """A float constant."""
    return ir.FloatImm(dtype, value, span)


@adapts(ir.Cast)
def Cast(dtype: Any, value: Any, span: Any = None) -> Any:
    """A conversion."""
    return ir.Cast(dtype, value, span)


def expr_deep_equal(lhs: Any, rhs: Any) -> bool:
    """Whether two expressions are equal node by node, variables by identity."""
    return ir.structural_equal(ir.as_expr(lhs), ir.as_expr(rhs))


def convert(expr: Any) -> Any:
    """A Python value as an expression."""
    return ir.as_expr(expr)


_missing = lacking("tvm.ir.prim")


def __getattr__(name: str) -> Any:
    """The operators that live under `prim.`. Raises AttributeError for others."""
    record = ir.find_record(f"prim.{name}")
    return record.build if record is not None else _missing(name)


__all__ = [
    "EQ",
    "GE",
    "GT",
    "LE",
    "LT",
    "NE",
    "Add",
    "And",
    "BinaryOpExpr",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Broadcast",
    "Cast",
    "CmpExpr",
    "Div",
    "Expr",
    "FloatImm",
    "FloorDiv",
    "FloorMod",
    "IntImm",
    "LShift",
    "Let",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Not",
    "Or",
    "RShift",
    "Ramp",
    "Select",
    "Shuffle",
    "Sub",
    "const",
    "convert",
    "expr_deep_equal",
    "max_value",
    "min_value",
]

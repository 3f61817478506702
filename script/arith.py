"""Operators of the script: promotion as everywhere, folding only of constant (op) constant.

Identities such as `x + 0` stay, so that printing a program and parsing it back loses nothing.
Two plain Python values are combined by Python, within the bounds of `static.py`.
"""

from __future__ import annotations

from typing import Any

from ..errors import Diagnostic, DTypeError, Span
from ..ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    AnyType,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    GlobalVar,
    IntImm,
    IterVar,
    LShift,
    Mul,
    PrimType,
    RShift,
    Sub,
    operators,
)
from ..ir.relax import TensorType
from .static import static_binary, static_compare, static_unary

BINARY: dict[str, Any] = {
    "+": Add,
    "-": Sub,
    "*": Mul,
    "/": Div,
    "//": FloorDiv,
    "%": FloorMod,
    "<<": LShift,
    ">>": RShift,
    "&": BitwiseAnd,
    "|": BitwiseOr,
    "^": BitwiseXor,
}
COMPARE: dict[str, Any] = {"<": LT, "<=": LE, ">": GT, ">=": GE, "==": EQ, "!=": NE}
_PLAIN_INTEGER = frozenset({Add, Sub, Mul, FloorDiv, FloorMod, LT, LE, GT, GE, EQ, NE})


def binary(op: str, a: Any, b: Any, span: Span | None = None) -> Any:
    """`a op b`. Raises DTypeError where the operands do not combine."""
    cls = BINARY.get(op)
    if isinstance(a, Expr):
        # the common case: two integers of one type, the first no constant
        if isinstance(b, Expr) and a.ty is b.ty and cls in _PLAIN_INTEGER and type(a) is not IntImm:
            ty = a.ty
            if type(ty) is PrimType and ty.dtype.code == 0:
                return cls(a, b, span)
    elif not isinstance(b, Expr) and not isinstance(a, IterVar) and not isinstance(b, IterVar):
        return static_binary(op, a, b)
    if is_graph_value(a) or is_graph_value(b):
        return graph_operator(_GRAPH.get(op), op, a, b)
    if cls is None:
        raise DTypeError(_no_operator(op))
    if cls is Div:
        return operators.div(a, b, span, "constants")
    return operators.binary(cls, a, b, "constants", span)


_GRAPH = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "floor_divide",
    "%": "mod",
    "**": "power",
    "@": "matmul",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
    "&": "bitwise_and",
    "|": "bitwise_or",
    "^": "bitwise_xor",
    "<<": "left_shift",
    ">>": "right_shift",
}
_GRAPH_UNARY = {"-": "negative", "~": "bitwise_not", "not": "logical_not"}


def is_graph_value(value: Any) -> bool:
    """Whether this is a tensor of the graph dialect, whose operators are those of graphs."""
    if not isinstance(value, Expr) or type(value) is GlobalVar:
        return False
    return type(value.ty) in (TensorType, AnyType)


def graph_operator(name: str | None, op: str, *operands: Any) -> Expr:
    """The call of a graph operator. Raises DTypeError where it does not take these operands."""
    from ..ir.relax import get_op

    if name is None:
        raise DTypeError(Diagnostic("unsupported-operator", f"tensors have no operator `{op}`"))
    for value in operands:
        if isinstance(value, bool | int | float):
            raise DTypeError(
                Diagnostic(
                    "type-mismatch",
                    f"`{op}` combines a tensor with the Python number {value!r}, which has no dtype",
                    help=(f'write `R.const({value!r}, "float32")` with the dtype of the tensor',),
                )
            )
    return get_op(f"relax.{name}")(*operands)


def _no_operator(op: str) -> Diagnostic:
    helps = {"**": ("use T.pow",), "@": ("write the loops of the product",)}
    return Diagnostic("unsupported-operator", f"the language has no operator `{op}`", help=helps.get(op, ()))


def compare(op: str, a: Any, b: Any, span: Span | None = None) -> Any:
    """`a op b` for one comparison."""
    cls = COMPARE.get(op)
    if cls is None:
        return _identity(op, a, b)
    if isinstance(a, Expr):
        if isinstance(b, Expr) and a.ty is b.ty and type(a) is not IntImm:
            ty = a.ty
            if type(ty) is PrimType and ty.dtype.code == 0:
                return cls(a, b, span)
    elif not isinstance(b, Expr) and not isinstance(a, IterVar) and not isinstance(b, IterVar):
        return static_compare(op, a, b)
    if is_graph_value(a) or is_graph_value(b):
        return graph_operator(_GRAPH.get(op), op, a, b)
    if cls is EQ:
        return operators.equal(a, b, span, "constants")
    if cls is NE:
        return operators.not_equal(a, b, span, "constants")
    return operators.binary(cls, a, b, "constants", span)


def _identity(op: str, a: Any, b: Any) -> bool:
    if op == "is":
        return a is b
    if op == "is not":
        return a is not b
    if not isinstance(a, Expr):
        return static_compare(op, a, b)
    if isinstance(b, tuple | list):
        found = False
        for item in b:
            found = found or a is item
        return found if op == "in" else not found
    raise DTypeError(_no_operator(op))


def logical(op: str, a: Any, b: Any) -> Any:
    """`a and b`, `a or b` where at least one is an expression; vectors combine bit by bit."""
    function = operators.logical_and if op == "and" else operators.logical_or
    return function(a, b, None, "constants")


def unary(op: str, value: Any, span: Span | None = None) -> Any:
    """`-value`, `+value`, `~value`, `not value`."""
    if not isinstance(value, Expr | IterVar):
        return static_unary(op, value)
    if is_graph_value(value):
        return value if op == "+" else graph_operator(_GRAPH_UNARY.get(op), op, value)
    if op == "-":
        if type(value) is FloatImm:
            return FloatImm(value.ty, -value.value)
        return operators.neg(value, span, "constants")
    if op == "+":
        return value
    return operators.logical_not(value, span) if op == "not" else operators.bitwise_not(value, span)

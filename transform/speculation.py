"""Which expressions may be evaluated earlier than, or where, they were not before."""

from __future__ import annotations

from ..ir import (
    Add,
    And,
    Broadcast,
    Call,
    Cast,
    Comparison,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Op,
    Or,
    Ramp,
    Select,
    Sub,
    Var,
)
from ..ir.visitor import walk

_TOTAL = (
    Add,
    And,
    Broadcast,
    Cast,
    Comparison,
    FloatImm,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Sub,
    Var,
)
_QUOTIENTS = (Div, FloorDiv, FloorMod, Mod)
_CALLS = ("prim.likely", "prim.if_then_else")


def never_fails(e: Expr) -> bool:
    """Whether evaluating the data expression anywhere in the scope of its variables is harmless.

    It reads no memory, has no effect, and divides only by constants other than 0 and -1.
    """
    for node in walk(e):
        if not isinstance(node, Expr):
            continue
        if not (isinstance(node, _TOTAL) or _is_safe_quotient(node) or _is_plain_call(node)):
            return False
    return True


def _is_safe_quotient(n: Expr) -> bool:
    return isinstance(n, _QUOTIENTS) and (
        n.dtype.is_float or (isinstance(n.b, IntImm) and n.b.value not in (0, -1))
    )


def _is_plain_call(n: Expr) -> bool:
    return isinstance(n, Call) and isinstance(n.op, Op) and n.op.name in _CALLS

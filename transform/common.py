"""Small things that several passes need."""

from __future__ import annotations

from typing import Any

from ..errors import Diagnostic, PassError
from ..ir import (
    Add,
    And,
    BufferType,
    Call,
    Expr,
    IntImm,
    Mul,
    Op,
    PrimFunc,
    PrimType,
    Sub,
    Type,
    Var,
    is_prim_expr,
)
from ..ir.arith.analyzer import reads_memory
from ..ir.stmt import Bind, Evaluate, Stmt
from ..node import Node
from .vectors import align, combine, convert


def refuse(code: str, message: str, node: Any = None, *help_lines: str) -> PassError:
    """The error of a pass that cannot handle this node."""
    return PassError(Diagnostic(code, message, span=getattr(node, "span", None), help=help_lines))


def buffer_type(buffer: Var) -> BufferType:
    """The type of a buffer variable."""
    ty = buffer.ty
    assert isinstance(ty, BufferType)
    return ty


def operator_name(node: Any) -> str:
    """The name of the operator that a call is of; empty for anything else."""
    return node.op.name if isinstance(node, Call) and isinstance(node.op, Op) else ""


def pointed_buffer(e: Any) -> Var | None:
    """The buffer whose data pointer this is, or None."""
    if operator_name(e) != "tirx.buffer_data":
        return None
    buffer = e.args[0]
    return buffer if isinstance(buffer, Var) else None


def widened(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Two integers with elements of the wider of their types."""
    return align(a, b)


def cast_to(e: Expr, ty: Type) -> Expr:
    """The integer, or vector of them, with elements of this scalar type; ramps stay ramps."""
    assert isinstance(ty, PrimType)
    return convert(e, ty.dtype)


def is_const(e: Expr | None, value: int) -> bool:
    """Whether this is the integer constant."""
    return isinstance(e, IntImm) and e.value == value


def plus(a: Expr, b: Expr) -> Expr:
    """a + b of integers, scalars or vectors; constants folded."""
    return combine(Add, a, b)


def minus(a: Expr, b: Expr) -> Expr:
    """a - b of integers, scalars or vectors; constants folded."""
    return combine(Sub, a, b)


def times(a: Expr, b: Expr) -> Expr:
    """a * b of integers, scalars or vectors; constants folded."""
    return combine(Mul, a, b)


def both(a: Expr | None, b: Expr) -> Expr:
    """a and b; b where a is None or true."""
    if a is None or is_const(a, 1):
        return b
    return a if is_const(b, 1) else And(a, b)


def conjuncts(cond: Expr) -> list[Expr]:
    """The operands of a conjunction, in order; none for a condition that always holds."""
    if isinstance(cond, And):
        return [*conjuncts(cond.a), *conjuncts(cond.b)]
    return [] if is_const(cond, 1) else [cond]


def is_steady(e: Expr) -> bool:
    """Whether the expression gives the same value wherever its variables are in scope: it reads no memory."""
    return not reads_memory(e)


def named(e: Expr, hint: str) -> tuple[list[Stmt], Expr]:
    """The expression where it is steady; otherwise a binding of its value now, and the name."""
    if is_steady(e):
        return [], e
    var = Var(hint, e.ty)
    return [Bind(var, e)], var


def is_nothing(stmt: Stmt | None) -> bool:
    """Whether the statement does nothing."""
    return stmt is None or (isinstance(stmt, Evaluate) and isinstance(stmt.value, IntImm))


def symbols_of(func: PrimFunc) -> set[Var]:
    """The scalar parameters and the symbols in the types of parameters."""
    from ..ir.visitor import symbol_vars

    found: set[Var] = set()
    for p in func.params:
        if is_prim_expr(p):
            found.add(p)
        found.update(symbol_vars(p))
    return found


def name_of(node: Node) -> str:
    """The name hint of a variable, for messages."""
    return str(getattr(node, "name", type(node).__name__))

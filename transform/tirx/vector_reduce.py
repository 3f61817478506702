"""A vectorized loop that only gathers into one cell: a vector at a time, its lanes combined pairwise."""

from __future__ import annotations

from ...ir import (
    Add,
    BinaryOp,
    Bind,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    BufferLoad,
    BufferStore,
    Expr,
    Max,
    Min,
    Mul,
    PrimType,
    Shuffle,
    Stmt,
    Var,
    const,
    seq,
    structural_equal,
)
from ...ir.arith.keys import is_pure_call
from ...ir.expr import Call
from ...ir.visitor import walk
from .lanes import Lanes, NotVectorError

_WHOLE = (Add, Mul, Min, Max, BitwiseAnd, BitwiseOr, BitwiseXor)
_REAL = (Add, Mul)


def gathered(stmt: Stmt, var: Var) -> tuple[BinaryOp, Expr] | None:
    """The operation and the value where the statement is `B[i] = B[i] op value`, i without the variable.

    Only operations whose order is free: all associative ones of integers, sums and products of floats,
    but not of those so narrow that they round nearly every sum.
    """
    if not isinstance(stmt, BufferStore) or not isinstance(stmt.value, BinaryOp):
        return None
    op, dtype = stmt.value, stmt.value.dtype
    if dtype.is_vector or dtype.is_bool or (dtype.is_float and dtype.bits < 32):
        return None
    if not isinstance(op, _REAL if dtype.is_float else _WHOLE):
        return None
    for old, value in ((op.a, op.b), (op.b, op.a)):
        same = isinstance(old, BufferLoad) and old.buffer is stmt.buffer
        if same and _equal(old.indices, stmt.indices) and _free(stmt, value, var):  # type: ignore[attr-defined]
            return op, value
    return None


def _equal(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    return len(a) == len(b) == 1 and structural_equal(a[0], b[0])


def _free(stmt: BufferStore, value: Expr, var: Var) -> bool:
    """Whether the cell stays the same in all iterations, and the value does not read its buffer."""
    if any(node is var or isinstance(node, BufferLoad | Call) for node in walk(stmt.indices[0])):
        return False
    for node in walk(value):
        if node is stmt.buffer or (isinstance(node, Call) and not is_pure_call(node)):
            return False
    return True


def reduced(lanes: Lanes, stmt: Stmt) -> Stmt | None:
    """The statement for all lanes at once, or None where it is no such reduction."""
    found = gathered(stmt, lanes.var)
    if found is None:
        return None
    assert isinstance(stmt, BufferStore)
    op, value = found
    try:
        vector = lanes.spread(lanes.expr(value))
    except NotVectorError:
        return None
    made: list[Stmt] = []
    total: Expr = BufferLoad(stmt.buffer, stmt.indices)
    count = lanes.count
    while count > 1:
        whole = Var("part", vector.ty)
        made.append(Bind(whole, vector))
        half = count // 2
        if count % 2:
            total = type(op)(total, _lanes(whole, count - 1, 1))
        vector = type(op)(_lanes(whole, 0, half), _lanes(whole, half, half))
        count = half
    total = type(op)(total, vector)
    return seq([*made, BufferStore(stmt.buffer, total, stmt.indices, stmt.span)])


def _lanes(vector: Expr, first: int, count: int) -> Expr:
    """Some lanes of a vector; a scalar where it is one."""
    assert isinstance(vector.ty, PrimType)
    return Shuffle([vector], [const(first + k, "int32") for k in range(count)])

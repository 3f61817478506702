"""Expressions of a wanted dtype over a scope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...dtype import DType
from ...ir import (
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
    BufferLoad,
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
    PrimType,
    Ramp,
    RShift,
    Select,
    Shuffle,
    Sub,
    Var,
)
from .calls import draw_call
from .draw import Source
from .scalars import EXACT_DTYPES, draw_dtype, draw_name, draw_scalar
from .scope import Scope, buffer_type

ARITHMETIC = (Add, Sub, Mul, Max, Min)
DIVISION = (FloorDiv, FloorMod, Div, Mod)
BITS = (BitwiseAnd, BitwiseOr, BitwiseXor, LShift, RShift)
COMPARISONS = (LT, EQ, LE, NE, GT, GE)
BOOL = DType("bool")
INT32 = DType("int32")
Rule = Callable[[Source, Scope, DType, int], Expr | None]


def draw_expr(source: Source, scope: Scope, dtype: DType, depth: int) -> Expr:
    """An expression of exactly this dtype; `depth` bounds its height."""
    if dtype.is_vector:
        return draw_vector(source, scope, dtype, depth)
    if depth <= 0:
        return draw_leaf(source, scope, dtype)
    if dtype.is_bool:
        rules = BOOL_RULES
    elif scope.executable:
        rules = EXACT_RULES
    else:
        rules = INT_RULES if dtype.is_integral else FLOAT_RULES
    for _ in range(4):
        made = source.pick(rules)(source, scope, dtype, depth)
        if made is not None:
            return made
    return draw_leaf(source, scope, dtype)


def draw_leaf(source: Source, scope: Scope, dtype: DType) -> Expr:
    """A constant, a variable or an element of a buffer."""
    choices = scope.scalars_of(dtype)
    loads = scope.buffers_of(dtype)
    kind = source.integer(0, 3)
    if kind >= 2 and choices:
        return source.pick(choices)
    if kind >= 1 and loads:
        buffer = source.pick(loads)
        return BufferLoad(buffer, draw_indices(source, scope, buffer, plain=True))
    if scope.executable:
        low = 0 if dtype.is_uint or dtype.is_bool else -4
        return _const(
            dtype, source.integer(0, 1 if dtype.is_bool else 4 - low) + low if low else source.integer(0, 1)
        )
    return draw_scalar(source, dtype)


def _const(dtype: DType, value: int) -> Expr:
    from ...ir import const

    return const(value, dtype)


def draw_indices(source: Source, scope: Scope, buffer: Var, plain: bool = False) -> list[Expr]:
    """One index for each dimension; valid ones in an executable program, without loads if `plain`."""
    return [draw_index(source, scope, extent, plain) for extent in buffer_type(buffer).shape]


def draw_index(source: Source, scope: Scope, extent: Expr, plain: bool = False) -> Expr:
    """An index below `extent` in a program that runs; any integer expression elsewhere."""
    dtype = extent.dtype
    fitting = scope.index_vars(extent)
    if fitting and not source.chance(4):
        return source.pick(fitting)
    if not scope.executable:
        inner = replace(scope, buffers=()) if plain else scope
        return draw_expr(source, inner, dtype, source.integer(0, 1 if plain else 2))
    if isinstance(extent, IntImm) and not source.chance(3):
        return IntImm(extent.ty, source.integer(0, max(0, extent.value - 1)))
    bounded = [v for v in scope.bounds if v.ty is extent.ty]
    value: Expr = source.pick(bounded) if bounded else IntImm(extent.ty, source.integer(0, 5))
    if source.chance(2):
        value = source.pick((Add, Mul, Sub))(value, IntImm(extent.ty, source.integer(0, 3)))
    return FloorMod(value, extent)


def _binary(classes: tuple[type, ...]) -> Rule:
    def rule(source: Source, scope: Scope, dtype: DType, depth: int) -> Expr:
        made: Expr = source.pick(classes)(
            draw_expr(source, scope, dtype, depth - 1), draw_expr(source, scope, dtype, depth - 1)
        )
        return made

    return rule


def _exact_division(source: Source, scope: Scope, dtype: DType, depth: int) -> Expr | None:
    if not dtype.is_integral:
        return None
    divisor = source.integer(1, 5)
    if dtype.is_int and source.chance(3):
        divisor = -divisor - 1
    made: Expr = source.pick(DIVISION)(draw_expr(source, scope, dtype, depth - 1), _const(dtype, divisor))
    return made


def _exact_bits(source: Source, scope: Scope, dtype: DType, depth: int) -> Expr | None:
    if not dtype.is_integral:
        return None
    cls = source.pick(BITS)
    a = draw_expr(source, scope, dtype, depth - 1)
    if cls in (LShift, RShift):
        return cls(a, _const(dtype, source.integer(0, dtype.bits - 1)))
    return cls(a, draw_expr(source, scope, dtype, depth - 1))


def _select(source: Source, scope: Scope, dtype: DType, depth: int) -> Expr:
    condition = draw_expr(source, scope, BOOL, depth - 1)
    a, b = (draw_expr(source, scope, dtype, depth - 1) for _ in range(2))
    if source.chance(2):
        return Call("prim.if_then_else", (condition, a, b), PrimType(dtype))
    return Select(condition, a, b)


def _cast(source: Source, scope: Scope, dtype: DType, depth: int) -> Expr:
    old = source.pick(EXACT_DTYPES) if scope.executable else draw_dtype(source, vectors=False)
    return Cast(PrimType(dtype), draw_expr(source, scope, old, depth - 1))


def _exact_cast(source: Source, scope: Scope, dtype: DType, depth: int) -> Expr | None:
    if not dtype.is_integral and depth > 1:
        return None
    return _cast(source, scope, dtype, min(depth, 2))


def _let(source: Source, scope: Scope, dtype: DType, depth: int) -> Expr:
    bound = source.pick(EXACT_DTYPES) if scope.executable else draw_dtype(source, vectors=False)
    var = Var(draw_name(source), PrimType(bound))
    value = draw_expr(source, scope, bound, depth - 1)
    return Let(var, value, draw_expr(source, scope.with_scalar(var), dtype, depth - 1))


def _not_bits(source: Source, scope: Scope, dtype: DType, depth: int) -> Expr | None:
    return BitwiseNot(draw_expr(source, scope, dtype, depth - 1)) if dtype.is_integral else None


def _compare(source: Source, scope: Scope, dtype: DType, depth: int) -> Expr:
    side = source.pick(EXACT_DTYPES) if scope.executable else draw_dtype(source, vectors=False)
    made: Expr = source.pick(COMPARISONS)(
        draw_expr(source, scope, side, depth - 1), draw_expr(source, scope, side, depth - 1)
    )
    return made


def _logic(source: Source, scope: Scope, dtype: DType, depth: int) -> Expr:
    a = draw_expr(source, scope, dtype, depth - 1)
    kind = source.integer(0, 2)
    if kind == 0:
        return Not(a)
    return (And if kind == 1 else Or)(a, draw_expr(source, scope, dtype, depth - 1))


def _call(source: Source, scope: Scope, dtype: DType, depth: int) -> Expr | None:
    def argument(wanted: DType) -> Expr:
        return draw_expr(source, scope, wanted, depth - 1)

    return draw_call(source, dtype, argument)


def draw_vector(source: Source, scope: Scope, dtype: DType, depth: int) -> Expr:
    """A vector of this dtype."""
    lanes = _lanes(dtype)
    element = dtype.element
    kind = source.integer(0, 5) if depth > 0 else 0
    if kind == 1 and element.is_integral and not element.is_bool:
        base, stride = (draw_expr(source, scope, element, depth - 1) for _ in range(2))
        return Ramp(base, stride, lanes)
    if kind == 2 and not element.is_bool:
        a, b = (draw_vector(source, scope, dtype, depth - 1) for _ in range(2))
        made: Expr = source.pick(ARITHMETIC)(a, b)
        return made
    if kind == 3 and not dtype.scalable:
        return _shuffle(source, scope, dtype, depth)
    if kind == 4:
        old = draw_dtype(source, vectors=False).with_lanes(dtype.lanes, dtype.scalable)
        return Cast(PrimType(dtype), draw_vector(source, scope, old, depth - 1))
    if kind == 5 and element.is_bool:
        side = draw_dtype(source, vectors=False).with_lanes(dtype.lanes, dtype.scalable)
        a, b = (draw_vector(source, scope, side, depth - 1) for _ in range(2))
        compared: Expr = source.pick(COMPARISONS)(a, b)
        return compared
    return Broadcast(draw_expr(source, scope, element, depth - 1), lanes)


def _lanes(dtype: DType) -> Expr:
    count = IntImm(PrimType("int32"), dtype.lanes)
    if not dtype.scalable:
        return count
    return Mul(Call("prim.vscale", (), PrimType("int32")), count)


def _shuffle(source: Source, scope: Scope, dtype: DType, depth: int) -> Expr:
    width = source.pick((2, 4))
    vector = draw_vector(source, scope, dtype.element.with_lanes(width), depth - 1)
    indices = [IntImm(PrimType("int32"), source.integer(0, width - 1)) for _ in range(dtype.lanes)]
    return Shuffle([vector], indices)


EXACT_RULES: tuple[Rule, ...] = (
    _binary(ARITHMETIC),
    _select,
    _exact_division,
    _exact_bits,
    _exact_cast,
    _let,
    _not_bits,
)
INT_RULES: tuple[Rule, ...] = (
    _binary(ARITHMETIC),
    _binary(DIVISION),
    _binary(BITS),
    _select,
    _cast,
    _let,
    _not_bits,
    _call,
)
FLOAT_RULES: tuple[Rule, ...] = (_binary(ARITHMETIC), _binary((Div,)), _select, _cast, _let, _call, _call)
BOOL_RULES: tuple[Rule, ...] = (_compare, _logic, _select, _let)

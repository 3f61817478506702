"""Rules that compute with constants: floats, casts, bit counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    BinaryOp,
    Call,
    Cast,
    Div,
    Expr,
    FloatImm,
    IntImm,
    Max,
    Min,
    Mul,
    Sub,
    const,
)
from ..fold import eval_binary, eval_cast
from ..op import Op
from ..types import BOOL, PrimType
from .linear import rebuild
from .rules import Class, rule

if TYPE_CHECKING:
    from .analyzer import Analyzer

ANY, INDEX = Class.ANY, Class.INDEX


@rule(
    (Add, Sub, Mul, Div, Min, Max, EQ, NE, LT, LE, GT, GE),
    "float-constants",
    ANY,
    "operations on two float constants are computed, rounded as at run time",
)
def float_constants(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Fold an operation on float constants."""
    if type(e.a) is not FloatImm or type(e.b) is not FloatImm:
        return None
    value = eval_binary(type(e), e.a.dtype, e.a.value, e.b.value)
    return IntImm(BOOL, int(value)) if type(value) is bool else FloatImm(e.a.ty, float(value))


@rule((Mul, Div), "float-times-one", ANY, "x * 1.0 = x, x / 1.0 = x (x + 0.0 is not x for -0.0)")
def float_times_one(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Drop a factor of one."""
    if not isinstance(e.ty, PrimType) or not e.dtype.is_float:
        return None
    if type(e.b) is FloatImm and e.b.value == 1:
        return e.a
    return e.b if type(e) is Mul and type(e.a) is FloatImm and e.a.value == 1 else None


@rule(Cast, "cast-number", ANY, "casts of constants to and from floats are computed")
def cast_number(ana: Analyzer, e: Cast) -> Expr | None:
    """Fold the cast of a constant."""
    value = e.value
    if not isinstance(value, IntImm | FloatImm) or not isinstance(e.ty, PrimType) or e.dtype.is_vector:
        return None
    if not (e.dtype.is_float or e.dtype.is_integral):
        return None
    result = eval_cast(value.dtype, e.dtype, value.value)
    return FloatImm(e.ty, float(result)) if e.dtype.is_float else const(int(result), e.dtype)


@rule(Call, "bit-counts", ANY, "clz and popcount of constants are computed")
def bit_counts(ana: Analyzer, e: Call) -> Expr | None:
    """Fold a count of bits."""
    if not isinstance(e.op, Op) or e.op.name not in ("prim.clz", "tirx.clz", "tirx.popcount"):
        return None
    value = e.args[0]
    if type(value) is not IntImm or not isinstance(e.ty, PrimType) or not e.dtype.is_integral:
        return None
    bits = value.dtype.bits
    pattern = value.value % (1 << bits)
    if e.op.name == "tirx.popcount":
        return const(pattern.bit_count(), e.dtype)
    return const(bits - pattern.bit_length(), e.dtype)


@rule(
    Cast,
    "cast-sum",
    INDEX,
    "cast(i64, x * 4 + y) = cast(i64, x) * 4 + cast(i64, y), where neither sum can overflow its type",
)
def cast_sum(ana: Analyzer, e: Cast) -> Expr | None:
    """Cast the terms of a sum."""
    inner = e.value
    if type(inner) not in (Add, Sub, Mul) or not isinstance(e.ty, PrimType) or not e.dtype.is_int:
        return None
    old, new = inner.dtype, e.dtype
    if old.bits < new.bits and not ana.spread_casts:
        return None
    if not old.is_int or not old.is_scalar or old.bits == new.bits or not ana.is_exact(inner):
        return None
    total = ana.linear(inner)
    if ana.keys.key(inner) in total.terms:
        return None
    low, high = int(new.min_value), int(new.max_value)
    if old.bits > new.bits:
        for part in (inner, *[term for _, term in total.terms.values()]):
            bound = ana.bound(part)
            if bound.min < low or bound.max > high:
                return None
    moved = total.scaled(0)
    moved.const = total.const
    for coeff, term in total.terms.values():
        node = Cast(e.ty, term)
        moved.add_term(ana.keys.key(node), coeff, node)
    result = rebuild(moved, new, ana.wraps(e))
    if result is None:
        return None
    from .simplify import _inside

    fine = ana.is_exact(result) if ana.wraps(e) else not ana.strict or _inside(ana, result)
    return result if fine else None

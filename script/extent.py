"""The distance between the two ends of a slice or range, so that what is printed parses back.

A region of extent e that starts at m prints as `m:m + e`; reading it must give e again, not
`m + e - m`.  So a start that the end begins with is taken off it, and ends that are the same sum of
terms up to a constant give that constant; everything else stays the difference it is.
"""

from __future__ import annotations

from typing import Any

from ..ir import (
    Add,
    BufferLoad,
    Call,
    Expr,
    FloatImm,
    IntImm,
    IterVar,
    Mul,
    PrimType,
    Range,
    StringImm,
    Sub,
    Var,
    const,
)
from ..ir.promote import match
from .arith import binary

_WHOLE = 100_000


def range_of(lower: Any, upper: Any) -> Range:
    """The range from lower to upper (exclusive); both ends get one type, as their sum has when printed."""
    made = Range(lower, distance(lower, upper))
    low, extent = made.min.ty, made.extent.ty
    if low is extent or not isinstance(low, PrimType) or not isinstance(extent, PrimType):
        return made
    return (
        Range(*match(made.min, made.extent)) if low.dtype.is_integral and extent.dtype.is_integral else made
    )


def distance(lower: Any, upper: Any) -> Any:
    """`upper - lower` for two Python integers or expressions."""
    if isinstance(lower, IterVar):
        lower = lower.var
    if isinstance(upper, IterVar):
        upper = upper.var
    if not isinstance(lower, Expr) and not isinstance(upper, Expr):
        return upper - lower
    if isinstance(lower, int | IntImm) and int(lower) == 0:
        if isinstance(lower, IntImm) and isinstance(upper, int):
            return const(upper, lower.dtype)
        return upper
    if isinstance(upper, Add):
        if same(upper.a, lower, _WHOLE):
            return upper.b
        if same(upper.b, lower, _WHOLE):
            return upper.a
    if isinstance(upper, Expr) and isinstance(lower, Expr) and upper.ty is lower.ty:
        known = _constant_distance(lower, upper)
        if known is not None:
            return const(known, upper.dtype)
    return binary("-", upper, lower)


def _constant_distance(lower: Expr, upper: Expr) -> int | None:
    if not isinstance(upper.ty, PrimType) or not upper.ty.dtype.is_int:
        return None
    terms: list[tuple[Expr, int]] = []
    total = _collect(upper, 1, terms) + _collect(lower, -1, terms)
    left: list[list[Any]] = []
    for term, factor in terms:
        for entry in left:
            if same(entry[0], term):
                entry[1] += factor
                break
        else:
            left.append([term, factor])
            if len(left) > 16:
                return None
    for entry in left:
        if entry[1] != 0:
            return None
    return total


def _collect(e: Expr, scale: int, terms: list[tuple[Expr, int]]) -> int:
    total = 0
    while True:
        if type(e) is IntImm:
            return total + scale * e.value
        if isinstance(e, Add | Sub):
            total += _collect(e.b, scale if isinstance(e, Add) else -scale, terms)
            e = e.a
        elif isinstance(e, Mul) and isinstance(e.b, IntImm):
            scale *= e.b.value
            e = e.a
        elif isinstance(e, Mul) and isinstance(e.a, IntImm):
            scale *= e.a.value
            e = e.b
        else:
            terms.append((e, scale))
            return total


def same(a: Any, b: Any, budget: int = 400) -> bool:
    """Whether two pure expressions of at most `budget` nodes are the same, variables compared by identity."""
    pairs = [(a, b)]
    while pairs:
        budget -= 1
        x, y = pairs.pop()
        if x is y:
            continue
        if isinstance(x, int) or isinstance(y, int):
            x, y = _number(x), _number(y)
            if x is None or x != y:
                return False
            continue
        if budget < 0 or type(x) is not type(y) or type(x) is Var:
            return False
        if type(x) is tuple:
            if len(x) != len(y):
                return False
            pairs += zip(x, y)
        elif isinstance(x, IntImm):
            if x.ty is not y.ty or x.value != y.value:
                return False
        elif isinstance(x, FloatImm | StringImm):
            if x.ty is not y.ty or repr(x.value) != repr(y.value):
                return False
        elif isinstance(x, Call):
            if x.op is not y.op or x.ty is not y.ty or len(x.args) != len(y.args) or x.attrs != y.attrs:
                return False
            pairs += zip(x.args, y.args)
        elif isinstance(x, BufferLoad):
            pairs += [(x.buffer, y.buffer), (x.indices, y.indices)]
        elif isinstance(x, Expr) and isinstance(x.ty, PrimType):
            if x.ty is not y.ty:
                return False
            pairs += [(getattr(x, f), getattr(y, f)) for f in type(x).fields if f not in ("span", "ty")]
        else:
            return False
    return True


def _number(value: Any) -> int | None:
    if isinstance(value, int):
        return value
    return value.value if isinstance(value, IntImm) else None

"""Rules for min and max: common parts, quotients. (Bounds decide what one operand absorbs.)"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..expr import BinaryOp, Div, Expr, FloorDiv, IntImm, Max, Min, Mul, const
from ..types import PrimType
from .linear import Linear, rebuild
from .rules import Class, rule

if TYPE_CHECKING:
    from .analyzer import Analyzer

ANY, INDEX = Class.ANY, Class.INDEX
_OTHER: dict[type, type[BinaryOp]] = {Min: Max, Max: Min}


def _int(e: Expr) -> bool:
    ty = e.ty
    return isinstance(ty, PrimType) and ty.dtype.is_scalar and (ty.dtype.is_int or ty.dtype.is_uint)


@rule((Min, Max), "extreme-shared", ANY, "min(max(x, y), max(x, z)) = max(min(y, z), x); max alike")
def extreme_shared(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Take a shared operand out of two opposite extremes."""
    a, b, other = e.a, e.b, _OTHER[type(e)]
    if not _int(e) or type(a) is not other or type(b) is not other:
        return None
    assert isinstance(a, BinaryOp) and isinstance(b, BinaryOp)
    for x, y in ((a.a, a.b), (a.b, a.a)):
        for v, z in ((b.a, b.b), (b.b, b.a)):
            if ana.keys.same(x, v):
                return other(type(e)(y, z), x)
    return None


@rule(
    (Min, Max),
    "extreme-common",
    INDEX,
    "min(y + x, z + x) = min(y, z) + x; min(x - y, x - z) = x - max(y, z)",
)
def extreme_common(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Take what both operands have in common out."""
    if not _int(e):
        return None
    a, b = ana.linear(e.a), ana.linear(e.b)
    if len(a.terms) + bool(a.const) < 2 or len(b.terms) + bool(b.const) < 2:
        return None
    shared = Linear()
    for key, (coeff, term) in a.terms.items():
        if key in b.terms and b.terms[key][0] == coeff:
            shared.add_term(key, coeff, term)
    if a.const == b.const:
        shared.const = a.const
    if not shared.terms and not shared.const:
        return None
    left, right = a.minus(shared), b.minus(shared)
    turned = _all_negative(left) and _all_negative(right)
    kind = _OTHER[type(e)] if turned else type(e)
    sides = []
    for side in (left, right):
        built = rebuild(side.scaled(-1) if turned else side, e.dtype, ana.wraps(e))
        if built is None or not _fine(ana, built):
            return None
        sides.append(built)
    inner = kind(sides[0], sides[1])
    result = Linear()
    result.add_term(ana.keys.key(inner), -1 if turned else 1, inner)
    return _accepted(ana, result.add(shared), e)


def _all_negative(total: Linear) -> bool:
    return bool(total.terms) and total.const <= 0 and max(total.coeffs()) < 0


def _accepted(ana: Analyzer, total: Linear, e: Expr) -> Expr | None:
    result = rebuild(total, e.dtype, ana.wraps(e))
    return result if result is not None and _fine(ana, result) else None


def _fine(ana: Analyzer, e: Expr) -> bool:
    """Whether a new sum has its integer value, and overflows nowhere where that counts."""
    from .simplify import _inside

    if ana.wraps(e):
        return ana.is_exact(e)
    return not ana.strict or _inside(ana, e)


@rule(
    (Min, Max),
    "extreme-scale",
    INDEX,
    "min(x * 3, 9) = min(x, 3) * 3; min(x * -2, 4) = max(x, -2) * -2; min(3 - x, 2) = 3 - max(x, 1)",
)
def extreme_scale(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Compare a variable with a constant, and scale afterwards."""
    for side, limit in ((e.a, e.b), (e.b, e.a)):
        if type(limit) is not IntImm or not _int(e) or e.dtype.is_uint:
            continue
        total = ana.linear(side)
        if len(total.terms) != 1:
            continue
        ((coeff, term),) = total.terms.values()
        k = limit.value - total.const
        if coeff == 1 or k % coeff or (total.const and coeff != -1):
            continue
        inner = k // coeff
        if not e.dtype.min_value <= inner <= e.dtype.max_value:
            continue
        kind = type(e) if coeff > 0 else _OTHER[type(e)]
        made: Expr = kind(term, const(inner, e.dtype))
        if total.const == 0 and e.dtype.min_value <= coeff:
            # min(x * -1, c) is max(x, -c) * -1: no shorter than before
            return Mul(made, const(coeff, e.dtype)) if coeff != -1 else None
        moved = Linear({}, total.const)
        moved.add_term(ana.keys.key(made), coeff, made)
        return _accepted(ana, moved, e)
    return None


@rule(
    (Min, Max),
    "extreme-quotients",
    ANY,
    "min(x // c, y // c) = min(x, y) // c for c > 0, max(x, y) // c for c < 0",
)
def extreme_quotients(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Divide once."""
    a, b = e.a, e.b
    if type(a) is not type(b) or type(a) not in (FloorDiv, Div) or not _int(e):
        return None
    assert isinstance(a, BinaryOp) and isinstance(b, BinaryOp)
    if type(a.b) is not IntImm or type(b.b) is not IntImm or a.b.value != b.b.value or a.b.value == 0:
        return None
    kind = type(e) if a.b.value > 0 else _OTHER[type(e)]
    if a.b.value == -1:
        return None  # the smallest value has no quotient by -1
    return type(a)(kind(a.a, b.a), a.b)


@rule(
    (FloorDiv, Div),
    "quotient-of-extreme",
    INDEX,
    "min(x * 6, y) // 2 = min(x * 3, y // 2), for a positive divisor of one side; max alike",
)
def quotient_of_extreme(ana: Analyzer, e: BinaryOp) -> Expr | None:
    """Divide the sides where that simplifies one."""
    inner = e.a
    if type(e.b) is not IntImm or e.b.value <= 1 or not isinstance(inner, Min | Max) or not _int(e):
        return None
    c = e.b.value
    for side in (inner.a, inner.b):
        total = ana.linear(side)
        if total.const % c == 0 and total.terms and not [k for k in total.coeffs() if k % c]:
            return type(inner)(type(e)(inner.a, e.b), type(e)(inner.b, e.b))
    return None


@rule(Mul, "min-times-max", ANY, "min(x, y) * max(x, y) = x * y")
def min_times_max(ana: Analyzer, e: Mul) -> Expr | None:
    """Multiply the two themselves."""
    a, b = e.a, e.b
    if isinstance(a, Min | Max) and type(b) is _OTHER[type(a)] and _int(e):
        assert isinstance(b, BinaryOp)
        if ana.keys.same(type(a)(b.a, b.b), a):
            return Mul(a.a, a.b)
    return None

"""Whether block bindings are an affine map of the loops around: sums of digits of loop variables.

A digit is `v // lower % extent`.  Bindings are affine when each is a mixed-radix number of
digits, and no part of a loop variable is used twice; then different iterations bind different values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..arith import Analyzer
from ..expr import Add, Expr, FloorDiv, FloorMod, IntImm, Mul, Range, Sub, Var


@dataclass(frozen=True, slots=True)
class Digit:
    """`var // lower % extent`, times `scale`; an extent of None reaches to the end of the variable."""

    var: Var
    lower: int
    extent: int | None
    scale: int


def affine_reason(values: Sequence[Expr], domains: Mapping[Var, Range], ana: Analyzer) -> str | None:
    """Why these bindings are no affine map of the loops; None when they are."""
    used: list[Digit] = []
    for value in values:
        digits = _digits(ana.simplify(value), domains, ana)
        if digits is None or not _is_radix(digits):
            return f"a binding is not a sum of separate parts of loops: {_text(value)}"
        used += digits
    by_var: dict[Var, list[Digit]] = {}
    for d in used:
        by_var.setdefault(d.var, []).append(d)
    for var, parts in by_var.items():
        parts.sort(key=_lower)
        for low, high in zip(parts, parts[1:]):
            if low.extent is None or low.lower * low.extent > high.lower:
                return f"two bindings use the same part of loop `{var.name}`"
    return None


def _lower(d: Digit) -> int:
    return d.lower


def _scale(d: Digit) -> int:
    return d.scale


def _text(e: Expr) -> str:
    from ...printer import script

    return f"`{script(e)}`"


def _is_radix(digits: list[Digit]) -> bool:
    """Whether every number below the product is a value in one way only (gaps are allowed)."""
    reach = 1
    for d in sorted(digits, key=_scale):
        if d.scale < reach:
            return False
        if d.extent is None:
            reach = 1 << 62
        else:
            reach = d.scale * d.extent
    return True


def _digits(e: Expr, domains: Mapping[Var, Range], ana: Analyzer) -> list[Digit] | None:
    """The digits of an expression; constants and variables from outside count as offsets."""
    if isinstance(e, Var):
        return _digits_of_var(e, domains)
    if isinstance(e, Add | Sub):
        a, b = _digits(e.a, domains, ana), _digits(e.b, domains, ana)
        if a is None or b is None or (isinstance(e, Sub) and b):
            return None
        return a + b
    if isinstance(e, Mul):
        for x, y in ((e.a, e.b), (e.b, e.a)):
            if isinstance(y, IntImm) and y.value > 0:
                inner = _digits(x, domains, ana)
                if inner is None:
                    return None
                return [Digit(d.var, d.lower, d.extent, d.scale * y.value) for d in inner]
    if isinstance(e, FloorDiv | FloorMod) and isinstance(e.b, IntImm) and e.b.value > 0:
        inner = _digits(e.a, domains, ana)
        if inner is None or not _starts_at_zero(e.a, domains, ana):
            return None
        return _cut(inner, e.b.value, high=isinstance(e, FloorDiv))
    return [] if not _mentions(e, domains) else None


def _mentions(e: Expr, domains: Mapping[Var, Range]) -> bool:
    from ..visitor import walk

    for n in walk(e):
        if isinstance(n, Var) and n in domains:
            return True
    return False


def _starts_at_zero(e: Expr, domains: Mapping[Var, Range], ana: Analyzer) -> bool:
    """Whether the expression is nothing but its digits: no offset."""
    if isinstance(e, Var):
        return e in domains
    if isinstance(e, Add):
        return _starts_at_zero(e.a, domains, ana) and _starts_at_zero(e.b, domains, ana)
    if isinstance(e, Mul | FloorDiv | FloorMod):
        return _starts_at_zero(e.a if isinstance(e.b, IntImm) else e.b, domains, ana)
    return False


def _digits_of_var(var: Var, domains: Mapping[Var, Range]) -> list[Digit] | None:
    dom = domains.get(var)
    if dom is None:
        return []
    extent = dom.extent.value if isinstance(dom.extent, IntImm) else None
    if extent == 1:
        return []
    return [Digit(var, 1, extent, 1)]


def _cut(digits: list[Digit], at: int, *, high: bool) -> list[Digit] | None:
    """The digits of the number divided by `at`, or of the remainder."""
    above: list[Digit] = []
    below: list[Digit] = []
    for d in digits:
        end = None if d.extent is None else d.scale * d.extent
        if d.scale >= at:
            if d.scale % at:
                return None
            above.append(Digit(d.var, d.lower, d.extent, d.scale // at))
        elif end is not None and end <= at:
            below.append(d)
        else:
            step = at // d.scale
            if at % d.scale or (d.extent is not None and d.extent % step):
                return None
            below.append(Digit(d.var, d.lower, step, d.scale))
            above.append(Digit(d.var, d.lower * step, None if d.extent is None else d.extent // step, 1))
    if not _is_radix(below) or sum(d.scale * ((d.extent or 1) - 1) for d in below) >= at:
        return None
    return above if high else below

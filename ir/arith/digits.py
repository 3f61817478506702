"""Digits: quotients and remainders by constants as parts of a number, and how they go together again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..expr import Div, Expr, FloorDiv, FloorMod, IntImm, Mod, const
from .linear import Linear, linear

if TYPE_CHECKING:
    from .analyzer import Analyzer

_FLOOR = (FloorDiv, FloorMod)
_TRUNCATED = (Div, Mod)


class Digit(NamedTuple):
    """`base % upper // lower`, of floor or truncated division; an upper of 0 has no end."""

    base: Expr
    lower: int
    upper: int
    floor: bool


def digit_of(e: Any) -> Digit | None:
    """The digit that a quotient or remainder by positive constants is."""
    kind = type(e)
    if kind not in _FLOOR and kind not in _TRUNCATED:
        return None
    if type(e.b) is not IntImm or e.b.value <= 0:
        return None
    floor = kind in _FLOOR
    inner = digit_of(e.a)
    number = e.b.value
    if inner is None or inner.floor is not floor:
        inner = Digit(e.a, 1, 0, floor)
    if kind is FloorDiv or kind is Div:
        if inner.upper and inner.upper % (inner.lower * number):
            return Digit(e.a, number, 0, floor)
        return inner._replace(lower=inner.lower * number)
    end = inner.lower * number
    if inner.upper and inner.upper % end:
        return Digit(e.a, 1, number, floor)
    return inner._replace(upper=end)


def build(digit: Digit, dtype: Any) -> Expr | None:
    """The digit as an expression; None where a number does not fit the type."""
    e: Expr = digit.base
    if max(digit.lower, digit.upper) > dtype.max_value:
        return None
    if digit.upper:
        e = (FloorMod if digit.floor else Mod)(e, const(digit.upper, dtype))
    if digit.lower != 1:
        e = (FloorDiv if digit.floor else Div)(e, const(digit.lower, dtype))
    return e


def join_digits(ana: Analyzer, total: Linear) -> bool:
    """`x // 12 * 12 + x % 12 // 4 * 4 + x % 4` becomes x, in place (class RING); whether anything changed."""
    digits: dict[int, tuple[Digit, int]] = {}
    for key, (coeff, term) in total.terms.items():
        found = digit_of(term)
        if found is not None:
            digits[key] = found, coeff
    changed = False
    while len(digits) > 1:
        pair = _neighbours(ana, digits)
        if pair is None:
            break
        high, low = pair
        upper, lower = digits.pop(high), digits.pop(low)
        whole = lower[0]._replace(upper=upper[0].upper)
        joined = build(whole, upper[0].base.dtype)
        if joined is None:
            break
        new = Linear()
        new.add(linear(ana, joined, ring=True), lower[1])
        key = ana.keys.key(joined)
        put_at(total, (high, low), new)
        if whole.lower != 1 or whole.upper:
            digits[key] = whole, total.terms[key][0] if key in total.terms else lower[1]
        changed = True
        if ana.fired is not None:
            ana.fired.add("join-digits")
    return changed


def _neighbours(ana: Analyzer, digits: dict[int, tuple[Digit, int]]) -> tuple[int, int] | None:
    for low, (a, x) in digits.items():
        for high, (b, y) in digits.items():
            if low == high or a.upper != b.lower or not a.upper or a.floor is not b.floor:
                continue
            # scales as the places of the digits
            if y * a.lower == x * b.lower and ana.keys.same(a.base, b.base):
                return high, low
    return None


def put_at(total: Linear, keys: tuple[int, int], new: Linear) -> None:
    """The new terms in place of these two, where the first of them stood."""
    merged = Linear({}, total.const)
    placed = False
    for key, (coeff, term) in total.terms.items():
        if key not in keys:
            merged.add_term(key, coeff, term)
        elif not placed:
            merged.add(new)
            placed = True
    total.terms, total.const = merged.terms, merged.const

"""Integer expressions as sums: `c1 * t1 + c2 * t2 + ... + k`, where the terms are no sums themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...dtype import DType
from ..expr import Add, Expr, IntImm, Mul, Sub, const
from .bounds import Bound

if TYPE_CHECKING:
    from .analyzer import Analyzer


UNBOUNDED = Bound(-(1 << 200), 1 << 200)


class Linear:
    """A sum: `terms` maps the number of a term to (coefficient, term); no coefficient is zero."""

    __slots__ = ("const", "terms")

    def __init__(self, terms: dict[int, tuple[int, Expr]] | None = None, const: int = 0) -> None:
        self.terms = terms if terms is not None else {}
        self.const = const

    def copy(self) -> Linear:
        """A sum that may be changed without changing this one."""
        return Linear(dict(self.terms), self.const)

    def add_term(self, key: int, coeff: int, term: Expr) -> None:
        """Add `coeff * term` in place."""
        old = self.terms.get(key)
        total = coeff + (old[0] if old is not None else 0)
        if total:
            self.terms[key] = (total, term if old is None else old[1])
        elif old is not None:
            del self.terms[key]

    def add(self, other: Linear, scale: int = 1) -> Linear:
        """Add `scale * other` in place; returns itself."""
        for key, (coeff, term) in other.terms.items():
            self.add_term(key, coeff * scale, term)
        self.const += other.const * scale
        return self

    def minus(self, other: Linear) -> Linear:
        """A new sum, this one less `other`."""
        return self.copy().add(other, -1)

    def scaled(self, factor: int) -> Linear:
        """A new sum, `factor` times this one."""
        return Linear().add(self, factor)

    @property
    def is_const(self) -> bool:
        """Whether it has no terms."""
        return not self.terms

    def coeffs(self) -> Iterable[int]:
        """The coefficients of the terms."""
        return [c for c, _ in self.terms.values()]

    def bound(self, ana: Analyzer) -> Bound:
        """The smallest and largest value, with no regard to any type's range."""
        lo = hi = self.const
        for key, (coeff, term) in self.terms.items():
            b = ana.bound(term) if key not in ana.unbounded else UNBOUNDED
            lo += coeff * (b.min if coeff > 0 else b.max)
            hi += coeff * (b.max if coeff > 0 else b.min)
        return Bound(lo, hi)


def linear(ana: Analyzer, e: Expr, *, ring: bool = False) -> Linear:
    """The expression as a sum.

    Equal to it as an integer; with `ring`, equal modulo the size of its type only, which is all
    that wrapping arithmetic gives.
    """
    out = Linear()
    _collect(ana, e, 1, out, ring)
    return out


def _collect(ana: Analyzer, e: Expr, scale: int, out: Linear, ring: bool) -> None:
    for coeff, leaf in leaves(e, scale, None if ring else ana):
        if type(leaf) is IntImm:
            out.const += coeff * leaf.value
        elif coeff:
            out.add_term(ana.keys.key(leaf), coeff, leaf)


def leaves(e: Expr, scale: int = 1, ana: Analyzer | None = None) -> list[tuple[int, Expr]]:
    """The terms of a sum in order, each with its factor; with `ana`, what may wrap is one term."""
    found: list[tuple[int, Expr]] = []
    stack: list[tuple[Any, int]] = [(e, scale)]
    while stack:
        top, factor = stack.pop()
        kind = type(top)
        if (kind is Add or kind is Sub) and (ana is None or ana.is_exact(top)):
            stack.append((top.b, factor if kind is Add else -factor))
            stack.append((top.a, factor))
        elif kind is Mul and type(top.b) is IntImm and (ana is None or ana.is_exact(top)):
            stack.append((top.a, factor * top.b.value))
        elif kind is Mul and type(top.a) is IntImm and (ana is None or ana.is_exact(top)):
            stack.append((top.b, factor * top.a.value))
        else:
            found.append((factor, top))
    return found


def rebuild(total: Linear, dtype: DType, wraps: bool) -> Expr | None:
    """The sum as an expression of this type: positive terms, then negative ones, then the constant.

    Where arithmetic wraps, coefficients are those nearest zero.  None when a coefficient or the
    constant does not fit the type.
    """
    modulus = 1 << dtype.bits
    half = modulus >> 1

    def centred(c: int) -> int:
        return (c + half) % modulus - half if wraps else c

    result: Expr | None = None
    late: list[tuple[int, Expr]] = []
    for coeff, term in total.terms.values():
        coeff = centred(coeff)
        if coeff == 0:
            continue
        if coeff < 0:
            late.append((coeff, term))
            continue
        product = _times(term, coeff, dtype)
        if product is None:
            return None
        result = product if result is None else Add(result, product)
    constant = centred(total.const)
    if result is None and late and constant > 0:
        result = _fitting(constant, dtype)
        constant = 0
        if result is None:
            return None
    for coeff, term in late:
        if result is None:
            result = _times(term, coeff, dtype)
            if result is None:
                return None
            continue
        product = _times(term, -coeff, dtype)
        if product is None:
            return None
        result = Sub(result, product)
    if result is None:
        return _fitting(constant, dtype)
    return _plus_const(result, constant, dtype)


def _plus_const(e: Expr, constant: int, dtype: DType) -> Expr | None:
    if constant == 0:
        return e
    amount = _fitting(abs(constant), dtype)
    if amount is not None:
        return Add(e, amount) if constant > 0 else Sub(e, amount)
    amount = _fitting(constant, dtype)
    return None if amount is None else Add(e, amount)


def _times(term: Expr, coeff: int, dtype: DType) -> Expr | None:
    if coeff == 1:
        return term
    factor = _fitting(coeff % (1 << dtype.bits) if dtype.is_uint else coeff, dtype)
    return None if factor is None else Mul(term, factor)


def _fitting(value: int, dtype: DType) -> Expr | None:
    if dtype.is_uint:
        value %= 1 << dtype.bits
    return const(value, dtype) if dtype.min_value <= value <= dtype.max_value else None

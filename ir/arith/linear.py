"""Integer expressions as sums: `c1 * t1 + c2 * t2 + ... + k`, where the terms are no sums themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...dtype import DType
from ..expr import Add, Div, Expr, FloorDiv, FloorMod, IntImm, Mod, Mul, Sub, const
from .bounds import Bound, exact_bound

if TYPE_CHECKING:
    from .analyzer import Analyzer


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
            b = ana.bound(term) if key not in ana.unbounded else exact_bound(ana, term)
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
            if type(leaf) is Mul and not ring and _distribute(ana, coeff, leaf, out):
                continue
            out.add_term(ana.keys.key(leaf), coeff, leaf)


_SUM = (Add, Sub)


def _distribute(ana: Analyzer, scale: int, e: Any, out: Linear) -> bool:
    """Add a product of a sum term by term; whether the product was one."""
    if not (type(e.a) in _SUM or type(e.b) in _SUM) or not ana.is_exact(e):
        return False
    products: list[tuple[int, Expr]] = []
    for c, x in leaves(e.a, scale, ana):
        for d, y in leaves(e.b, 1, ana):
            if type(x) is IntImm:
                products.append((c * d * x.value, y))
            elif type(y) is IntImm:
                products.append((c * d * y.value, x))
            else:
                products.append((c * d, Mul(x, y)))
    if len(products) > 16:
        return False
    for c, term in products:
        if type(term) is IntImm:
            out.const += c * term.value
            continue
        key = ana.keys.key(term)
        if type(term) is Mul:
            ana.unbounded.add(key)  # no value of the program, so its type's range says nothing
        out.add_term(key, c, term)
    return True


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
    """The sum as an expression of this type, in its canonical order.

    Terms with positive factors come first, a positive constant, terms with negative factors, a
    negative constant; terms by falling factor, then higher digits before lower ones, then as they
    stand.  Where arithmetic wraps, factors are those nearest zero.  None when a factor or the
    constant does not fit the type.
    """
    modulus = 1 << dtype.bits
    half = modulus >> 1
    constant = (total.const + half) % modulus - half if wraps else total.const
    terms: list[tuple[int, Expr]] = []
    for coeff, term in total.terms.values():
        if wraps:
            coeff = (coeff + half) % modulus - half
        if coeff:
            terms.append((coeff, term))
    if len(terms) > 1:
        terms.sort(key=_place)
    result: Expr | None = None
    for coeff, term in terms:
        if coeff < 0 and constant > 0:
            result = _plus(result, constant, None, dtype)
            constant = 0
            if result is None:
                return None
        if coeff < 0 and result is None:
            result = const(0, dtype)
        result = _plus(result, coeff, term, dtype)
        if result is None:
            return None
    if result is None:
        return _fitting(constant, dtype)
    return _plus_const(result, constant, dtype)


def _plus(result: Expr | None, coeff: int, term: Expr | None, dtype: DType) -> Expr | None:
    """`result + coeff * term`, a missing term standing for 1; None where a number does not fit."""
    size = abs(coeff) if result is not None else coeff
    added = _fitting(size, dtype) if term is None else _times(term, size, dtype)
    if added is None or result is None:
        return added
    return Add(result, added) if coeff > 0 else Sub(result, added)


_FAR = 1 << 64


def _place(item: tuple[int, Expr]) -> tuple[int, int, int]:
    coeff, term = item
    lower, upper = 1, _FAR
    kind = type(term)
    if kind is FloorDiv or kind is FloorMod or kind is Div or kind is Mod:
        lower, upper = _digits(term)
    return -coeff, -lower, -upper


def _digits(e: Any) -> tuple[int, int]:
    """Which digits of a number a quotient or remainder holds: from the first factor below the second."""
    if type(e.b) is not IntImm or e.b.value <= 0:
        return 1, _FAR
    number, inner = e.b.value, type(e.a)
    lower, upper = 1, _FAR
    if inner is FloorDiv or inner is FloorMod or inner is Div or inner is Mod:
        lower, upper = _digits(e.a)
    if type(e) is FloorDiv or type(e) is Div:
        return lower * number, upper
    return lower, min(upper, lower * number)


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

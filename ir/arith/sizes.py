"""Sizes: integers that may hold symbols, as polynomials, for extents, scales and divisors.

A size without symbols is a Python int.  Sizes belong to index arithmetic: nothing overflows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...dtype import DType
from ..expr import Add, Cast, Expr, FloorDiv, IntImm, Max, Min, Mul, Sub, Var, const
from ..types import PrimType

if TYPE_CHECKING:
    from .analyzer import Analyzer

Monomial = tuple[int, ...]


class NotAffine(Exception):
    """The expression has no iterator form, or no form in its type; the text says why."""


def number(value: int, dtype: DType) -> Expr:
    """The constant. Raises NotAffine where it does not fit the type."""
    if not dtype.min_value <= value <= dtype.max_value:
        raise NotAffine(f"{value} is outside the range of `{dtype}`")
    return const(value, dtype)


class Poly:
    """A polynomial with symbols in it: the sorted numbers of a product's symbols -> its factor."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: dict[Monomial, int]) -> None:
        self.terms = terms
        self._hash: int | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash


Size = int | Poly
_UNIT: Monomial = ()


def _terms(a: Size) -> dict[Monomial, int]:
    if isinstance(a, int):
        return {_UNIT: a} if a else {}
    return a.terms


def _plain(terms: dict[Monomial, int]) -> Size:
    if not terms:
        return 0
    if len(terms) == 1 and _UNIT in terms:
        return terms[_UNIT]
    return Poly(terms)


def _order(m: Monomial) -> tuple[int, Monomial]:
    return len(m), m


def _quotient(m: Monomial, by: Monomial) -> Monomial | None:
    rest = list(m)
    for k in by:
        if k not in rest:
            return None
        rest.remove(k)
    return tuple(rest)


class Sizes:
    """Arithmetic of sizes; `ana` numbers the symbols and knows their bounds."""

    def __init__(self, ana: Analyzer) -> None:
        self.ana = ana
        self.atoms: dict[int, Expr] = {}

    def of(self, e: Expr | int) -> Size:
        """The size that an index expression stands for."""
        if isinstance(e, int):
            return e
        kind = type(e)
        if kind is IntImm:
            return e.value  # type: ignore[attr-defined]
        if kind is Add:
            return self.add(self.of(e.a), self.of(e.b))  # type: ignore[attr-defined]
        if kind is Sub:
            return self.add(self.of(e.a), self.of(e.b), -1)  # type: ignore[attr-defined]
        if kind is Mul:
            return self.mul(self.of(e.a), self.of(e.b))  # type: ignore[attr-defined]
        if kind is Cast and _widens(e):
            return self.of(e.value)  # type: ignore[attr-defined]
        if kind is Var:
            bound = self.ana.bound(e)
            if bound.is_const:
                return bound.min
        return self.symbol(e)

    def symbol(self, e: Expr) -> Poly:
        """The size that is this expression and nothing simpler."""
        key = self.ana.keys.key(e)
        self.atoms.setdefault(key, e)
        return Poly({(key,): 1})

    def add(self, a: Size, b: Size, factor: int = 1) -> Size:
        """`a + factor * b`."""
        if isinstance(a, int) and isinstance(b, int):
            return a + factor * b
        terms = dict(_terms(a))
        for m, c in _terms(b).items():
            total = terms.get(m, 0) + c * factor
            if total:
                terms[m] = total
            else:
                terms.pop(m, None)
        return _plain(terms)

    def sub(self, a: Size, b: Size) -> Size:
        """a - b"""
        return self.add(a, b, -1)

    def mul(self, a: Size, b: Size) -> Size:
        """a * b"""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        terms: dict[Monomial, int] = {}
        for m, c in _terms(a).items():
            for n, d in _terms(b).items():
                key = tuple(sorted(m + n)) if m and n else m or n
                total = terms.get(key, 0) + c * d
                if total:
                    terms[key] = total
                else:
                    terms.pop(key, None)
        return _plain(terms)

    def exact(self, a: Size, b: Size) -> Size | None:
        """a / b where b divides a whatever the symbols are, else None."""
        if isinstance(a, int) and isinstance(b, int):
            return a // b if b and a % b == 0 else None
        divisor = _terms(b)
        if not divisor:
            return None
        lead = max(divisor, key=_order)
        quotient: Size = 0
        rest = a
        for _ in range(16):
            left = _terms(rest)
            if not left:
                return quotient
            top = max(left, key=_order)
            m = _quotient(top, lead)
            if m is None or left[top] % divisor[lead]:
                return None
            step = _plain({m: left[top] // divisor[lead]})
            quotient = self.add(quotient, step)
            rest = self.sub(rest, self.mul(step, b))
        return None

    def ceil(self, a: Size, b: Size, dtype: DType) -> Size:
        """The quotient rounded up, for b > 0."""
        found = self.exact(a, b)
        if found is not None:
            return found
        if isinstance(a, int) and isinstance(b, int):
            return -(-a // b)
        above = self.expr(self.add(self.add(a, b), 1, -1), dtype)
        return self.symbol(FloorDiv(above, self.expr(b, dtype)))

    def below(self, a: Size, b: Size) -> bool:
        """Whether a <= b is certain."""
        if isinstance(a, int) and isinstance(b, int):
            return a <= b
        difference = self._without_rounding(self.sub(a, b))
        if isinstance(difference, int):
            return difference <= 0
        wide = DType("int64")
        with self.ana.mode(data=False):
            return self.ana.never_positive(self.ana.linear(self.expr(difference, wide)))

    def _without_rounding(self, a: Size) -> Size:
        """A size that is at least this one, without `c * (e // c)` where that is possible.

        That is at most e, and at least e - (c - 1): what is rounded up to whole blocks is no less.
        """
        for m, c in _terms(a).items():
            atom = self.atoms[m[0]] if len(m) == 1 else None
            by = atom.b.value if isinstance(atom, FloorDiv) and isinstance(atom.b, IntImm) else 0
            if by > 0 and c % by == 0 and isinstance(atom, FloorDiv):
                exact = self.of(atom.a) if c > 0 else self.sub(self.of(atom.a), by - 1)
                return self.add(self.add(a, Poly({m: c}), -1), exact, c // by)
        return a

    def smaller(self, a: Size, b: Size, dtype: DType) -> Size:
        """min(a, b)"""
        if self.below(a, b):
            return a
        if self.below(b, a):
            return b
        return self.symbol(Min(self.expr(a, dtype), self.expr(b, dtype)))

    def larger(self, a: Size, b: Size, dtype: DType) -> Size:
        """max(a, b)"""
        if self.below(a, b):
            return b
        if self.below(b, a):
            return a
        return self.symbol(Max(self.expr(a, dtype), self.expr(b, dtype)))

    def bound(self, a: Size) -> tuple[int, int]:
        """The smallest and largest value that is possible."""
        if isinstance(a, int):
            return a, a
        low = high = 0
        for m, c in a.terms.items():
            lo = hi = 1
            for key in m:
                b = self.ana.bound(self.atoms[key])
                ends = [x * y for x in (lo, hi) for y in b]
                lo, hi = min(ends), max(ends)
            low += c * (lo if c > 0 else hi)
            high += c * (hi if c > 0 else lo)
        return low, high

    def expr(self, a: Size, dtype: DType) -> Expr:
        """The size as an expression of this type: positive terms first, the constant last.

        Raises NotAffine where a number does not fit the type.
        """
        if isinstance(a, int):
            return number(a, dtype)
        result: Expr | None = None
        ordered = sorted(a.terms.items(), key=_sign_first)
        for m, c in ordered:
            if m == _UNIT and result is not None:
                rest = number(abs(c), dtype)
                result = Add(result, rest) if c > 0 else Sub(result, rest)
                continue
            term = self._product(m, abs(c) if result is not None else c, dtype)
            result = term if result is None else Add(result, term) if c > 0 else Sub(result, term)
        return const(0, dtype) if result is None else result

    def _product(self, m: Monomial, factor: int, dtype: DType) -> Expr:
        result: Expr | None = None
        for key in m:
            atom = self.atoms[key]
            if atom.dtype is not dtype:
                atom = Cast(PrimType(dtype), atom)
            result = atom if result is None else Mul(result, atom)
        if result is None:
            return number(factor, dtype)
        return result if factor == 1 else Mul(result, number(factor, dtype))


def _sign_first(item: tuple[Monomial, int]) -> tuple[bool, bool]:
    m, c = item
    return m == _UNIT, c < 0


def _widens(e: Expr) -> bool:
    old, new = e.value.ty, e.ty  # type: ignore[attr-defined]
    if not (isinstance(old, PrimType) and isinstance(new, PrimType)):
        return False
    a, b = old.dtype, new.dtype
    if not (a.is_integral and b.is_integral and a.is_scalar) or b.is_bool or a.is_bool:
        return False
    return bool(b.min_value <= a.min_value and a.max_value <= b.max_value)

"""The form in which the peer's `rewrite_simplify` leaves sums: factors outside, negative constants added."""

from __future__ import annotations

from math import gcd
from typing import Any

from .... import ir
from ....ir import Add, Expr, FloorMod, IntImm, Mod, Mul, Sub, const
from ....ir.arith.linear import leaves


def rewritten(e: Expr) -> Expr:
    """The expression with its sums in that form; what it means stays."""
    return _Sums().visit(e)


class _Sums(ir.Rewriter):
    def visit_Add(self, e: Any) -> Expr:
        return self._sum(e)

    def visit_Sub(self, e: Any) -> Expr:
        return self._sum(e)

    def _sum(self, e: Any) -> Expr:
        if not isinstance(e.ty, ir.PrimType) or not e.dtype.is_int or e.dtype.is_vector:
            return type(e)(self.visit(e.a), self.visit(e.b))
        terms: list[tuple[int, Expr]] = []
        number = 0
        for c, leaf in leaves(e):
            if isinstance(leaf, IntImm):
                number += c * leaf.value
            else:
                terms.append((c, self.visit(leaf)))
        terms.sort(key=_no_remainder)
        factor = gcd(*[c for c, _ in terms], number)
        if factor <= 1 or len(terms) < 2:
            return self._plain(terms, number, e)
        inner = self._plain([(c // factor, t) for c, t in terms], number // factor, e)
        return Mul(inner, const(factor, e.dtype))

    def _plain(self, terms: list[tuple[int, Expr]], number: int, like: Expr) -> Expr:
        if len(terms) == 1 and not number and terms[0][0] != -1:
            return _times(*terms[0])
        result: Expr | None = None
        if number and (terms[0][0] < 0):
            result, number = const(number, like.dtype), 0
        for c, t in terms:
            if result is None:
                result = _times(c, t) if c > 0 else Sub(const(0, like.dtype), t) if c == -1 else _times(c, t)
            else:
                result = Sub(result, t) if c == -1 else Add(result, _times(c, t))
        assert result is not None
        return Add(result, const(number, like.dtype)) if number else result


def _times(c: int, t: Expr) -> Expr:
    return t if c == 1 else Mul(t, const(c, t.dtype))


def _no_remainder(item: tuple[int, Expr]) -> bool:
    return not isinstance(item[1], FloorMod | Mod)

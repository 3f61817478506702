"""Solving conditions for one variable, and reading bounds off conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...node import runs_deep
from ..expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    Add,
    And,
    Comparison,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Sub,
    Var,
    const,
)
from ..types import PrimType
from ..visitor import walk
from .analyzer import Analyzer
from .intset import IntervalSet, eval_set
from .rules_bool import NEGATED
from .sizes import NotAffine, Poly, Size, Sizes, _plain, number

_TURNED: dict[type, type[Comparison]] = {LT: GT, LE: GE, GT: LT, GE: LE, EQ: EQ}


def mentions(e: Expr, variables: Sequence[Var] | frozenset[Var]) -> bool:
    """Whether the expression holds one of these variables."""
    wanted = frozenset(variables)
    for node in walk(e):
        if isinstance(node, Var) and node in wanted:
            return True
    return False


def linear_parts(e: Expr, variables: Sequence[Var], sizes: Sizes) -> tuple[list[Size], Size] | None:
    """Coefficients and rest of a sum that is linear in the variables; None where it is not."""
    wanted = {sizes.ana.keys.key(v): i for i, v in enumerate(variables)}
    coeffs: list[Size] = [0] * len(variables)
    rest: Size = 0
    total = sizes.of(e)
    for m, c in total.terms.items() if isinstance(total, Poly) else [((), total)]:
        hits = [k for k in m if k in wanted]
        for key in m:
            if key not in wanted and mentions(sizes.atoms[key], variables):
                return None
        if len(hits) > 1:
            return None
        others = list(m)
        if hits:
            others.remove(hits[0])
        part = _plain({tuple(others): c}) if c else 0
        if hits:
            coeffs[wanted[hits[0]]] = sizes.add(coeffs[wanted[hits[0]]], part)
        else:
            rest = sizes.add(rest, part)
    return coeffs, rest


@runs_deep
def detect_linear_equation(e: Expr, variables: Sequence[Var]) -> list[Expr]:
    """[c0, c1, ..., base] with `e == c0 * v0 + c1 * v1 + ... + base`; empty where `e` is not linear."""
    sizes = Sizes(Analyzer())
    if not _signed(e):
        return []
    found = linear_parts(e, variables, sizes)
    if found is None:
        return []
    coeffs, rest = found
    try:
        return [sizes.expr(c, e.dtype) for c in [*coeffs, rest]]
    except NotAffine:
        return []


def _signed(e: Expr) -> bool:
    ty = e.ty
    return isinstance(ty, PrimType) and ty.dtype.is_int and ty.dtype.is_scalar


@runs_deep
def detect_clip_bound(condition: Expr, variables: Sequence[Var]) -> list[Expr | None]:
    """[min0, max0, min1, max1, ...]: the bounds that a conjunction gives, None where it gives none.

    Empty where a part of the conjunction is no bound of exactly one of the variables.
    """
    sizes = Sizes(Analyzer())
    lows: list[Expr | None] = [None] * len(variables)
    highs: list[Expr | None] = [None] * len(variables)
    parts = _conjunction(condition, True)
    if parts is None:
        return []
    for kind, a, b in parts:
        if not _signed(a):
            return []
        found = linear_parts(Sub(a, b), variables, sizes)
        if found is None:
            return []
        hits = [i for i, c in enumerate(found[0]) if c != 0]
        if len(hits) != 1:
            return []
        index = hits[0]
        factor = found[0][index]
        if not isinstance(factor, int):
            return []
        try:
            bounds = _solve_linear(sizes, kind, factor, found[1], a)
        except NotAffine:
            return []
        if bounds is None:
            return []
        low, high = bounds
        lows[index] = _tighter(sizes.ana, Max, lows[index], low)
        highs[index] = _tighter(sizes.ana, Min, highs[index], high)
    out: list[Expr | None] = []
    for low, high in zip(lows, highs, strict=True):
        out += [low, high]
    return out


def _tighter(ana: Analyzer, kind: type[Min] | type[Max], a: Expr | None, b: Expr | None) -> Expr | None:
    if a is None or b is None:
        return b if a is None else a
    return ana.simplify(kind(a, b))


def _conjunction(e: Expr, truth: bool) -> list[tuple[type[Comparison], Expr, Expr]] | None:
    """The comparisons that together are the condition; None for other forms."""
    if isinstance(e, Not):
        return _conjunction(e.a, not truth)
    if isinstance(e, IntImm) and bool(e.value) is truth:
        return []
    if isinstance(e, And) and truth:
        first, second = _conjunction(e.a, True), _conjunction(e.b, True)
        return None if first is None or second is None else first + second
    if not isinstance(e, Comparison):
        return None
    kind = type(e) if truth else NEGATED[type(e)]
    a, b = e.a, e.b
    if kind in (GT, GE) and isinstance(a, Min) or kind in (LT, LE) and isinstance(a, Max):
        return [(kind, a.a, b), (kind, a.b, b)]
    if kind in (GT, GE) and isinstance(b, Max) or kind in (LT, LE) and isinstance(b, Min):
        return [(kind, a, b.a), (kind, a, b.b)]
    return [(kind, a, b)] if kind in _TURNED else None


def _solve_linear(
    sizes: Sizes, kind: type[Comparison], factor: int, rest: Size, like: Expr
) -> tuple[Expr | None, Expr | None] | None:
    """Bounds of v from `factor * v + rest <kind> 0`."""
    if factor < 0:
        factor, rest, kind = -factor, sizes.sub(0, rest), _TURNED[kind]
    minus = sizes.sub(0, rest)
    if kind is EQ:
        value = sizes.exact(minus, factor)
        if value is None:
            return None
        e = sizes.expr(value, like.dtype)
        return e, e
    if kind in (LT, LE):
        top = sizes.sub(minus, 1) if kind is LT else minus
        return None, _quotient(sizes, top, factor, like, up=False)
    bottom = sizes.add(minus, 1) if kind is GT else minus
    return _quotient(sizes, bottom, factor, like, up=True), None


def _quotient(sizes: Sizes, a: Size, by: int, like: Expr, *, up: bool) -> Expr:
    found = sizes.exact(a, by)
    if found is not None:
        return sizes.expr(found, like.dtype)
    if isinstance(a, int):
        return number(-(-a // by) if up else a // by, like.dtype)
    over = sizes.add(a, by - 1) if up else a
    return sizes.ana.simplify(FloorDiv(sizes.expr(over, like.dtype), const(by, like.dtype)))


# one variable, others kept or taken over their ranges


@runs_deep
def deduce_bound(
    var: Var,
    condition: Expr,
    hints: Mapping[Var, IntervalSet] | None = None,
    relax: Mapping[Var, IntervalSet] | None = None,
) -> IntervalSet | None:
    """The values of `var` for which the comparison surely holds; None where it cannot be solved.

    `hints` are ranges of other variables, which tell signs of factors; variables of `relax` take
    every value of their sets, other ones stay symbols of the result.  The variable may stand once,
    within sums, products with what does not hold it, and quotients by constants.
    """
    if not isinstance(condition, Comparison) or type(condition) not in _TURNED:
        return None
    if not _signed(condition.a):
        return None
    ana = Analyzer()
    for known in (hints or {}, relax or {}):
        for other, values in known.items():
            _tell(ana, other, values)
    try:
        return _Deduction(var, ana, dict(relax or {})).run(type(condition), condition.a, condition.b)
    except NotAffine:
        return None


def _tell(ana: Analyzer, var: Var, values: IntervalSet) -> None:
    low = ana.const_int_bound(values.min).min if values.min is not None else None
    high = ana.const_int_bound(values.max).max if values.max is not None else None
    ana.bind_bound(var, low, high)


class _Deduction:
    """Moves everything but the variable to the other side, step by step."""

    def __init__(self, var: Var, ana: Analyzer, relax: dict[Var, IntervalSet]) -> None:
        self.var, self.ana, self.relax = var, ana, relax
        self.sizes = Sizes(ana)

    def run(self, kind: type[Comparison], a: Expr, b: Expr) -> IntervalSet | None:
        found = self._alone(Sub(a, b))
        if found is None:
            return None
        inner, factor, rest = found
        other = self.sizes.expr(self.sizes.sub(0, rest), a.dtype)
        if kind is EQ:
            return self._equal(inner, factor, other)
        if kind is LT:
            kind, other = LE, Sub(other, const(1, a.dtype))
        elif kind is GT:
            kind, other = GE, Add(other, const(1, a.dtype))
        return self._solve(kind, inner, factor, other)

    def _alone(self, e: Expr) -> tuple[Expr, Size, Size] | None:
        """`e` as `factor * inner + rest`, the variable in `inner` only."""
        inner: Expr | None = None
        factor: Size = 0
        rest: Size = 0
        total = self.sizes.of(e)
        if not isinstance(total, Poly):
            return None
        for m, c in total.terms.items():
            hits = [k for k in m if mentions(self.sizes.atoms[k], (self.var,))]
            others = list(m)
            if not hits:
                rest = self.sizes.add(rest, _plain({m: c}))
                continue
            if len(hits) > 1 or (inner is not None and self.sizes.atoms[hits[0]] is not inner):
                return None
            inner = self.sizes.atoms[hits[0]]
            others.remove(hits[0])
            factor = self.sizes.add(factor, _plain({tuple(others): c}))
        if inner is None or factor == 0 or self._times(e) != 1:
            return None
        return inner, factor, rest

    def _times(self, e: Expr) -> int:
        """How often the variable stands in the expression."""
        count = 0
        stack: list[Expr] = [e]
        while stack:
            node = stack.pop()
            count += node is self.var
            for name in ("a", "b", "value"):
                child = getattr(node, name, None)
                if isinstance(child, Expr):
                    stack.append(child)
        return count

    def _equal(self, inner: Expr, factor: Size, other: Expr) -> IntervalSet | None:
        if inner is not self.var or mentions(other, tuple(self.relax)):
            return None
        by = self.sizes.expr(factor, other.dtype)
        if mentions(by, tuple(self.relax)):
            return None
        value = self.sizes.exact(self.sizes.of(other), factor)
        if value is None:
            return None
        return IntervalSet.point(self.sizes.expr(value, other.dtype))

    def _solve(self, kind: type[Comparison], inner: Expr, factor: Size, other: Expr) -> IntervalSet | None:
        """Values of the variable from `factor * inner <= other`, or >=."""
        by = self.sizes.expr(factor, other.dtype)
        if mentions(by, tuple(self.relax)):
            return None
        low, high = self.sizes.bound(factor)
        if low <= 0 <= high:
            return None
        limit = self._worst(kind, other)
        if limit is None:
            return None
        kind, limit = self._divided(kind, limit, by, factor, high < 0)
        if inner is self.var:
            limit = self.ana.simplify(limit)
            return IntervalSet(None, limit) if kind is LE else IntervalSet(limit, None)
        return self._quotient(kind, inner, limit)

    def _divided(
        self, kind: type[Comparison], limit: Expr, by: Expr, factor: Size, negative: bool
    ) -> tuple[type[Comparison], Expr]:
        """`by * inner <= limit` (or >=) without the factor."""
        if negative:
            kind = _TURNED[kind]
        if isinstance(factor, int) and factor < 0:
            factor, by = -factor, const(-factor, by.dtype)
            limit = self.ana.simplify(Sub(const(0, limit.dtype), limit))
        if factor == 1:
            return kind, limit
        exact = self.sizes.exact(self.sizes.of(limit), factor)
        if exact is not None:
            return kind, self.sizes.expr(exact, limit.dtype)
        if kind is GE and isinstance(factor, int):
            # rounded up
            return kind, FloorDiv(Add(limit, const(factor - 1, limit.dtype)), by)
        quotient: Expr = FloorDiv(limit, by)
        if kind is GE and not self._divides(by, limit):
            quotient = Add(quotient, const(1, limit.dtype))
        return kind, quotient

    def _divides(self, by: Expr, e: Expr) -> bool:
        rest = self.ana.simplify(FloorMod(e, by))
        return isinstance(rest, IntImm) and rest.value == 0

    def _worst(self, kind: type[Comparison], other: Expr) -> Expr | None:
        """The other side at its least favourable."""
        if not self.relax or not mentions(other, tuple(self.relax)):
            return other
        found = eval_set(other, self.relax, self.ana)
        return found.min if kind is LE else found.max

    def _quotient(self, kind: type[Comparison], inner: Expr, limit: Expr) -> IntervalSet | None:
        if type(inner) is not FloorDiv or type(inner.b) is not IntImm or inner.b.value == 0:
            return None
        by, one = inner.b, const(1, limit.dtype)
        above = Mul(Add(limit, one), by)
        if kind is LE:
            # x // c <= l: x < (l + 1) * c for c > 0, x > (l + 1) * c for c < 0
            bound: tuple[type[Comparison], Expr] = (
                (LE, Sub(above, one)) if by.value > 0 else (GE, Add(above, one))
            )
        else:
            bound = (GE if by.value > 0 else LE, Mul(limit, by))
        found = self._alone(inner.a)
        if found is None:
            return None
        deeper, factor, rest = found
        other = Sub(bound[1], self.sizes.expr(rest, limit.dtype))
        return self._solve(bound[0], deeper, factor, self.ana.simplify(other))

"""Systems of linear equations and inequalities over the integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

from ...errors import ArgumentValueError
from ...node import runs_deep
from ..expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    Add,
    Comparison,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Mul,
    Range,
    Sub,
    Var,
    const,
)
from ..types import BOOL
from .analyzer import Analyzer
from .deduce import linear_parts
from .intset import IntervalSet, eval_set
from .sizes import NotAffine, Poly, Size, Sizes, number

MOST = 2_000
"""How many inequalities elimination may make."""


@dataclass(frozen=True, slots=True)
class IntGroupBounds:
    """Bounds of a variable: `coeff * var` is above each of `lower`, below each of `upper`, ends included."""

    coeff: int
    lower: tuple[Expr, ...] = ()
    equal: tuple[Expr, ...] = ()
    upper: tuple[Expr, ...] = ()

    def conditions(self, var: Var) -> list[Expr]:
        """The bounds as comparisons."""
        side: Expr = var if self.coeff == 1 else Mul(var, const(self.coeff, var.dtype))
        found: list[Expr] = [EQ(side, e) for e in self.equal]
        found += [GE(side, e) for e in self.lower]
        return found + [LE(side, e) for e in self.upper]

    def best_range(self, var: Var, domain: Mapping[Var, IntervalSet], ana: Analyzer) -> Range | None:
        """A range that holds every value of the variable; None without both ends."""
        low = _best(self.lower + self.equal, self.coeff, ana, up=True)
        high = _best(self.upper + self.equal, self.coeff, ana, up=False)
        if low is None or high is None:
            return None
        extent = eval_set(Add(Sub(high, low), const(1, var.dtype)), domain, ana).max
        return None if extent is None else Range(low, ana.simplify(extent))


def _best(ends: Sequence[Expr], coeff: int, ana: Analyzer, *, up: bool) -> Expr | None:
    best: Expr | None = None
    for e in ends:
        if coeff != 1:
            over = Add(e, const(coeff - 1, e.dtype)) if up else e
            e = FloorDiv(over, const(coeff, e.dtype))
        e = ana.simplify(e)
        if best is None or ana.can_prove(GT(e, best) if up else LT(e, best)):
            best = e
    return best


@dataclass(frozen=True, slots=True)
class Inequalities:
    """Solved inequalities: bounds of each variable by those after it, and what is left over.

    Together they are equivalent to what was given.
    """

    variables: tuple[Var, ...]
    bounds: Mapping[Var, IntGroupBounds]
    others: tuple[Expr, ...] = ()

    @property
    def impossible(self) -> bool:
        """Whether there is no solution for certain."""
        for e in self.others:
            if isinstance(e, IntImm) and not e.value:
                return True
        return False

    def conditions(self) -> list[Expr]:
        """All bounds and the rest, as conditions."""
        out: list[Expr] = []
        for var in self.variables:
            out += self.bounds[var].conditions(var)
        return out + list(self.others)

    def ranges(self) -> dict[Var, Range]:
        """Ranges that hold all solutions, for variables that have both ends."""
        ana = Analyzer()
        found: dict[Var, Range] = {}
        domain: dict[Var, IntervalSet] = {}
        for var in reversed(self.variables):
            dom = self.bounds[var].best_range(var, domain, ana)
            if dom is not None:
                found[var] = dom
                low, high = eval_set(dom.min, domain, ana).min, _last(dom, domain, ana)
                domain[var] = IntervalSet(low, high)
        return {var: found[var] for var in self.variables if var in found}


def _last(dom: Range, domain: Mapping[Var, IntervalSet], ana: Analyzer) -> Expr | None:
    return eval_set(Sub(Add(dom.min, dom.extent), const(1, dom.min.dtype)), domain, ana).max


class _Row:
    """`sum(coeffs[i] * variable i) + rest <= 0`, without common factor."""

    __slots__ = ("coeffs", "rest")

    def __init__(self, coeffs: list[int], rest: Size) -> None:
        self.coeffs, self.rest = coeffs, rest

    def key(self) -> tuple[object, ...]:
        return (*self.coeffs, self.rest)


@runs_deep
def solve_linear_inequalities(
    conditions: Sequence[Expr], variables: Sequence[Var], ranges: Mapping[Var, Range] | None = None
) -> Inequalities:
    """Fourier-Motzkin elimination of the variables in their order.

    Conditions that are not linear in the variables with constant factors are left over as they are.
    Raises ArgumentValueError where elimination would make more inequalities than `MOST`, or numbers that
    do not fit the variables' type.
    """
    try:
        return _solve_inequalities(conditions, variables, ranges or {})
    except NotAffine as err:
        raise ArgumentValueError(f"the inequalities have no solution in their type: {err}") from None


def _solve_inequalities(
    conditions: Sequence[Expr], variables: Sequence[Var], ranges: Mapping[Var, Range]
) -> Inequalities:
    sizes = Sizes(Analyzer())
    others: list[Expr] = []
    rows: dict[tuple[object, ...], _Row] = {}
    dtype = variables[0].dtype if variables else None
    for e in _all_conditions(conditions, variables, ranges):
        made = _rows(e, variables, sizes)
        if made is None:
            others.append(e)
            continue
        for row in made:
            _enter(rows, row)
    bounds: dict[Var, IntGroupBounds] = {}
    for i, var in enumerate(variables):
        rows, bounds[var] = _eliminate(rows, i, var, variables, sizes)
    for row in rows.values():
        assert dtype is not None
        if isinstance(row.rest, int):
            if row.rest > 0:
                return Inequalities(tuple(variables), _nothing(variables), (IntImm(BOOL, 0),))
            continue
        others.append(LE(sizes.expr(row.rest, dtype), const(0, dtype)))
    return Inequalities(tuple(variables), bounds, tuple(others))


def _nothing(variables: Sequence[Var]) -> dict[Var, IntGroupBounds]:
    return {v: IntGroupBounds(1) for v in variables}


def _all_conditions(
    conditions: Sequence[Expr], variables: Sequence[Var], ranges: Mapping[Var, Range]
) -> list[Expr]:
    out = list(conditions)
    for var in variables:
        dom = ranges.get(var)
        if dom is not None:
            out += [GE(var, dom.min), LT(var, Add(dom.min, dom.extent))]
    return out


def _rows(e: Expr, variables: Sequence[Var], sizes: Sizes) -> list[_Row] | None:
    if not isinstance(e, Comparison) or not e.a.dtype.is_int or not e.a.dtype.is_scalar:
        return None
    found = linear_parts(Sub(e.a, e.b), variables, sizes)
    if found is None:
        return None
    coeffs, rest = found
    numbers = [c for c in coeffs if isinstance(c, int)]
    if len(numbers) != len(coeffs):
        return None
    flipped, opposite = [-c for c in numbers], sizes.sub(0, rest)
    kind = type(e)
    if kind is LE or kind is LT:
        return [_Row(numbers, rest if kind is LE else sizes.add(rest, 1))]
    if kind is GE or kind is GT:
        return [_Row(flipped, opposite if kind is GE else sizes.add(opposite, 1))]
    if kind is EQ:
        return [_Row(numbers, rest), _Row(flipped, opposite)]
    return None


def _enter(rows: dict[tuple[object, ...], _Row], row: _Row) -> None:
    factor = gcd(*row.coeffs)
    if factor > 1 and isinstance(row.rest, int):
        # c * t + r <= 0 exactly where t + ceil(r / c) <= 0
        row = _Row([c // factor for c in row.coeffs], -(-row.rest // factor))
    if isinstance(row.rest, int):
        key: tuple[object, ...] = (*row.coeffs, None)
        old = rows.get(key)
        if old is None or (isinstance(old.rest, int) and row.rest > old.rest):
            rows[key] = row
        return
    rows[row.key()] = row
    if len(rows) > MOST:
        raise ArgumentValueError(f"eliminating the variables makes more than {MOST} inequalities")


def _eliminate(
    rows: dict[tuple[object, ...], _Row], index: int, var: Var, variables: Sequence[Var], sizes: Sizes
) -> tuple[dict[tuple[object, ...], _Row], IntGroupBounds]:
    kept: dict[tuple[object, ...], _Row] = {}
    ups: list[_Row] = []
    downs: list[_Row] = []
    for row in rows.values():
        c = row.coeffs[index]
        if c == 0:
            _enter(kept, row)
        else:
            (ups if c > 0 else downs).append(row)
    for a in ups:
        for b in downs:
            x, y = a.coeffs[index], -b.coeffs[index]
            g = gcd(x, y)
            fa, fb = y // g, x // g
            coeffs = [fa * p + fb * q for p, q in zip(a.coeffs, b.coeffs, strict=True)]
            rest = sizes.add(sizes.mul(a.rest, fa), sizes.mul(b.rest, fb))
            _enter(kept, _Row(coeffs, rest))
            if len(kept) > MOST:
                raise ArgumentValueError(f"eliminating the variables makes more than {MOST} inequalities")
    common = 1
    for row in ups + downs:
        c = abs(row.coeffs[index])
        common = common * c // gcd(common, c)
    upper = [_side(row, index, common, variables, sizes, -1) for row in ups]
    lower = [_side(row, index, common, variables, sizes, 1) for row in downs]
    return kept, _group(common, lower, upper)


def _side(row: _Row, index: int, common: int, variables: Sequence[Var], sizes: Sizes, sign: int) -> Expr:
    """The limit of `common * variable` that the row gives."""
    factor = common // abs(row.coeffs[index]) * sign
    total = sizes.mul(row.rest, factor)
    for i, c in enumerate(row.coeffs):
        if i != index and c:
            total = sizes.add(total, sizes.mul(sizes.symbol(variables[i]), c * factor))
    return sizes.expr(total, variables[index].dtype)


def _group(common: int, lower: list[Expr], upper: list[Expr]) -> IntGroupBounds:
    from ..equal import structural_equal

    equal: list[Expr] = []
    for e in list(lower):
        for f in list(upper):
            if structural_equal(e, f):
                equal.append(e)
                lower.remove(e)
                upper.remove(f)
                break
    return IntGroupBounds(common, tuple(lower), tuple(equal), tuple(upper))


# equations


@dataclass(frozen=True, slots=True)
class Equations:
    """Solved equations: old variables by new ones and back.

    The old variables fulfil the equations exactly where `relations` hold (they are about symbols, and
    about the new variables where ranges are given) and each old variable is its expression.
    """

    variables: tuple[Var, ...]
    old_by_new: Mapping[Var, Expr]
    new_by_old: Mapping[Var, Expr]
    ranges: Mapping[Var, Range] = field(default_factory=dict)
    relations: tuple[Expr, ...] = ()

    @property
    def impossible(self) -> bool:
        """Whether there is no solution for certain."""
        for e in self.relations:
            if isinstance(e, IntImm) and not e.value:
                return True
        return False


@runs_deep
def solve_linear_equations(
    equations: Sequence[Expr], variables: Sequence[Var], ranges: Mapping[Var, Range] | None = None
) -> Equations:
    """All integer solutions, by bringing the matrix into diagonal form.

    Equations that are not linear in the variables with constant factors are left over as relations.
    Raises ArgumentValueError where a number does not fit the variables' type.
    """
    try:
        return _solve_equations(equations, variables, ranges or {})
    except NotAffine as err:
        raise ArgumentValueError(f"the equations have no solution in their type: {err}") from None


def _solve_equations(
    equations: Sequence[Expr], variables: Sequence[Var], ranges: Mapping[Var, Range]
) -> Equations:
    sizes = Sizes(Analyzer())
    matrix: list[list[int]] = []
    right: list[Size] = []
    relations: list[Expr] = []
    for e in equations:
        found = linear_parts(Sub(e.a, e.b), variables, sizes) if type(e) is EQ else None
        row = [c for c in found[0] if isinstance(c, int)] if found is not None else []
        if found is None or len(row) != len(variables):
            relations.append(e)
        else:
            matrix.append(row)
            right.append(sizes.sub(0, found[1]))
    diagonal = _Diagonal(matrix, right, len(variables), sizes)
    dtype = variables[0].dtype if variables else None
    free: list[Var] = []
    values: list[Expr] = []
    for i in range(len(variables)):
        assert dtype is not None
        pivot = matrix[i][i] if i < len(matrix) else 0
        if pivot == 0:
            free.append(Var(f"n{len(free)}", variables[0].ty))
            values.append(free[-1])
            continue
        values.append(_quotient(sizes, right[i], pivot, relations, variables[0]))
    for i, rest in enumerate(right):
        if i >= len(variables) or matrix[i][i] == 0:
            if rest != 0:
                zero = isinstance(rest, Poly) and dtype is not None
                relations.append(
                    EQ(sizes.expr(rest, dtype), const(0, dtype)) if zero else IntImm(BOOL, 0)  # type: ignore[arg-type]
                )
    result = _substituted(diagonal, variables, values, free, sizes)
    return _with_ranges(result, relations, ranges)


def _quotient(sizes: Sizes, a: Size, by: int, relations: list[Expr], like: Var) -> Expr:
    found = sizes.exact(a, by)
    if found is not None:
        return sizes.expr(found, like.dtype)
    e = sizes.expr(a, like.dtype)
    divisor = number(by, like.dtype)
    relations.append(
        IntImm(BOOL, 0) if isinstance(a, int) else EQ(FloorMod(e, divisor), const(0, like.dtype))
    )
    return FloorDiv(e, divisor)


class _Diagonal:
    """Brings `matrix * x = right` into diagonal form in place; `x = columns * y`, `y = inverse * x`."""

    def __init__(self, matrix: list[list[int]], right: list[Size], width: int, sizes: Sizes) -> None:
        self.matrix, self.right, self.width, self.sizes = matrix, right, width, sizes
        self.columns = [[int(i == j) for j in range(width)] for i in range(width)]
        self.inverse = [[int(i == j) for j in range(width)] for i in range(width)]
        for k in range(min(len(matrix), width)):
            if not self._pivot(k):
                break

    def _pivot(self, k: int) -> bool:
        """Clear row and column k but for the diagonal; False where nothing is left to clear."""
        while True:
            best: tuple[int, int, int] | None = None
            for i in range(k, len(self.matrix)):
                for j in range(k, self.width):
                    size = abs(self.matrix[i][j])
                    if size and (best is None or size < best[0]):
                        best = size, i, j
            if best is None:
                return False
            self._swap(k, best[1], best[2])
            if self._clear(k):
                return True

    def _swap(self, k: int, i: int, j: int) -> None:
        m, r = self.matrix, self.right
        m[k], m[i] = m[i], m[k]
        r[k], r[i] = r[i], r[k]
        if j != k:
            for row in (*m, *self.columns):
                row[k], row[j] = row[j], row[k]
            self.inverse[k], self.inverse[j] = self.inverse[j], self.inverse[k]

    def _clear(self, k: int) -> bool:
        """One step of clearing; whether nothing but the diagonal is left."""
        m, pivot, clean = self.matrix, self.matrix[k][k], True
        for i in range(len(m)):
            q = m[i][k] // pivot if i != k else 0
            if q:
                m[i] = [a - q * b for a, b in zip(m[i], m[k], strict=True)]
                self.right[i] = self.sizes.add(self.right[i], self.right[k], -q)
            clean = clean and (i == k or m[i][k] == 0)
        for j in range(k + 1, self.width):
            q = m[k][j] // pivot
            if q:
                for row in (*m, *self.columns):
                    row[j] -= q * row[k]
                # the inverse moves the other way: y_k takes up what y_j gave
                self.inverse[k] = [a + q * b for a, b in zip(self.inverse[k], self.inverse[j], strict=True)]
            clean = clean and m[k][j] == 0
        return clean


def _substituted(
    diagonal: _Diagonal, variables: Sequence[Var], values: list[Expr], free: list[Var], sizes: Sizes
) -> Equations:
    old: dict[Var, Expr] = {}
    for i, var in enumerate(variables):
        old[var] = _sum(sizes, diagonal.columns[i], values, var)
    new: dict[Var, Expr] = {}
    for j, value in enumerate(values):
        if isinstance(value, Var) and value in free:
            new[value] = _sum(sizes, diagonal.inverse[j], list(variables), value)
    return Equations(tuple(free), old, new)


def _sum(sizes: Sizes, factors: list[int], terms: Sequence[Expr], like: Var) -> Expr:
    total: Size = 0
    for c, term in zip(factors, terms, strict=True):
        total = sizes.add(total, sizes.mul(sizes.of(term), c))
    return sizes.expr(total, like.dtype)


def _with_ranges(solved: Equations, relations: list[Expr], ranges: Mapping[Var, Range]) -> Equations:
    ana = Analyzer()
    for e in relations:
        if isinstance(e, IntImm) and not e.value:
            return Equations((), {}, {}, {}, (e,))
    domain = {var: IntervalSet.of_range(dom, ana) for var, dom in ranges.items()}
    found: dict[Var, Range] = {}
    for var, e in solved.new_by_old.items():
        values = eval_set(e, domain, ana)
        if values.min is not None and values.max is not None and domain:
            one = const(1, var.dtype)
            found[var] = Range(values.min, ana.simplify(Sub(Add(values.max, one), values.min)))
            ana.bind(var, found[var])
    out = list(relations)
    for var, dom in ranges.items():
        value = solved.old_by_new.get(var)
        if value is None:
            continue
        for e in (LE(dom.min, value), LT(value, Add(dom.min, dom.extent))):
            short = ana.simplify(e)
            if not (isinstance(short, IntImm) and short.value):
                out.append(short)
    return Equations(solved.variables, solved.old_by_new, solved.new_by_old, found, tuple(out))

"""Which values of a block's axes deal with given parts of buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..ir import (
    Add,
    BufferRegion,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Max,
    Min,
    Mul,
    Range,
    Sub,
    Var,
    const,
    walk,
)
from ..ir.arith import Analyzer
from ..ir.arith.intset import IntervalSet, eval_set, union
from ..ir.arith.iter_build import NotAffine
from ..ir.arith.iter_pad import padded_inverse

Box = Sequence[IntervalSet]


@dataclass(frozen=True, slots=True)
class Term:
    """`axis // lower % extent * scale`; an extent of None reaches to the end of the axis."""

    axis: Var
    lower: int
    extent: int | None
    scale: int


@dataclass(frozen=True, slots=True)
class LinearSum:
    """A sum of terms of axes or digits of axes, and what does not depend on them."""

    terms: tuple[Term, ...]
    rest: Expr


def linear_sum(e: Expr, axes: Mapping[Var, IterVar]) -> LinearSum | None:
    """The index as a sum of terms with constant factors; None for other forms."""
    if isinstance(e, Var) and e in axes:
        return LinearSum((Term(e, 1, None, 1),), const(0, e.dtype))
    if not _uses(e, axes):
        return LinearSum((), e)
    if isinstance(e, Add | Sub):
        a, b = linear_sum(e.a, axes), linear_sum(e.b, axes)
        if a is None or b is None:
            return None
        if isinstance(e, Sub):
            negated = [Term(t.axis, t.lower, t.extent, -t.scale) for t in b.terms]
            return LinearSum((*a.terms, *negated), a.rest - b.rest)
        return LinearSum((*a.terms, *b.terms), a.rest + b.rest)
    if isinstance(e, Mul) and isinstance(e.b, IntImm) and e.b.value > 0:
        a = linear_sum(e.a, axes)
        if a is None:
            return None
        factor = e.b.value
        terms = [Term(t.axis, t.lower, t.extent, t.scale * factor) for t in a.terms]
        return LinearSum(tuple(terms), a.rest * e.b)
    if isinstance(e, FloorDiv | FloorMod) and isinstance(e.b, IntImm) and e.b.value > 0:
        return _digit(e, e.b.value, axes)
    return None


def _digit(e: FloorDiv | FloorMod, by: int, axes: Mapping[Var, IterVar]) -> LinearSum | None:
    inner = linear_sum(e.a, axes)
    if inner is None or not (isinstance(inner.rest, IntImm) and inner.rest.value == 0):
        return None
    zero = const(0, e.dtype)
    if len(inner.terms) != 1 or inner.terms[0].scale != 1:
        return None
    t = inner.terms[0]
    if isinstance(e, FloorMod):
        if t.extent is not None and t.extent % by:
            return None
        return LinearSum((Term(t.axis, t.lower, by, 1),), zero)
    if t.extent is not None:
        if t.extent % by:
            return None
        return LinearSum((Term(t.axis, t.lower * by, t.extent // by, 1),), zero)
    return LinearSum((Term(t.axis, t.lower * by, None, 1),), zero)


def _uses(e: Expr, axes: Mapping[Var, IterVar]) -> bool:
    for node in walk(e):
        if isinstance(node, Var) and node in axes:
            return True
    return False


class AxisSolver:
    """Finds, for boxes of buffers, values of axes that include all whose regions meet the boxes."""

    def __init__(self, axes: Sequence[IterVar], ana: Analyzer) -> None:
        self.axes = {a.var: a for a in axes}
        self.ana = ana

    def solve(self, regions: Sequence[BufferRegion], boxes: Mapping[Var, Box]) -> dict[Var, IntervalSet]:
        """The values of each axis that is limited, for regions any of which may meet its box."""
        total: dict[Var, IntervalSet] | None = None
        for region in regions:
            box = boxes.get(region.buffer)
            if box is None:
                continue
            found = self.region(region, box)
            if total is None:
                total = found
            else:
                total = {v: union(self.ana, s, found[v]) for v, s in total.items() if v in found}
        return total or {}

    def region(self, region: BufferRegion, box: Box) -> dict[Var, IntervalSet]:
        """The values of the axes for which the region may meet the box; axes left out are not limited."""
        found: dict[Var, list[tuple[Term, IntervalSet]]] = {}
        for dim, wanted in zip(region.region, box):
            if wanted.min is None or wanted.max is None or not isinstance(dim.extent, IntImm):
                continue
            form = linear_sum(dim.min, self.axes)
            if form is not None and form.terms:
                self._dimension(form, dim.extent.value, wanted, found)
        result: dict[Var, IntervalSet] = {}
        for var, digits in found.items():
            made = self._axis(digits)
            if made is not None:
                result[var] = made
        if [v for v in self._mentioned(region) if v not in result]:
            for var, values in self._by_inverse(region, box).items():
                result.setdefault(var, values)
        return result

    def _mentioned(self, region: BufferRegion) -> list[Var]:
        return [n for dim in region.region for n in walk(dim.min) if isinstance(n, Var) and n in self.axes]

    def _by_inverse(self, region: BufferRegion, box: Box) -> dict[Var, IntervalSet]:
        """The axes as a function of the element, where the region is one element."""
        indices: list[Expr] = []
        domain: dict[Var, IntervalSet] = {}
        used: set[Var] = set()
        for k, (dim, wanted) in enumerate(zip(region.region, box)):
            inside = {n for n in walk(dim.min) if isinstance(n, Var) and n in self.axes}
            if not inside:
                continue
            if not (isinstance(dim.extent, IntImm) and dim.extent.value == 1):
                return {}
            if wanted.min is None or wanted.max is None:
                return {}
            used |= inside
            indices.append(dim.min)
            low, high = self._minus(wanted.min, const(0, dim.min.dtype)), wanted.max
            domain[Var(f"e{k}", dim.min.ty)] = IntervalSet(low, self._minus(high, const(0, low.dtype)))
        iters = {v: domain_of(a) for v, a in self.axes.items() if v in used}
        try:
            inverse = padded_inverse(indices, iters, list(domain), padding=True, analyzer=self.ana)
        except NotAffine:
            return {}
        found: dict[Var, IntervalSet] = {}
        for var, value in inverse.iterators.items():
            values = eval_set(value, domain, self.ana)
            if values.min is not None and values.max is not None:
                found[var] = values
        return found

    def _dimension(
        self,
        form: LinearSum,
        width: int,
        wanted: IntervalSet,
        found: dict[Var, list[tuple[Term, IntervalSet]]],
    ) -> None:
        """What one index says of its terms, from the one with the largest scale on."""
        terms = sorted(form.terms, key=_scale, reverse=True)
        if len({t.axis for t in terms}) != len(terms):
            return
        assert wanted.min is not None and wanted.max is not None
        low, high = self._minus(wanted.min, form.rest), self._minus(wanted.max, form.rest)
        if terms[-1].scale < 0:
            if len(terms) == 1 and terms[0].scale == -1:
                negated = IntervalSet(self.ana.simplify(-high), self.ana.simplify(width - 1 - low))
                found.setdefault(terms[0].axis, []).append((terms[0], negated))
            return
        for k, term in enumerate(terms):
            reach = self._reach(terms[k + 1 :], width)
            if reach is None:
                return
            values = self._term(term.scale, reach, low, high)
            found.setdefault(term.axis, []).append((term, values))
            first, last = values.min, values.max
            if first is None or last is None or not self.ana.can_prove_equal(first, last):
                return
            low = self.ana.simplify(low - first * term.scale)
            high = self.ana.simplify(high - first * term.scale)

    def _reach(self, terms: Sequence[Term], width: int) -> int | None:
        """How many elements the inner terms span."""
        total = width
        for t in terms:
            extent = t.extent
            if extent is None:
                dom = self.axes[t.axis].dom
                if dom is None or not isinstance(dom.extent, IntImm):
                    return None
                extent = -(-dom.extent.value // t.lower)
            total += t.scale * (extent - 1)
        return total

    def _term(self, scale: int, reach: int, low: Expr, high: Expr) -> IntervalSet:
        """Values x for which [x * scale, x * scale + reach) meets low to high."""
        if scale == 1 and reach == 1:
            return IntervalSet(low, high)
        by = const(scale, low.dtype)
        first = self.ana.simplify(FloorDiv(low + (scale - reach), by))
        return IntervalSet(first, self.ana.simplify(FloorDiv(high, by)))

    def _axis(self, digits: list[tuple[Term, IntervalSet]]) -> IntervalSet | None:
        """The values of an axis from those of its digits, the highest first."""
        digits.sort(key=_lower, reverse=True)
        whole = [d for d in digits if d[0].lower == 1 and d[0].extent is None]
        if whole:
            result = whole[0][1]
            for _, other in whole[1:]:
                result = self._meet(result, other)
            return result
        top, values = digits[0]
        if top.extent is not None or values.min is None or values.max is None:
            return None
        ana = self.ana
        low, high, lower = values.min, values.max, top.lower
        for term, inner in digits[1:]:
            if inner.min is None or inner.max is None or not ana.can_prove_equal(low, high):
                break
            if term.extent is None or term.lower * term.extent != lower:
                break
            ratio = term.extent
            low, high, lower = low * ratio + inner.min, high * ratio + inner.max, term.lower
        low = ana.simplify(low * lower)
        high = ana.simplify(high * lower + (lower - 1))
        return IntervalSet(low, high)

    def _meet(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        low = self._pick(Max, a.min, b.min)
        return IntervalSet(low, self._pick(Min, a.max, b.max))

    def _pick(self, kind: type[Min] | type[Max], a: Expr | None, b: Expr | None) -> Expr | None:
        if a is None or b is None:
            return b if a is None else a
        return self.ana.simplify(kind(a, b)) if a.ty is b.ty else a

    def _minus(self, a: Expr, b: Expr) -> Expr:
        if b.ty is not a.ty:
            a = a if a.dtype.bits >= b.dtype.bits else Cast(b.ty, a)
            b = b if b.ty is a.ty else Cast(a.ty, b)
        return self.ana.simplify(a - b)


def _scale(t: Term) -> int:
    return t.scale


def _lower(d: tuple[Term, IntervalSet]) -> int:
    return d[0].lower


def domain_of(axis: IterVar) -> Range:
    """The domain of a block's axis."""
    assert axis.dom is not None
    return axis.dom

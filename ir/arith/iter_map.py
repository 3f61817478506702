"""Detecting affine iterator maps: whether indices enumerate a box, and as which digits of iterators.

The rules of the check: iterators are cut into digits, each digit is used at most once, and the
digits used of one iterator take all their values together.  Values are those of index
arithmetic; symbols in extents and divisors are sizes and count as positive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import ArgumentValueError
from ...node import runs_deep
from ..expr import EQ, GE, GT, LE, LT, And, Call, Comparison, Expr, Not, Range, Var, as_expr, const
from ..op import Op
from ..visitor import walk
from .analyzer import Analyzer
from .iter_build import IterBuilder, Mark, Pattern, Split, Sum, is_true
from .iter_nodes import IterSumExpr, normalize_iter_map_to_expr
from .rules_bool import NEGATED
from .sizes import NotAffine, Poly, Size

LEVELS = ("surjective", "bijective", "nocheck")


@dataclass(frozen=True, slots=True)
class IterMapResult:
    """What was found: a sum of at most one split for each index, or no index and why not."""

    indices: tuple[IterSumExpr, ...] = ()
    errors: tuple[str, ...] = ()
    padding_predicate: Expr = field(default_factory=lambda: const(0, "bool"))


def level_name(check_level: object) -> str:
    """The level as one of LEVELS. Raises ArgumentValueError."""
    name = str(getattr(check_level, "name", check_level)).lower().replace("_", "")
    if isinstance(check_level, int) and not isinstance(check_level, bool):
        name = {0: "bijective", 1: "surjective", 3: "nocheck"}.get(int(check_level), name)
    if name not in LEVELS:
        raise ArgumentValueError(f"a check level is one of {', '.join(LEVELS)}, not {check_level!r}")
    return name


def scoped(ana: Analyzer | None, iters: Mapping[Var, Range]) -> Analyzer:
    """A copy of the analyzer that knows the iterators."""
    own = ana.clone() if ana is not None else Analyzer()
    own.data = False
    for var, dom in iters.items():
        own.bind(var, dom)
    return own


@runs_deep
def detect_iter_map(
    indices: Sequence[Expr],
    iters: Mapping[Var, Range],
    predicate: Expr | bool = True,
    check_level: object = "surjective",
    simplify_trivial_iterators: bool = True,
    analyzer: Analyzer | None = None,
) -> IterMapResult:
    """The indices as sums of one iterator each, where they are an affine map of the iterators.

    surjective: the indices, independent of each other, take every value of the box that the
    result's extents span.  bijective: moreover each point of the iterators that fulfils the
    predicate gives another value.  nocheck: the form only.  A variable that is no iterator is a
    symbol.  `errors` says why not where the result has no indices.
    """
    level = level_name(check_level)
    exprs = [as_expr(e) for e in indices]
    builder = IterBuilder(iters, scoped(analyzer, iters), drop_unit=simplify_trivial_iterators)
    try:
        found = detect(builder, exprs, predicate, level)
        public = [builder.public(s, e.dtype) for s, e in zip(found, exprs, strict=True)]
    except NotAffine as err:
        return IterMapResult((), (str(err),))
    return IterMapResult(tuple(public))


def detect(builder: IterBuilder, indices: Sequence[Expr], predicate: Expr | bool, level: str) -> list[Sum]:
    """The sums of the indices, each of one split at most. Raises NotAffine.

    The level "padded" is bijective but for values of the indices that no iteration takes.
    """
    add_predicate(builder, predicate)
    sums = [one_split(builder, builder.normalize(e)) for e in indices]
    if level == "padded":
        sums = builder.unified(sums)
    if level != "nocheck":
        _Check(builder, level != "surjective", padding=level == "padded").run(sums)
    return sums


def one_split(builder: IterBuilder, total: Sum) -> Sum:
    """The sum fused into one split. Raises NotAffine."""
    total = builder.limited(builder.joined(total))
    if not total.args:
        return total
    one, unit, base = builder.fuse(total)
    if one.extent == 1 and builder.drop_unit:
        return Sum([], base)
    return Sum([one._replace(scale=unit)], base)


# predicates


@dataclass(slots=True)
class _Constraint:
    """`low <= e < high` of an expression without constant part."""

    e: Expr
    size: int
    lows: list[Size] = field(default_factory=list)
    highs: list[Size] = field(default_factory=list)


def add_predicate(builder: IterBuilder, predicate: Expr | bool) -> None:
    """Let the marks keep to a predicate. Raises NotAffine where it cannot be put into bounds."""
    if predicate is True or is_true(predicate):
        return
    if predicate is False:
        raise NotAffine("the predicate never holds")
    sums: list[tuple[int, Sum, type[Expr]]] = []
    for kind, a, b, size in _comparisons(builder, predicate):
        sums.append((size, kind, a, b))  # type: ignore[arg-type]
    sums.sort(key=_first)
    groups: dict[object, list[tuple[type[Expr], Expr, Expr]]] = {}
    for _, kind, a, b in sums:  # type: ignore[misc]
        groups.setdefault(_direction(builder, a, b), []).append((kind, a, b))
    for group in groups.values():
        _limit(builder, group)


def _first(item: tuple[int, object, object]) -> int:
    return item[0]


def _comparisons(
    builder: IterBuilder, e: Expr | bool, truth: bool = True
) -> list[tuple[type[Expr], Expr, Expr, int]]:
    if isinstance(e, bool) or is_true(e):
        return []
    if isinstance(e, Not):
        return _comparisons(builder, e.a, not truth)
    if isinstance(e, And) and truth:
        return _comparisons(builder, e.a) + _comparisons(builder, e.b)
    if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == "prim.likely":
        return _comparisons(builder, e.args[0], truth)
    if not builder.mentions(e):
        builder.free.append(e if truth else Not(e))
        return []
    if isinstance(e, Comparison):
        kind = type(e) if truth else NEGATED[type(e)]
        if kind in (LT, LE, GT, GE, EQ) and e.a.dtype.is_integral and e.a.dtype.is_scalar:
            return [(kind, e.a, e.b, len(list(walk(e))))]
    raise NotAffine("the predicate is no conjunction of bounds")


def _direction(builder: IterBuilder, a: Expr, b: Expr) -> object:
    """The terms of a - b up to sign: the same for bounds of the same sum."""
    total = builder.ana.linear(a).minus(builder.ana.linear(b))
    terms = []
    for key, (c, term) in total.terms.items():
        if builder.mentions(term):
            terms.append((key, c))
    terms.sort()
    if terms and terms[0][1] < 0:
        terms = [(k, -c) for k, c in terms]
    return tuple(terms)


def _limit(builder: IterBuilder, group: list[tuple[type[Expr], Expr, Expr]]) -> None:
    """Put a mark that keeps to these bounds of one sum in its place."""
    sizes, dtype = builder.sizes, builder.dtype
    one: Split | None = None
    low: Size = 0
    high: Size | None = None
    for kind, a, b in group:
        total = builder.plus(builder.normalize(a), builder.normalize(b), -1)
        if not total.args:
            if isinstance(total.base, int) and not _TRUTH[kind](total.base):
                raise NotAffine("the predicate never holds")
            if not isinstance(total.base, int):
                builder.free.append(kind(a, b))
            continue
        if kind in (GT, GE):
            # a > b as b < a
            total = builder.times(total, -1)
            kind = LT if kind is GT else LE
        for form in [total] if kind is not EQ else [total, builder.times(total, -1)]:
            below = not _downwards(form)
            split, unit, base = builder.fuse(form if below else builder.times(form, -1))
            if one is None:
                one, high = split, split.extent
            elif one != split:
                raise NotAffine("the predicate's bounds are of different sums")
            # form < 0, or <= 0:  unit * split + base < strict
            if below:
                limit = sizes.sub(0 if kind is LT else 1, base)
                high = sizes.smaller(high or 0, _up(builder, limit, unit), dtype)
            else:
                limit = sizes.sub(1 if kind is LT else 0, base)
                low = sizes.larger(low, _up(builder, limit, unit), dtype)
    if one is None or high is None:
        return
    extent = sizes.sub(high, low)
    if isinstance(extent, int) and extent <= 0:
        raise NotAffine("the predicate never holds")
    args = _parts(one)
    source = Sum(list(args), sizes.sub(0, low))
    mark = Mark(source, extent, overlap=one.mark.overlap, bounded=True, full=one.extent)
    builder.patterns.append(Pattern(args, mark, low))


def _parts(one: Split) -> tuple[Split, ...]:
    """The splits that stand for this one in a sum before it is fused."""
    source = one.mark.source
    if isinstance(source, Sum) and one.lower == 1 and one.extent == one.mark.extent:
        if source.base == 0 and not one.mark.bounded:
            return tuple(source.args)
    return (one,)


_TRUTH: dict[type, Callable[[int], bool]] = {
    LT: lambda value: value < 0,
    LE: lambda value: value <= 0,
    GT: lambda value: value > 0,
    GE: lambda value: value >= 0,
    EQ: lambda value: value == 0,
}


def _downwards(form: Sum) -> bool:
    for s in form.args:
        top = s.scale if isinstance(s.scale, int) else next(iter(s.scale.terms.values()))
        if top < 0:
            return True
    return False


def _up(builder: IterBuilder, limit: Size, unit: Size) -> Size:
    """limit / unit, rounded up."""
    if unit == 1:
        return limit
    found = builder.sizes.exact(limit, unit)
    if found is not None:
        return found
    if isinstance(unit, Poly):
        raise NotAffine("a bound of the predicate is no multiple of the stride")
    return builder.sizes.ceil(limit, unit, builder.dtype)


# the check


class _Check:
    """Whether the digits that are used are used once, and take all their values."""

    def __init__(self, builder: IterBuilder, bijective: bool, padding: bool = False) -> None:
        self.builder = builder
        self.bijective = bijective
        self.padding = padding
        self.used: dict[Mark, list[Split]] = {}

    def run(self, sums: list[Sum]) -> None:
        """Raises NotAffine where the sums are no such map."""
        for total in sums:
            for s in total.args:
                self._use(s)
        for pattern in self.builder.patterns:
            self._open(pattern.mark)
        for mark, splits in self._rotated().items():
            if splits:
                self._digits(mark, splits)
        if self.bijective:
            self._all_used()

    def _use(self, s: Split) -> None:
        self._open(s.mark)
        self.used[s.mark].append(s)

    def _open(self, mark: Mark) -> None:
        """Whatever part of a sum is used, its iterators are used up by it."""
        if mark in self.used:
            return
        self.used[mark] = []
        if isinstance(mark.source, Sum):
            for s in mark.source.args:
                self._use(s)

    def _rotated(self) -> dict[Mark, list[Split]]:
        """The digits that are used; those of one iterator with several offsets as of one offset.

        (m + k * l) // l % e is a permutation of the digit m // l % e.
        """
        if self.bijective:
            return self.used
        used = dict(self.used)
        groups: dict[Split, list[Mark]] = {}
        for mark in used:
            if mark.padded and isinstance(mark.source, Sum):
                groups.setdefault(mark.source.args[0], []).append(mark)
        exact, sub = self.builder.sizes.exact, self.builder.sizes.sub
        for whole, marks in groups.items():
            entire = whole.lower == 1 and whole.extent == whole.mark.extent
            plain = [s for s in used[whole.mark] if s != whole] if entire else []
            if len(marks) == 1 and not plain:
                continue
            for target in marks:
                others = [s for m in marks if m is not target for s in used[m]] + plain
                if [s for s in others if exact(sub(target.low, s.mark.low), s.lower) is None]:
                    continue
                for m in marks:
                    used[m] = [] if m is not target else used[m] + [s._replace(mark=m) for s in others]
                if entire:
                    used[whole.mark] = [whole]
                break
        return used

    def _digits(self, mark: Mark, splits: list[Split]) -> None:
        sizes = self.builder.sizes
        ordered = self._ordered(splits)
        end: Size = 1
        for i, s in enumerate(ordered):
            if i or self.bijective:
                gap = sizes.exact(s.lower, end)
                if gap is None or (self.bijective and gap != 1):
                    raise NotAffine("parts of an iterator overlap, or some are left out")
            end = sizes.mul(s.lower, s.extent)
        self._all_values(mark, ordered, end)
        if self.bijective and mark.overlap:
            raise NotAffine("different iterations give the same index")

    def _ordered(self, splits: list[Split]) -> list[Split]:
        """By lower factor; where that has symbols, so that each starts a multiple of where one ends."""
        if all(isinstance(s.lower, int) for s in splits):
            return sorted(splits, key=_lower)
        left, out = list(splits), []
        end: Size = 1
        while left:
            best: Split | None = None
            for s in left:
                step = self.builder.sizes.exact(s.lower, end)
                if step is not None and (best is None or step == 1):
                    others = [o for o in left if o is not s]
                    if step == 1 or not [
                        o for o in others if self.builder.sizes.exact(s.lower, o.lower) is not None
                    ]:
                        best = s
            if best is None:
                raise NotAffine("the parts of an iterator do not follow each other")
            left.remove(best)
            out.append(best)
            end = self.builder.sizes.mul(best.lower, best.extent)
        return out

    def _all_values(self, mark: Mark, ordered: list[Split], end: Size) -> None:
        """Whether these digits together take every value while the mark runs over its own."""
        sizes = self.builder.sizes
        first, last = ordered[0], ordered[-1]
        count = mark.extent
        if mark.padded and isinstance(mark.source, Sum):
            count = mark.source.args[0].extent
        if end == mark.extent and mark.low == 0:
            return
        if self.padding and self.builder._reaches(last):
            return
        if self.bijective:
            raise NotAffine("an iterator is padded")
        if not self.builder._reaches(last):
            # An iterator that runs has a positive extent, which is no less than what divides it.
            if sizes.exact(count, end) is None and not sizes.below(end, count):
                raise NotAffine("a part of an iterator does not take all its values")
            return
        # blocks of size `first.lower` from the first that is reached to the last
        low_min, low_max = sizes.bound(mark.low)
        if mark.low != 0 and not (isinstance(first.lower, int) and low_max < first.lower):
            raise NotAffine("the values before an offset are missing")
        wanted = sizes.exact(end, first.lower)
        if mark.low == 0 and wanted == sizes.ceil(count, first.lower, self.builder.dtype):
            return
        if isinstance(count, int) and isinstance(first.lower, int) and isinstance(wanted, int):
            if -(-(count + low_min) // first.lower) >= wanted:
                return
        raise NotAffine("an iterator is padded, and the padded values are missing")

    def _all_used(self) -> None:
        for var, mark in self.builder.roots.items():
            if mark.extent != 1 and not self.used.get(mark):
                raise NotAffine(f"the iterator `{var.name}` is not used")
        for pattern in self.builder.patterns:
            if pattern.mark.extent != 1 and not self.used.get(pattern.mark):
                raise NotAffine("an iterator that the predicate limits is not used")


def _lower(s: Split) -> int:
    assert isinstance(s.lower, int)
    return s.lower


# forms


@runs_deep
def normalize_to_iter_sum(
    index: Expr, iters: Mapping[Var, Range], analyzer: Analyzer | None = None
) -> IterSumExpr:
    """The index as a sum of splits, largest scales first; what is no affine part goes into the base."""
    builder = IterBuilder(iters, scoped(analyzer, iters), opaque=True)
    total = builder.joined(builder.normalize(index))
    ordered: list[Split] = []
    for s in total.args:
        at = len(ordered)
        while at and _after(builder, s, ordered[at - 1]):
            at -= 1
        ordered.insert(at, s)
    try:
        return builder.public(Sum(ordered, total.base), index.dtype)
    except NotAffine:  # a number that is outside the index type
        return IterSumExpr((), index)


def _after(builder: IterBuilder, new: Split, old: Split) -> bool:
    from .iter_build import _compare

    return _compare(new.scale, old.scale) > 0


@runs_deep
def iter_map_simplify(
    indices: Sequence[Expr],
    iters: Mapping[Var, Range],
    predicate: Expr | bool = True,
    check_level: object = "surjective",
    simplify_trivial_iterators: bool = True,
    analyzer: Analyzer | None = None,
) -> list[Expr]:
    """The indices in the form that `detect_iter_map` finds; as they are where it finds none."""
    found = detect_iter_map(indices, iters, predicate, check_level, simplify_trivial_iterators, analyzer)
    if not found.indices and indices and not is_true(predicate):
        # without the predicate the map has more points: what holds there holds here too
        found = detect_iter_map(indices, iters, True, check_level, simplify_trivial_iterators, analyzer)
    if not found.indices:
        return [as_expr(e) for e in indices]
    return [normalize_iter_map_to_expr(e) for e in found.indices]

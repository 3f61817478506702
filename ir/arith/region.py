"""Regions: which elements a region with iterators in it covers altogether."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...node import runs_deep
from ..expr import Add, Expr, Range, Sub, Var, const
from .analyzer import Analyzer
from .intset import IntervalSet, eval_set
from .iter_build import IterBuilder, NotAffine, Sum
from .iter_map import _Check, _downwards, add_predicate, one_split, scoped


@runs_deep
def estimate_region_strict_bound(
    region: Sequence[Range],
    domain: Mapping[Var, Range],
    predicate: Expr | bool,
    analyzer: Analyzer | None = None,
) -> list[IntervalSet] | None:
    """Exactly the elements that the region covers while its iterators run; None where that is no box."""
    builder = IterBuilder(domain, scoped(analyzer, domain))
    try:
        add_predicate(builder, predicate)
        turned, splits = [], []
        for dim in region:
            total = builder.joined(builder.normalize(dim.min))
            turned.append(_downwards(total))
            splits.append(one_split(builder, builder.times(total, -1) if turned[-1] else total))
        _Check(builder, bijective=False).run(splits)
        for dim, total in zip(region, splits, strict=True):
            _dense(builder, dim, total)
        return [_span(builder, d, t, s) for d, t, s in zip(region, turned, splits, strict=True)]
    except NotAffine:
        return None


def _dense(builder: IterBuilder, dim: Range, total: Sum) -> None:
    """Raises NotAffine where steps of the iterator jump over elements."""
    if builder.mentions(dim.extent):
        raise NotAffine("the extent depends on an iterator")
    for s in total.args:
        if not builder.sizes.below(s.scale, builder.sizes.of(dim.extent)):
            raise NotAffine("the stride is wider than the region")


def _span(builder: IterBuilder, dim: Range, turned: bool, total: Sum) -> IntervalSet:
    sizes, dtype = builder.sizes, dim.min.dtype
    reach = 0
    for s in total.args:
        reach = sizes.mul(s.scale, sizes.sub(s.extent, 1))  # type: ignore[assignment]
    low = sizes.sub(0, sizes.add(total.base, reach)) if turned else total.base
    high = sizes.sub(sizes.add(sizes.add(low, reach), sizes.of(dim.extent)), 1)
    ana = builder.ana
    return IntervalSet(ana.simplify(sizes.expr(low, dtype)), ana.simplify(sizes.expr(high, dtype)))


@runs_deep
def estimate_region_lower_bound(
    region: Sequence[Range],
    domain: Mapping[Var, Range],
    predicate: Expr | bool,
    analyzer: Analyzer | None = None,
) -> list[IntervalSet] | None:
    """A box of elements that the region covers for sure; None where none is known."""
    return estimate_region_strict_bound(region, domain, predicate, analyzer)


@runs_deep
def estimate_region_upper_bound(
    region: Sequence[Range],
    domain: Mapping[Var, Range],
    predicate: Expr | bool,
    analyzer: Analyzer | None = None,
) -> list[IntervalSet]:
    """A box that holds every element that the region covers."""
    whole = estimate_region_strict_bound(region, domain, predicate, analyzer)
    if whole is not None:
        return whole
    ana = scoped(analyzer, domain)
    sets = {var: IntervalSet.of_range(dom, ana) for var, dom in domain.items()}
    out = []
    for dim in region:
        alone = estimate_region_strict_bound([dim], domain, predicate, analyzer)
        if alone is not None:
            out += alone
            continue
        low = eval_set(dim.min, sets, ana)
        last = Sub(Add(dim.min, dim.extent), const(1, dim.min.dtype))
        high = eval_set(last, sets, ana)
        out.append(IntervalSet(low.min, high.max))
    return out

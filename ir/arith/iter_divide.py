"""Taking iterator maps apart: into an outer and an inner part, and backwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...errors import ArgumentValueError
from ...node import runs_deep
from ..equal import structural_equal
from ..expr import (
    GE,
    LT,
    Add,
    And,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Mul,
    Range,
    Sub,
    Var,
    as_expr,
    const,
)
from ..types import BOOL, PrimType
from ..visitor import free_vars
from .analyzer import Analyzer
from .iter_build import IterBuilder, Mark, NotAffine, Split, Sum, _weight
from .iter_map import detect, level_name, scoped
from .iter_nodes import IterMark, IterSumExpr, normalize_iter_map_to_expr
from .sizes import Size, Sizes

# division into an outer and an inner part


@dataclass(frozen=True, slots=True)
class _Parts:
    """A value as `outer * inner_extent + inner`."""

    outer: Sum
    outer_extent: Size
    inner: Sum
    inner_extent: Size

    @property
    def is_inner(self) -> bool:
        return not self.outer.args

    @property
    def is_outer(self) -> bool:
        return not self.inner.args


@dataclass(slots=True)
class _Divider:
    builder: IterBuilder
    inner_vars: frozenset[Var]
    found: dict[Mark, _Parts] = field(default_factory=dict)
    fused: dict[object, Mark] = field(default_factory=dict)
    outer_bounds: list[Expr] = field(default_factory=list)
    inner_bounds: list[Expr] = field(default_factory=list)

    def sum(self, total: Sum) -> _Parts:
        """The parts of a sum of splits, base aside; a sum on one side has the extent of its mark.

        Raises NotAffine.
        """
        sizes = self.builder.sizes
        divided = [(s, self.split(s)) for s in total.args]
        if not [p for _, p in divided if not p.is_inner]:
            # on one side as it is, overlaps included
            return _Parts(Sum(), 1, Sum([x for s, p in divided for x in self._scaled(p.inner, s.scale)]), 0)
        if not [p for _, p in divided if not p.is_outer]:
            return _Parts(Sum([x for s, p in divided for x in self._scaled(p.outer, s.scale)]), 0, Sum(), 1)
        inner: list[Split] = []
        outer: list[Split] = []
        inner_reach: Size = 1
        outer_reach: Size = 1
        for s, parts in reversed(divided):
            if s.scale != sizes.mul(inner_reach, outer_reach) and s.extent != 1:
                raise NotAffine("the iterators leave gaps, or overlap")
            if outer and not parts.is_outer:
                raise NotAffine("an inner iterator lies outside of an outer one")
            if not outer:
                inner[:0] = self._scaled(parts.inner, inner_reach)
                inner_reach = sizes.mul(inner_reach, parts.inner_extent)
            if not parts.is_inner:
                outer[:0] = self._scaled(parts.outer, outer_reach)
                outer_reach = sizes.mul(outer_reach, parts.outer_extent)
        return _Parts(Sum(outer), outer_reach, Sum(inner), inner_reach)

    def _scaled(self, part: Sum, scale: Size) -> list[Split]:
        return [s._replace(scale=self.builder.sizes.mul(s.scale, scale)) for s in part.args]

    def split(self, s: Split) -> _Parts:
        """The parts of a split, its scale aside. Raises NotAffine."""
        sizes = self.builder.sizes
        parts = self.mark(s.mark)
        if s.lower == 1 and s.extent == s.mark.extent:
            return parts
        if parts.is_inner:
            return _Parts(Sum(), 1, self._digit(parts.inner, parts.inner_extent, s.lower, s.extent), s.extent)
        if parts.is_outer:
            return _Parts(self._digit(parts.outer, parts.outer_extent, s.lower, s.extent), s.extent, Sum(), 1)
        edge = parts.inner_extent
        end = sizes.mul(s.lower, s.extent)
        if sizes.exact(edge, end) is not None:
            return _Parts(Sum(), 1, self._digit(parts.inner, edge, s.lower, s.extent), s.extent)
        above = sizes.exact(s.lower, edge)
        if above is not None:
            return _Parts(self._digit(parts.outer, parts.outer_extent, above, s.extent), s.extent, Sum(), 1)
        low, high = sizes.exact(edge, s.lower), sizes.exact(end, edge)
        if low is None or high is None:
            raise NotAffine("a part of a fused iterator lies across inner and outer ones")
        return _Parts(
            self._digit(parts.outer, parts.outer_extent, 1, high),
            high,
            self._digit(parts.inner, edge, s.lower, low),
            low,
        )

    def _digit(self, part: Sum, whole: Size, lower: Size, extent: Size) -> Sum:
        """`part // lower % extent` as a sum of one split."""
        if lower == 1 and extent == whole:
            return part
        if len(part.args) == 1:
            one = part.args[0]
            if one.scale == 1:
                return Sum([Split(one.mark, self.builder.sizes.mul(one.lower, lower), extent, 1)])
        key = tuple(part.args)
        mark = self.fused.get(key)
        if mark is None:
            mark = self.fused[key] = Mark(part, whole)
        return Sum([Split(mark, lower, extent, 1)])

    def mark(self, mark: Mark) -> _Parts:
        """The parts of a mark. Raises NotAffine."""
        found = self.found.get(mark)
        if found is None:
            found = self.found[mark] = self._mark(mark)
        return found

    def _mark(self, mark: Mark) -> _Parts:
        whole = Sum([Split(mark, 1, mark.extent, 1)])
        source = mark.source
        if isinstance(source, Var):
            inner = source in self.inner_vars
            return _Parts(Sum(), 1, whole, mark.extent) if inner else _Parts(whole, mark.extent, Sum(), 1)
        parts = self.sum(source)
        if parts.is_inner:
            inside = self._same(mark, source, parts.inner)
            self._bound(inside, self.inner_bounds)
            return _Parts(Sum(), 1, Sum([Split(inside, 1, inside.extent, 1)]), mark.extent)
        if parts.is_outer:
            inside = self._same(mark, source, parts.outer)
            self._bound(inside, self.outer_bounds)
            return _Parts(Sum([Split(inside, 1, inside.extent, 1)]), mark.extent, Sum(), 1)
        if mark.bounded or source.base != 0 or mark.overlap:
            raise NotAffine("a predicate or an offset ties inner and outer iterators together")
        return parts

    def _same(self, mark: Mark, source: Sum, part: Sum) -> Mark:
        """The mark over this part, which has the value of its source."""
        if part.args == source.args:
            return mark
        return replace(mark, source=Sum(part.args, source.base))

    def _bound(self, mark: Mark, bounds: list[Expr]) -> None:
        if not mark.bounded or not isinstance(mark.source, Sum):
            return
        builder, dtype = self.builder, self.builder.dtype
        source = mark.source
        plain = normalize_iter_map_to_expr(builder.public(Sum(source.args), dtype))
        low = builder.sizes.sub(0, source.base)
        if low != 0:
            bounds.append(GE(plain, builder.sizes.expr(low, dtype)))
        high = builder.sizes.add(low, mark.extent)
        if high != mark.full:
            bounds.append(LT(plain, builder.sizes.expr(high, dtype)))


@runs_deep
def subspace_divide(
    bindings: Sequence[Expr],
    iters: Mapping[Var, Range],
    sub_iters: Sequence[Var],
    predicate: Expr | bool = True,
    check_level: object = "surjective",
    simplify_trivial_iterators: bool = True,
    analyzer: Analyzer | None = None,
) -> list[tuple[IterMark, IterMark]]:
    """Each binding as `outer * inner.extent + inner`, where inner holds the iterators of `sub_iters` only.

    The last pair holds the predicates of the outer and of the inner iterators as its extents.
    An empty list: the bindings are no such map.
    """
    exprs = [as_expr(e) for e in bindings]
    builder = IterBuilder(iters, scoped(analyzer, iters), drop_unit=simplify_trivial_iterators)
    divider = _Divider(builder, frozenset(sub_iters))
    try:
        sums = detect(builder, exprs, predicate, level_name(check_level))
        made = [_pair(divider, s, e) for s, e in zip(sums, exprs, strict=True)]
        for pattern in builder.patterns:
            divider.mark(pattern.mark)
    except NotAffine:
        return []
    # conditions on what does not iterate; where that is an inner iterator of one value, they are inner
    for e in builder.free:
        touched = [v for v in free_vars(e) if v in divider.inner_vars]
        (divider.inner_bounds if touched else divider.outer_bounds).append(e)
    outer, inner = _all(divider.outer_bounds), _all(divider.inner_bounds)
    zero = IterSumExpr((), const(0, builder.dtype))
    return [*made, (IterMark(zero, outer), IterMark(zero, inner))]


def _pair(divider: _Divider, total: Sum, e: Expr) -> tuple[IterMark, IterMark]:
    builder, dtype = divider.builder, e.dtype
    expr = builder.sizes.expr
    if not total.args:
        return _mark(builder, Sum(), 1, e), _mark(builder, total, 1, e)
    one = total.args[0]
    if one.scale != 1:
        raise NotAffine("a binding has a stride")
    parts = divider.split(one)
    inner = Sum(parts.inner.args, total.base)
    return (
        IterMark(builder.public(parts.outer, dtype), expr(parts.outer_extent, dtype)),
        IterMark(builder.public(inner, dtype), expr(parts.inner_extent, dtype)),
    )


def _mark(builder: IterBuilder, total: Sum, extent: int, e: Expr) -> IterMark:
    return IterMark(builder.public(total, e.dtype), const(extent, e.dtype))


def _all(bounds: list[Expr]) -> Expr:
    result: Expr | None = None
    for bound in bounds:
        result = bound if result is None else And(result, bound)
    return IntImm(BOOL, 1) if result is None else result


# the inverse


@runs_deep
def inverse_affine_iter_map(iter_map: Sequence[IterSumExpr], outputs: Sequence[Expr]) -> dict[Var, Expr]:
    """The iterators as expressions of the outputs, for a bijective map that `detect_iter_map` found.

    Raises ArgumentValueError where the map is no sum of splits of iterators.
    """
    if len(iter_map) != len(outputs):
        raise ArgumentValueError(f"{len(iter_map)} indices need as many outputs, not {len(outputs)}")
    return _Inverse().run(iter_map, outputs)


@dataclass(slots=True)
class _Inverse:
    """Sends values from sums back to their marks, a mark after all that use it."""

    marks: list[IterMark] = field(default_factory=list)
    waiting: dict[int, int] = field(default_factory=dict)
    parts: dict[int, list[tuple[Size, Size, Expr]]] = field(default_factory=dict)
    sizes: Sizes = field(default_factory=lambda: Sizes(Analyzer()))

    def run(self, sums: Sequence[IterSumExpr], outputs: Sequence[Expr]) -> dict[Var, Expr]:
        for s in sums:
            self._count(s)
        ready: list[int] = []
        for s, value in zip(sums, outputs, strict=True):
            self._send(s, as_expr(value), ready)
        result: dict[Var, Expr] = {}
        while ready:
            number = ready.pop(0)
            mark = self.marks[number]
            value = self._value(number)
            if isinstance(mark.source, IterSumExpr):
                self._send(mark.source, value, ready)
            else:
                var, found = _variable(mark.source, value)
                result[var] = found
        return result

    def number(self, mark: IterMark) -> int:
        for i, old in enumerate(self.marks):
            if old is mark:
                return i
        for i, old in enumerate(self.marks):
            if structural_equal(old, mark):
                return i
        self.marks.append(mark)
        return len(self.marks) - 1

    def _count(self, total: IterSumExpr) -> None:
        for split in total.args:
            known = len(self.marks)
            number = self.number(split.source)
            self.waiting[number] = self.waiting.get(number, 0) + 1
            if number == known and isinstance(split.source.source, IterSumExpr):
                self._count(split.source.source)

    def _send(self, total: IterSumExpr, value: Expr, ready: list[int]) -> None:
        """The values of the splits, given that of their sum."""
        sizes = self.sizes
        base = sizes.of(total.base)
        if base != 0:
            value = Sub(value, total.base)
        for i, split in enumerate(total.args):
            part = value
            scale = sizes.of(split.scale)
            if scale != 1:
                part = FloorDiv(part, split.scale)
            if i:
                part = FloorMod(part, split.extent)
            number = self.number(split.source)
            self.parts.setdefault(number, []).append(
                (sizes.of(split.lower_factor), sizes.of(split.extent), part)
            )
            self.waiting[number] -= 1
            if not self.waiting[number]:
                ready.append(number)

    def _value(self, number: int) -> Expr:
        """The value of the mark, its highest digit first."""
        digits = sorted(self.parts[number], key=_descending)
        return joined_digits(self.sizes, digits)


def joined_digits(sizes: Sizes, digits: Sequence[tuple[Size, Size, Expr]]) -> Expr:
    """The number that digits make, given with their lower factors and extents."""
    result: Expr | None = None
    for lower, _, part in digits:
        term = part if lower == 1 else Mul(part, sizes.expr(lower, part.dtype))
        result = term if result is None else Add(result, term)
    assert result is not None
    return result


def _descending(digit: tuple[Size, Size, Expr]) -> tuple[int, int]:
    degree, factor = _weight(digit[0])
    return -degree, -factor


def _variable(source: Expr, value: Expr) -> tuple[Var, Expr]:
    """The variable behind a mark's expression, and its value."""
    while not isinstance(source, Var):
        if isinstance(source, Cast) and isinstance(source.value.ty, PrimType):
            value, source = Cast(source.value.ty, value), source.value
        elif isinstance(source, Sub):
            value, source = Add(value, source.b), source.a
        elif isinstance(source, Add):
            value, source = Sub(value, source.b), source.a
        else:
            raise ArgumentValueError("a mark that is no iterator cannot be inverted")
    return source, value

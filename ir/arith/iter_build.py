"""Turning index expressions into sums of iterator splits.

Values here are those of the integers, free of types; `IterBuilder.public` gives the nodes.
Symbols in extents and divisors are sizes: they count as positive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ...dtype import DType
from ..expr import Add, Cast, Expr, FloorDiv, FloorMod, IntImm, Mul, Range, RShift, Sub, Var, const
from ..text import text
from ..types import PrimType
from ..visitor import walk
from .analyzer import Analyzer
from .iter_nodes import IterMark, IterSplitExpr, IterSumExpr
from .sizes import NotAffine, Size, Sizes, _widens


@dataclass(eq=False, slots=True)
class Mark:
    """An iterator: a variable, or a sum of splits; it takes each value from `low` to `extent` - 1.

    `overlap`: its splits reach some values in several ways.  `bounded`: a predicate limits it.
    `padded`: it is one split and an offset.  `full`: the extent of its sum before the limit.
    """

    source: Var | Sum
    extent: Size
    low: Size = 0
    overlap: bool = False
    bounded: bool = False
    padded: bool = False
    full: Size | None = None


class Split(NamedTuple):
    """`mark // lower % extent * scale`"""

    mark: Mark
    lower: Size
    extent: Size
    scale: Size


@dataclass(eq=False, slots=True)
class Sum:
    """Splits, the outermost first once fused, and a base."""

    args: list[Split] = field(default_factory=list)
    base: Size = 0


class Pattern(NamedTuple):
    """A sum that a predicate limits: its splits at scale 1, the limited mark, the smallest value."""

    args: tuple[Split, ...]
    mark: Mark
    low: Size


class IterBuilder:
    """Knows the iterators and makes sums; the same value gets the same mark.

    `drop_unit`: iterators of extent 1 are their minimum.  `opaque`: what is not affine is a symbol,
    otherwise an error.  `tiles`: a remainder counts as taking each value below the divisor.
    """

    def __init__(
        self,
        iters: Mapping[Var, Range],
        ana: Analyzer,
        *,
        drop_unit: bool = True,
        opaque: bool = False,
        tiles: bool = False,
    ) -> None:
        self.ana = ana
        self.sizes = Sizes(ana)
        self.drop_unit = drop_unit
        self.opaque = opaque
        self.tiles = tiles
        self.roots: dict[Var, Mark] = {}
        self.mins: dict[Var, Size] = {}
        self.patterns: list[Pattern] = []
        self.free: list[Expr] = []
        self._marks: dict[object, Mark] = {}
        self._public: dict[tuple[Mark, DType], IterMark] = {}
        self._mentions: dict[int, tuple[Expr, bool]] = {}
        for var, dom in iters.items():
            self.mins[var] = self.sizes.of(dom.min)
            self.roots[var] = Mark(var, self.sizes.of(dom.extent))
        self.dtype = DType("int64")
        for var in iters:
            self.dtype = var.dtype
            break

    # expressions to sums

    def mentions(self, e: Expr) -> bool:
        """Whether the expression holds an iterator."""
        found = self._mentions.get(id(e))
        if found is None:
            hit = False
            for node in walk(e):
                if isinstance(node, Var) and node in self.roots:
                    hit = True
            found = self._mentions[id(e)] = (e, hit)
        return found[1]

    def normalize(self, e: Expr) -> Sum:
        """The expression as a sum. Raises NotAffine where that cannot be."""
        if not self.mentions(e):
            return Sum([], self.sizes.of(e))
        kind = type(e)
        if kind is Var:
            return self._var(e)  # type: ignore[arg-type]
        if kind is Add or kind is Sub:
            a, b = self.normalize(e.a), self.normalize(e.b)  # type: ignore[attr-defined]
            return self.plus(a, b, 1 if kind is Add else -1)
        if kind is Mul:
            a, b = self.normalize(e.a), self.normalize(e.b)  # type: ignore[attr-defined]
            if a.args and b.args:
                return self._opaque(e)
            return self.times(a, b.base) if a.args else self.times(b, a.base)
        if kind is FloorDiv or kind is FloorMod or kind is RShift:
            return self._division(e)
        if kind is Cast and _widens(e):
            return self.normalize(e.value)  # type: ignore[attr-defined]
        return self._opaque(e)

    def _opaque(self, e: Expr) -> Sum:
        if not self.opaque:
            raise NotAffine(f"`{text(e)}` is not an affine expression of the iterators")
        return Sum([], self.sizes.symbol(e))

    def _division(self, e: Expr) -> Sum:
        if e.b.dtype.is_vector or self.mentions(e.b):  # type: ignore[attr-defined]
            return self._opaque(e)
        divisor = self.sizes.of(e.b)  # type: ignore[attr-defined]
        quotient = not isinstance(e, FloorMod)
        if isinstance(e, RShift):
            if not isinstance(divisor, int) or not 0 <= divisor < e.dtype.bits:
                return self._opaque(e)
            divisor = 1 << divisor
        if isinstance(divisor, int) and divisor <= 0:
            return self._opaque(e)
        try:
            inner = self.normalize(e.a)  # type: ignore[attr-defined]
            return self.divide(inner, divisor)[0 if quotient else 1]
        except NotAffine:
            if self.opaque:
                return self._opaque(e)
            raise

    def _var(self, var: Var) -> Sum:
        mark, base = self.roots[var], self.mins[var]
        if mark.extent == 1 and self.drop_unit:
            return Sum([], base)
        return self.limited(Sum([Split(mark, 1, mark.extent, 1)], base))

    def plus(self, a: Sum, b: Sum, factor: Size = 1) -> Sum:
        """a + factor * b, equal splits joined."""
        out = Sum(list(a.args), self.sizes.add(a.base, self.sizes.mul(b.base, factor)))
        for split in b.args:
            self._put(out.args, split._replace(scale=self.sizes.mul(split.scale, factor)))
        return out

    def _put(self, args: list[Split], new: Split) -> None:
        for i, old in enumerate(args):
            if old.mark is new.mark and old.lower == new.lower and old.extent == new.extent:
                scale = self.sizes.add(old.scale, new.scale)
                if scale == 0:
                    del args[i]
                else:
                    args[i] = old._replace(scale=scale)
                return
        args.append(new)

    def times(self, a: Sum, factor: Size) -> Sum:
        """factor * a"""
        if factor == 0:
            return Sum()
        mul = self.sizes.mul
        return Sum([s._replace(scale=mul(s.scale, factor)) for s in a.args], mul(a.base, factor))

    # division

    def divide(self, total: Sum, by: Size) -> tuple[Sum, Sum]:
        """Quotient and remainder of a sum. Raises NotAffine."""
        if by == 1:
            return total, Sum()
        exact = self.sizes.exact
        total = self.limited(self.joined(total))
        rest = [s for s in total.args if exact(s.scale, by) is None]
        if not rest:
            return self._whole(total.args, total.base, by)
        try:
            one, unit, base = self.fuse(total)
        except NotAffine:
            if len(rest) == len(total.args):
                raise
            # what the divisor divides comes out whole
            high = Sum([s._replace(scale=exact(s.scale, by) or 0) for s in total.args if s not in rest], 0)
            quotient, remainder = self.divide(Sum(rest, total.base), by)
            return self.plus(high, quotient), remainder
        return self._divide_one(one, unit, base, by)

    def _whole(self, args: list[Split], base: Size, by: Size) -> tuple[Sum, Sum]:
        """Division of a sum of which the divisor divides every scale."""
        high, low = self._halves(base, by)
        out = Sum([s._replace(scale=self.sizes.exact(s.scale, by) or 0) for s in args], high)
        return out, Sum([], low)

    def _halves(self, base: Size, by: Size) -> tuple[Size, Size]:
        """base // by and base % by."""
        if isinstance(base, int) and isinstance(by, int):
            return base // by, base % by
        whole = self.sizes.exact(base, by)
        if whole is not None:
            return whole, 0
        dtype = self.dtype
        left, right = self.sizes.expr(base, dtype), self.sizes.expr(by, dtype)
        low = self.sizes.of(self.ana.simplify(FloorMod(left, right)))
        high = self.sizes.exact(self.sizes.sub(base, low), by)
        if high is None:
            quotient = FloorDiv(self.sizes.expr(self.sizes.sub(base, low), dtype), right)
            high = self.sizes.of(self.ana.simplify(quotient))
        return high, low

    def _divide_one(self, one: Split, unit: Size, base: Size, by: Size) -> tuple[Sum, Sum]:
        """Division of `unit * one + base`, where `one` has scale 1."""
        step = self.sizes.exact(by, unit)
        if step is None:
            raise NotAffine("a divisor is no multiple of the stride")
        # unit * v + base = unit * (v + base // unit) + base % unit
        up, below = self._halves(base, unit)
        high, pad = self._halves(up, step)
        one = self.padded(one, pad)
        quotient, remainder = self._cut(one, step)
        quotient.base = self.sizes.add(quotient.base, high)
        remainder = self.times(remainder, unit)
        remainder.base = self.sizes.add(remainder.base, below)
        return self.limited(quotient), self.limited(remainder)

    def _reaches(self, s: Split) -> bool:
        """Whether the split goes to the end of its mark."""
        end = self.sizes.mul(s.lower, s.extent)
        if end == s.mark.extent or self.sizes.ceil(s.mark.extent, s.lower, self.dtype) == s.extent:
            return True
        return isinstance(end, int) and isinstance(s.mark.extent, int) and end >= s.mark.extent

    def _cut(self, one: Split, step: Size) -> tuple[Sum, Sum]:
        sizes = self.sizes
        upper = sizes.exact(one.extent, step)
        if upper is None and not isinstance(step, int):
            raise NotAffine("a symbolic divisor does not divide the extent")
        if upper is None and not self._reaches(one):
            # digits of a part that is no multiple: the part becomes an iterator of its own
            one = self.padded(one, 0, always=True)
        if upper is None:
            if isinstance(one.extent, int) and isinstance(step, int) and one.extent <= step:
                return Sum(), self._single(one._replace(extent=step) if self.tiles else one)
            upper = sizes.ceil(one.extent, step, self.dtype)
        high = Split(one.mark, sizes.mul(one.lower, step), upper, 1)
        low = Split(one.mark, one.lower, step, 1)
        return self._single(high), self._single(low)

    def _single(self, s: Split) -> Sum:
        return Sum() if s.extent == 1 and (self.drop_unit or not self._is_unit(s.mark)) else Sum([s], 0)

    def _is_unit(self, mark: Mark) -> bool:
        return mark.extent == 1

    def padded(self, one: Split, pad: Size, always: bool = False) -> Split:
        """The split plus `pad` as part of a whole mark; the split itself for 0."""
        if pad == 0 and not always:
            return one
        sizes = self.sizes
        if not always and self._reaches(one):
            # m // l + p = (m + p * l) // l
            whole, inner = self._unpadded(one.mark)
            mark = self._pad_mark(whole, sizes.add(inner, sizes.mul(pad, one.lower)))
            return Split(mark, one.lower, sizes.ceil(mark.extent, one.lower, self.dtype), 1)
        mark = self._pad_mark(one, pad)
        return Split(mark, 1, mark.extent, 1)

    def _unpadded(self, mark: Mark) -> tuple[Split, Size]:
        """What the mark is an offset of, and the offset."""
        if mark.padded and isinstance(mark.source, Sum):
            return mark.source.args[0], mark.source.base
        return Split(mark, 1, mark.extent, 1), 0

    def _pad_mark(self, one: Split, pad: Size) -> Mark:
        key = ("pad", one, pad)
        mark = self._marks.get(key)
        if mark is None:
            extent = self.sizes.add(one.extent, self._most(pad))
            mark = self._marks[key] = Mark(Sum([one], pad), extent, pad, padded=True)
        return mark

    def unified(self, sums: list[Sum]) -> list[Sum]:
        """The sums with as few different offsets of one iterator as can be."""
        groups: dict[Split, list[Mark]] = {}
        for total in sums:
            for s in total.args:
                whole, _ = self._unpadded(s.mark)
                groups.setdefault(whole, []).append(s.mark)
        for marks in groups.values():
            for target in marks if len(marks) > 1 else []:
                moved = [self._moved(total, marks, target) for total in sums]
                if None not in moved:
                    sums = moved  # type: ignore[assignment]
                    break
        return sums

    def _moved(self, total: Sum, marks: list[Mark], target: Mark) -> Sum | None:
        """The sum with splits of these marks as splits of the target; None where that cannot be."""
        sizes = self.sizes
        args, base = [], total.base
        for s in total.args:
            if s.mark is target or s.mark not in marks:
                args.append(s)
                continue
            shift = sizes.sub(target.low, s.mark.low)
            if not self._reaches(s) and sizes.exact(shift, sizes.mul(s.lower, s.extent)) is not None:
                args.append(s._replace(mark=target))
                continue
            steps = sizes.exact(shift, s.lower)
            if steps is None or not self._reaches(s):
                return None
            extent = sizes.ceil(target.extent, s.lower, self.dtype)
            args.append(Split(target, s.lower, extent, s.scale))
            base = sizes.sub(base, sizes.mul(steps, s.scale))
        return Sum(args, base)

    def _most(self, pad: Size) -> Size:
        """A number that `pad` does not exceed; `pad` itself where none is known."""
        if isinstance(pad, int):
            return pad
        low, high = self.sizes.bound(pad)
        if low < 0:
            raise NotAffine("an offset may be negative")
        return high if high < 1 << 30 else pad

    # fusion

    def joined(self, total: Sum) -> Sum:
        """Neighbouring digits of one mark joined: `m // 4 * 4 + m % 4` is m."""
        args = list(total.args)
        sizes = self.sizes
        changed = len(args) > 1
        while changed:
            changed = False
            for i, low in enumerate(args):
                end, above = sizes.mul(low.lower, low.extent), sizes.mul(low.scale, low.extent)
                for j, high in enumerate(args):
                    if i != j and high.mark is low.mark and high.lower == end and high.scale == above:
                        extent = sizes.mul(low.extent, high.extent)
                        whole = low._replace(extent=extent)
                        if self._reaches(whole):
                            end = sizes.ceil(low.mark.extent, low.lower, self.dtype)
                            whole = whole._replace(extent=end)
                        # the joined digits stand where the outer ones stood
                        args[j] = whole
                        del args[i]
                        changed = True
                        break
                if changed:
                    break
        return Sum(args, total.base)

    def limited(self, total: Sum) -> Sum:
        """The sum with the marks that predicates limit in place of their splits."""
        for pattern in self.patterns:
            total = self._limit(total, pattern)
        return total

    def _limit(self, total: Sum, pattern: Pattern) -> Sum:
        sizes = self.sizes
        first = pattern.args[0]
        for candidate in total.args:
            if candidate.mark is not first.mark or candidate.lower != first.lower:
                continue
            factor = sizes.exact(candidate.scale, first.scale)
            if factor is None or candidate.extent != first.extent:
                continue
            wanted = [p._replace(scale=sizes.mul(p.scale, factor)) for p in pattern.args]
            if [w for w in wanted if w not in total.args]:
                continue
            out = []
            for s in total.args:
                if s == candidate:
                    out.append(Split(pattern.mark, 1, pattern.mark.extent, factor))
                elif s not in wanted:
                    out.append(s)
            if pattern.mark.extent == 1 and self.drop_unit:
                out = [s for s in out if s.mark is not pattern.mark]
            return Sum(out, sizes.add(total.base, sizes.mul(pattern.low, factor)))
        return total

    def fuse(self, total: Sum) -> tuple[Split, Size, Size]:
        """The sum as `unit * split + base`, the split of scale 1. Raises NotAffine."""
        total = self.limited(self.joined(total))
        if not total.args:
            raise NotAffine("there is no iterator to fuse")
        if len(total.args) == 1:
            one = total.args[0]
            self._positive(one.scale)
            return one._replace(scale=1), one.scale, total.base
        chain, unit, extent, overlap = self._chain(total.args)
        scaled = []
        for s in chain:
            scaled.append(s._replace(scale=self.sizes.exact(s.scale, unit)))  # type: ignore[arg-type]
        key = ("fuse", tuple(scaled))
        mark = self._marks.get(key)
        if mark is None:
            mark = self._marks[key] = Mark(Sum(scaled, 0), extent, overlap=overlap)
        return Split(mark, 1, mark.extent, 1), unit, total.base

    def _positive(self, scale: Size) -> None:
        if isinstance(scale, int):
            if scale <= 0:
                raise NotAffine("an iterator counts downwards")
            return
        for c in scale.terms.values():
            if c < 0:
                raise NotAffine("an iterator counts downwards")

    def _chain(self, args: list[Split]) -> tuple[list[Split], Size, Size, bool]:
        """The splits from outermost to innermost so that they count without gaps, and how far."""
        left = list(args)
        for s in left:
            self._positive(s.scale)
        first = self._innermost(left)
        left.remove(first)
        unit = first.scale
        chain, overlap = [first], False
        reach = self.sizes.mul(unit, first.extent)
        while left:
            found = self._next(left, reach, unit)
            if found is None:
                raise NotAffine("the strides of the iterators leave gaps")
            left.remove(found)
            chain.append(found)
            if found.scale != reach:
                overlap = overlap or found.extent != 1
            # reach = scale * (extent - 1) + what was reached before
            step = self.sizes.sub(self.sizes.mul(found.scale, found.extent), found.scale)
            reach = self.sizes.add(reach, step)
        extent = self.sizes.exact(reach, unit)
        if extent is None:
            raise NotAffine("the strides of the iterators have no common unit")
        return chain[::-1], unit, extent, overlap

    def _innermost(self, args: list[Split]) -> Split:
        """The split of the smallest scale; those of extent 1 first, then the last in order."""
        best = args[-1]
        for s in args[-2::-1]:
            order = _compare(s.scale, best.scale)
            if order < 0 or (order == 0 and s.extent == 1 and best.extent != 1):
                best = s
        return best

    def _next(self, left: list[Split], reach: Size, unit: Size) -> Split | None:
        """The split to put around those that reach so far."""
        same: Split | None = None
        for s in reversed(left):
            if s.scale == reach and (same is None or (s.extent == 1 and same.extent != 1)):
                same = s
        best: Split | None = None
        for s in reversed(left):
            smaller = best is None or _compare(s.scale, best.scale) < 0
            unit_first = best is not None and s.scale == best.scale and s.extent == 1 != best.extent
            if smaller or unit_first:
                best = s
        once = best is None or best.extent == 1  # such a split fits anywhere: later
        if same is not None and (best is None or once or _compare(best.scale, same.scale) >= 0):
            return same
        if best is not None and self.sizes.exact(best.scale, unit) is not None:
            if best.extent == 1 or self.sizes.below(best.scale, reach):
                return best
        return same

    # nodes

    def public(self, total: Sum, dtype: DType) -> IterSumExpr:
        """The sum as a node."""
        args = [self.public_split(s, dtype) for s in total.args]
        return IterSumExpr(args, self.sizes.expr(total.base, dtype))

    def public_split(self, s: Split, dtype: DType) -> IterSplitExpr:
        """The split as a node."""
        expr = self.sizes.expr
        mark = self.public_mark(s.mark, dtype)
        return IterSplitExpr(mark, expr(s.lower, dtype), expr(s.extent, dtype), expr(s.scale, dtype))

    def public_mark(self, mark: Mark, dtype: DType) -> IterMark:
        """The mark as a node; one node for one mark."""
        found = self._public.get((mark, dtype))
        if found is None:
            source: Expr
            if isinstance(mark.source, Sum):
                source = self.public(mark.source, dtype)
            else:
                source = mark.source
                if source.dtype is not dtype:
                    source = Cast(PrimType(dtype), source)
                low = self.mins[mark.source]
                if low != 0:
                    source = self.ana.simplify(Sub(source, self.sizes.expr(low, dtype)))
            found = IterMark(source, self.sizes.expr(mark.extent, dtype))
            self._public[mark, dtype] = found
        return found


def _compare(a: Size, b: Size) -> int:
    """An order of scales: by number of symbols, then by factor."""
    x, y = _weight(a), _weight(b)
    return (x > y) - (x < y)


def _weight(a: Size) -> tuple[int, int]:
    if isinstance(a, int):
        return 0, a
    top = max([len(m) for m in a.terms])
    return top, sum([c for m, c in a.terms.items() if len(m) == top])


def is_true(e: Expr | bool) -> bool:
    """Whether this is the constant True."""
    return e is True or (isinstance(e, IntImm) and e.value == 1)


def zero(dtype: DType) -> Expr:
    """0 of this type."""
    return const(0, dtype)

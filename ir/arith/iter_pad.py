"""The inverse of an index map, and which of the new indices hold nothing (padding)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...node import runs_deep
from ..expr import EQ, GE, LT, Add, And, Expr, FloorDiv, FloorMod, IntImm, Or, Range, Var, const
from .analyzer import Analyzer
from .iter_build import IterBuilder, Mark
from .iter_divide import _descending, _Inverse, joined_digits
from .iter_map import detect, scoped
from .sizes import NotAffine, Size


class PaddedInverse(NamedTuple):
    """The iterators as expressions of the indices, the indices' ranges, and where there is padding."""

    iterators: dict[Var, Expr]
    ranges: tuple[Range, ...]
    padding: Expr


@runs_deep
def padded_inverse(
    indices: Sequence[Expr],
    iters: Mapping[Var, Range],
    outputs: Sequence[Var],
    *,
    padding: bool = True,
    analyzer: Analyzer | None = None,
) -> PaddedInverse:
    """The inverse of the map from the iterators to the indices, which are called `outputs`.

    Raises NotAffine where the map is not affine, where two iterations give the same indices, or,
    without `padding`, where some indices are not taken; for iterators from 0 indices count from 0.
    """
    builder = IterBuilder(iters, scoped(analyzer, iters), tiles=True)
    sums = detect(builder, indices, True, "padded" if padding else "bijective")
    public = [builder.public(s, e.dtype) for s, e in zip(sums, indices, strict=True)]
    ranges: list[Range] = []
    holes: list[Expr] = []
    from_zero = not [dom for dom in iters.values() if builder.sizes.of(dom.min) != 0]
    ana = builder.ana
    for s, out in zip(sums, outputs, strict=True):
        extent: Size = s.args[0].extent if s.args else 1
        if s.args and s.args[0].scale != 1:
            raise NotAffine("an index has a stride")
        dom = Range(builder.sizes.expr(s.base, out.dtype), builder.sizes.expr(extent, out.dtype))
        ana.bind(
            out, Range(const(0, out.dtype), ana.simplify(Add(dom.min, dom.extent))) if from_zero else dom
        )
        ranges.append(dom)
        if from_zero and s.base != 0:
            if not padding:
                raise NotAffine("the indices below an offset are not taken")
            holes.append(LT(out, dom.min))
    inverse = _Inverse()
    found = inverse.run(public, outputs)
    result: dict[Var, Expr] = {}
    for var, dom in iters.items():
        value = found.get(var)
        result[var] = dom.min if value is None else ana.simplify(value)
    for mark in builder._public:
        holes += _holes(builder, mark[0], mark[1], inverse)
    condition: Expr = const(0, "bool")
    for i, hole in enumerate(holes):
        condition = hole if i == 0 else Or(condition, hole)
    return PaddedInverse(result, tuple(ranges), ana.simplify(condition))


def _holes(builder: IterBuilder, mark: Mark, dtype: object, inverse: _Inverse) -> list[Expr]:
    """When the digits of the mark make no value of it."""
    node = builder._public[mark, dtype]  # type: ignore[index]
    number = inverse.number(node)
    digits = sorted(inverse.parts.get(number, []), key=_descending)
    if not digits:
        return []
    ana, sizes = builder.ana, builder.sizes
    step, extent, top = digits[0]
    top = ana.simplify(top)
    # The inverse numbers its symbols by itself.
    step, extent = [sizes.of(inverse.sizes.expr(s, top.dtype)) for s in (step, extent)]
    rest = joined_digits(inverse.sizes, digits[1:]) if len(digits) > 1 else None
    out: list[Expr] = []

    def number_of(size: Size) -> Expr:
        return sizes.expr(size, top.dtype)

    if mark.low != 0:
        low = number_of(mark.low)
        out.append(LT(top, low) if rest is None else And(EQ(top, const(0, top.dtype)), LT(rest, low)))
    end = number_of(mark.extent)
    if rest is None:
        if not sizes.below(extent, mark.extent):
            out.append(GE(top, end))
    elif sizes.exact(mark.extent, step) is None:
        last = ana.simplify(FloorDiv(end, number_of(step)))
        inside = ana.simplify(FloorMod(end, number_of(step)))
        alone = isinstance(inside, IntImm) and ana.bound(rest).max == inside.value
        out.append(And(EQ(top, last), EQ(rest, inside) if alone else GE(rest, inside)))
    return out

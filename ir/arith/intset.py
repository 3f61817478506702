"""Sets of integers given by symbolic ends, and the set of values of an expression over such sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...node import runs_deep
from ..expr import (
    Add,
    Broadcast,
    BufferLoad,
    Call,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Ramp,
    Range,
    Select,
    Sub,
    Var,
    const,
)
from ..op import Op
from ..visitor import walk
from .analyzer import Analyzer
from .simplify import simplify


@dataclass(frozen=True, slots=True)
class IntervalSet:
    """All integers from `min` to `max`, both included; None stands for no limit on that side."""

    min: Expr | None
    max: Expr | None

    @property
    def is_point(self) -> bool:
        """Whether it is one integer, by construction."""
        return self.min is not None and self.min is self.max

    @property
    def is_everything(self) -> bool:
        """Whether nothing is known."""
        return self.min is None and self.max is None

    @staticmethod
    def point(e: Expr) -> IntervalSet:
        """The set of this one value."""
        return IntervalSet(e, e)

    @staticmethod
    def of_range(dom: Range, ana: Analyzer) -> IntervalSet:
        """The set of a range's values."""
        if type(dom.extent) is IntImm and dom.extent.value == 1:
            return IntervalSet.point(dom.min)
        last = Sub(Add(dom.min, dom.extent), const(1, dom.min.dtype))
        return IntervalSet(dom.min, simplify(ana, last))


EVERYTHING = IntervalSet(None, None)
Domain = Mapping[Var, IntervalSet]


@runs_deep
def eval_set(e: Expr, domain: Domain, ana: Analyzer | None = None) -> IntervalSet:
    """A set that holds every value of the index expression while its variables stay in `domain`.

    Variables outside the domain stay symbols; variables in the ends of sets take their sets too.
    """
    return _Evaluator(domain, ana or Analyzer()).visit(e)


def union(ana: Analyzer, a: IntervalSet, b: IntervalSet) -> IntervalSet:
    """The smallest interval that holds both."""
    if a.is_point and b.is_point and a.min is not None and b.min is not None and ana.keys.same(a.min, b.min):
        return a
    return IntervalSet(_outer(ana, Min, a.min, b.min), _outer(ana, Max, a.max, b.max))


def intersection(ana: Analyzer, a: IntervalSet, b: IntervalSet) -> IntervalSet:
    """The integers in both. Where it is empty, its smallest value is above its largest."""
    ends: list[Expr | None] = []
    for kind, x, y in ((Max, a.min, b.min), (Min, a.max, b.max)):
        both = x is not None and y is not None
        ends.append(_outer(ana, kind, x, y) if both else y if x is None else x)
    return IntervalSet(ends[0], ends[1])


def _outer(ana: Analyzer, kind: type[Min] | type[Max], a: Expr | None, b: Expr | None) -> Expr | None:
    if a is None or b is None:
        return None
    if a.ty is not b.ty:
        a, b = _aligned(a, b)
    return simplify(ana, kind(a, b))


def _aligned(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    wide = a.ty if a.dtype.bits >= b.dtype.bits else b.ty
    return (a if a.ty is wide else Cast(wide, a)), (b if b.ty is wide else Cast(wide, b))


def extent_of(ana: Analyzer, s: IntervalSet) -> Expr | None:
    """How many integers from the smallest to the largest; None where that has no end."""
    if s.min is None or s.max is None:
        return None
    if s.is_point or ana.keys.same(s.min, s.max):
        return const(1, s.min.dtype)
    low, high = (s.min, s.max) if s.min.ty is s.max.ty else _aligned(s.min, s.max)
    one = const(1, low.dtype)
    plain = Sub(Add(high, one), low)
    result = simplify(ana, plain)
    if type(result) is not IntImm:
        for node in walk(result):
            if isinstance(node, Min | Max):
                return plain
    return result


class _Evaluator:
    """Computes sets by the class of the expression."""

    def __init__(self, domain: Domain, ana: Analyzer) -> None:
        self.domain = domain
        self.ana = ana
        self._touches: dict[int, bool] = {}
        self._relaxed: dict[Var, IntervalSet] = {}

    def touches(self, e: Expr) -> bool:
        """Whether the expression depends on the domain."""
        found = self._touches.get(id(e))
        if found is None:
            found = False
            for node in walk(e):
                if isinstance(node, Var) and node in self.domain:
                    found = True
            self._touches[id(e)] = found
        return found

    def visit(self, e: Expr) -> IntervalSet:
        if isinstance(e, Var):
            found = self._relaxed.get(e)
            return found if found is not None else self._relax(e)
        if isinstance(e, Ramp | Broadcast):
            return self._vector(e)
        if not self.touches(e):
            return IntervalSet.point(e)
        rule = _RULES.get(type(e))
        return rule(self, e) if rule is not None else EVERYTHING

    def _relax(self, var: Var) -> IntervalSet:
        """The set of a variable, its ends free of variables of the domain."""
        known = self.domain.get(var)
        if known is None:
            return IntervalSet.point(var)
        self._relaxed[var] = EVERYTHING  # what an end that leads back to the variable finds
        low, high = known.min, known.max
        if low is not None and self.touches(low):
            low = self.visit(low).min
        if known.is_point:
            high = low if known.min is low else self._end(known.max)
        else:
            high = self._end(high)
        found = known if low is known.min and high is known.max else IntervalSet(low, high)
        self._relaxed[var] = found
        return found

    def _end(self, e: Expr | None) -> Expr | None:
        return self.visit(e).max if e is not None and self.touches(e) else e

    def _vector(self, e: Ramp | Broadcast) -> IntervalSet:
        if isinstance(e, Broadcast):
            return self.visit(e.value)
        if type(e.lanes) is not IntImm:
            return EVERYTHING
        base, stride = self.visit(e.base), self.visit(e.stride)
        last = IntervalSet(const(0, e.stride.dtype), const(e.lanes.value - 1, e.stride.dtype))
        return self.sum(Add, base, self.product(last, stride))

    def simplified(self, e: Expr) -> Expr:
        return simplify(self.ana, e)

    def sum(self, kind: type[Add] | type[Sub], a: IntervalSet, b: IntervalSet) -> IntervalSet:
        if a.is_point and b.is_point and a.min is not None and b.min is not None:
            return IntervalSet.point(self.simplified(kind(*_same(a.min, b.min))))
        low, high = (b.min, b.max) if kind is Add else (b.max, b.min)
        return IntervalSet(self._op(kind, a.min, low), self._op(kind, a.max, high))

    def _op(self, kind: type[Any], a: Expr | None, b: Expr | None) -> Expr | None:
        if a is None or b is None:
            return None
        return self.simplified(kind(*_same(a, b)))

    def product(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        if a.is_point and not b.is_point:
            a, b = b, a
        if not b.is_point or b.min is None:
            return EVERYTHING
        if a.is_point and a.min is not None:
            return IntervalSet.point(self.simplified(Mul(*_same(a.min, b.min))))
        bound = self.ana.bound(b.min)
        if bound.min >= 0:
            return IntervalSet(self._op(Mul, a.min, b.min), self._op(Mul, a.max, b.min))
        if bound.max <= 0:
            return IntervalSet(self._op(Mul, a.max, b.min), self._op(Mul, a.min, b.min))
        return EVERYTHING


def _same(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    return (a, b) if a.ty is b.ty else _aligned(a, b)


def _sum(ev: _Evaluator, e: Add | Sub) -> IntervalSet:
    return ev.sum(type(e), ev.visit(e.a), ev.visit(e.b))


def _mul(ev: _Evaluator, e: Mul) -> IntervalSet:
    return ev.product(ev.visit(e.a), ev.visit(e.b))


def _floordiv(ev: _Evaluator, e: FloorDiv) -> IntervalSet:
    a, b = ev.visit(e.a), ev.visit(e.b)
    if not b.is_point or b.min is None:
        return EVERYTHING
    if a.is_point:
        return _point(ev._op(FloorDiv, a.min, b.min))
    bound = ev.ana.bound(b.min)
    if bound.min > 0:
        return IntervalSet(ev._op(FloorDiv, a.min, b.min), ev._op(FloorDiv, a.max, b.min))
    if bound.max < 0:
        return IntervalSet(ev._op(FloorDiv, a.max, b.min), ev._op(FloorDiv, a.min, b.min))
    return EVERYTHING


def _point(e: Expr | None) -> IntervalSet:
    return EVERYTHING if e is None else IntervalSet.point(e)


def _floormod(ev: _Evaluator, e: FloorMod) -> IntervalSet:
    a, b = ev.visit(e.a), ev.visit(e.b)
    if a.is_point and b.is_point:
        return _point(ev._op(FloorMod, a.min, b.min))
    if not b.is_point or b.min is None or ev.ana.bound(b.min).min <= 0:
        return EVERYTHING
    divisor = b.min
    if a.min is not None and a.max is not None:
        low, high = ev._op(FloorDiv, a.min, divisor), ev._op(FloorDiv, a.max, divisor)
        if low is not None and high is not None and ev.ana.keys.same(low, high):
            return IntervalSet(ev._op(FloorMod, a.min, divisor), ev._op(FloorMod, a.max, divisor))
    return IntervalSet(const(0, e.dtype), ev._op(Sub, divisor, const(1, e.dtype)))


def _extreme(ev: _Evaluator, e: Min | Max) -> IntervalSet:
    a, b = ev.visit(e.a), ev.visit(e.b)
    ends = []
    for x, y in ((a.min, b.min), (a.max, b.max)):
        both = x is not None and y is not None
        ends.append(ev._op(type(e), x, y) if both else None)
    # one limit is enough where the extreme cannot pass it
    if isinstance(e, Min) and ends[1] is None:
        ends[1] = a.max if a.max is not None else b.max
    if isinstance(e, Max) and ends[0] is None:
        ends[0] = a.min if a.min is not None else b.min
    return IntervalSet(ends[0], ends[1])


def _select(ev: _Evaluator, e: Select) -> IntervalSet:
    return union(ev.ana, ev.visit(e.true_value), ev.visit(e.false_value))


def _cast(ev: _Evaluator, e: Cast) -> IntervalSet:
    if not (e.value.dtype.is_integral and e.dtype.is_integral and e.dtype.bits >= e.value.dtype.bits):
        return EVERYTHING
    inner = ev.visit(e.value)
    low = None if inner.min is None else ev.simplified(Cast(e.ty, inner.min))
    high = None if inner.max is None else ev.simplified(Cast(e.ty, inner.max))
    return IntervalSet(low, low if inner.is_point else high)


def _call(ev: _Evaluator, e: Call) -> IntervalSet:
    if isinstance(e.op, Op) and e.op.name == "prim.if_then_else":
        return union(ev.ana, ev.visit(e.args[1]), ev.visit(e.args[2]))
    return EVERYTHING


def _load(ev: _Evaluator, e: BufferLoad) -> IntervalSet:
    return EVERYTHING


_RULES: dict[type, Callable[[_Evaluator, Any], IntervalSet]] = {
    Add: _sum,
    Sub: _sum,
    Mul: _mul,
    FloorDiv: _floordiv,
    FloorMod: _floormod,
    Min: _extreme,
    Max: _extreme,
    Select: _select,
    Cast: _cast,
    Call: _call,
    BufferLoad: _load,
}

"""`tvm.sym.int_set`: sets of integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .... import ir
from ....ir import arith
from ....ir.expr import Expr, Var
from ...adapters import lacking

_POS_INF = Var("pos_inf", "int32")
_NEG_INF = Var("neg_inf", "int32")


def pos_inf() -> Var:
    """The symbol for no upper limit."""
    return _POS_INF


def neg_inf() -> Var:
    """The symbol for no lower limit."""
    return _NEG_INF


class IntSet:
    """A set of integers."""

    __slots__ = ()

    @staticmethod
    def single_point(point: Any) -> IntervalSet:
        """The set of one value."""
        return IntervalSet(point, point)

    @staticmethod
    def vector(vec: Any) -> IntervalSet:
        """The smallest interval that holds the lanes of a vector."""
        if not isinstance(vec, ir.Ramp):
            return IntervalSet(vec, vec)
        if not isinstance(vec.lanes, ir.IntImm):
            return IntervalSet(vec.base, _POS_INF)
        last = vec.base + vec.stride * (vec.lanes.value - 1)
        return IntervalSet(*(arith.Analyzer().simplify(e) for e in (vec.base, last)))


class IntervalSet(IntSet):
    """All integers from `min_value` to `max_value`, both included."""

    __slots__ = ("max_value", "min_value")

    def __init__(self, min_value: Any, max_value: Any) -> None:
        self.min_value = ir.as_expr(min_value)
        self.max_value = ir.as_expr(max_value)

    def is_nothing(self) -> bool:
        """Whether the set is empty."""
        return self.min_value is _POS_INF or self.max_value is _NEG_INF

    def is_everything(self) -> bool:
        """Whether there is no limit on either side."""
        return self.min_value is _NEG_INF and self.max_value is _POS_INF

    def __repr__(self) -> str:
        return f"sym.IntervalSet(min_value={self.min_value}, max_value={self.max_value})"


def ours(value: Any) -> arith.IntervalSet:
    """A set, or a range, as our interval."""
    if isinstance(value, ir.Range):
        return arith.IntervalSet.of_range(value, arith.Analyzer())
    low = None if value.min_value is _NEG_INF else value.min_value
    high = None if value.max_value is _POS_INF else value.max_value
    if low is not None and high is not None and ir.structural_equal(low, high):
        high = low
    return arith.IntervalSet(low, high)


def theirs(value: arith.IntervalSet | None) -> IntervalSet:
    """Our interval as the peer's; None is the empty set."""
    if value is None:
        return IntervalSet(_POS_INF, _NEG_INF)
    low: Expr = _NEG_INF if value.min is None else value.min
    high: Expr = _POS_INF if value.max is None else value.max
    return IntervalSet(low, high)


def _estimate(function: Callable[..., Any]) -> Callable[..., Any]:
    def estimate(region: Any, var_dom: Mapping[Any, Any], predicate: Any, analyzer: Any = None) -> Any:
        from .analyzer import own

        dims = [d if isinstance(d, ir.Range) else ir.Range(ir.as_expr(d), 1) for d in region]
        found = function(dims, dict(var_dom), ir.as_expr(predicate), own(analyzer))
        return None if found is None else [theirs(s) for s in found]

    estimate.__name__ = function.__name__
    estimate.__doc__ = function.__doc__
    return estimate


estimate_region_lower_bound = _estimate(arith.estimate_region_lower_bound)
estimate_region_strict_bound = _estimate(arith.estimate_region_strict_bound)
estimate_region_upper_bound = _estimate(arith.estimate_region_upper_bound)

__getattr__ = lacking("tvm.sym.int_set")

__all__ = [
    "IntSet",
    "IntervalSet",
    "estimate_region_lower_bound",
    "estimate_region_strict_bound",
    "estimate_region_upper_bound",
    "neg_inf",
    "ours",
    "pos_inf",
    "theirs",
]

"""Conditions that hold in every lane when they hold in the first and the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir import EQ, GE, GT, LE, LT, And, Call, Expr, Op, const
from ...ir.visitor import substitute
from ..common import both, plus

if TYPE_CHECKING:
    from .lanes import Lanes


def bounds_guard(lanes: Lanes, cond: Expr) -> Expr | None:
    """A condition without the lane under which `cond` holds in all lanes; None where none is known.

    A comparison of sums that are linear in the lane holds on an interval of lanes, and so does a
    conjunction of such comparisons.
    """
    total: Expr | None = None
    for part in _parts(cond):
        if not lanes.varies(part):
            total = both(total, part)
            continue
        if not _linear_in_lane(lanes, part):
            return None
        last = plus(lanes.low, const(lanes.count - 1, lanes.var.dtype))
        for at in (lanes.low, last):
            total = both(total, substitute(part, {lanes.var: at}))
    return total


def _parts(cond: Expr) -> list[Expr]:
    """The operands of a conjunction, in order."""
    if isinstance(cond, And):
        return [*_parts(cond.a), *_parts(cond.b)]
    if isinstance(cond, Call) and isinstance(cond.op, Op) and cond.op.name == "prim.likely":
        return _parts(cond.args[0])
    return [cond]


def _linear_in_lane(lanes: Lanes, part: Expr) -> bool:
    if not isinstance(part, LT | LE | GT | GE | EQ) or not part.a.dtype.is_int or part.a.dtype.is_vector:
        return False
    ana = lanes.ana
    with ana.mode(data=True):
        for side in (part.a, part.b):
            if not ana.is_exact(side):
                return False
            for _, term in ana.linear(side).terms.values():
                if term is not lanes.var and lanes.varies(term):
                    return False
    return True

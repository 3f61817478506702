"""`tvm.sym.bound`: solving a condition for one variable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....ir import arith
from ...adapters import lacking
from .int_set import IntervalSet, ours, theirs


def deduce_bound(
    var: Any, cond: Any, hint_map: Mapping[Any, Any], relax_map: Mapping[Any, Any]
) -> IntervalSet:
    """The values of `var` for which the condition holds; the empty set where it cannot be solved."""
    hints, relaxed = ({v: ours(s) for v, s in known.items()} for known in (hint_map, relax_map))
    return theirs(arith.deduce_bound(var, cond, hints, relaxed))


__getattr__ = lacking("tvm.sym.bound")

__all__ = ["deduce_bound"]

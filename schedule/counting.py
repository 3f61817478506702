"""Answers about index expressions found by trying all values, where these are few."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import Diagnostic, DivisionError, UnsupportedError
from ..ir import EQ, GE, GT, LE, LT, NE, Expr, IntImm, IterVar, Range, Var, structural_equal
from ..ir.arith.iter_build import NotAffine
from ..ir.arith.iter_map import detect_iter_map
from ..ir.arith.iter_pad import padded_inverse
from ..ir.arith.numeric import evaluate_on_grid
from ..ir.expr import Comparison
from .rewrite import is_const

MOST = 1 << 16
"""How many values are tried at most."""


def distinct(indices: Sequence[Expr], axes: Sequence[IterVar]) -> bool:
    """Whether different values of the axes certainly give different indices."""
    iters = {a.var: a.dom for a in axes if a.dom is not None and not is_const(a.dom.extent, 1)}
    if not iters or detect_iter_map(indices, iters, check_level="bijective").indices:
        return True
    try:
        padded_inverse(indices, iters, [Var(f"o{k}", e.ty) for k, e in enumerate(indices)])
    except NotAffine:
        return _counted([], indices, axes)
    return True


def follows(old: Sequence[Expr], new: Sequence[Expr], axes: Sequence[IterVar]) -> bool:
    """Whether what `new` gives certainly determines what `old` gives, for values of the axes."""
    for e in old:
        if not any(structural_equal(e, n) for n in new):
            return distinct(new, axes) or _counted(old, new, axes)
    return True


def _counted(old: Sequence[Expr], new: Sequence[Expr], axes: Sequence[IterVar]) -> bool:
    """Whether `new` determines `old` (empty: the axes), tried for all values where there are few."""
    domains = {a.var: a.dom for a in axes if a.dom is not None}
    grid = grid_of(domains)
    if grid is None or len(domains) != len(axes):
        return False
    import numpy as np

    wanted = list(old) or [a.var for a in axes]
    shape = next(iter(grid.values())).shape
    try:
        columns = [np.broadcast_to(evaluate_on_grid(e, grid), shape).ravel() for e in (*new, *wanted)]
    except (UnsupportedError, DivisionError, KeyError):
        return False
    rows = np.stack(columns, axis=1)
    both = len(np.unique(rows, axis=0))
    return both == (len(np.unique(rows[:, : len(new)], axis=0)) if new else 1)


def grid_of(domains: dict[Var, Range]) -> dict[Var, Any] | None:
    """Every point of the domains as arrays, by variable; None where these are no small numbers."""
    pairs = [(number(r.min), number(r.extent)) for r in domains.values()]
    if not pairs or [p for p in pairs if None in p]:
        return None
    if math.prod([n for _, n in pairs if n is not None]) > MOST:
        return None
    import numpy as np

    ranges = [np.arange(low, low + n) for low, n in pairs if low is not None and n is not None]
    return dict(zip(domains, np.meshgrid(*ranges, indexing="ij")))


_COMPARE: dict[type[Expr], Callable[[Any, Any], Any]] = {
    LT: operator.lt,
    LE: operator.le,
    GT: operator.gt,
    GE: operator.ge,
    EQ: operator.eq,
    NE: operator.ne,
}


def holds_at(condition: Expr, values: dict[Var, Any]) -> Any:
    """Where on the grid a comparison holds. Raises UnsupportedError for other conditions."""
    compare = _COMPARE.get(type(condition))
    if compare is None or not isinstance(condition, Comparison):
        raise UnsupportedError(Diagnostic("unsupported", "this condition is no comparison"))
    return compare(evaluate_on_grid(condition.a, values), evaluate_on_grid(condition.b, values))


def number(e: Expr) -> int | None:
    """The value of a constant; None for other expressions."""
    return e.value if isinstance(e, IntImm) else None
